"""Rules for optional results and counts; each error points at the position that breaks the rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from opwright.closest_name import closest_name
from opwright.signature.clauses.conditions import Condition
from opwright.signature.grammar.tokens import Tokens
from opwright.signature.model import Signature
from opwright.signature.parameters import GeneratorParam, Param, ScalarParam, TensorParam
from opwright.signature.scalar_kinds.choices import Choice, written
from opwright.signature.scalars import BOOL

if TYPE_CHECKING:
    from opwright.signature.grammar.validation import SourcePositions


def check_results(
    signature: Signature, placed: Sequence[tuple[Param, int]], positions: SourcePositions, tokens: Tokens
) -> None:
    """Fail if a condition isn't one, or a form of operator can't have optional results or counts.

    Args:
        signature: the signature.
        placed: its parameters with their positions.
        positions: the positions of its parts.
        tokens: its tokens, for the error.
    """
    for param, place in placed[len(signature.inputs) :]:
        if isinstance(param, TensorParam) and (param.condition or param.is_count):
            _check_form(signature, param, tokens, place)
        if isinstance(param, TensorParam) and param.condition:
            _check_condition(signature, param.condition, tokens, positions.conditions[place])


def _check_form(signature: Signature, result: TensorParam, tokens: Tokens, place: int) -> None:
    name, kind = result.name, "a count" if result.is_count else "optional"
    if signature.is_backward:
        why = "a gradient that nobody wants is left out anyway" if result.condition else "a backward returns gradients"
        tokens.fail(f"{name!r} is {kind}, but {why}", f"{name}: {result.type}{result.shape or ''}", place)
    if result.condition and signature.pointwise:
        tokens.fail(
            f"{name!r} is optional, but a pointwise operator computes all results of an element at once",
            f"always return it, or take the axes in the kernel: {name}: {result.type}[...]? {result.condition}",
            place,
        )
    if result.is_count and signature.broadcasts:
        of = "element" if signature.pointwise else "batch"
        tokens.fail(
            f"{name!r} is a count, but the kernel runs for each {of}, and each would have its own",
            f"a tensor of them: {name}: i64{'' if signature.pointwise else '[]'}",
            place,
        )
    if result.is_count and signature.launch is not None:
        fix = f"a tensor: {name}: i64[]; or a host function that launches the kernel"
        tokens.fail(f"{name!r} is a count, which a kernel on the device can't return", fix, place)


def _check_condition(signature: Signature, condition: Condition, tokens: Tokens, place: int) -> None:
    name, word = condition.name, condition.word
    param = next((param for param in signature.inputs if param.name == name), None)
    usable = [param.name for param in signature.inputs if _decides(param)]
    if param is None:
        similar = closest_name(name, usable)
        guess = (
            f"did you mean {similar}?" if similar else f"an argument that decides: {', '.join(usable) or 'all: bool'}"
        )
        tokens.fail(f"the condition is about {name!r}, which is no input", guess, place)
    if not _decides(param):
        of = "a generator" if isinstance(param, GeneratorParam) else f"`{param}`"
        what = (
            f"the condition is about {name!r}, which is {of}: it has neither a few words nor is it a bool or optional"
        )
        if isinstance(param, ScalarParam) and param.kind.is_optional:
            what = (
                f"the condition is about {name!r}, which is `{param}`: whether it is given, or what it is, isn't said"
            )
        tokens.fail(what, f"a bool for it: all: bool; others that decide: {', '.join(usable) or 'none'}", place)
    choices = param.kind.choices if isinstance(param, ScalarParam) and isinstance(param.kind, Choice) else ()
    if choices and word is None:
        tokens.fail(f"{name!r} is one of a few words", f"if {name} == {written(choices[0])}", place)
    if word is not None and not choices:
        what = "a bool" if isinstance(param, ScalarParam) and param.kind is BOOL else "given, or not"
        tokens.fail(f"{name!r} is {what}, and has no words to compare with", f"if {name}", place)
    if word is not None and word not in choices:
        similar = closest_name(word, choices)
        tokens.fail(
            f"{name!r} is never {written(word)}: its choices are {', '.join(map(written, choices))}",
            f"did you mean {written(similar)}?" if similar else None,
            place,
        )


def _decides(param: Param) -> bool:
    """Return whether a condition can be about an argument. One that is a bool or None has three values."""
    if isinstance(param, TensorParam):
        return param.optional
    if not isinstance(param, ScalarParam):
        return False
    is_optional_bool = param.kind.is_optional and param.kind.python_type is bool
    return (param.kind is BOOL or isinstance(param.kind, Choice) or param.kind.is_optional) and not is_optional_bool
