"""Reproducers: Python code that shows a finding; it needs only torch and the operator."""

from __future__ import annotations

import inspect
import math
from collections.abc import Collection, Mapping
from keyword import iskeyword
from typing import TYPE_CHECKING, Any

import torch

from opwright.check.calls.cases import PAIRS, Arguments, Case, can_have_gradient
from opwright.check.calls.target_operator import TargetOperator
from opwright.check.calls.tensor_lists import lists_of

_HUGE, _LITTLE = 1e4, 1e-12
"""Larger numbers, and numbers closer to zero, are outliers: they aren't in the range of the other numbers."""
_MAX_EXAMINED = 1 << 20
"""Maximum number of elements that are examined."""
_MAX_OUTLIERS = 12
"""Maximum number of outliers that are written out: the first ones."""
_MAX_LITERALS = 64
"""Maximum number of elements of a storage that are written out; larger ones are drawn from a seed."""
LAYOUTS: Mapping[str, str] = {
    "contiguous": "v",
    "every second element": "torch.stack([v, v], -1)[..., 0]",
    "transposed": "v.permute(*reversed(range(v.dim()))).contiguous().permute(*reversed(range(v.dim())))",
    "expanded along an axis": "v[:1].expand_as(v)",
    "expanded from one number": "v.reshape(-1)[:1].reshape(()).expand_as(v)",
}
"""Python expressions that give an incoming gradient ``v`` a layout, by the layout's name."""


def random_tensor(value: torch.Tensor, shape: tuple[int, ...], there: str) -> str:
    """Write an expression for a tensor of this shape whose values are distributed roughly as those of `value`.

    Floating values have the same range, and the same share of outliers (zeros, infinities, NaN and numbers far outside
    the range of the others). `there`: further arguments, for the device.
    """
    dtype = value.dtype
    if dtype is torch.bool:
        return f"torch.rand({shape}{there}).lt(0.5)"
    if dtype is PAIRS:
        return f"torch.randint(256, {shape}, dtype=torch.uint8{there}).view({dtype})"
    if not dtype.is_floating_point:
        low, high = (int(value.min()), int(value.max()) + 1) if value.numel() else (0, 1)
        return f"torch.randint({low}, {high}, {shape}, dtype={dtype}{there})"
    numbers = value.detach().flatten()[:_MAX_EXAMINED].double()
    stands_out = _outliers(numbers)
    outliers, text = numbers[stands_out], _uniform(numbers[~stands_out], shape, there)
    if outliers.numel():
        literals = list(dict.fromkeys(map(_number, outliers.tolist())))[:_MAX_OUTLIERS]
        chosen = f"torch.tensor([{', '.join(literals)}], dtype=torch.float64{there})"
        picked = f"{chosen}[torch.randint({len(literals)}, {shape}{there})]"
        text = f"torch.where(torch.rand({shape}{there}) < {outliers.numel() / numbers.numel():.3g}, {picked}, {text})"
    return f"{text}.to({dtype})"


def _outliers(numbers: torch.Tensor) -> torch.Tensor:
    size = numbers.abs()
    return ~((size >= _LITTLE) & (size <= _HUGE))  # NaN, too


def _uniform(numbers: torch.Tensor, shape: tuple[int, ...], there: str) -> str:
    low, high = (float(numbers.min()), float(numbers.max())) if numbers.numel() else (-1.0, 1.0)
    return f"(torch.rand({shape}, dtype=torch.float64{there}) * {high - low:.4g} + {low:.4g})"


def _number(value: float) -> str:
    return repr(value) if math.isfinite(value) else f'float("{value}")'


if TYPE_CHECKING:
    from opwright.check.calls.cases import Arguments, Case
    from opwright.check.calls.target_operator import TargetOperator
    from opwright.signature import DType


def reproducer(
    operator: TargetOperator, arguments: Arguments, shows: str = "", *, types: Mapping[str, DType] | None = None
) -> str:
    """Write statements that build the arguments and call the operator.

    Args:
        operator: the operator.
        arguments: the call's arguments.
        shows: statements after them; ``{call}`` is replaced by the call, ``{function}`` and ``{arguments}`` by its
            parts. By default the call is printed.
        types: element types of the type variables; an operator without input tensors needs the type of its result.
    """
    lines = ["import torch", *operator.imports]
    lines += [f"{variable(name)} = {_value(value)}" for name, value in arguments.items()]
    if any("torch.rand" in line for line in lines):
        lines.insert(1, "torch.manual_seed(0)")
    inputs = [param.name for param in operator.signature.inputs]
    names = [variable(name) if name in arguments else "None" for name in inputs]
    names = [f"[{', '.join(n)}]" if isinstance(n, list) else n for n in lists_of(operator.signature, names)]
    call_arguments = ", ".join(names + [f"{name}={value!r}" for name, value in operator.keywords(types).items()])
    for part, text in {
        "call": "{function}({arguments})",
        "function": operator.expression,
        "arguments": call_arguments,
    }.items():
        shows = (shows or "print({call})").replace(f"{{{part}}}", text)
    return "\n".join([*lines, shows])


def variable(name: str) -> str:
    """Return the name of the variable for an argument: ``xs_0`` for the tensor ``xs[0]`` of a list."""
    return name.replace("[", "_").replace("]", "")


def case_reproducer(operator: TargetOperator, case: Case, shows: str = "") -> str:
    """Write statements that build a drawn call's arguments and call the operator."""
    return reproducer(operator, case.arguments(), shows, types=case.types)


def callable_expression(function: Any, name: str, reserved: Collection[str] = ()) -> tuple[str, str]:
    """Return the name of a callable in a reproducer, and a comment with its full name and location.

    Args:
        function: the callable, or a class.
        name: its name, or a substitute: ``<lambda>`` isn't a Python identifier.
        reserved: names of arguments.
    """
    identifier = name if name.isidentifier() and not iskeyword(name) else "function"  # reproducers define `f`
    while identifier in reserved:
        identifier += "_"
    path = ".".join(filter(None, (getattr(function, "__module__", ""), getattr(function, "__qualname__", ""))))
    which = path if hasattr(function, "__qualname__") else repr(function).partition("\n")[0]
    try:
        location = f", defined at {inspect.getsourcefile(function)}:{inspect.getsourcelines(function)[1]}"
    except (TypeError, OSError):  # not in Python, or not in a file
        location = ""
    return identifier, f"# {identifier}: {which}{location}"


def _value(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_value, value))}]"
    if not isinstance(value, torch.Tensor):
        return f'float("{value}")' if isinstance(value, float) and not math.isfinite(value) else repr(value)
    if value.is_meta:
        return f"torch.empty({tuple(value.shape)}, dtype={value.dtype}{_device_argument(value)})"
    if value.layout != torch.strided:
        return f"{_value(value.to_dense())}.to_sparse()"
    if value.is_contiguous() and value.storage_offset() == 0 and value.numel() <= _MAX_LITERALS:
        return _literal(value)
    size = value.untyped_storage().nbytes() // value.element_size()
    if size > _MAX_LITERALS:
        if value.is_contiguous() and value.storage_offset() == 0:
            return random_tensor(value, tuple(value.shape), _device_argument(value))
        return f"{random_tensor(value, (size,), _device_argument(value))}{_strided(value)}"
    storage = torch.as_strided(value.detach(), (size,), (1,), 0)
    return f"{_literal(storage)}{_strided(value)}"


def _strided(value: torch.Tensor) -> str:
    return f".as_strided({tuple(value.shape)}, {value.stride()}, {value.storage_offset()})"


def _literal(value: torch.Tensor) -> str:
    if value.dtype is PAIRS:
        return f"{_literal(value.view(torch.uint8))}.view({value.dtype})"
    text = repr(value.detach().tolist()).replace("nan", 'float("nan")').replace("inf", 'float("inf")')
    made = f"torch.tensor({text}, dtype={value.dtype}{_device_argument(value)})"
    return made if value.numel() else f"torch.empty({tuple(value.shape)}, dtype={value.dtype}{_device_argument(value)})"


def _device_argument(value: torch.Tensor) -> str:
    return "" if value.device.type == "cpu" else f", device={str(value.device)!r}"


def gradient_reproducer(
    operator: TargetOperator,
    arguments: Arguments,
    *,
    second: bool = False,
    layout: str = "",
    eps: float = 0.0,
    large: bool = False,
) -> str:
    """Write Python code that builds the arguments and shows the gradient.

    Args:
        operator: the operator.
        arguments: the call's arguments.
        second: whether the second derivative is wrong.
        layout: layout of the incoming gradient, if the gradient is wrong for this layout alone.
        eps: the step, if the operator can't be called with float64.
        large: whether there are too many elements for a whole Jacobian.
    """
    differentiable = {tensor.name for tensor in operator.differentiable}
    names = [n for n, v in arguments.items() if n in differentiable and can_have_gradient(v)]
    listed = "".join(f"{variable(name)}, " for name in names).strip()
    lines = [
        *_function(operator, arguments, names),
        f"inputs = ({listed})",
        "for each in inputs: each.requires_grad_()",
    ]
    overlapping = any(0 in arguments[name].stride() and arguments[name].numel() > 1 for name in names)
    if layout or overlapping:
        lines += _printed(LAYOUTS[layout or "contiguous"])
    else:
        precision = f", eps={eps}, atol=1e-2, rtol=1e-2" if eps else ""
        precision += ", fast_mode=True" * large
        lines.append(f"torch.autograd.grad{'grad' * second}check(f, inputs{precision})")
    return reproducer(operator, arguments, "\n".join(lines))


def _function(operator: TargetOperator, arguments: Arguments, names: list[str]) -> list[str]:
    """Define the function to differentiate: it copies overwritten arguments, and seeds random numbers."""
    overwritten = [t.name for t in operator.signature.mutated if arguments[t.name] is not None]
    body = [f"{name} = {name}.clone()" for name in map(variable, overwritten)]
    body += ["torch.manual_seed(0)"] * bool(operator.signature.generator)
    body += ["made = {call}"]
    several = "*made" if overwritten else "made"
    made = [several if len(operator.signature.outputs) > 1 else "made"] * bool(operator.signature.outputs)
    if operator.with_lists is not None and operator.with_lists.signature.outputs:
        made = _results(operator.with_lists)
    results = ", ".join([*made, *map(variable, overwritten)])
    body.append(f"return {results}")
    return [f"def f({', '.join(map(variable, names))}):", *(f"    {line}" for line in body)]


def _results(operator: TargetOperator) -> list[str]:
    """Return expressions for the results of ``made``, with all tensors of its lists."""
    outputs = operator.signature.outputs
    if len(outputs) == 1:
        return ["*made" if outputs[0].listed else "made"]
    return [f"{'*' * output.listed}made[{place}]" for place, output in enumerate(outputs)]


def _printed(layout: str) -> list[str]:
    return [
        "made = f(*inputs)",
        "made = [m for m in (made if isinstance(made, tuple) else (made,)) if m.requires_grad]",
        f"grads = [{layout} for v in map(torch.rand_like, made)]",
        "print(torch.autograd.grad(made, inputs, grads, retain_graph=True, allow_unused=True))",
        "print(torch.autograd.grad(made, inputs, [g.contiguous() for g in grads], allow_unused=True))",
    ]
