"""Write `docs/translation.md` from the data that drives the translation: concepts, fates, schemas, gates, dialects.

Usage: python scripts/translation_docs.py > docs/translation.md
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping

from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.concepts import CONCEPTS, Concept
from fluxrpc.protocols.dialects import Dialect, dialect_rows, dialects_date
from fluxrpc.protocols.gates import data_date, known_rows
from fluxrpc.protocols.registry import TRANSLATORS
from fluxrpc.protocols.schema import (
    ANTHROPIC_STRICT,
    CHAT_STRICT,
    COHERE,
    GEMINI_JSON_SCHEMA,
    GEMINI_SCHEMA,
    SchemaProfile,
)
from fluxrpc.protocols.schema.profile import Recursion, Required, Unions
from fluxrpc.protocols.schema.vocabulary import BOUNDS
from fluxrpc.v1.outcome_pb2 import NoteAction

INTRODUCTION = """\
# Translation

What becomes of each thing that a request or an answer can say when it is translated to another protocol. This page is
written by `scripts/translation_docs.py` from the tables that drive the translation; do not edit it.

A cell names what can become of a concept beside being kept; when that happens, the reasons below tell. Where it is
empty, it is always said as it was said, or this protocol cannot meet it. Every such outcome is reported as a
`TranslationNote` with the path in the caller's body, the action, the code and the reason:

| action | what it means |
| --- | --- |
| dropped | left out |
| clamped | moved to the nearest value that is taken |
| approximated | said in another way that means nearly the same |
| emulated | done by fluxrpc, because the provider cannot |
| injected | added, because the protocol demands it |
| renamed | given another name, which is undone in the answer |
| reordered | moved to another place |

Concepts with a `*` change what is asked or answered: under strict fidelity, dropping or approximating one of them in a
request is refused with `NOT_EXPRESSIBLE`, before any provider is called.

The column is the protocol that is written: the provider's for requests, the caller's for answers.
"""

SCHEMAS = (CHAT_STRICT, ANTHROPIC_STRICT, GEMINI_JSON_SCHEMA, GEMINI_SCHEMA, COHERE)
KEYWORDS = (
    *("title", "default", "examples", "format", "pattern", "minLength", "maxLength"),
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    *("minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "propertyOrdering"),
    *("not", "if", "patternProperties", "dependentRequired", "contains"),
)
"""Those without a form of their own."""


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """The lines of a table, and an empty one."""
    names = list(head)
    lines = [names, ["---"] * len(names), *(list(row) for row in rows)]
    return [*("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines), ""]


def action_name(action: int) -> str:
    """The word for an action."""
    return NoteAction.Name(action).removeprefix("NOTE_ACTION_").lower()  # type: ignore[arg-type]  # any value is taken


def concept_lines() -> list[str]:
    """Concept by protocol."""

    def cell(protocol: Protocol, concept: Concept) -> str:
        return ", ".join(sorted(map(action_name, TRANSLATORS[protocol].fates.get(concept.code, ()))))

    return [
        "## Concepts",
        "",
        *table(
            ["code", "concept", *TRANSLATORS],
            (
                [f"`{row.code}`{' *' if row.semantic else ''}", row.title, *(cell(each, row) for each in TRANSLATORS)]
                for row in CONCEPTS.values()
            ),
        ),
    ]


def reason_lines() -> list[str]:
    """The reasons, protocol by protocol."""
    lines = ["## Reasons", ""]
    for protocol, translator in TRANSLATORS.items():
        rows = (
            [f"`{code}`", action_name(action), reason]
            for code in CONCEPTS
            for action, reason in sorted(translator.fates.get(code, {}).items())
        )
        lines += [f"### {protocol}", "", *table(["code", "action", "reason"], rows)]
    return lines


# --- schemas ---


def keyword_cell(profile: SchemaProfile, keyword: str) -> str:
    """What becomes of a keyword that has no form of its own."""
    if keyword not in profile.keywords:
        return "description" if keyword in BOUNDS else "dropped"
    if keyword == "pattern" and profile.pattern_without:
        return "kept without " + " ".join(f"`{each}`" for each in profile.pattern_without) + ", else description"
    values = profile.values.get(keyword)
    if values:
        return "kept: " + " ".join(sorted(value.strip('"') for value in values)) + "; else description"
    return "kept"


def form_rows() -> list[tuple[str, Mapping[SchemaProfile, str]]]:
    """What is said in another form."""

    def each(kept: str, other: str, keyword: str) -> dict[SchemaProfile, str]:
        return {profile: kept if keyword in profile.keywords else other for profile in SCHEMAS}

    unions = {
        Unions.LIST: "kept",
        Unions.ANY_OF: "`anyOf`, keywords go to the type that they speak of",
        Unions.NULLABLE: "`nullable`, or `anyOf`",
    }
    references = {
        Recursion.ALLOWED: "kept alone; with neighbours written out",
        Recursion.REFUSED: "kept alone; with neighbours written out; recursion is refused",
        Recursion.UNKNOWN: "written out; recursion is refused",
    }
    required = {
        Required.ANY: "kept",
        Required.ONE: "one of each object is required, and takes null",
        Required.ALL: "required, and takes null",
    }
    return [
        ("several types", {profile: unions[profile.unions] for profile in SCHEMAS}),
        ("`const`", each("kept", "`enum` of one", "const")),
        ("`enum`", {profile: enum_cell(profile) for profile in SCHEMAS}),
        ("`oneOf`", each("kept", "`anyOf`", "oneOf")),
        ("`allOf`", dict.fromkeys(SCHEMAS, "merged; what contradicts is dropped")),
        ("`$ref`", {profile: references[profile.recursion] for profile in SCHEMAS}),
        ("`prefixItems`", each("kept", "`items` of any of them", "prefixItems")),
        ("`additionalProperties: false`", each("kept", "left out", "additionalProperties")),
        ("`additionalProperties` otherwise", {profile: open_cell(profile) for profile in SCHEMAS}),
        ("optional properties", {profile: required[profile.required] for profile in SCHEMAS}),
    ]


def enum_cell(profile: SchemaProfile) -> str:
    """Which values an enum takes."""
    kinds = profile.enum_kinds
    if profile.is_openapi:
        return "strings; others are written as strings"
    return "kept" if "object" in kinds else "kept for " + ", ".join(sorted(kinds)) + "; else description"


def open_cell(profile: SchemaProfile) -> str:
    """What becomes of objects that take other properties."""
    if profile.closed:
        return "false"
    return "kept" if "additionalProperties" in profile.keywords else "dropped"


def schema_lines() -> list[str]:
    """Keyword by place."""
    rows = [[name, *(cells[profile] for profile in SCHEMAS)] for name, cells in form_rows()]
    rows += [[f"`{keyword}`", *(keyword_cell(profile, keyword) for profile in SCHEMAS)] for keyword in KEYWORDS]
    return [
        "## JSON Schema",
        "",
        "Schemas of tools that are not strict pass unchanged, but for Gemini's. *description*: the keyword moves to",
        "the description, as in `minimum: 0, maximum: 150`. What says nothing of a value (`$schema`, `$comment`) goes",
        "without a note, unknown words with the code `SCHEMA_ANNOTATION`, everything else with `TOOL_SCHEMA` or",
        "`OUTPUT_SCHEMA_KEYWORDS`. The order of keys and the spelling of numbers stay.",
        "",
        *table(["keyword", *(profile.name for profile in SCHEMAS)], rows),
    ]


# --- models and dialects ---


def value_text(value: object) -> str:
    """A value of the data, as it may stand in a configuration."""
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def fields_text(values: Mapping[str, object]) -> str:
    """Fields with their values."""
    return "<br>".join(f"`{name}`: {value_text(value)}" for name, value in values.items())


def model_lines() -> list[str]:
    """Gates and capabilities."""
    rows = (
        [
            row.name,
            "all" if len(row.protocols) == len(Protocol) else ", ".join(row.protocols),
            " ".join(f"`{pattern}`" for pattern in row.models)
            + (" but " + " ".join(f"`{pattern}`" for pattern in row.except_models) if row.except_models else ""),
            fields_text(row.gates),
            fields_text(row.capabilities),
            row.source,
        ]
        for row in known_rows()
    )
    return [
        "## Models",
        "",
        f"What single models refuse or demand, and what they can do, as of {data_date()}. Later rows win, lists of",
        "refused fields add up. A route's `gates` and `capabilities` replace single values.",
        "",
        *table(["models", "protocols", "patterns", "gates", "capabilities", "source"], rows),
    ]


def dialect_lines() -> list[str]:
    """Copies of OpenAI Chat Completions."""
    plain = Dialect()
    rows = (
        [
            f"`{row.name}`" if row.name else "(none)",
            " ".join(f"`{host}`" for host in row.hosts),
            fields_text(
                {
                    name: getattr(row.traits, name)
                    for name in Dialect.__struct_fields__
                    if getattr(row.traits, name) != getattr(plain, name)
                }
            ),
            row.source,
        ]
        for row in dialect_rows()
    )
    return [
        "## Dialects of OpenAI Chat Completions",
        "",
        f"As of {dialects_date()}. The host of its base URL tells the dialect of a service; `dialect` in its",
        "configuration names another.",
        "",
        *table(["dialect", "hosts", "takes", "source"], rows),
    ]


def page() -> str:
    """The whole page."""
    lines = [*concept_lines(), *reason_lines(), *schema_lines(), *model_lines(), *dialect_lines()]
    return INTRODUCTION + "\n" + "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    sys.stdout.write(page())
