"""Rules for axes of results whose length the kernel decides, ``?K``, or an optional int, ``?S = size``."""

from __future__ import annotations

from opwright.closest_name import closest_name
from opwright.signature.domains import Domain
from opwright.signature.expr import Axis, DataAxis, GivenAxis
from opwright.signature.grammar.parsed import Parsed
from opwright.signature.grammar.tokens import Tokens
from opwright.signature.model import Signature
from opwright.signature.parameters import Param, ScalarParam, TensorParam
from opwright.signature.scalars import INT, KINDS


def with_given_axes(signature: Signature) -> Signature:
    """Return the signature with :class:`GivenAxis` for the axes of optional ints that are ends of tensors' domains."""
    return signature.replaced(inputs=tuple(_with_given_end(signature, param) for param in signature.inputs))


def _with_given_end(signature: Signature, param: Param) -> Param:
    domain = param.domain if isinstance(param, TensorParam) else None
    if domain is None or not isinstance(domain.high, Axis) or domain.high.name not in signature.optional_sizes:
        return param
    ended = Domain(domain.low, GivenAxis(domain.high.name), domain.low_closed, domain.high_closed)
    return TensorParam(**{**{name: getattr(param, name) for name in TensorParam.__annotations__}, "domain": ended})


def check_data_axes(parsed: Parsed) -> None:
    """Fail if such an axis has a name or a length of its own elsewhere."""
    signature, positions, tokens = parsed.signature, parsed.positions, parsed.tokens
    lengths: dict[str, str] = {}
    for tensor, start in parsed.tensors:
        for dim, place in zip(tensor.dims, positions.axes[start], strict=True):
            if not isinstance(dim, DataAxis):
                continue
            if tensor.has_ellipsis:
                fix = f"name the other axes: {tensor.name}: {tensor.type}[B, {dim}]"
                tokens.fail(f"?{dim.name} needs a known number of axes, and '...' stands for any number", fix, place)
            _check_name(signature, dim, tokens, place)
            if lengths.setdefault(dim.name, str(dim)) != str(dim):
                what = f"?{dim.name} is {lengths[dim.name]} in one place and {dim} in another"
                tokens.fail(what, "write the same one", place)
            if dim.given:
                _check_given(signature, dim, tokens, place)


def _check_name(signature: Signature, axis: DataAxis, tokens: Tokens, place: int) -> None:
    if axis.name not in signature.axes:
        return
    fix = f"?{axis.name} in every output, or another name"
    if axis.given:
        fix = f"{fix}; as the upper end of a tensor's domain it stands alone: in [0, {axis.name})"
    by = f"by {axis.given!r}" if axis.given else "by the kernel"
    what = f"?{axis.name} is decided {by}, but {axis.name!r} also stands without '?'"
    tokens.fail(what, fix, place)


def _check_given(signature: Signature, axis: DataAxis, tokens: Tokens, place: int) -> None:
    """Check that the argument that decides an axis is an optional int, whose domain has no negative number."""
    name, usable = axis.given, [s.name for s in signature.scalars if s.kind is KINDS["int?"]]
    param = next((param for param in signature.inputs if param.name == name), None)
    example = f"{name}: int? in [0, inf)"
    if param is None:
        similar = closest_name(name, usable)
        fix = f"did you mean {similar}?" if similar else f"among the inputs, {example}"
        tokens.fail(f"?{axis.name} is up to {name!r}, which is no input", fix, place)
    if isinstance(param, ScalarParam) and param.kind is INT:
        fix = f"{name}, which is the axis: [{name}]; or {example}, if the kernel decides it where there is none"
        tokens.fail(f"?{axis.name} is up to {name!r}, which is an int, and always given", fix, place)
    if not isinstance(param, ScalarParam) or param.kind is not KINDS["int?"]:
        what = f"?{axis.name} is up to `{param}`, expected an int that may be None"
        tokens.fail(what, "size: int? in [0, inf)", place)
    interval = param.domain.constant if param.domain else None
    if interval is not None and interval.first < 0:
        tokens.fail(f"{name!r} is the size of an axis, so it is at least 0", example, place)
