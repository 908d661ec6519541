"""Rules for results: optional ones, counts, and the form, in a list, ``-> [y: T[N]]``, or arguments, ``-> (x)``.

Each error points at the position that breaks the rule.
"""

from __future__ import annotations

from opwright.closest_name import closest_name
from opwright.signature.clauses.conditions import Condition
from opwright.signature.grammar.parsed import Parsed, SourcePositions
from opwright.signature.grammar.tokens import Tokens
from opwright.signature.model import Signature
from opwright.signature.parameters import GeneratorParam, Param, ScalarParam, TensorParam
from opwright.signature.scalar_kinds.choices import Choice, written
from opwright.signature.scalars import BOOL


def check_results(parsed: Parsed) -> None:
    """Fail if a condition isn't one, or a form of operator can't have optional results or counts."""
    signature, tokens = parsed.signature, parsed.tokens
    for result, place in parsed.results:
        if result.condition or result.is_count:
            _check_form(signature, result, tokens, place)
        if result.condition:
            _check_condition(signature, result.condition, tokens, parsed.positions.conditions[place])


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


def check_returns(parsed: Parsed) -> None:
    """Fail if results can't be returned as a list, or a returned argument isn't one that is overwritten."""
    signature, positions, tokens = parsed.signature, parsed.positions, parsed.tokens
    if signature.listed:
        _check_listed(signature, positions, tokens)
    for name, place in zip(signature.returned, positions.returned, strict=True):
        _check_returned(signature, name, tokens, place)


def _check_listed(signature: Signature, positions: SourcePositions, tokens: Tokens) -> None:
    first = positions.listed
    if not signature.outputs:
        tokens.fail("a list of results has one at least", "-> [y: T[N]]", first)
    if signature.is_backward:
        tokens.fail("a backward returns gradients, each by itself", "parentheses: -> (grad_x: T[N])", first)
    if signature.lists:
        what = f"{signature.lists[0].name!r} is a list of tensors, beside which results can't be one list"
        tokens.fail(what, "parentheses: -> (y: T[N])", first)
    for output, place in zip(signature.outputs, positions.parameters[len(signature.inputs) :], strict=False):
        if output.is_count or output.condition:
            what = "a count" if output.is_count else "optional"
            fix = f"parentheses around the results; or a tensor that is always there: {output.name}: i64[]"
            tokens.fail(f"{output.name!r} is {what}, and a list has tensors alone", fix, place)


def _check_returned(signature: Signature, name: str, tokens: Tokens, place: int) -> None:
    param = next((param for param in signature.inputs if param.name == name), None)
    usable = [tensor.name for tensor in signature.mutated]
    if signature.outputs:
        what = f"{name!r} is an argument, and {signature.outputs[0].name!r} is a result of the operator's own"
        tokens.fail(what, f"leave out {name}, which is overwritten anyway", place)
    if param is None:
        similar = closest_name(name, usable)
        fix = f"did you mean {similar}?" if similar else f"a result says its type: {name}: T[N]"
        tokens.fail(f"{name!r} is returned, but is no input", fix, place)
    if not isinstance(param, TensorParam) or not param.mutated:
        fix = (
            f"overwrite it, {name}: {param.form}!; or a result of another name"
            if isinstance(param, TensorParam)
            else ""
        )
        tokens.fail(f"{name!r} is returned, but isn't overwritten: PyTorch knows no such view", fix or None, place)
    if param.optional or param.listed:
        what = "a list" if param.listed else "not always there"
        tokens.fail(f"{name!r} is returned, and {what}", "leave it out: it is overwritten anyway", place)
    if signature.returned.count(name) > 1:
        tokens.fail(f"{name!r} is returned twice", "leave one out", place)
