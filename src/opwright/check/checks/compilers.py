"""Checks with PyTorch's compilers: schema, fake kernel, torch.compile, torch.export."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch

from opwright.check.calls.cases import Arguments, Case, dtype_name, positional
from opwright.check.calls.tensor_lists import lists_of
from opwright.check.report import Finding, Skipped
from opwright.check.values.eager import Eager, pytorch_feature
from opwright.runtime.returns import is_traceable
from opwright.runtime.torch_internals import OpOverload, fake_tensor_mode
from opwright.signature.derivatives import without_hash

_KINDS = {"test_schema": "schema-disagrees", "test_faketensor": "fake-disagrees"}
_REGISTRATION = ("cpu", "cuda", "xpu")
"""The devices for which opcheck can check the registration of autograd."""
_MAX_TEXT = 1500
"""Maximum number of characters of messages from PyTorch's own checks."""


@pytorch_feature("opcheck", share=0.5)
def opcheck(eager: Eager) -> Iterator[Finding]:
    """Run torch.library.opcheck: schema, autograd registration, fake kernel, and tracing with dynamic sizes."""
    op, signature, drawn = _dispatcher_operator(eager), eager.signature, eager.case.arguments()
    names = ["test_faketensor"]
    if not any(isinstance(v, torch.Tensor) and v.is_floating_point() and v.itemsize == 1 for v in drawn.values()):
        names.insert(0, "test_schema")  # it compares arguments, and PyTorch can't compare 8-bit floats
    if torch.device(eager.context.device).type in _REGISTRATION:
        names.append("test_autograd_registration")
    results = [dtype for output in signature.outputs for dtype in signature.element_types(output)]
    adds_up = bool(eager.wanted) and any(dtype.only_converts for dtype in results)  # 8-bit floats: it can't
    if not signature.data_axes and not signature.generator and not adds_up and is_traceable(signature):
        names.append("test_aot_dispatch_dynamic")
    for name in names:
        arguments = eager.requiring(eager.case.arguments(), overwritten=False)
        result = torch.library.opcheck(
            op,
            tuple(lists_of(signature, positional(signature, arguments))),
            eager.operator.keywords(eager.case.types),
            test_utils=name,
            raise_exception=False,
        )[name]
        if result != "SUCCESS":
            text = str(result).strip()[:_MAX_TEXT]
            yield eager.finding(eager.case, _KINDS.get(name, "opcheck"), f"{name}: {text}")
    eager.context.detail = ", ".join(names)


@pytorch_feature("fake kernel", share=0.5)
def fake_kernel(eager: Eager) -> Iterator[Finding]:
    """Compare the fake kernel's shapes, strides and element types with those of the results."""
    operator = eager.operator
    _dispatcher_operator(eager)
    if operator.signature.data_axes or operator.signature.counts:
        raise Skipped("its kernel decides a length, or counts")

    def judge(case: Case, arguments: Arguments) -> Finding | None:
        """Compare one call's results with those of fake tensors: shapes, strides, element types."""
        types = case.types
        mode = fake_tensor_mode()
        if mode is None:
            raise Skipped("this PyTorch has no FakeTensorMode")
        with mode:
            fake_arguments = {
                n: mode.from_tensor(v) if isinstance(v, torch.Tensor) else v for n, v in arguments.items()
            }
            fakes = operator.call(fake_arguments, types)
        for output, fake, real in zip(operator.signature.outputs, fakes, operator.call(arguments, types), strict=True):
            expected, actual = _describe_tensor(fake), _describe_tensor(real)
            if expected != actual:
                return Finding(
                    "fake-disagrees", f"{output.name}: the fake kernel says {expected}, the result has {actual}"
                )
        return None

    if finding := eager.context.find(judge):
        yield finding
    eager.context.detail = f"{eager.context.tried} calls"


@pytorch_feature("compile", level="normal", share=3.0)
def compiled(eager: Eager) -> Iterator[Finding]:
    """Compare torch.compile(fullgraph=True) with eager, values and gradients, with static and dynamic sizes."""
    eager.context.require_deterministic()
    eager.require_functional()
    backend = "inductor" if eager.context.level == "thorough" else "aot_eager"
    calls = 0
    for dynamic in (False, True):
        torch.compiler.reset()
        function = torch.compile(eager.function, fullgraph=True, dynamic=dynamic, backend=backend)
        for case in eager.cases(2):
            calls += 1
            if finding := eager.differs(case, function, f"torch.compile(fullgraph=True, dynamic={dynamic})"):
                yield finding
                break
    eager.context.detail = f"{calls} calls, values and gradients, backend {backend}"


@pytorch_feature("export", level="normal", share=0.5)
def exported(eager: Eager) -> Iterator[Finding]:
    """Require that torch.export keeps the operator in the graph, and that the exported program returns the same."""
    op, function = _dispatcher_operator(eager), eager.function
    if eager.signature.generator or not eager.signature.tensors:
        raise Skipped("it is random, or takes no tensor")
    eager.require_functional()

    arguments = positional(eager.signature, eager.case.arguments())
    types = {i: value for i, value in enumerate(arguments) if isinstance(value, torch.dtype)}  # no inputs of a program

    class Module(torch.nn.Module):
        def forward(self, *args: Any) -> Any:
            return function(*(types.get(i, value) for i, value in enumerate(args)))

    def plain(args: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(None if i in types else value for i, value in enumerate(args))

    program = torch.export.export(Module(), plain(arguments))
    module = program.module()
    if eager.operator.ours and all(node.target is not op for node in program.graph.nodes):
        yield eager.finding(eager.case, "lost-in-export", f"torch.export has no {without_hash(str(op))} in its graph")
    if finding := eager.differs(
        eager.case, lambda *args: module(*plain(args)), "the exported program", gradients=False
    ):
        yield finding
    eager.context.detail = "one call"


def _dispatcher_operator(eager: Eager) -> OpOverload:
    """Return the dispatcher's operator.

    Raises:
        Skipped: the operator isn't registered with the dispatcher.
    """
    if eager.operator.op is None:
        raise Skipped("it is no operator of the dispatcher")
    return eager.operator.op


def _describe_tensor(tensor: torch.Tensor) -> str:
    """Describe element type, shape, and the strides of axes longer than 1."""
    strides = [s for s, n in zip(tensor.stride(), tensor.shape, strict=True) if n > 1] if tensor.numel() else []
    return f"{dtype_name(tensor.dtype)}{list(tensor.shape)} with strides {strides}"
