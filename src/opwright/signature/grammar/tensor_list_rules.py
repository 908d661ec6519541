"""Rules for lists of tensors in a signature; each error points at the position that breaks the rule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from opwright.signature.expr import DataAxis, Each, Expr
from opwright.signature.grammar.parsed import Parsed, SourcePositions
from opwright.signature.grammar.tokens import Tokens
from opwright.signature.model import Signature
from opwright.signature.parameters import TensorParam
from opwright.signature.tensor_lists.calls import groups, own_axes


def check_lists(parsed: Parsed) -> None:
    """Fail if lists of tensors stand where there can be none, or nothing tells a list's length."""
    signature, positions, tokens = parsed.signature, parsed.positions, parsed.tokens
    listed = [(tensor, place) for tensor, place in parsed.tensors if tensor.listed]
    if not listed:
        return
    _check_forms(signature, listed, positions, tokens)
    each = {axis for param, _ in listed for axis in own_axes(param)} - {*signature.ints, *signature.computed}
    for where, expr, place in _shared(parsed):
        for name in expr.names():
            if name in each:
                fix = f"'each' in lists only, or another name: {name}2"
                tokens.fail(f"{name!r} is a size of each tensor in a list, and {where} has one size", fix, place)
    ints = {*signature.ints, *signature.computed}
    for param, place in listed:
        for dim, at in zip(param.dims, positions.axes[place], strict=True):
            if isinstance(dim, Each) and dim.axes <= ints:
                fix = f"leave out 'each': {dim.expr}"
                tokens.fail(f"{str(dim.expr)!r} is the same for each tensor of {param.name!r}", fix, at)
    found = groups(signature)
    for result, place in parsed.results if not signature.is_backward else ():
        if result.listed and found.of[result.name, True] < 0:
            fix = f"an axis of one of the lists: {result.name}: list[{result.type}[each N]]"
            tokens.fail(f"nothing tells how many tensors {result.name!r} has", fix, place)


def _check_forms(
    signature: Signature, listed: Sequence[tuple[TensorParam, int]], positions: SourcePositions, tokens: Tokens
) -> None:
    param, place = listed[0]
    if signature.batched:
        fix = f"take the leading axes in the kernel: {param.name}: list[{param.type}[each ..., C]]"
        tokens.fail("'batched' and lists of tensors don't mix", fix, positions.modifiers["batched"])
    if signature.launch is not None:
        fix = "write the function that launches the kernels, and put the signature before that"
        tokens.fail("a kernel on the device can't take lists of tensors", fix, positions.modifiers["launch"])
    for result in signature.results:
        if result.condition is not None or result.is_count:
            what = f"{'a count' if result.is_count else 'a result on a condition'}, {result.name!r},"
            tokens.fail(f"{what} and lists of tensors don't mix", "a tensor that is always there", place)
    if signature.grouping:
        fix = f"leading axes of each: {param.name}: list[{param.type}[each ..., C]]"
        tokens.fail("groups of axes and lists of tensors don't mix", fix, place)
    if signature.generator is not None:
        fix = "a tensor of random numbers as an argument"
        tokens.fail("an operator with lists of tensors can't draw random numbers", fix, place)


def _shared(parsed: Parsed) -> Iterator[tuple[str, Expr, int]]:
    """Yield the expressions that have one value in a call, each with what it is part of and its position."""
    signature, positions = parsed.signature, parsed.positions
    for param, place in parsed.tensors:
        for dim, at in zip(param.dims, positions.axes[place], strict=True):
            expr = dim.limit if isinstance(dim, DataAxis) else dim
            if expr is not None and not isinstance(expr, Each):
                yield repr(param.name), expr, at
        for expr in param.domain.exprs if param.domain else ():
            yield f"the domain of {param.name}", expr, place
    for scalar in signature.scalars:
        place = next(at for param, at in parsed.params if param is scalar)
        for expr in scalar.domain.exprs if scalar.domain else ():
            yield f"the domain of {scalar.name}", expr, place
    for size in signature.named_sizes:
        yield f"the size {size.name!r}", size.expr, positions.named_sizes[size.name]
    if signature.flops is not None:
        yield "flops:", signature.flops, positions.flops
