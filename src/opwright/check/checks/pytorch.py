"""What else of PyTorch an operator meets: opcheck, torch.compile, export, vmap, torch.func, checkpoint, autocast."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from opwright.check.compare import difference
from opwright.check.context import Context
from opwright.check.inputs import Arguments, Case, positional
from opwright.check.registry import Skipped, register
from opwright.check.report import Finding
from opwright.check.reproducer import reproducer

_SIZES = (3, 2, 4)
_Call = Callable[..., Any]


@register("opcheck", group="pytorch", share=0.5)
def opcheck(context: Context) -> Iterator[Finding]:
    """torch.library.opcheck: schema, autograd registration, fake kernel, traced code with static and dynamic sizes."""
    subject = context.subject
    if subject.op is None:
        raise Skipped("it is no operator of the dispatcher")
    names = ["test_schema", "test_autograd_registration", "test_faketensor"]
    if not subject.signature.data_axes and not subject.signature.generator:
        names.append("test_aot_dispatch_dynamic")
    case = _case(context)
    arguments = _requiring(context, case.arguments())
    for name in names:
        with _quiet():
            result = torch.library.opcheck(
                subject.op, tuple(positional(subject.signature, arguments)), test_utils=name, raise_exception=False
            )[name]
        if result != "SUCCESS":
            kinds = {"test_schema": "schema-disagrees", "test_faketensor": "fake-disagrees"}
            text = str(result).strip()
            yield Finding(kinds.get(name, "opcheck"), f"{name}: {text[:1500]}", reproducer(subject, arguments))
    context.detail = ", ".join(names)


@register("fake kernel", group="pytorch", share=0.5)
def fake_kernel(context: Context) -> Iterator[Finding]:
    """What the fake kernel says of shapes, strides and element types is what the results have."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    subject = context.subject
    if subject.op is None:
        raise Skipped("it is no operator of the dispatcher")
    if subject.signature.data_axes:
        raise Skipped("its kernel decides a length")

    def judge(case: Case, arguments: Arguments) -> Finding | None:
        with FakeTensorMode() as mode:
            given = {n: mode.from_tensor(v) if isinstance(v, torch.Tensor) else v for n, v in arguments.items()}
            fakes = subject.call(given, case.sample.binding.types)
        for output, fake, real in zip(
            subject.signature.outputs, fakes, subject.call(arguments, case.sample.binding.types), strict=True
        ):
            told, has = _described(fake), _described(real)
            if told != has:
                return Finding("fake-disagrees", f"{output.name}: the fake kernel says {told}, the result has {has}")
        return None

    if finding := context.find(judge):
        yield finding
    context.detail = f"{context.tried} calls"


@register("compile", group="pytorch", level="normal", share=3.0)
def compiled(context: Context) -> Iterator[Finding]:
    """torch.compile(fullgraph=True) gives what eager gives, values and gradients, with static and dynamic sizes."""
    subject = context.subject
    if subject.signature.generator:
        raise Skipped("it is random")
    _need_compiler()
    backend = "inductor" if context.level == "thorough" else "aot_eager"
    for dynamic in (False, True):
        torch.compiler.reset()
        function = torch.compile(_caller(context), fullgraph=True, dynamic=dynamic, backend=backend)
        for case in context.examples(2, types=context.type_choices(floating=True)[0], sizes=_SIZES, contiguous=True):
            with _quiet():
                finding = _same(context, case, function, f"torch.compile(fullgraph=True, dynamic={dynamic})")
            if finding:
                yield finding
                break
    context.detail = f"{context.tried} calls, values and gradients, backend {backend}"


@register("export", group="pytorch", level="normal", share=0.5)
def exported(context: Context) -> Iterator[Finding]:
    """torch.export keeps it in the graph, and the exported program gives the same."""
    subject = context.subject
    if subject.op is None or subject.signature.generator or not subject.signature.tensors:
        raise Skipped("it is no operator of the dispatcher, is random, or takes no tensor")
    case, function = _case(context), _caller(context)

    class Module(torch.nn.Module):
        def forward(self, *args: Any) -> Any:
            return function(*args)

    with _quiet():
        program = torch.export.export(Module(), tuple(positional(subject.signature, case.arguments())))
        finding = _same(context, case, program.module(), "the exported program", gradients=False)
    if finding:
        yield finding


@register("vmap", group="pytorch", share=0.5)
def vmap(context: Context) -> Iterator[Finding]:
    """torch.vmap gives what a loop over the batch gives."""
    subject = context.subject
    if not subject.signature.tensors or subject.signature.data_axes or subject.signature.generator or subject.mutates:
        raise Skipped("it takes no tensor, is random, overwrites an argument, or decides a length")
    for case in context.examples(3, sizes=_SIZES, contiguous=True):
        calls = [Case(case.sample, seed).arguments() for seed in range(3)]
        batch = {name: _stacked([call[name] for call in calls]) for name in calls[0]}
        dims = tuple(0 if isinstance(calls[0].get(p.name), torch.Tensor) else None for p in subject.signature.inputs)
        expected = [subject.call(call, case.sample.binding.types) for call in calls]
        with _quiet():
            got = torch.vmap(_caller(context), in_dims=dims)(*positional(subject.signature, batch))
        each = list(zip(*expected, strict=True))
        for output, one, others in zip(subject.signature.outputs, _tuple(got), each, strict=True):
            if found := difference(one, torch.stack(others)):
                yield Finding("wrong-under-vmap", f"{output.name}: {found}", reproducer(subject, batch))
                return
    context.detail = f"{context.tried} batches of 3"


@register("torch.func", group="pytorch", share=0.5)
def functional(context: Context) -> Iterator[Finding]:
    """torch.func.vjp gives the gradients that autograd gives."""
    subject = context.subject
    wanted = _wanted(context)
    if not wanted or subject.mutates:
        raise Skipped("nothing in it is differentiable, or it overwrites an argument")
    case = _case(context)
    arguments = case.arguments()

    def of(*values: torch.Tensor) -> Any:
        call = {**arguments, **dict(zip(wanted, values, strict=True))}
        return tuple(r for r in subject.call(call, case.sample.binding.types) if r.is_floating_point())

    inputs = [arguments[name] for name in wanted]
    results, pull = torch.func.vjp(of, *inputs)[:2]
    got = pull(tuple(torch.ones_like(r) for r in results))
    for name, one, other in zip(wanted, got, _gradients(context, case) or (), strict=False):
        if other is not None and (found := difference(one, other)):
            yield Finding("wrong-under-func", f"the gradient of {name}: {found}", reproducer(subject, arguments))
            return
    context.detail = "one call"


@register("checkpoint", group="pytorch", share=0.3)
def checkpointed(context: Context) -> Iterator[Finding]:
    """torch.utils.checkpoint, which runs the forward again, gives the same gradients."""
    from torch.utils.checkpoint import checkpoint

    if not _wanted(context) or context.subject.mutates or context.subject.signature.generator:
        raise Skipped("nothing in it is differentiable, it overwrites an argument, or it is random")
    case, function = _case(context), _caller(context)

    def again(*args: Any) -> Any:
        return checkpoint(function, *args, use_reentrant=False)

    if finding := _same(context, case, again, "torch.utils.checkpoint"):
        yield finding
    context.detail = "one call, values and gradients"


@register("inference mode", group="pytorch", share=0.3)
def inference(context: Context) -> Iterator[Finding]:
    """Under inference_mode and no_grad the values are the same, and nothing requires a gradient."""
    if context.subject.signature.generator:
        raise Skipped("it is random")
    case, function = _case(context), _caller(context)
    for mode in (torch.inference_mode, torch.no_grad):

        def within(*args: Any, mode: Any = mode) -> Any:
            with mode():
                return function(*args)

        if finding := _same(context, case, within, f"torch.{mode.__name__}", gradients=False):
            yield finding
            return
        made = _tuple(within(*positional(context.subject.signature, _requiring(context, case.arguments()))))
        if any(result.requires_grad for result in made):
            yield Finding("gradient-in-inference", f"under torch.{mode.__name__} a result requires a gradient")
            return
    context.detail = "one call each"


@register("autocast", group="pytorch", share=0.3)
def autocast(context: Context) -> Iterator[Finding]:
    """Under autocast a call with mixed floating types works, or is refused by name."""
    subject = context.subject
    if not any(p.type.kind != "dtype" for p in subject.signature.tensors) or subject.signature.generator:
        raise Skipped("its element types are fixed, or it is random")
    case = _case(context)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        got = subject.call(case.arguments(), case.sample.binding.types)
    for output, one, other in zip(
        subject.signature.outputs, got, subject.call(case.arguments(), case.sample.binding.types), strict=True
    ):
        narrow = torch.zeros((), dtype=one.dtype if one.is_floating_point() else torch.float32)
        scale = torch.finfo(torch.bfloat16).eps if narrow.dtype != torch.float64 else torch.finfo(torch.float64).eps
        if one.shape == other.shape and one.is_floating_point():
            off = (one.double() - other.double()).abs() / (other.double().abs() + other.double().abs().mean())
            if off.numel() and float(torch.nan_to_num(off).max()) > 64 * scale:
                yield Finding("wrong-under-autocast", f"{output.name} is {float(off.max()):.3g} off, relatively")
                return
    context.detail = "one call under bfloat16"


def _case(context: Context) -> Case:
    """One small call of the widest type."""
    types = context.type_choices(floating=True)[0]
    return next(context.examples(1, types=types, sizes=_SIZES, contiguous=True))


def _caller(context: Context) -> _Call:
    """The operator itself, as somebody's code calls it; of one that overwrites, the arguments are its results."""
    subject = context.subject
    places = [i for i, p in enumerate(subject.signature.inputs) if p in subject.signature.mutated]
    if not places:
        return subject.function

    def overwriting(*args: Any) -> Any:
        copies = [a.clone() if i in places else a for i, a in enumerate(args)]
        made = subject.function(*copies)
        return (*_tuple(made), *(copies[i] for i in places if copies[i] is not None))

    return overwriting


def _same(context: Context, case: Case, function: _Call, against: str, *, gradients: bool = True) -> Finding | None:
    """Whether a function of the same arguments gives the operator's values and gradients."""
    subject, signature = context.subject, context.subject.signature
    names = [p.name for p in (*signature.outputs, *signature.mutated)]
    expected = _tuple(_caller(context)(*positional(signature, case.arguments())))
    got = _tuple(function(*positional(signature, case.arguments())))
    for name, one, other in zip(names, got, expected, strict=True):
        if one.shape != other.shape or one.dtype != other.dtype or (difference(one, other)):
            told = difference(one, other) if one.shape == other.shape else f"shape {tuple(one.shape)}"
            return Finding("differs-from-eager", f"{name} by {against}: {told}", reproducer(subject, case.arguments()))
    if not gradients or not _wanted(context):
        return None
    plain, other_way = _gradients(context, case), _gradients(context, case, function)
    for name, mine, theirs in zip(_wanted(context), other_way or (), plain or (), strict=False):
        if (mine is None) != (theirs is None) or (mine is not None and theirs is not None and difference(mine, theirs)):
            text = f"the gradient of {name} by {against}"
            return Finding("differs-from-eager", text, reproducer(subject, case.arguments()))
    return None


def _gradients(context: Context, case: Case, function: _Call | None = None) -> Sequence[torch.Tensor | None] | None:
    """The gradients of the sum of all results; None where none requires one."""
    arguments = _requiring(context, case.arguments())
    made = _tuple((function or _caller(context))(*positional(context.subject.signature, arguments)))
    roots = [result for result in made if result.requires_grad]
    if not roots:
        return None
    inputs = [arguments[name] for name in _wanted(context)]
    return torch.autograd.grad(roots, inputs, [torch.ones_like(r) for r in roots], allow_unused=True)


def _wanted(context: Context) -> list[str]:
    arguments = _case(context).arguments()
    names = [tensor.name for tensor in context.subject.differentiable]
    return [n for n in names if isinstance(arguments[n], torch.Tensor) and arguments[n].is_floating_point()]


def _requiring(context: Context, arguments: Arguments) -> Arguments:
    for name in _wanted(context):
        if isinstance(arguments[name], torch.Tensor):
            arguments[name].requires_grad_()
    return arguments


def _stacked(values: Sequence[Any]) -> Any:
    return torch.stack(list(values)) if isinstance(values[0], torch.Tensor) else values[0]


def _tuple(made: Any) -> tuple[torch.Tensor, ...]:
    if made is None:
        return ()
    return (made,) if isinstance(made, torch.Tensor) else tuple(made)


def _described(tensor: torch.Tensor) -> str:
    strides = tuple(s for s, n in zip(tensor.stride(), tensor.shape, strict=True) if n > 1)
    dense = strides if tensor.numel() else ()
    return f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)} with strides {list(dense)}"


def _need_compiler() -> None:
    if not hasattr(torch, "compile"):
        raise Skipped("this PyTorch has no torch.compile")


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
