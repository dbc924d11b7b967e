"""Cohere Chat, version 2 (https://docs.cohere.com/reference/chat)."""
