"""What PyTorch's compilers ask of an operator: schema, fake kernel, torch.compile, torch.export."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from opwright.check.eager import Eager
from opwright.check.feature import feature
from opwright.check.inputs import Arguments, Case, positional
from opwright.check.registry import Skipped
from opwright.check.report import Finding

_KINDS = {"test_schema": "schema-disagrees", "test_faketensor": "fake-disagrees"}
_REGISTRATION = ("cpu", "cuda", "xpu")
"""The devices for which opcheck can look at how a gradient is registered."""
_MOST = 1500
"""Characters of what PyTorch's own checks say."""


@feature("opcheck", share=0.5)
def opcheck(eager: Eager) -> Iterator[Finding]:
    """torch.library.opcheck: schema, autograd registration, fake kernel, traced code with static and dynamic sizes."""
    op, signature = _dispatched(eager), eager.signature
    names = ["test_schema", "test_faketensor"]
    if torch.device(eager.context.device).type in _REGISTRATION:
        names.append("test_autograd_registration")
    if not signature.data_axes and not signature.generator:
        names.append("test_aot_dispatch_dynamic")
    for name in names:
        arguments = eager.requiring(eager.case.arguments(), overwritten=False)
        result = torch.library.opcheck(
            op,
            tuple(positional(signature, arguments)),
            eager.subject.keywords(eager.case.sample.binding.types),
            test_utils=name,
            raise_exception=False,
        )[name]
        if result != "SUCCESS":
            text = str(result).strip()[:_MOST]
            yield eager.finding(eager.case, _KINDS.get(name, "opcheck"), f"{name}: {text}")
    eager.context.detail = ", ".join(names)


@feature("fake kernel", share=0.5)
def fake_kernel(eager: Eager) -> Iterator[Finding]:
    """What the fake kernel says of shapes, strides and element types is what the results have."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    subject = eager.subject
    _dispatched(eager)
    if subject.signature.data_axes:
        raise Skipped("its kernel decides a length")

    def judge(case: Case, arguments: Arguments) -> Finding | None:
        types = case.sample.binding.types
        with FakeTensorMode() as mode:
            given = {n: mode.from_tensor(v) if isinstance(v, torch.Tensor) else v for n, v in arguments.items()}
            fakes = subject.call(given, types)
        for output, fake, real in zip(subject.signature.outputs, fakes, subject.call(arguments, types), strict=True):
            told, has = _described(fake), _described(real)
            if told != has:
                return Finding("fake-disagrees", f"{output.name}: the fake kernel says {told}, the result has {has}")
        return None

    if finding := eager.context.find(judge):
        yield finding
    eager.context.detail = f"{eager.context.tried} calls"


@feature("compile", level="normal", share=3.0)
def compiled(eager: Eager) -> Iterator[Finding]:
    """torch.compile(fullgraph=True) gives what eager gives, values and gradients, with static and dynamic sizes."""
    if eager.signature.generator:
        raise Skipped("it is random")
    backend = "inductor" if eager.context.level == "thorough" else "aot_eager"
    calls = 0
    for dynamic in (False, True):
        torch.compiler.reset()
        function = torch.compile(eager.function, fullgraph=True, dynamic=dynamic, backend=backend)
        for case in eager.cases(2):
            calls += 1
            if found := eager.differs(case, function, f"torch.compile(fullgraph=True, dynamic={dynamic})"):
                yield found
                break
    eager.context.detail = f"{calls} calls, values and gradients, backend {backend}"


@feature("export", level="normal", share=0.5)
def exported(eager: Eager) -> Iterator[Finding]:
    """torch.export keeps it in the graph, and the exported program gives the same."""
    op, function = _dispatched(eager), eager.function
    if eager.signature.generator or not eager.signature.tensors:
        raise Skipped("it is random, or takes no tensor")

    class Module(torch.nn.Module):
        def forward(self, *args: Any) -> Any:
            return function(*args)

    program = torch.export.export(Module(), tuple(positional(eager.signature, eager.case.arguments())))
    if eager.subject.ours and all(node.target is not op for node in program.graph.nodes):
        yield eager.finding(eager.case, "lost-in-export", f"torch.export has no {op} in its graph")
    if found := eager.differs(eager.case, program.module(), "the exported program", gradients=False):
        yield found
    eager.context.detail = "one call"


def _dispatched(eager: Eager) -> torch._ops.OpOverload:
    """The dispatcher's operator.

    Raises:
        Skipped: there is none.
    """
    if eager.subject.op is None:
        raise Skipped("it is no operator of the dispatcher")
    return eager.subject.op


def _described(tensor: torch.Tensor) -> str:
    """Shape, element type, and the strides that count."""
    strides = [s for s, n in zip(tensor.stride(), tensor.shape, strict=True) if n > 1] if tensor.numel() else []
    return f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)} with strides {strides}"
