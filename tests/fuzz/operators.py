"""The operators that are fuzzed, and calls of them."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

import opwright
from opwright.check.calls.tensor_lists import lengths
from opwright.runtime.alternatives import chosen
from opwright.runtime.binding import TORCH_TYPES
from opwright.runtime.register.choosers import Chooser
from opwright.signature import Signature, TensorInfo, sample
from opwright.signature.chosen.kinds import DeviceKind, DtypeKind
from opwright.signature.dtypes import DType
from opwright.signature.names import axis_argument
from opwright.signature.samples import TensorSample
from opwright.signature.tensor_lists.calls import Elements, elements, flat, lengths_of, packed

from .references import REFERENCES

ROOT = Path(__file__).parents[2]
# Sources of other tests, whose values those check: here they only mustn't crash, and have the right shapes.
UNREFERENCED = {"notation_ops", "bundle_ops", "hidden_names", "size_ops", "scalar_ops", "float8_ops", "combination_ops"}
UNREFERENCED |= {"result_ops", "list_ops", "complex_ops", "group_ops", "chosen_ops", "number_ops"}
UNREFERENCED |= {
    "given_ops",
    "returned_ops",
    "overload_ops",
    "derived_rows",
    "derived_views",
    "derived_slices",
    "derived_forms",
    "derived_dots",
    "derived_reduced",
    "derived_tables",
    "shard_ops",
    "variant_ops",
    "mapped_ops",
    "alternative_ops",
}
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
    chooser: Chooser | None = None  # if `op` chooses between alternatives, of which the signature is one


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
            if kernel.signature.lists:
                made += _of_lists(path.stem, registered)
                continue
            if kernel.signature.broadcasts:  # scalars.py makes those, and include/loops.py
                continue
            written = kernel.signature.shown_name
            if f'"{written}(' not in text:  # derived: tests/runtime/test_derived.py
                continue
            body = text[text.index(f'"{written}(') :]
            choosers = operators.__loaded__.current.choosers.values()
            chooser = next((each for each in choosers if registered.op in each.ops), None)
            strided = "Strided<" in body[: body.index("{")]
            mask = any(argument.name == "output_mask" for argument in registered.op._schema.arguments)
            full = f"{path.stem}.{name}"
            known = path.stem not in UNREFERENCED or full in REFERENCES
            made.append(
                Target(
                    full,
                    chooser.op if chooser else registered.op,
                    kernel.signature,
                    kernel.axes,
                    kernel.ellipsis,
                    mask,
                    strided,
                    known,
                    chooser.run if chooser else registered.run,
                    chooser,
                )
            )
    return made


def chosen_target(call: Call, found: Sequence[Target]) -> Target:
    """The target whose signature a call is judged by: of alternatives, the one that its arguments, as mutated, fit."""
    chooser = call.target.chooser
    number = chosen(chooser.choice, call.by_name()) if chooser else None
    if chooser is None or number is None:
        return call.target
    signature = chooser.choice.signatures[number]
    return next(each for each in found if each.chooser is chooser and each.signature == signature)


class _ListOp:
    """An operator with lists, which takes each tensor of them, by name (``xs[1]``) or by its place."""

    def __init__(self, op: Any, made: Elements) -> None:
        self._op, self._made = op, made
        after = [argument for argument in op._schema.arguments if argument.name not in {p.name for p in made.of.inputs}]
        names = [SimpleNamespace(name=param.name) for param in made.inputs]
        self._schema = SimpleNamespace(arguments=[*names, *after])

    def __call__(self, /, *given: Any, **named: Any) -> Any:
        names = [argument.name for argument in self._schema.arguments]
        if len(given) > len(names) or named.keys() & names[: len(given)] or not named.keys() <= {*names}:
            return self._op(*given, **named)  # is refused
        values = dict(zip(names, given, strict=False)) | named
        counts, at, arguments = self._made.input_counts, 0, dict[str, Any]()
        for param, count in zip(self._made.of.inputs, counts, strict=True):
            own = names[at : at + (1 if count is None else count)]
            at += len(own)
            if count is not None and all(name in values for name in own):
                arguments[param.name] = [values[name] for name in own]
            elif count is None and own[0] in values:
                arguments[param.name] = values[own[0]]
        arguments |= {name: values[name] for name in names[at:] if name in values}
        answer = self._op(**arguments)
        if answer is None:
            return None
        results = self._made.result_counts[: len(self._made.of.outputs)]
        return tuple(flat(results, [answer] if len(results) == 1 else answer))


def _of_lists(stem: str, registered: Any) -> list[Target]:
    """Targets for an operator with lists of some lengths; backwards, whose masks are of lists, aren't called alone."""
    signature = registered.kernel.signature
    if signature.is_backward:
        return []
    strided, made = signature.name == "squares", list[Target]()
    for counts in ((2, 1), (1, 3)):
        one: Any = elements(signature, lengths(signature, counts))
        op: Any = _ListOp(registered.op, one)
        made.append(Target(f"{stem}.{signature.name}", op, one, (), False, False, strided, referenced=False))
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

    def by_name(self) -> dict[str, Any]:
        """What the schema's arguments get: without one of them, those that are given by place move up."""
        names = [argument.name for argument in self.target.op._schema.arguments]
        places = dict(zip(names, [*self.arguments.values(), *self.extra], strict=False))
        return (self.arguments if self.by_keyword else places) | self.keywords

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
            values[param.name] = _scalar(param, drawn.scalars[param.name], rng)
        else:
            values[param.name] = torch.Generator().manual_seed(rng.getrandbits(32))
    values |= {axis_argument(axis): drawn.binding.axes[axis] for axis in target.axes}
    if target.ellipsis:
        values["axis_ellipsis"] = list(drawn.binding.ellipsis or ())
    if target.mask:
        values["output_mask"] = [rng.random() < 0.75 for _ in target.signature.outputs]
    keywords = {"device": None} if target.signature.is_factory and not target.signature.device else {}
    if target.signature.chosen_type:
        keywords["dtype"] = TORCH_TYPES[drawn.binding.types[target.signature.chosen_type]]
    return Call(target, values, keywords=keywords, by_keyword=rng.random() < 0.25)


def _scalar(param: Any, value: Any, rng: random.Random) -> Any:
    """A scalar as PyTorch takes it: an element type, or that of another variable by default, and a device."""
    if isinstance(param.kind, DtypeKind):
        return None if param.kind.fallback and rng.random() < 0.3 else TORCH_TYPES[value]
    return rng.choice((None, "cpu", torch.device("cpu"))) if isinstance(param.kind, DeviceKind) else value


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


def signature_of(call: Call, arguments: Mapping[str, Any]) -> Signature:
    """The signature of a call: tensors of a list of any rank may have got other ranks."""
    signature = call.target.signature
    if not isinstance(signature, Elements):
        return signature
    values = packed(signature.input_counts, [arguments.get(param.name) for param in signature.inputs])
    return elements(signature.of, lengths_of(signature.of, list(values)))


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
