"""For every test: a call of our code that would block the event loop raises."""

from tests.support.blocking import no_blocking

__all__ = ["no_blocking"]
