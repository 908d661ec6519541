"""The operators that are fuzzed, and calls of them."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

import opwright
from opwright.runtime.binding import TORCH_TYPES
from opwright.signature import Signature, TensorInfo, sample
from opwright.signature.dtypes import DType
from opwright.signature.samples import TensorSample
from opwright.signature.schema import axis_argument

ROOT = Path(__file__).parents[2]
# Sources of other tests, whose values those check: here they only mustn't crash, and have the right shapes.
UNREFERENCED = {"notation_ops", "bundle_ops", "hidden_names", "size_ops", "scalar_ops", "float8_ops", "combination_ops"}
UNREFERENCED |= {"result_ops"}
DTYPES = {torch_type: dtype for dtype, torch_type in TORCH_TYPES.items()}


def sources() -> list[Path]:
    """Everything that holds operators to call."""
    found = [*ROOT.glob("examples/*/*.cpp"), *ROOT.glob("examples/*/*.c")]
    here = [*ROOT.glob("tests/runtime/kernels/*.cpp"), *ROOT.glob("tests/fuzz/kernels/*.c*")]
    return sorted(path for path in (*found, *here) if "OPWRIGHT(" in path.read_text())


@dataclass(frozen=True)
class Target:
    """An operator and what is known of it."""

    name: str  # namespace.operator
    op: torch._ops.OpOverload
    signature: Signature
    axes: tuple[str, ...]  # what its schema also takes: axes, the shape of `...`, the mask
    ellipsis: bool
    mask: bool
    strided: bool
    referenced: bool = True  # whether `references` has what it computes
    run: Any = None  # `op` in the form that the runtime uses


def targets() -> list[Target]:
    """Every operator of `sources`."""
    made = []
    for path in sources():  # a backward that trusts indices without a range is safe behind its forward only
        operators = opwright.load(path, namespace=f"fuzz_{path.stem}")
        text = path.read_text()
        for name, registered in operators.__loaded__.registered.items():
            if (path.stem, name) == ("notation_ops", "pick_backward"):
                continue
            kernel = registered.kernel
            if kernel.signature.broadcasts:  # scalars.py makes those, and include/loops.py
                continue
            body = text[text.index(f" {name}(") :]
            strided = "Strided<" in body[: body.index("{")]
            mask = any(argument.name == "output_mask" for argument in registered.op._schema.arguments)
            known = path.stem not in UNREFERENCED
            full = f"{path.stem}.{name}"
            made.append(
                Target(
                    full,
                    registered.op,
                    kernel.signature,
                    kernel.axes,
                    kernel.ellipsis,
                    mask,
                    strided,
                    known,
                    registered.run,
                )
            )
    return made


@dataclass
class Call:
    """Arguments, in the schema's order, and what was done to them."""

    target: Target
    arguments: dict[str, Any]
    extra: tuple[Any, ...] = ()  # after the last one
    keywords: dict[str, Any] = field(default_factory=dict)
    by_keyword: bool = False
    done: list[str] = field(default_factory=list)
    fits: bool = True  # what was done to it may not make a difference
    exact: bool = True  # values stay where float32 and float64 agree
    context: str = ""

    def __call__(self) -> Any:
        with _context(self.context):
            if self.by_keyword:
                return self.target.op(**self.arguments, **self.keywords)
            return self.target.op(*self.arguments.values(), *self.extra, **self.keywords)

    def describe(self) -> str:
        """One line an argument."""
        lines = [
            f"{self.target.name}  {self.target.signature}",
            f"  done: {', '.join(self.done) or 'nothing'} {self.context}",
        ]
        given = {**self.arguments, **{f"extra {i}": v for i, v in enumerate(self.extra)}, **self.keywords}
        return "\n".join([*lines, *(f"  {name} = {_text(value)}" for name, value in given.items())])


def _context(name: str) -> Any:
    makers = {"no_grad": torch.no_grad, "inference": torch.inference_mode, "": torch.enable_grad}
    return makers[name]()


def _text(value: Any) -> str:
    if not isinstance(value, torch.Tensor):
        return f"{value!r} ({type(value).__name__})"[:200]
    try:
        strides = f" strides {value.stride()} offset {value.storage_offset()}"
    except Exception:  # sparse ones have none
        strides = ""
    text = f"{type(value).__name__} {value.dtype} {tuple(value.shape)}{strides} {value.device} {value.layout}"
    marks = [word for word in ("requires_grad", "is_inference", "is_neg", "is_leaf") if _marked(value, word)]
    return f"{text} {' '.join(marks)}"


def _marked(value: torch.Tensor, word: str) -> bool:
    mark = getattr(value, word)
    return bool(mark() if callable(mark) else mark)


def draw(target: Target, rng: random.Random) -> Call:
    """A call that fits."""
    drawn = sample(target.signature, rng, max_numel=4096)
    generator = torch.Generator().manual_seed(rng.getrandbits(32))
    values: dict[str, Any] = {}
    for param in target.signature.inputs:
        if param.name in drawn.tensors:
            tensor = drawn.tensors[param.name]
            values[param.name] = None if tensor is None else _make(tensor, generator)
        elif param.name in drawn.scalars:
            values[param.name] = drawn.scalars[param.name]
        else:
            values[param.name] = torch.Generator().manual_seed(rng.getrandbits(32))
    values |= {axis_argument(axis): drawn.binding.axes[axis] for axis in target.axes}
    if target.ellipsis:
        values["axis_ellipsis"] = list(drawn.binding.ellipsis or ())
    if target.mask:
        values["output_mask"] = [rng.random() < 0.75 for _ in target.signature.outputs]
    keywords = {"device": None} if target.signature.is_factory else {}
    if target.signature.chosen_type:
        keywords["dtype"] = TORCH_TYPES[drawn.binding.types[target.signature.chosen_type]]
    return Call(target, values, keywords=keywords, by_keyword=rng.random() < 0.25)


def _make(s: TensorSample, generator: torch.Generator) -> torch.Tensor:
    kind = TORCH_TYPES[s.dtype]
    if s.dtype is DType.F4X2:  # to which PyTorch converts nothing
        storage = torch.randint(256, (s.storage_size,), generator=generator).to(torch.uint8).view(kind)
    elif kind.is_floating_point:
        storage = torch.rand(s.storage_size, generator=generator, dtype=torch.float64) * (s.high - s.low) + s.low
    else:
        low, high = int(s.low), int(s.high)
        storage = torch.randint(low, max(high, low + 1), (s.storage_size,), generator=generator)
    return storage.to(kind).as_strided(s.shape, s.strides, s.offset)


def infos(call: Call) -> dict[str, TensorInfo | None]:
    """The tensors as a signature sees them; KeyError for an element type that it can't name."""
    found: dict[str, TensorInfo | None] = {}
    for tensor in call.target.signature.tensors:
        value = call.arguments.get(tensor.name)
        found[tensor.name] = None if value is None else TensorInfo(tuple(value.shape), dtype_of(value))
    return found


def dtype_of(value: torch.Tensor) -> DType:
    """Its element type in the notation."""
    return DTYPES[value.dtype]
