"""How a model is told to reason: `max_tokens`, `thinking` and `output_config.effort`.

Models differ in what they take: a number of tokens (`enabled`), their own judgement (`adaptive`), an effort, several
of these. What was asked in one way is said in the way that the model takes
(https://platform.claude.com/docs/en/build-with-claude/adaptive-thinking).
"""

from __future__ import annotations

from msgspec import Struct

from fluxrpc.protocols.anthropic.draft import Block, Draft
from fluxrpc.protocols.anthropic.words import ANTHROPIC
from fluxrpc.protocols.envelope import is_replayable
from fluxrpc.protocols.reasoning import budget_of_effort, effort_of_budget, nearest_effort, word_of_effort
from fluxrpc.v1 import message_pb2 as pb

__all__ = ["write_reasoning"]

_EFFORTS = ("low", "medium", "high", "xhigh", "max")
_MIN_BUDGET_TOKENS = 1024
_MIDDLE = "medium"
_SHOWN = {
    pb.REASONING_DISPLAY_OMITTED: "omitted",
    pb.REASONING_DISPLAY_SUMMARY: "summarized",
    pb.REASONING_DISPLAY_CONCISE_SUMMARY: "summarized",
    pb.REASONING_DISPLAY_DETAILED_SUMMARY: "summarized",
    pb.REASONING_DISPLAY_FULL: "summarized",
}
_SAID_EXACTLY = frozenset({pb.REASONING_DISPLAY_OMITTED, pb.REASONING_DISPLAY_SUMMARY})


class _Wish(Struct, kw_only=True):
    """What was asked, and where, for notes."""

    mode: pb.ReasoningMode.ValueType
    word: str
    """The effort; "" for none asked."""
    budget: int | None
    limit: int | None
    """Most tokens of the answer; None: not said."""

    @property
    def code(self) -> str:
        """What is lost where it cannot be granted at all."""
        if self.word:
            return "REASONING_EFFORT"
        return "REASONING_MODE" if self.budget is None else "REASONING_BUDGET"

    @property
    def path(self) -> str:
        """Where it stands in the IR."""
        return {
            "REASONING_EFFORT": "reasoning.effort",
            "REASONING_MODE": "reasoning.mode",
            "REASONING_BUDGET": "reasoning.budget_tokens",
        }[self.code]


def write_reasoning(draft: Draft) -> None:
    """Fill `max_tokens`, `thinking` and `output_config.effort`."""
    request = draft.request
    options = request.reasoning
    word = word_of_effort(options.effort)
    if options.effort == pb.REASONING_EFFORT_OTHER:
        if draft.exact:
            word = options.effort_raw
        else:
            draft.notes.dropped("REASONING_EFFORT", "reasoning.effort", "the effort is not known")
    wish = _Wish(
        mode=options.mode,
        word=word,
        budget=options.budget_tokens if options.HasField("budget_tokens") else None,
        limit=request.max_output_tokens if request.HasField("max_output_tokens") else None,
    )
    thinking = _thinking(draft, wish) if request.HasField("reasoning") else None
    _write_limit(draft, wish, thinking)
    if thinking is not None:
        draft.body["thinking"] = thinking
    _write_effort(draft, wish, thinking)
    _write_display(draft, thinking)


def _write_limit(draft: Draft, wish: _Wish, thinking: Block | None) -> None:
    if wish.limit is not None:
        draft.body["max_tokens"] = wish.limit
        return
    budget = thinking.get("budget_tokens", 0) if thinking is not None else 0
    draft.notes.injected("MAX_OUTPUT_TOKENS", "max_output_tokens")
    draft.body["max_tokens"] = draft.gates.default_max_output_tokens + budget


# --- thinking ---


def _thinking(draft: Draft, wish: _Wish) -> Block | None:
    if wish.mode == pb.REASONING_MODE_OTHER:
        if draft.exact:
            return {"type": draft.request.reasoning.mode_raw}
        draft.notes.dropped("REASONING_MODE", "reasoning.mode")
        return None
    if wish.mode == pb.REASONING_MODE_OFF or wish.word == "none" or wish.budget == 0:
        return _off(draft, wish)
    if wish.mode == pb.REASONING_MODE_BETWEEN_TOOLS:
        if draft.gates.between_tools:
            return {"type": "between_tools"}
        draft.notes.approximated("REASONING_MODE", "reasoning.mode")
        return _off(draft, wish)
    if wish.mode == pb.REASONING_MODE_ADAPTIVE or wish.budget == -1:
        return _adaptive(draft, wish)
    if wish.budget is not None:
        return _budget(draft, wish, wish.budget)
    if wish.mode == pb.REASONING_MODE_ON:
        return {"type": "adaptive"} if draft.gates.takes_adaptive else _manual(draft, wish)
    if wish.word:
        return _of_effort(draft, wish)
    has_display = draft.request.reasoning.display != pb.REASONING_DISPLAY_UNSPECIFIED
    return {"type": "adaptive"} if has_display and draft.gates.takes_adaptive and not draft.exact else None


def _off(draft: Draft, wish: _Wish) -> Block | None:
    if wish.word == "none" or not draft.exact:
        wish.word = ""
    if draft.gates.between_tools:
        draft.notes.approximated("REASONING_MODE", _off_path(wish))
        return {"type": "between_tools"}
    if draft.gates.can_switch_reasoning_off:
        return {"type": "disabled"}
    draft.notes.approximated("REASONING_MODE", _off_path(wish), "this model always reasons: as little as possible")
    wish.word = wish.word or "low"
    return None


def _off_path(wish: _Wish) -> str:
    if wish.mode != pb.REASONING_MODE_UNSPECIFIED:
        return "reasoning.mode"
    return "reasoning.effort" if wish.budget is None else "reasoning.budget_tokens"


def _adaptive(draft: Draft, wish: _Wish) -> Block | None:
    if draft.gates.takes_adaptive:
        return {"type": "adaptive"}
    draft.notes.approximated("REASONING_MODE", "reasoning.mode", "this model takes a fixed number of tokens only")
    wish.budget = None
    return _manual(draft, wish)


def _budget(draft: Draft, wish: _Wish, budget: int) -> Block | None:
    if draft.gates.takes_budget:
        return _manual(draft, wish)
    draft.notes.approximated("REASONING_BUDGET", "reasoning.budget_tokens")
    wish.word = wish.word or effort_of_budget(budget, wish.limit)
    return {"type": "adaptive"} if draft.gates.takes_adaptive else None


def _of_effort(draft: Draft, wish: _Wish) -> Block | None:
    gates = draft.gates
    if gates.takes_effort and (draft.exact or gates.is_reasoning):
        return None
    if gates.takes_adaptive:
        return {"type": "adaptive"}
    return _manual(draft, wish) if gates.takes_budget else None


def _manual(draft: Draft, wish: _Wish) -> Block | None:
    """A fixed number of tokens: at least 1024, and less than the answer may have."""
    if draft.exact and wish.budget is not None:
        return {"type": "enabled", "budget_tokens": wish.budget}
    if wish.limit is not None and wish.limit <= _MIN_BUDGET_TOKENS:
        draft.notes.dropped(wish.code, wish.path, "the limit of the answer leaves no room for reasoning")
        return None
    if _goes_on_unsigned(draft):
        draft.notes.dropped(
            wish.code, wish.path, "the model's last turn called tools without signed reasoning, and must go on so"
        )
        return None
    if wish.budget is None:
        limit = draft.gates.default_max_output_tokens if wish.limit is None else wish.limit
        return {"type": "enabled", "budget_tokens": budget_of_effort(wish.word or _MIDDLE, limit)}
    most = wish.budget if wish.limit is None else wish.limit - 1
    budget = max(_MIN_BUDGET_TOKENS, min(wish.budget, most))
    if budget != wish.budget:
        draft.notes.clamped("REASONING_BUDGET", "reasoning.budget_tokens")
    return {"type": "enabled", "budget_tokens": budget}


def _goes_on_unsigned(draft: Draft) -> bool:
    """Whether results of tools come last, and the turn that called them holds no reasoning of this provider."""
    messages = [message for message in draft.request.messages if message.role not in _INSTRUCTIONS]
    results = 0
    while messages and messages[-1].role == pb.ROLE_TOOL:
        messages.pop()
        results += 1
    if not results or not messages:
        return False
    service = draft.context.target.service
    return not any(
        is_replayable(state, ANTHROPIC, service)
        for part in messages[-1].parts
        if part.HasField("reasoning")
        for state in part.opaque
    )


_INSTRUCTIONS = frozenset({pb.ROLE_SYSTEM, pb.ROLE_DEVELOPER})


# --- effort and display ---


def _write_effort(draft: Draft, wish: _Wish, thinking: Block | None) -> None:
    if not wish.word:
        return
    if draft.gates.takes_effort:
        word = nearest_effort(wish.word, draft.gates.efforts or _EFFORTS)
        if draft.exact and not draft.gates.efforts:
            word = wish.word
        if word != wish.word:
            draft.notes.clamped("REASONING_EFFORT", "reasoning.effort")
        draft.body.setdefault("output_config", {})["effort"] = word
    elif thinking is not None and "budget_tokens" in thinking:
        draft.notes.approximated("REASONING_EFFORT", "reasoning.effort")
    else:
        draft.notes.dropped("REASONING_EFFORT", "reasoning.effort")


def _write_display(draft: Draft, thinking: Block | None) -> None:
    display = draft.request.reasoning.display
    if display == pb.REASONING_DISPLAY_UNSPECIFIED:
        return
    word = _SHOWN.get(display, draft.request.reasoning.display_raw if draft.exact else "")
    if thinking is None or not word or (not draft.exact and thinking["type"] not in ("adaptive", "enabled")):
        draft.notes.dropped("REASONING_DISPLAY", "reasoning.display")
        return
    if display not in _SAID_EXACTLY and not draft.exact:
        draft.notes.approximated("REASONING_DISPLAY", "reasoning.display")
    thinking["display"] = word
