from __future__ import annotations

import pytest

from fluxrpc.protocols.base_url import check_base_url
from fluxrpc.protocols.dialects import Dialect, dialect_named, dialect_of, dialect_rows, dialects_date


@pytest.mark.parametrize(
    ("base_url", "dialect"),
    [
        ("https://api.openai.com/v1", ""),
        ("https://eu.api.openai.com/v1", ""),
        ("https://llm.example.com/v1", ""),
        ("http://127.0.0.1:8000/v1", ""),
        ("http://[::1]:8000/v1", ""),
        ("https://API.DeepSeek.com", "deepseek"),
        ("https://api.deepseek.com:443/beta", "deepseek"),
        ("https://api.deepseek.com.example.com", ""),
        ("https://openrouter.ai/api/v1", "openrouter"),
        ("https://gateway.openrouter.ai/api/v1", "openrouter"),
        ("https://notopenrouter.ai/api/v1", ""),
        ("https://my-resource.openai.azure.com/openai/deployments/x?api-version=2026-01-01", "azure"),
        ("https://my-resource.services.ai.azure.com/openai/v1", "azure"),
        ("https://generativelanguage.googleapis.com/v1beta/openai", "google"),
        ("https://europe-west1-aiplatform.googleapis.com/v1/projects/p/locations/l/endpoints/openapi", "google"),
        ("https://api.mistral.ai/v1", "mistral"),
        ("https://api.groq.com/openai/v1", "groq"),
        ("http://localhost:11434/v1", "ollama"),
    ],
)
def test_the_host_tells_the_dialect(base_url: str, dialect: str) -> None:
    check_base_url(base_url)
    assert dialect_of(base_url) == dialect


def test_names() -> None:
    assert dialects_date() == "2026-11-30"
    names = [row.name for row in dialect_rows()]
    assert len(set(names)) == len(names)
    assert {"", "openai", "azure", "deepseek", "vllm", "openrouter", "google", "litellm"} <= set(names)
    assert all(row.source for row in dialect_rows())
    assert dialect_named("") == dialect_named("openai") == dialect_named("azure")
    assert dialect_named("").is_original
    assert dialect_named("deepseek").reasoning_field == "reasoning_content"
    assert dialect_named("vllm") == Dialect(top_k=True, reasoning_field="reasoning")
    assert dialect_named("mistral") == dialect_named("never-heard-of") == Dialect()
