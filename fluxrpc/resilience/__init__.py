"""What keeps faults from spreading: breakers, doors, blame, back-off, deadlines. Pure: time and chance are given."""
