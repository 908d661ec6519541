"""Was what came of a call allowed?"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from opwright.errors import ArgumentError, KernelError, OpwrightError
from opwright.runtime.binding import TORCH_TYPES
from opwright.signature import Binding, bind, output_shapes, output_types
from opwright.signature.names import axis_argument

from .operators import DTYPES, Call, infos, signature_of
from .references import compute

Tensor = torch.Tensor


class Wrong(Exception):  # noqa: N818 - a verdict
    """What came of a call isn't what should have."""


# Errors of PyTorch's own, before or after a call gets to us, that name no operator.
_PYTORCH = re.compile(
    r"a leaf Variable that requires grad is being used|a view of a leaf Variable that requires grad|[Ii]nference tensor"
    r"|can't allocate memory|failed to allocate|not enough memory|Storage size calculation overflowed"
    r"|Cannot access data pointer|unsupported (dtype|scalarType)|integer multiplication overflow"
    r"|\"_local_scalar_dense_cpu\" not implemented"  # of a type that has no numbers
    r"|Cannot access storage of \w+TensorImpl"  # of a packed tensor that is given for a number
    r"|ZeroTensors? are immutable|CPU device index must be|Invalid device string"
)


# Operators whose kernels refuse some of what their signatures allow.
_CHECKS = {"checked", "first", "halve_backward", "dropout"}


@dataclass
class SavedArguments:
    """A call's arguments by name, as they were before it."""

    arguments: dict[str, Any]
    before: dict[str, Tensor] = field(default_factory=dict)


def save_arguments(call: Call) -> SavedArguments:
    """The arguments by the schema's names, with the values that the call might change."""
    given = call.by_name()
    before = {n: v.detach().clone() for n, v in given.items() if isinstance(v, Tensor) and is_plain(v)}
    if isinstance(given.get("rng"), torch.Generator):
        given["rng"] = torch.Generator().set_state(given["rng"].get_state())
    return SavedArguments(given, before)


def is_plain(value: Tensor) -> bool:
    """Whether its elements can be read: strided, on the CPU, of a type of ours, not too many, and with memory."""
    plain = (
        value.layout is torch.strided
        and value.dtype in DTYPES
        and value.device.type == "cpu"
        and not value.is_quantized
        and not value.is_nested
    )
    return plain and value.numel() < 1e6 and (not value.numel() or value.untyped_storage().nbytes() > 0)


def too_long(call: Call) -> bool:
    """Whether the call would rightly take for ever: it reads all elements, or copies what memory just holds."""
    tensors = [
        v for v in call.arguments.values() if isinstance(v, Tensor) and not v.is_nested and v.device.type == "cpu"
    ]
    large = any(10**7 < math.prod(t.shape) * t.itemsize < 2**38 for t in tensors)
    return large or (call.target.strided and any(size > 10**6 for t in tensors for size in t.shape))


def judge_error(call: Call, error: Exception) -> None:
    """Is this how a wrong call ought to fail?"""
    text, name = str(error), call.target.signature.name
    if call.fits and not (isinstance(error, KernelError) and (name in _CHECKS or not call.target.referenced)):
        raise Wrong("a call that fits was refused")
    if ("INTERNAL ASSERT" in text and "Device.h" not in text) or not isinstance(
        error, OpwrightError | TypeError | RuntimeError | ValueError | OverflowError
    ):
        raise Wrong("this is no error of a caller")
    if isinstance(error, OpwrightError):
        written = call.target.signature.shown_name  # an error of what chooses begins with it
        if not text.startswith((f"{name}():", f"{name}.", f"{written}():")):
            raise Wrong("the error doesn't name the operator")
        arguments, results = call.target.op._schema.arguments, call.target.signature.results
        named = ["...", "its sizes", *(argument.name.partition("[")[0] for argument in arguments)]
        named += [result.name for result in results]
        first = text.split("\n", maxsplit=1)[0].removeprefix(f"{name}():").removeprefix(f"{written}():")
        if isinstance(error, ArgumentError) and not any(n in first for n in named):
            raise Wrong("the error doesn't name an argument")
    elif name not in text and not _PYTORCH.search(text):
        raise Wrong("the error names no operator")


def judge_result(call: Call, given: SavedArguments, result: Any) -> bool:
    """Is the result right? False where that couldn't be judged.

    Raises:
        Wrong: it isn't, or the call should have been refused.
    """
    binding, arguments = _bind(call, given)
    signature = call.target.signature
    results = list(result) if isinstance(result, tuple | list) else [] if result is None else [result]
    results = _without_arguments(call, given, results) if signature.returned else results
    if signature.listed and type(result) is not list:
        raise Wrong(f"the results are a {type(result).__name__}, expected a list")
    results = results or [None] * len(signature.outputs)
    _judge_shapes(call, binding, arguments, results)
    values = {n: v for n, v in arguments.items() if isinstance(v, Tensor)}
    if any(value.device.type != "cpu" for value in [*values.values(), *(r for r in results if isinstance(r, Tensor))]):
        return False
    _judge_inputs(call, given)
    if signature.generator and given.arguments.get(signature.generator.name) is None:
        return False  # the default one's
    if signature.outputs and not any(r is not None for r in results):
        return False  # nothing was wanted, nothing was computed
    if not call.exact or not call.target.referenced or any(name not in given.before for name in values):
        return False
    _judge_values(call, given, arguments, results)
    return True


def _without_arguments(call: Call, given: SavedArguments, results: list[Any]) -> list[Any]:
    """No results, once each is the argument that the signature says.

    Beside a tensor subclass, PyTorch makes others that are returned aliases of the subclass.
    """
    expected = [given.arguments[name] for name in call.target.signature.returned]
    if len(results) != len(expected):
        raise Wrong(f"{len(results)} arguments are returned, expected {len(expected)}")
    for got, want in zip(results, expected, strict=True):
        aliases = (
            type(got) is not Tensor
            and isinstance(got, Tensor)
            and got.untyped_storage().data_ptr() == want.untyped_storage().data_ptr()
        )
        if got is not want and not aliases:
            raise Wrong("what is returned isn't the argument")
    return []


def _judge_values(call: Call, given: SavedArguments, arguments: Mapping[str, Any], results: list[Any]) -> None:
    signature = call.target.signature
    wide = {name: _wide(given.before.get(name, value)) for name, value in arguments.items()}
    shapes = {t.name: None if r is None else r.shape for t, r in zip(signature.outputs, results, strict=True)}
    try:
        with torch.inference_mode(mode=False), torch.no_grad():
            mask = {"output_mask": [True] * len(signature.outputs)}  # its default
            expected = compute(call.target.name, mask | wide, shapes)
    except (RuntimeError, IndexError, ValueError, ArithmeticError) as error:
        if any(text in str(error) for text in ("integer multiplication overflow", "Stride calculation overflowed")):
            return  # sizes that PyTorch can't make a tensor of, where the result has none of them
        raise Wrong(f"the call should have been refused: {type(error).__name__}: {error}") from error
    new = [given.arguments.get(t.name) for t in signature.mutated]
    epsilon = max((_epsilon(v) for v in given.before.values()), default=0)
    names = [t.name for t in signature.outputs + signature.mutated]
    for name, got, want in zip(names, [*results, *new], expected, strict=True):
        if got is not None and want is not None:
            _compare(name, got.detach(), want, epsilon)


def _judge_inputs(call: Call, given: SavedArguments) -> None:
    mutated = {tensor.name for tensor in call.target.signature.mutated}
    if mutated and not call.exact:
        return  # an input may share memory with what is overwritten
    for name, value in given.before.items():
        if name not in mutated and not _same(value, given.arguments[name]):
            raise Wrong(f"{name} was changed")


def _bind(call: Call, given: SavedArguments) -> tuple[Binding, dict[str, Any]]:
    """What the arguments determine, by the other implementation; and the arguments with their defaults."""
    signature, arguments = call.target.signature, dict(given.arguments)
    for scalar in signature.scalars:
        value = arguments.get(scalar.name, scalar.default)
        arguments[scalar.name] = scalar.kind.convert(value)
    chosen = {}
    if signature.chosen_type:
        dtype = arguments.get("dtype")
        chosen[signature.chosen_type] = DTYPES[torch.get_default_dtype() if dtype is None else dtype]
    for tensor in signature.tensors:
        arguments.setdefault(tensor.name, None)
    full = Call(call.target, arguments)
    arguments |= {name: int(arguments[name]) for name in map(axis_argument, call.target.axes)}
    if call.target.ellipsis:
        arguments["axis_ellipsis"] = [int(size) for size in arguments["axis_ellipsis"]]
    sizes = {axis: arguments[axis_argument(axis)] for axis in call.target.axes}
    try:
        ellipsis = tuple(arguments["axis_ellipsis"]) if call.target.ellipsis else None
        scalars = {scalar.name: arguments[scalar.name] for scalar in signature.scalars}
        signature = signature_of(call, arguments)
        binding = bind(signature, infos(full), axes=sizes, ellipsis=ellipsis, types=chosen, scalars=scalars)
    except (ArgumentError, KeyError) as error:
        raise Wrong(f"the call should have been refused: {error}") from error
    return binding, arguments


def _judge_shapes(call: Call, binding: Binding, arguments: Mapping[str, Any], results: list[Any]) -> None:
    signature = signature_of(call, arguments)
    mask = arguments.get("output_mask") or [True] * len(signature.outputs)
    mask = mask if isinstance(mask, list) else [mask] * len(signature.outputs)
    if signature.outputs and not any(mask):
        return  # nothing is made, so nothing can be too large or too small
    shapes, types = output_shapes(signature, binding), output_types(signature, binding)
    for shape, dtype, want, result, param in zip(shapes, types, mask, results, signature.outputs, strict=True):
        made = bool(want) and param.name not in binding.absent
        if (result is not None) != made:
            raise Wrong(f"{param.name} is {'missing' if made else 'there'}")
        if result is None or param.is_count:
            continue
        sizes = [w if isinstance(w, int) else s for w, s in zip(shape, result.shape, strict=False)]
        if tuple(result.shape) != tuple(sizes) or result.dtype != TORCH_TYPES[dtype]:
            raise Wrong(f"{param.name} is {result.dtype} {tuple(result.shape)}, expected {dtype} {shape}")


def _wide(value: Any) -> Any:
    return value.double() if isinstance(value, Tensor) and value.dtype.is_floating_point else value


def _epsilon(value: Tensor) -> float:
    return torch.finfo(value.dtype).eps if value.dtype.is_floating_point else 0.0


def _same(before: Tensor, value: Tensor) -> bool:
    value = value.detach()
    if value.is_floating_point() and value.itemsize == 1:
        before, value = before.view(torch.uint8), value.view(torch.uint8)
    return torch.equal(before, value) or bool(((before == value) | (before.isnan() & value.isnan())).all())


def _compare(name: str, got: Tensor, want: Tensor, epsilon: float) -> None:
    if got.shape != want.shape:
        raise Wrong(f"{name} has shape {tuple(got.shape)}, expected {tuple(want.shape)}")
    if not got.dtype.is_floating_point:
        if not torch.equal(got, want.to(got.dtype)):
            raise Wrong(f"{name} is {got}, expected {want}")
        return
    tolerance = max(epsilon, torch.finfo(got.dtype).eps)
    tolerance *= 64 if tolerance > 1e-5 else 1000
    if not torch.allclose(got.double(), want.to(got.dtype).double(), rtol=tolerance, atol=tolerance, equal_nan=True):
        raise Wrong(f"{name} is {got}, expected {want}")
