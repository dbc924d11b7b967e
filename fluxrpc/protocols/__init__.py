"""The wire protocols: one folder each, and what they share. Pure: bytes and messages in, bytes and messages out."""
