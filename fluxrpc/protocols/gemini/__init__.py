"""Google Gemini generateContent (https://ai.google.dev/api/generate-content)."""
