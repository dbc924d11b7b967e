"""Gemini generateContent, native. Model and stream switch stand in the path, so the body is never touched."""

from __future__ import annotations

from functools import lru_cache
from urllib.parse import quote

from fluxrpc.errors import InvalidRequest
from fluxrpc.protocols.base import Answer, Protocol, RequestHead, WireOptions, WireRequest
from fluxrpc.protocols.gemini import errors
from fluxrpc.protocols.gemini.finish import is_refusal
from fluxrpc.protocols.gemini.frames import RESPONSE
from fluxrpc.protocols.gemini.stream import GeminiWatch
from fluxrpc.protocols.gemini.usage import USAGE, to_usage
from fluxrpc.protocols.native_codec import NativeParts
from fluxrpc.protocols.native_request import StateMarks, is_present, read_fields
from fluxrpc.protocols.whole_answer import explain_answer, read_loosely, read_whole, says_something

VERSION = "/v1beta"
_COLLECTIONS = ("models/", "tunedModels/")


# Files of one project. A public URL in `fileUri` looks the same and is bound too: better than a 403 elsewhere.
# The server takes snake_case as well. Thought signatures are bound to the model, not to an account.
_STATE = StateMarks(keys=("fileUri", "file_uri"))
_HANDLES = ("cachedContent", "cached_content", "continuationToken", "continuation_token")


class GeminiNative(NativeParts):
    """The native codec of Gemini generateContent."""

    protocol = Protocol.GEMINI
    error_rows = errors.ROWS
    watcher = GeminiWatch
    write_error = staticmethod(errors.write_error)

    def read_head(self, body: bytes) -> RequestHead:
        """See `NativeCodec.read_head`."""
        fields = read_fields(body)
        holds_state = is_present(fields, *_HANDLES) or _STATE.found_in(body, fields.get("contents"))
        return RequestHead(model=None, holds_state=holds_state)

    def write_wire(
        self, head: RequestHead, body: bytes, *, model: str, stream: bool, options: WireOptions
    ) -> WireRequest:
        """See `NativeCodec.write_wire`.

        Raises:
            InvalidRequest: the model's name cannot stand in a path.
        """
        del head, options
        return WireRequest(path=request_path(model, stream=stream), body=body)

    def read_answer(self, body: bytes) -> Answer:
        """See `NativeCodec.read_answer`."""
        response = read_whole(RESPONSE, body, errors.error_of)
        if says_something(response.error) or not (response.candidates or response.block_reason):
            raise explain_answer(body, errors.error_of)
        words = [candidate.finish_reason or "" for candidate in response.candidates or ()]
        usage = read_loosely(USAGE, response.usage_metadata)
        return Answer(
            body=body,
            usage=to_usage(usage) if usage else None,
            served_model=response.model_version or "",
            refused=bool(response.block_reason) or any(map(is_refusal, words)),
        )


@lru_cache(maxsize=1024)  # models come from the configuration, so they are few
def request_path(model: str, *, stream: bool) -> str:
    """The path of a request, with its query.

    Raises:
        InvalidRequest: the model's name cannot stand in a path.
    """
    method = "streamGenerateContent?alt=sse" if stream else "generateContent"
    return f"{VERSION}/{_model_path(model)}:{method}"


def _model_path(model: str) -> str:
    """The model as one path segment below its collection: no name may leave it."""
    collection = next((each for each in _COLLECTIONS if model.startswith(each)), "")
    name = model.removeprefix(collection)
    if name.strip(".") == "":
        raise InvalidRequest.at("model", "a model name is expected")
    return (collection or "models/") + quote(name, safe="")
