"""Behaviour chosen by the model's name, for use by hand and in the demo. One table of patterns.

A name is `sim-` and one clause of the table, and may end in `-once`, `-twice` or `-times-N`: so many requests for
that name meet the behaviour, later ones a healthy answer. `echo` and every name without the prefix are healthy; a name
with the prefix that no clause matches is a model that does not exist.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from fluxrpc.simulator.script import Act, Fault, Ok, Pace, Shape

_REPEAT = re.compile(r"(?P<clause>.+?)-(?:(?P<word>once|twice)|times-(?P<count>\d+))")
_SAMPLE_REASONING = "The user wants an answer, so I think first."

_Make = Callable[[dict[str, str]], Act]


def _seconds(found: dict[str, str]) -> float:
    """Milliseconds in a name are seconds in an act."""
    return int(found["ms"]) / 1000


def _cut(found: dict[str, str]) -> Act:
    how = {"reset": "reset", "chunk": "chunk", "end": "end"}.get(found.get("how") or "", "close")
    return Fault("cut", after_events=int(found["n"]), how=how)  # type: ignore[arg-type]  # the pattern allows no other


CLAUSES: dict[str, tuple[str, _Make]] = {
    # healthy
    r"ok": ("a healthy answer", lambda _: Ok()),
    r"echo": ("the last user text", lambda _: Ok(echo=True)),
    r"words-(?P<n>\d+)": ("an answer of N words", lambda f: Ok(text=" ".join(["word"] * int(f["n"])))),
    r"tools?(?:-(?P<n>\d+))?": ("N calls of the offered tools (1)", lambda f: Ok(tool_calls=int(f["n"] or 1))),
    r"reasoning": ("reasoning, then text", lambda _: Ok(reasoning=_SAMPLE_REASONING)),
    r"refusal": ("a refusal", lambda _: Ok(refusal="I cannot help with that.")),
    r"length": ("ends because of the token limit", lambda _: Ok(finish="length")),
    r"stop-sequence": ("ends at a stop sequence", lambda _: Ok(finish="stop_sequence", stop_sequence="END")),
    r"filtered": ("an answer withheld by the content filter", lambda _: Ok(finish="content_filter")),
    r"cached-(?P<n>\d+)": ("N more prompt tokens, from the cache", lambda f: Ok(cached_tokens=int(f["n"]))),
    r"slow-headers-(?P<ms>\d+)": (
        "headers after MS milliseconds",
        lambda f: Ok(pace=Pace(before_headers_seconds=_seconds(f))),
    ),
    r"slow-first-(?P<ms>\d+)": (
        "headers at once, the first token after MS milliseconds",
        lambda f: Ok(pace=Pace(before_first_event_seconds=_seconds(f))),
    ),
    r"slow-tokens-(?P<ms>\d+)": (
        "MS milliseconds between tokens",
        lambda f: Ok(pace=Pace(between_events_seconds=_seconds(f))),
    ),
    r"pings-(?P<n>\d+)": ("N pings before the first token", lambda f: Ok(shape=Shape(pings=int(f["n"])))),
    r"comments-(?P<n>\d+)": ("N comments before it", lambda f: Ok(shape=Shape(comments=int(f["n"])))),
    r"split-(?P<n>[1-9]\d*)": ("pieces of N bytes", lambda f: Ok(shape=Shape(split_bytes=(int(f["n"]),)))),
    r"crlf": ("CRLF line ends", lambda _: Ok(shape=Shape(newline="\r\n"))),
    r"bom": ("a byte order mark first", lambda _: Ok(shape=Shape(bom=True))),
    r"multiline": ("several data lines for each event", lambda _: Ok(shape=Shape(multiline=True))),
    r"big-event-(?P<n>\d+)": ("one event with N bytes of text", lambda f: Ok(fragments=("b" * int(f["n"]),))),
    r"gzip": ("a gzip body", lambda _: Ok(shape=Shape(encoding="gzip"))),
    r"deflate": ("a deflate body", lambda _: Ok(shape=Shape(encoding="deflate"))),
    # the provider says no
    r"(?P<status>[45]\d\d)": (
        "that status, in the protocol's words",
        lambda f: Fault("status", status=int(f["status"])),
    ),
    r"(?P<status>429|503|529)-retry-after-(?P<n>\d+)": (
        "that status with a hint of N seconds",
        lambda f: Fault("status", status=int(f["status"]), retry_after_seconds=int(f["n"])),
    ),
    r"429-retry-date-(?P<n>\d+)": (
        "the hint as an HTTP date",
        lambda f: Fault("rate_limit", retry_after_date_seconds=int(f["n"])),
    ),
    r"429-retry-ms-(?P<n>\d+)": (
        "the hint in retry-after-ms",
        lambda f: Fault("rate_limit", retry_after_ms=int(f["n"])),
    ),
    r"429-reset-(?P<n>\d+)": (
        "the hint in the rate-limit headers",
        lambda f: Fault("rate_limit", ratelimit_reset_seconds=int(f["n"])),
    ),
    r"429-retry-info-(?P<n>\d+)": (
        "the hint in the body (gemini)",
        lambda f: Fault("rate_limit", retry_info_seconds=int(f["n"])),
    ),
    r"quota": ("429: the quota is spent", lambda _: Fault("quota")),
    r"bad-key(?:-(?P<status>4\d\d))?": (
        "the key is rejected",
        lambda f: Fault("bad_key", status=int(f["status"]) if f["status"] else None),
    ),
    r"forbidden": ("403", lambda _: Fault("forbidden")),
    r"no-model": ("404 for the model", lambda _: Fault("model_not_found")),
    r"context-length": ("the prompt is too long", lambda _: Fault("context_length")),
    r"content-filter": ("rejected by the content filter", lambda _: Fault("content_filter")),
    r"overloaded": ("the protocol's overload status", lambda _: Fault("overloaded")),
    # before the first event
    r"reset": ("RST instead of an answer", lambda _: Fault("reset")),
    r"reset-reused": ("RST on a reused connection only", lambda _: Fault("reset", on="reused")),
    r"close": ("FIN instead of an answer", lambda _: Fault("close")),
    r"silent": ("no answer at all", lambda _: Fault("silence")),
    r"headers-then-silent": ("headers and nothing more", lambda _: Fault("headers_then_silence")),
    r"error-in-200": ("an error body under status 200", lambda _: Fault("error_in_200")),
    r"empty": ("an empty body", lambda _: Fault("empty")),
    r"html": ("a page", lambda _: Fault("html")),
    r"truncated": ("half of the JSON", lambda _: Fault("truncated_json")),
    r"json-for-stream": ("one JSON answer to a stream request", lambda _: Fault("json_for_stream")),
    r"redirect": ("307 to another host", lambda _: Fault("redirect")),
    r"huge-body-(?P<n>\d+)": ("a valid answer of N bytes", lambda f: Fault("huge_body", n_bytes=int(f["n"]))),
    r"huge-headers-(?P<n>\d+)": ("a header of N bytes", lambda f: Fault("huge_headers", n_bytes=int(f["n"]))),
    # inside the stream
    r"cut-after-(?P<n>\d+)(?:-(?P<how>reset|chunk|end))?": (
        "ends after N content events: by FIN, RST, inside an HTTP chunk, or cleanly",
        _cut,
    ),
    r"stall-after-(?P<n>\d+)": ("silent after N events", lambda f: Fault("stall", after_events=int(f["n"]))),
    r"malformed-after-(?P<n>\d+)": (
        "a broken event after N good ones",
        lambda f: Fault("malformed", after_events=int(f["n"])),
    ),
    r"error-after-(?P<n>\d+)": (
        "an error event after N good ones",
        lambda f: Fault("error_event", after_events=int(f["n"])),
    ),
    r"unknown-after-(?P<n>\d+)": (
        "an unknown event after N good ones",
        lambda f: Fault("unknown_event", after_events=int(f["n"])),
    ),
    r"no-end": ("finished, no terminator, body ends", lambda _: Fault("no_terminator", how="end")),
    r"no-end-open": ("finished, no terminator, stays open", lambda _: Fault("no_terminator")),
    r"end-twice": ("two terminators", lambda _: Fault("duplicate_terminator")),
    r"late-event": ("a content event after the terminator", lambda _: Fault("events_after_end")),
    r"no-usage": ("no token counts", lambda _: Fault("no_usage")),
}


def act_of_name(model: str, *, earlier_requests: int) -> Act:
    """What a model of that name does, given how many requests it has met before."""
    if model == "echo":
        return Ok(echo=True)
    if not model.startswith("sim-"):
        return Ok()
    clause = model.removeprefix("sim-")
    if repeat := _REPEAT.fullmatch(clause):
        limit = int(repeat["count"]) if repeat["count"] else {"once": 1, "twice": 2}[repeat["word"]]
        if earlier_requests >= limit:
            return Ok()
        clause = repeat["clause"]
    for pattern, (_, make) in CLAUSES.items():
        if found := re.fullmatch(pattern, clause):
            return make(found.groupdict())
    return Fault("model_not_found")
