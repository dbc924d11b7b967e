"""Documents of Cohere, `{data, id?}` or a plain string, into the IR and back.

A record of just `title` and `text` is a titled text, which other protocols can say too; all other records stay JSON.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from fluxrpc.protocols.node import Node, raw
from fluxrpc.v1.part_pb2 import Document

__all__ = ["is_sayable", "read_document", "titled_text", "written_document", "written_documents"]

_SAYABLE = frozenset({"text", "parts", "data_json"})
_RECORD = msgspec.json.Decoder(dict[str, Any])


def read_document(node: Node) -> Document:
    """A document from its object: consumes `data` and `id`. `data` is a record, or a string, which guides show.

    Raises:
        JsonFault: `data` is missing or neither.
    """
    document = Document(id=node.text("id") or "")
    if node.is_text("data"):
        document.text = node.text("data") or ""
    elif node.is_object("data"):
        _read_record(document, node.json("data"))
    else:
        raise node.fault("data", "an object")
    return document


def _read_record(document: Document, data_json: str) -> None:
    record = _RECORD.decode(data_json)
    text, title = record.get("text"), record.get("title")
    if record.keys() == {"text", "title"} and isinstance(text, str) and isinstance(title, str) and title:
        document.text, document.title = text, title
    else:
        document.data_json = data_json


def written_document(document: Document) -> dict[str, Any]:
    """The object for a document that is sayable."""
    title = document.title or document.media.filename
    data: Any = {"title": title} if title else {}
    if document.WhichOneof("content") == "data_json":
        data = raw(document.data_json)
    else:
        data["text"] = text_of_document(document)
    fields: dict[str, Any] = {"data": data}
    if document.id:
        fields["id"] = document.id
    return fields


def written_documents(documents: Iterable[Document]) -> list[Any]:
    """The list of a request: bare texts stand there as strings."""
    return [
        document.text
        if document.WhichOneof("content") == "text" and not document.id and not document.title
        else written_document(document)
        for document in documents
    ]


def text_of_document(document: Document) -> str:
    """The words of a document: its text, those of its passages, its record as JSON, a file of plain text."""
    kind = document.WhichOneof("content")
    if kind == "parts":
        return "\n\n".join(part.text for part in document.parts.parts if part.text)
    if kind == "media":
        return document.media.data.decode("utf-8", "replace")
    return document.data_json if kind == "data_json" else document.text


def is_sayable(document: Document) -> bool:
    """Whether Cohere can have its words: not those of a PDF, or of a file that is not at hand."""
    kind = document.WhichOneof("content")
    return kind in _SAYABLE or (document.media.mime_type.startswith("text/") and document.media.HasField("data"))


def titled_text(document: Document) -> str:
    """The words of a document under its title, where it stands in running text."""
    text = text_of_document(document)
    title = document.title or document.media.filename
    return f"{title}\n\n{text}" if title else text
