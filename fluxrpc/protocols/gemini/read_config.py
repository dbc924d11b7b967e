"""`generationConfig` to the settings of a request."""

from __future__ import annotations

from fluxrpc.protocols.gemini.wire import GEMINI, INTEGERS, LEVELS, MODALITIES, NUMBERS, CamelNode, put_integer, quoted
from fluxrpc.protocols.reasoning import effort_of_word
from fluxrpc.v1 import message_pb2 as msg
from fluxrpc.v1.message_pb2 import MessageRequest
from fluxrpc.v1.protocol_pb2 import Extra
from fluxrpc.v1.tool_pb2 import SCHEMA_DIALECT_OPENAPI_SUBSET, SCHEMA_DIALECT_UNSPECIFIED

__all__ = ["read_config"]

_OUTPUT_KINDS = {
    ("text/plain", False): msg.OUTPUT_KIND_TEXT,
    ("application/json", False): msg.OUTPUT_KIND_JSON,
    ("application/json", True): msg.OUTPUT_KIND_JSON_SCHEMA,
    ("text/x.enum", True): msg.OUTPUT_KIND_ENUM,
}
_SCHEMAS = (
    ("responseSchema", SCHEMA_DIALECT_OPENAPI_SUBSET),
    ("responseJsonSchema", SCHEMA_DIALECT_UNSPECIFIED),
)
_WORDS = frozenset({
    "stopSequences", "responseLogprobs", "thinkingConfig", "responseMimeType", "responseModalities", "speechConfig",
    *(key for key, _ in _SCHEMAS),
})  # fmt: skip
_MODES = {-1: msg.REASONING_MODE_ADAPTIVE, 0: msg.REASONING_MODE_OFF}


def read_config(body: CamelNode, request: MessageRequest) -> None:
    """Read what is understood; the rest goes to the extras of the request."""
    config = body.node("generationConfig")
    if config is None:
        return
    for knob in NUMBERS:
        number = config.number(knob.wire)
        if number is not None:
            setattr(request, knob.field, number)
    for knob in INTEGERS:
        put_integer(request, knob.field, config, knob.wire)
    if config.has_any(_WORDS):
        _read_words(config, request)
    config.carry(request, GEMINI, "generationConfig.")


def _read_words(config: CamelNode, request: MessageRequest) -> None:
    """What is no number: most requests say none of it."""
    request.stop_sequences.extend(config.texts("stopSequences"))
    logprobs = config.flag("responseLogprobs")
    if logprobs is not None:
        request.logprobs = logprobs
    _read_thinking(config, request)
    _read_format(config, request)
    _read_modalities(config, request)
    _read_speech(config, request)


def _read_thinking(config: CamelNode, request: MessageRequest) -> None:
    thinking = config.node("thinkingConfig")
    if thinking is None:
        return
    reasoning = request.reasoning
    reasoning.SetInParent()
    level = thinking.text("thinkingLevel") or ""
    if level:
        is_known = level.lower() in LEVELS
        reasoning.effort = effort_of_word(level) if is_known else msg.REASONING_EFFORT_OTHER
        reasoning.effort_raw = "" if is_known else level
    put_integer(reasoning, "budget_tokens", thinking, "thinkingBudget")
    if reasoning.HasField("budget_tokens"):
        reasoning.mode = _MODES.get(reasoning.budget_tokens, msg.REASONING_MODE_ON)
    shows = thinking.flag("includeThoughts")
    if shows is not None:
        reasoning.display = msg.REASONING_DISPLAY_SUMMARY if shows else msg.REASONING_DISPLAY_OMITTED
    request.extras.extend(thinking.extras(GEMINI, "generationConfig.thinkingConfig."))


def _read_format(config: CamelNode, request: MessageRequest) -> None:
    """A media type that says nothing we know stays as it is, and a schema beside it too."""
    word = config.text("responseMimeType") or ""
    schema, dialect = next(((key, dialect) for key, dialect in _SCHEMAS if key in config), ("", None))
    # A schema alone means JSON of it; a media type alone may mean any of three.
    kind = _OUTPUT_KINDS.get((word.lower() or "application/json" if schema else word.lower(), bool(schema)))
    if kind is None:
        if word:
            request.extras.append(_extra("generationConfig.responseMimeType", word))
        return
    request.output_format.kind = kind
    if dialect is not None:
        request.output_format.schema_json = config.json(schema)
        request.output_format.dialect = dialect


def _read_modalities(config: CamelNode, request: MessageRequest) -> None:
    words = config.texts("responseModalities")
    if all(word.upper() in MODALITIES for word in words):
        request.output_modalities.extend(MODALITIES[word.upper()] for word in words)
    else:
        request.extras.append(_extra("generationConfig.responseModalities", words))


def _read_speech(config: CamelNode, request: MessageRequest) -> None:
    node = config.node("speechConfig")
    way = "generationConfig.speechConfig."
    for step in ("voiceConfig", "prebuiltVoiceConfig"):
        if node is None:
            return
        below = node.node(step)
        request.extras.extend(node.extras(GEMINI, way))
        node, way = below, f"{way}{step}."
    if node is not None:
        request.speech.voice = node.text("voiceName") or ""
        request.extras.extend(node.extras(GEMINI, way))


def _extra(key: str, value: object) -> Extra:
    return Extra(protocol=GEMINI, key=key, value_json=quoted(value))
