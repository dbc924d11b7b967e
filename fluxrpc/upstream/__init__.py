"""Exchanges with providers over HTTP: the only room that knows an HTTP client."""
