"""The settings of a request to fields of OpenAI Responses: sampling, limits, reasoning, form, cache, identity."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct, field

from fluxrpc.errors import InvalidRequest
from fluxrpc.ir.presence import present
from fluxrpc.protocols.context import Context
from fluxrpc.protocols.gates import is_neutral
from fluxrpc.protocols.node import raw
from fluxrpc.protocols.notes import Notes
from fluxrpc.protocols.reasoning import effort_of_budget, nearest_effort
from fluxrpc.protocols.responses.words import (
    DISPLAYS,
    EFFORTS,
    OUTPUT_KINDS,
    TIERS,
    TTLS,
    VERBOSITIES,
    Words,
    find_extra,
    nearest_ttl,
)
from fluxrpc.protocols.schema import CHAT_STRICT, PLAIN, convert
from fluxrpc.v1 import message_pb2 as pb
from fluxrpc.v1.usage_pb2 import MODALITY_TEXT

__all__ = ["LOGPROBS", "UNWRAPPED", "SettingsWriter"]

LOGPROBS = "message.output_text.logprobs"
"""What `include` names to get probabilities."""
UNWRAPPED = "value"
"""The one key of the object that stands for a bare word."""

_NAMES = {value: word for word, value in OUTPUT_KINDS.items()}
_COPIED = (
    ("max_output_tokens", "MAX_OUTPUT_TOKENS"),
    ("max_tool_calls", "MAX_TOOL_CALLS"),
    ("temperature", "TEMPERATURE"),
    ("top_p", "TOP_P"),
    ("parallel_tool_calls", "PARALLEL_TOOL_CALLS"),
)
_UNKNOWN = (
    ("top_k", "TOP_K"),
    ("presence_penalty", "PRESENCE_PENALTY"),
    ("frequency_penalty", "FREQUENCY_PENALTY"),
    ("seed", "SEED"),
    ("speech", "SPEECH"),
    ("citation_mode", "CITATION_MODE"),
)
"""What this protocol has no field for."""
_NUMBERS = frozenset({"top_k", "presence_penalty", "frequency_penalty"})
_MAX_ID = 128
_MAX_LABELS, _MAX_LABEL_KEY, _MAX_LABEL_VALUE = 16, 64, 512
_ILLEGAL_NAME = re.compile(r"[^A-Za-z0-9_-]")
_MAX_NAME = 64
_BETWEEN_TOOLS = frozenset({pb.REASONING_MODE_BETWEEN_TOOLS, pb.REASONING_MODE_OTHER})


class SettingsWriter(Struct, kw_only=True):
    """Writes the settings of one request."""

    context: Context
    notes: Notes
    exact: bool
    fields: dict[str, Any] = {}
    effort: str = ""
    said: set[str] = field(default_factory=set)
    """Names of the fields of the request that say something."""

    def write(self, request: pb.MessageRequest) -> dict[str, Any]:
        """All of them."""
        self.said = present(request)
        for names, write in _GROUPS:
            if not names.isdisjoint(self.said):
                write(self, request)
        return self.fields

    def _word(self, words: Words, value: int, raw_word: str, note: tuple[str, str]) -> str:
        """The word for a value. A provider's own word is one of this protocol's only if the caller meant it for it."""
        word = words.write(value, raw_word if self.exact or self.context.caller is None else "")
        if value and not word:
            self.notes.dropped(*note)
        return word

    def _takes(self, name: str) -> bool:
        """Whether the model takes a field."""
        gates = self.context.target.gates
        if name in gates.refused or name in gates.ignored:
            return False
        return self.effort == "none" or name not in gates.refused_while_reasoning

    def write_numbers(self, request: pb.MessageRequest) -> None:
        """What has the same name on both sides."""
        for name, code in _COPIED:
            if name not in self.said:
                continue
            if name == "parallel_tool_calls" and not (request.tools or self.exact):
                continue
            value = getattr(request, name)
            if self._takes(name):
                self.fields[name] = value
            else:
                self.notes.dropped(code, name, "this model does not take it", minor=is_neutral(name, value))

    def write_logprobs(self, request: pb.MessageRequest) -> None:
        """Probabilities of tokens, and what else `include` names."""
        wanted = request.logprobs and self._takes("logprobs")
        if request.logprobs and not wanted:
            self.notes.dropped("LOGPROBS", "logprobs", "this model does not take it")
        if request.HasField("top_logprobs"):
            if self._takes("logprobs"):
                self.fields["top_logprobs"] = request.top_logprobs
            else:
                is_minor = not request.top_logprobs
                self.notes.dropped("TOP_LOGPROBS", "top_logprobs", "this model does not take it", minor=is_minor)
        spelt = find_extra(request.extras, "~include")
        words = msgspec.json.decode(spelt) if spelt else [LOGPROBS] * wanted
        words = [word for word in words if word != LOGPROBS or wanted]
        if words or (spelt and not request.logprobs):
            self.fields["include"] = words

    def write_unknown(self, request: pb.MessageRequest) -> None:
        """What has no field here: noted, or done in the answer."""
        for name, code in _UNKNOWN:
            if name in self.said and (name not in _NUMBERS or not is_neutral(name, getattr(request, name))):
                self.notes.dropped(code, name)
        if request.choice_count > 1:
            self.notes.dropped("CHOICE_COUNT", "choice_count")
        if any(each != MODALITY_TEXT for each in request.output_modalities):
            self.notes.dropped("OUTPUT_MODALITIES", "output_modalities")
        if request.stop_sequences:
            self.context.stops = tuple(request.stop_sequences)
            self.notes.emulated("STOP_SEQUENCES", "stop_sequences")

    # --- reasoning ---

    def write_reasoning(self, request: pb.MessageRequest) -> None:
        """How hard to think, and what to show of it."""
        options = request.reasoning
        written: dict[str, Any] = {}
        self.effort = self._effort(request)
        if self.effort:
            written["effort"] = self.effort
        summary = self._summary(options)
        if summary:
            written["summary"] = summary
        if written:
            self.fields["reasoning"] = written

    def _effort(self, request: pb.MessageRequest) -> str:
        options, gates = request.reasoning, self.context.target.gates
        word = self._word(EFFORTS, options.effort, options.effort_raw, ("REASONING_EFFORT", "reasoning.effort"))
        path = "reasoning.effort"
        if options.mode == pb.REASONING_MODE_OFF:
            if word not in ("", "none"):
                self.notes.dropped("REASONING_EFFORT", path, "reasoning is switched off")
            word, path = "none", "reasoning.mode"
        elif options.mode in _BETWEEN_TOOLS:
            self.notes.approximated("REASONING_MODE", "reasoning.mode")
        if word not in ("", "none") and options.budget_tokens > 0:
            self.notes.approximated("REASONING_BUDGET", "reasoning.budget_tokens", "the effort stands for it")
        if not word and options.HasField("budget_tokens") and options.budget_tokens >= 0:
            limit = request.max_output_tokens if request.HasField("max_output_tokens") else None
            word, path = effort_of_budget(options.budget_tokens, limit), "reasoning.budget_tokens"
            self.notes.approximated("REASONING_BUDGET", path)
        if options.mode == pb.REASONING_MODE_ON and not (
            word or gates.is_reasoning or options.HasField("budget_tokens")
        ):
            self.notes.approximated("REASONING_MODE", "reasoning.mode")
        if word and not gates.takes_effort:
            self.notes.dropped("REASONING_EFFORT", path, "this model does not take it")
            return ""
        if word in gates.efforts or not (word and gates.efforts):
            return word
        nearest = nearest_effort(word, gates.efforts)
        self.notes.clamped("REASONING_EFFORT", path)
        return nearest

    def _summary(self, options: pb.ReasoningOptions) -> str:
        if options.display == pb.REASONING_DISPLAY_FULL:
            self.notes.approximated("REASONING_DISPLAY", "reasoning.display")
            return "detailed"
        if options.display == pb.REASONING_DISPLAY_OMITTED:  # nothing is shown unless it is asked for
            return ""
        return self._word(DISPLAYS, options.display, options.display_raw, ("REASONING_DISPLAY", "reasoning.display"))

    # --- the form of the answer ---

    def write_text(self, request: pb.MessageRequest) -> None:
        """The form of the answer and its length."""
        written: dict[str, Any] = {}
        if request.HasField("output_format"):
            written["format"] = self._format(request.output_format)
        verbosity = self._word(VERBOSITIES, request.verbosity, request.verbosity_raw, ("VERBOSITY", "verbosity"))
        if verbosity:
            written["verbosity"] = verbosity
        if written:
            self.fields["text"] = written

    def _format(self, output: pb.OutputFormat) -> dict[str, Any]:
        if output.kind == pb.OUTPUT_KIND_ENUM:
            return self._enum(output)
        if output.kind != pb.OUTPUT_KIND_JSON_SCHEMA:
            return {"type": _NAMES.get(output.kind, "text")}
        schema = output.schema_json
        if not schema:
            raise InvalidRequest.at("output_format.schema_json", "a JSON Schema is expected")
        if not self.exact:
            profile = CHAT_STRICT if output.strict else PLAIN
            path = "output_format.schema_json"
            schema = convert(schema, output.dialect, profile, self.notes, code="OUTPUT_SCHEMA_KEYWORDS", path=path)
        written: dict[str, Any] = {"type": "json_schema", "schema": raw(schema)}
        if output.name or not self.exact:
            written["name"] = self._name(output.name)
        if output.description:
            written["description"] = output.description
        if output.HasField("strict"):
            written["strict"] = output.strict
        return written

    def _name(self, name: str) -> str:
        """A name that is taken."""
        if self.exact:
            return name
        if not name:
            self.notes.injected("OUTPUT_SCHEMA_NAME", "output_format.name")
            return "response"
        written = _ILLEGAL_NAME.sub("_", name)[:_MAX_NAME]
        if written != name:
            self.notes.approximated("OUTPUT_SCHEMA_NAME", "output_format.name")
        return written

    def _enum(self, output: pb.OutputFormat) -> dict[str, Any]:
        """A bare word is an object of one key here, undone in the answer."""
        self.context.unwrap_key = UNWRAPPED
        self.notes.emulated("OUTPUT_ENUM", "output_format")
        word = convert(
            output.schema_json,
            output.dialect,
            CHAT_STRICT,
            self.notes,
            code="OUTPUT_SCHEMA_KEYWORDS",
            path="output_format.schema_json",
        )
        schema = {
            "type": "object",
            "properties": {UNWRAPPED: raw(word)},
            "required": [UNWRAPPED],
            "additionalProperties": False,
        }
        return {"type": "json_schema", "name": output.name or "response", "schema": schema, "strict": True}

    # --- cache, identity ---

    def write_identity(self, request: pb.MessageRequest) -> None:
        """Who asks, and in which class."""
        if len(request.end_user_id) > _MAX_ID and not self.exact:
            self.notes.dropped("END_USER_ID", "end_user_id")
        elif request.end_user_id and not find_extra(request.extras, "~user"):
            self.fields["safety_identifier"] = request.end_user_id
        labels = sorted(request.metadata.items())
        if not self.exact:
            fitting = [each for each in labels if len(each[0]) <= _MAX_LABEL_KEY and len(each[1]) <= _MAX_LABEL_VALUE]
            if len(fitting[:_MAX_LABELS]) < len(labels):
                self.notes.dropped("METADATA", "metadata")
            labels = fitting[:_MAX_LABELS]
        if labels:
            self.fields["metadata"] = dict(labels)
        tier = self._word(TIERS, request.service_tier, request.service_tier_raw, ("SERVICE_TIER", "service_tier"))
        if tier:
            self.fields["service_tier"] = tier

    def write_cache(self, request: pb.MessageRequest) -> None:
        """What is cached, and how long."""
        cache = request.cache
        if cache.key:
            self.fields["prompt_cache_key"] = cache.key
        written: dict[str, Any] = {}
        if cache.HasField("automatic"):
            written["mode"] = "implicit" if cache.automatic else "explicit"
        if cache.HasField("ttl"):
            written["ttl"] = nearest_ttl(cache.ttl)
            if TTLS[written["ttl"]] != cache.ttl.seconds:
                self.notes.approximated("CACHE_OPTIONS", "cache.ttl")
        if written:
            self.fields["prompt_cache_options"] = written


_GROUPS: tuple[tuple[frozenset[str], Callable[[SettingsWriter, pb.MessageRequest], None]], ...] = (
    (frozenset({"reasoning"}), SettingsWriter.write_reasoning),
    (frozenset({"output_format", "verbosity", "verbosity_raw"}), SettingsWriter.write_text),
    (frozenset(name for name, _ in _COPIED), SettingsWriter.write_numbers),
    (frozenset({"logprobs", "top_logprobs", "extras"}), SettingsWriter.write_logprobs),
    (
        frozenset({*(name for name, _ in _UNKNOWN), "choice_count", "output_modalities", "stop_sequences"}),
        SettingsWriter.write_unknown,
    ),
    (frozenset({"end_user_id", "metadata", "service_tier", "service_tier_raw"}), SettingsWriter.write_identity),
    (frozenset({"cache"}), SettingsWriter.write_cache),
)
"""The fields that are written together, and what writes them, in this order: what is taken depends on the effort."""
