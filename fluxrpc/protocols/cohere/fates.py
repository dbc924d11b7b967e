"""What becomes of each concept that Cohere Chat, version 2 cannot say, and how it names the fields of the IR."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from fluxrpc.protocols.notes import Fates

FATES: Fates = {}

FIELDS: Mapping[str, str] = MappingProxyType({})
