"""What single models refuse or demand beyond their protocol, and what they can do: data, with a date and a source.

The built-in data is `data/models.toml`; a configuration may override it for a route. Writers ask a `Gates`; routing
asks a `ModelCapabilities`. Nothing here knows how a protocol says anything.

Source of the rows: the providers' documentation as it stood on the date in the file.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

import msgspec
from msgspec import Struct

from fluxrpc.protocols.base import Protocol

__all__ = [
    "EFFORTS",
    "GateRow",
    "Gates",
    "ModelCapabilities",
    "data_date",
    "gate_rows",
    "gates_of",
    "is_neutral",
    "known_rows",
    "model_capabilities",
    "model_names",
    "overridden",
]

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""The ladder of reasoning efforts."""

_NEUTRAL: Mapping[str, float] = MappingProxyType({
    "temperature": 1, "top_p": 1, "top_k": 0, "presence_penalty": 0, "frequency_penalty": 0, "choice_count": 1,
    "logprobs": False, "top_logprobs": 0,
})  # fmt: skip
"""Values that ask for nothing, by fields of `MessageRequest`: no loss where a model refuses the field."""

# What other clouds write before a name (`us.anthropic.`), and what says which build of a model it is.
_CLOUD = re.compile(r"^(?:[a-z]+\.)+(?=[a-z])")
_BUILD = re.compile(
    r"(?:[-@]20\d{6}"  # claude-opus-4-7-20260416, claude-opus-4-7@20260416
    r"|-20\d\d-\d\d-\d\d"  # gpt-5-2025-08-07
    r"|-\d\d-20\d\d"  # command-a-03-2025
    r"|-(?:preview|exp)(?:-\d\d-\d\d)?"  # gemini-2.5-flash-preview-05-20
    r"|-\d{3,4}"  # gemini-2.0-flash-001, gpt-4-0613
    r"|-v\d+(?::\d+)?"  # -v1:0
    r"|[-@](?:latest|default)"
    r"|:[a-z0-9.-]+"  # :free, :thinking
    r")+$"
)
_VERSION_DOT = re.compile(r"(?<=\d)\.(?=\d)")


class Gates(Struct, frozen=True, kw_only=True):
    """What one model of one protocol refuses or demands. Field names of the IR stand for what is refused."""

    refused: frozenset[str] = frozenset()
    """Fields of `MessageRequest` that it refuses: `temperature`, `top_p`, `top_k`, `presence_penalty`,
    `frequency_penalty`, `choice_count` (above 1), `stop_sequences`, `logprobs`, `seed`, `safety_mode_off`,
    `cache_breakpoint`."""
    refused_while_reasoning: frozenset[str] = frozenset()
    """The same, unless reasoning is off (effort none)."""
    ignored: frozenset[str] = frozenset()
    """Fields that it accepts and does not heed: dropped as well, so that the caller learns of it."""
    one_of_temperature_and_top_p: bool = False
    """Both together are refused."""
    efforts: tuple[str, ...] = ()
    """Efforts that it takes, a part of `EFFORTS`; empty: all of its protocol."""
    takes_effort: bool = True
    takes_budget: bool = True
    """A number of tokens for reasoning (anthropic `enabled`, gemini `thinkingBudget`)."""
    takes_level: bool = True
    """gemini: `thinkingLevel`."""
    takes_adaptive: bool = True
    """anthropic: `thinking.adaptive`."""
    can_switch_reasoning_off: bool = True
    between_tools: bool = False
    """anthropic: `thinking.between_tools` stands for off."""
    is_reasoning: bool = False
    """It reasons unless told otherwise; openai: instructions are written with the role `developer`."""
    forced_tool_choice: bool = True
    takes_tools: bool = True
    tools_need_no_reasoning: bool = False
    """openai Chat: function tools only with effort none."""
    late_system: bool = False
    """anthropic: a message of role `system` may stand in the conversation."""
    prefill: bool = True
    """It goes on from an assistant message at the end."""
    needs_signatures: bool = False
    """gemini: calls of the current turn must carry their `thoughtSignature`."""
    takes_json_schema: bool = True
    """gemini: `parametersJsonSchema` and `responseJsonSchema`, else only the subset of OpenAPI (Vertex AI)."""
    result_media: bool = True
    """gemini: media within a function response."""
    max_tokens_field: str = "max_completion_tokens"
    """openai: which field it takes; old servers know only `max_tokens`."""
    default_max_output_tokens: int = 4096
    """anthropic: sent where the caller sets no limit."""


class ModelCapabilities(Struct, frozen=True, kw_only=True):
    """What a model can do; None is not known, and does not stand in a request's way."""

    vision: bool | None = None
    audio: bool | None = None
    documents: bool | None = None
    tools: bool | None = None
    json_schema: bool | None = None
    reasoning: bool | None = None
    prefill: bool | None = None
    context_tokens: int | None = None


class GateRow(Struct, frozen=True, kw_only=True):
    """One row of the data: to which models of which protocols it applies, and what it says."""

    name: str
    """For people: what `fluxrpc check` prints."""
    protocols: tuple[Protocol, ...] = tuple(Protocol)
    models: tuple[str, ...]
    """Patterns with `*` and `[1-9]`, lower case, each matched against all `model_names`."""
    except_models: tuple[str, ...] = ()
    """The same for models of which it does not speak."""
    versions: tuple[str, ...] = ()
    """Only with these versions of the protocol (anthropic-version); empty: with all."""
    gates: dict[str, Any] = {}
    capabilities: dict[str, Any] = {}
    source: str
    """Where it is said."""

    def applies(self, protocol: Protocol, model: str, version: str) -> bool:
        """Whether the row speaks of this model."""
        if protocol not in self.protocols or (self.versions and version not in self.versions):
            return False
        names = model_names(model)
        return _matches(names, self.models) and not _matches(names, self.except_models)


class _File(Struct, frozen=True, kw_only=True):
    date: str
    rows: tuple[GateRow, ...]


@lru_cache(maxsize=1)
def _data() -> _File:
    text = files("fluxrpc.protocols").joinpath("data", "models.toml").read_text("utf-8")
    return msgspec.convert(tomllib.loads(text), _File)


def data_date() -> str:
    """The date of the built-in data."""
    return _data().date


def known_rows() -> tuple[GateRow, ...]:
    """All of the built-in data, in the order of the file."""
    return _data().rows


def model_names(model: str) -> tuple[str, ...]:
    """What a model may be called in the data: its name, that without a path, and that of its family."""
    name = model.lower()
    bare = _CLOUD.sub("", name.rpartition("/")[2])
    family = _BUILD.sub("", bare)
    if family.startswith("claude"):
        family = _VERSION_DOT.sub("-", family)
    return (name, bare, family)


@lru_cache(maxsize=4096)
def gate_rows(protocol: Protocol, model: str, version: str = "") -> tuple[GateRow, ...]:
    """The rows that speak of a model, in the order of the file."""
    return tuple(row for row in _data().rows if row.applies(protocol, model, version))


@lru_cache(maxsize=4096)
def gates_of(protocol: Protocol, model: str, version: str = "") -> Gates:
    """What the built-in data says of a model: later rows win, lists of refused fields add up."""
    merged: dict[str, Any] = {}
    for row in gate_rows(protocol, model, version):
        _merge(merged, row.gates)
    return msgspec.convert(merged, Gates)


@lru_cache(maxsize=4096)
def model_capabilities(protocol: Protocol, model: str) -> ModelCapabilities:
    """What the built-in data says that a model can do: later rows win."""
    merged: dict[str, Any] = {}
    for row in gate_rows(protocol, model):
        merged |= row.capabilities
    return msgspec.convert(merged, ModelCapabilities)


def overridden(gates: Gates, changes: Mapping[str, Any]) -> Gates:
    """`gates` with single fields replaced, as a configuration may ask for it.

    Raises:
        msgspec.ValidationError: an unknown field, or a value of another type.
    """
    known = msgspec.to_builtins(gates, builtin_types=(frozenset,))
    unknown = set(changes) - set(known)
    if unknown:
        raise msgspec.ValidationError(f"no such gate: {', '.join(sorted(unknown))}")
    return msgspec.convert(known | dict(changes), Gates)


def is_neutral(field: str, value: float) -> bool:
    """Whether a field with that value asks for what every model does anyhow."""
    return _NEUTRAL.get(field) == value


def _matches(names: tuple[str, ...], patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for name in names for pattern in patterns)


def _merge(merged: dict[str, Any], gates: Mapping[str, Any]) -> None:
    for name, value in gates.items():
        if isinstance(value, list) and name != "efforts":
            merged[name] = sorted({*merged.get(name, ()), *value})
        else:
            merged[name] = value
