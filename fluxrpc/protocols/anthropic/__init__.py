"""Anthropic Messages (https://platform.claude.com/docs/en/api/messages), both API versions."""
