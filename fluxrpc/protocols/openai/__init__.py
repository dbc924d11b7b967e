"""OpenAI Chat Completions (https://platform.openai.com/docs/api-reference/chat) and the servers that copy it."""
