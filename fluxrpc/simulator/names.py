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

_SLOTS = {
    "STATUS": r"(?P<status>[45]\d\d)",
    "HOW": "(?P<how>reset|chunk|end)",
    "MS": r"(?P<ms>\d+)",
    "N": r"(?P<n>\d+)",
}

_Make = Callable[[dict[str, str]], Act]


def _seconds(found: dict[str, str]) -> float:
    """Milliseconds in a name are seconds in an act."""
    return int(found["ms"]) / 1000


def _cut(found: dict[str, str]) -> Act:
    how = {"reset": "reset", "chunk": "chunk", "end": "end"}.get(found.get("how") or "", "close")
    return Fault("cut", after_events=int(found["n"]), how=how)  # type: ignore[arg-type]  # the pattern allows no other


# A word in capitals stands for a value, brackets for what may be left out.
CLAUSES: dict[str, tuple[str, _Make]] = {
    # healthy
    "ok": ("a healthy answer", lambda _: Ok()),
    "echo": ("the last user text", lambda _: Ok(echo=True)),
    "words-N": ("an answer of N words", lambda f: Ok(text=" ".join(["word"] * int(f["n"])))),
    "tool[s-N]": ("one call of an offered tool, or N", lambda f: Ok(tool_calls=int(f.get("n") or 1))),
    "reasoning": ("reasoning, then text", lambda _: Ok(reasoning=_SAMPLE_REASONING)),
    "refusal": ("a refusal", lambda _: Ok(refusal="I cannot help with that.")),
    "length": ("ends because of the token limit", lambda _: Ok(finish="length")),
    "stop-sequence": ("ends at a stop sequence", lambda _: Ok(finish="stop_sequence", stop_sequence="END")),
    "filtered": ("an answer withheld by the content filter", lambda _: Ok(finish="content_filter")),
    "cached-N": ("N more prompt tokens, from the cache", lambda f: Ok(cached_tokens=int(f["n"]))),
    "slow-headers-MS": (
        "headers after MS milliseconds",
        lambda f: Ok(pace=Pace(before_headers_seconds=_seconds(f))),
    ),
    "slow-first-MS": (
        "headers at once, the first token after MS milliseconds",
        lambda f: Ok(pace=Pace(before_first_event_seconds=_seconds(f))),
    ),
    "slow-tokens-MS": (
        "MS milliseconds between tokens",
        lambda f: Ok(pace=Pace(between_events_seconds=_seconds(f))),
    ),
    "pings-N": ("N pings before the first token", lambda f: Ok(shape=Shape(pings=int(f["n"])))),
    "comments-N": ("N comments before the first token", lambda f: Ok(shape=Shape(comments=int(f["n"])))),
    "split-N": ("pieces of N bytes", lambda f: Ok(shape=Shape(split_bytes=(max(1, int(f["n"])),)))),
    "crlf": ("CRLF line ends", lambda _: Ok(shape=Shape(newline="\r\n"))),
    "bom": ("a byte order mark first", lambda _: Ok(shape=Shape(bom=True))),
    "multiline": ("several data lines for each event", lambda _: Ok(shape=Shape(multiline=True))),
    "big-event-N": ("one event with N bytes of text", lambda f: Ok(fragments=("b" * int(f["n"]),))),
    "gzip": ("a gzip body", lambda _: Ok(shape=Shape(encoding="gzip"))),
    "deflate": ("a deflate body", lambda _: Ok(shape=Shape(encoding="deflate"))),
    # the provider says no
    "STATUS": (
        "that status, in the protocol's words",
        lambda f: Fault("status", status=int(f["status"])),
    ),
    "STATUS-retry-after-N": (
        "that status with a hint of N seconds",
        lambda f: Fault("status", status=int(f["status"]), retry_after_seconds=int(f["n"])),
    ),
    "429-retry-date-N": (
        "the hint as an HTTP date",
        lambda f: Fault("rate_limit", retry_after_date_seconds=int(f["n"])),
    ),
    "429-retry-ms-N": (
        "the hint in retry-after-ms",
        lambda f: Fault("rate_limit", retry_after_ms=int(f["n"])),
    ),
    "429-reset-N": (
        "the hint in the rate-limit headers",
        lambda f: Fault("rate_limit", ratelimit_reset_seconds=int(f["n"])),
    ),
    "429-retry-info-N": (
        "the hint in the body (gemini)",
        lambda f: Fault("rate_limit", retry_info_seconds=int(f["n"])),
    ),
    "quota": ("429: the quota is spent", lambda _: Fault("quota")),
    "bad-key[-STATUS]": (
        "the key is rejected",
        lambda f: Fault("bad_key", status=int(f["status"]) if f["status"] else None),
    ),
    "forbidden": ("403", lambda _: Fault("forbidden")),
    "no-model": ("404 for the model", lambda _: Fault("model_not_found")),
    "context-length": ("the prompt is too long", lambda _: Fault("context_length")),
    "content-filter": ("rejected by the content filter", lambda _: Fault("content_filter")),
    "overloaded": ("the protocol's overload status", lambda _: Fault("overloaded")),
    "no-prefill": ("400 if the request ends in the assistant's turn", lambda _: Fault("prefill_rejected")),
    # before the first event
    "reset": ("RST instead of an answer", lambda _: Fault("reset")),
    "reset-reused": ("RST on a reused connection only", lambda _: Fault("reset", on="reused")),
    "close": ("FIN instead of an answer", lambda _: Fault("close")),
    "silent": ("no answer at all", lambda _: Fault("silence")),
    "headers-then-silent": ("headers and nothing more", lambda _: Fault("headers_then_silence")),
    "error-in-200": ("an error body under status 200", lambda _: Fault("error_in_200")),
    "empty": ("an empty body", lambda _: Fault("empty")),
    "html": ("a page", lambda _: Fault("html")),
    "truncated": ("half of the JSON", lambda _: Fault("truncated_json")),
    "json-for-stream": ("one JSON answer to a stream request", lambda _: Fault("json_for_stream")),
    "redirect": ("307 to another host", lambda _: Fault("redirect")),
    "huge-body-N": ("a valid answer of N bytes", lambda f: Fault("huge_body", n_bytes=int(f["n"]))),
    "huge-headers-N": ("a header of N bytes", lambda f: Fault("huge_headers", n_bytes=int(f["n"]))),
    # inside the stream
    "cut-after-N[-HOW]": (
        "ends after N content events: by FIN, RST, inside an HTTP chunk, or cleanly",
        _cut,
    ),
    "stall-after-N": ("silent after N events", lambda f: Fault("stall", after_events=int(f["n"]))),
    "malformed-after-N": (
        "a broken event after N good ones",
        lambda f: Fault("malformed", after_events=int(f["n"])),
    ),
    "error-after-N": (
        "an error event after N good ones",
        lambda f: Fault("error_event", after_events=int(f["n"])),
    ),
    "unknown-after-N": (
        "an unknown event after N good ones",
        lambda f: Fault("unknown_event", after_events=int(f["n"])),
    ),
    "error-first": ("an error event before everything else", lambda _: Fault("error_event", after_events=-1)),
    "bare-error-after-N": (
        "JSON of an error outside any event after N good ones",
        lambda f: Fault("bare_error", after_events=int(f["n"])),
    ),
    "failed-after-N": (
        "an answer of status failed (responses) after N good events",
        lambda f: Fault("failed_response", after_events=int(f["n"])),
    ),
    "no-end": ("finished, no terminator, body ends", lambda _: Fault("no_terminator", how="end")),
    "no-end-open": ("finished, no terminator, stays open", lambda _: Fault("no_terminator")),
    "double-end": ("two terminators", lambda _: Fault("duplicate_terminator")),
    "late-event": ("a content event after the terminator", lambda _: Fault("events_after_end")),
    "no-usage": ("no token counts", lambda _: Fault("no_usage")),
}


def _compile(clause: str) -> re.Pattern[str]:
    pattern = re.sub(r"\[(.+?)\]", r"(?:\1)?", clause)
    return re.compile(re.sub("STATUS|HOW|MS|N", lambda slot: _SLOTS[slot.group()], pattern))


_PATTERNS = [(_compile(clause), make) for clause, (_, make) in CLAUSES.items()]


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
    for pattern, make in _PATTERNS:
        if found := pattern.fullmatch(clause):
            return make(found.groupdict())
    return Fault("model_not_found")
