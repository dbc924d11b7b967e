"""Messages from and to bytes, within a size, and with errors of our own where that fails."""

from __future__ import annotations

from typing import Any

import grpc
from google.protobuf.message import DecodeError

from fluxrpc.errors import AnswerTooLarge, InvalidRequest, RequestTooLarge
from fluxrpc.server.call import current_call


class MessageCodec:
    """Reads the requests and writes the answers of one method."""

    def __init__(self, handler: grpc.RpcMethodHandler[Any, Any], max_bytes: int) -> None:
        self._deserialize: Any = handler.request_deserializer
        self._serialize: Any = handler.response_serializer
        self._max_bytes = max_bytes

    def read(self, data: bytes) -> Any:
        """The request.

        Raises:
            RequestTooLarge: more bytes than the limit.
            InvalidRequest: not a message of the method's type.
        """
        if len(data) > self._max_bytes:
            raise RequestTooLarge(f"the request has {len(data)} bytes, at most {self._max_bytes} are allowed")
        try:
            return self._deserialize(data)
        except DecodeError as error:
            raise InvalidRequest.at("", "the bytes are no message of the expected type") from error

    def write(self, message: Any) -> bytes:
        """The bytes of an answer.

        Raises:
            AnswerTooLarge: more of them than the limit.
        """
        data: bytes = self._serialize(message)
        if len(data) > self._max_bytes:
            words = f"the answer has {len(data)} bytes, at most {self._max_bytes} are allowed"
            raise AnswerTooLarge(words, attempts=current_call.get().attempts)
        return data
