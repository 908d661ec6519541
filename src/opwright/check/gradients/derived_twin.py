"""An operator without its last handwritten backward: the gradient is derived instead, and how exact that is."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import torch

from opwright.check.calls.target_operator import TargetOperator
from opwright.check.gradients.point import Point, Tensors
from opwright.check.gradients.vjp import Forward
from opwright.check.report import Skipped, first_line
from opwright.codegen import KernelSource
from opwright.cuda.emulation import emulate
from opwright.errors import CompileError, KernelError, UnsupportedError
from opwright.runtime.load.loading import load_sources
from opwright.signature import DType
from opwright.signature.names import backward_of
from opwright.signature.wiring import GRAD
from opwright.sources import Kernel, Source

_MAGNITUDES = "OPWRIGHT_TAPE_MAGNITUDES"
"""The macro with which a tape can add up the magnitudes of contributions, and the environment variable that asks for
them (include/opwright/tape/tape.h)."""

_UNSET = "computes with a number that was never set"
"""What a tape says of a forward that reads what it hasn't written (include/opwright/tape/tape.h)."""

_twins: dict[object, DerivedTwin] = {}


class UnsetNumberError(Exception):
    """A function computes with a number that was never set, or that another call left behind."""


@dataclass
class DerivedTwin:
    """An operator with a derived gradient.

    Attributes:
        operator: the operator, of whose own gradient or of whose backward's the last one is derived.
        refused: why the gradient of a call couldn't be derived, of the last one for which it couldn't.
    """

    operator: TargetOperator
    refused: str = ""

    def gradients(
        self, point: Callable[[TargetOperator], Point | None], incoming: Tensors
    ) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]] | None:
        """Return the derived gradients of a call, and what their rounding errors are proportional to, by argument.

        Args:
            point: makes the call's point of an operator.
            incoming: the incoming gradient of each result.

        Returns None if the call has no gradient, or none that can be derived.

        Raises:
            UnsetNumberError: what the tape can't hold shows a fault of the function that is derived.
        """
        try:
            at = point(self.operator)
            derived = _gradients(at, incoming) if at else None
            if at is None or derived is None:
                return None
            if self.operator.signature.pointwise:  # a sum of few terms
                largest = {name: value.abs().amax() if value.numel() else value for name, value in derived.items()}
                return derived, {name: largest[name].expand_as(value) for name, value in derived.items()}
            with _magnitudes_wanted():
                sizes = _gradients(at, {n: g.abs() for n, g in incoming.items()})
        except KernelError as error:
            self.refused = first_line(error)  # mostly: the tape is too large
            if _UNSET in self.refused:
                raise UnsetNumberError(self.refused) from error
            return None
        return None if sizes is None else (derived, sizes)


@contextlib.contextmanager
def _magnitudes_wanted() -> Iterator[None]:
    os.environ[_MAGNITUDES] = "1"
    try:
        yield
    finally:
        del os.environ[_MAGNITUDES]


def _gradients(point: Point, incoming: Tensors) -> dict[str, torch.Tensor] | None:
    forward = Forward(point)
    if not forward.results:
        return None
    return forward.backward({n: incoming.get(n, torch.zeros_like(r)) for n, r in forward.results.items()})


def without_backward(operator: TargetOperator) -> TargetOperator:
    """Return the operator with a derived gradient in place of its handwritten one.

    Raises:
        Skipped: the gradient can't be derived, or isn't handwritten; the reason is in the text.
    """
    return _loaded(operator, *_handwritten(operator, 1), ())


def derived_twin(operator: TargetOperator, types: Mapping[str, DType], order: int = 1) -> DerivedTwin:
    """Return the operator's twin, with its kernels for `types` compiled; it is kept for later calls.

    Args:
        operator: the operator.
        types: element types of the type variables.
        order: which gradient is derived: 1: the operator's, from the forward; 2: that of its handwritten backward, from
            that backward.

    Raises:
        Skipped: the gradient can't be derived, or isn't handwritten; the reason is in the text.
    """
    if (operator.op, order) in _twins:
        return _twins[operator.op, order]
    source, kernels = _handwritten(operator, order)
    twin = DerivedTwin(_loaded(operator, source, kernels, (f"-D{_MAGNITUDES}=1",)))
    _compile(twin, types, order)
    _twins[operator.op, order] = twin
    return twin


def _handwritten(operator: TargetOperator, order: int) -> tuple[KernelSource, tuple[Kernel, ...]]:
    """Return the source and the kernels that stay, for the CPU; the gradient that follows them must be handwritten."""
    if operator.backward is None or not operator.sources:
        raise Skipped("there is no handwritten gradient whose source is known")
    if operator.device != "cpu":
        raise Skipped("gradients aren't derived on a device: device='emulated' runs the CUDA kernels on the CPU")
    written = {k.signature.name for source in operator.sources for k in source.kernels("cpu")}
    if backward_of(operator.name) not in written:
        raise Skipped("the gradient is derived itself")
    if backward_of(operator.name, order) not in written:
        raise Skipped("there is no handwritten second derivative")
    names = [backward_of(operator.name, each) for each in range(order)]
    for source in operator.sources:
        own = {k.signature.name: k for k in source.kernels("cpu")}
        if all(name in own for name in names):
            return source, tuple(own[name] for name in names)
    raise Skipped("its kernel is in no source that is known")


def _loaded(
    operator: TargetOperator, source: KernelSource, kernels: Sequence[Kernel], flags: tuple[str, ...]
) -> TargetOperator:
    from opwright.check.targets import registered_operators

    last, order = kernels[-1].signature, len(kernels)
    following = source.signatures[backward_of(operator.name, order)]
    wanted = {result.name.removeprefix(GRAD) for result in following.outputs}
    constants = frozenset(tensor.name for tensor in last.tensors if tensor.name not in wanted)
    alone = replace(source, text=source.text, constants=constants)
    if source.is_emulated:  # not with every access checked, which the tape's would be, too
        alone.backend = emulate()
    alone.options = replace(source.options, extra_cflags=(*source.options.extra_cflags, *flags))
    whole = source.source  # in which alternatives have names of their own
    alone.source = alone.marked = Source(whole.path, whole.language, tuple(map(_derived, kernels)), whole.includes)
    key = hashlib.sha256(os.fsencode(source.path.absolute()) + repr(flags).encode()).hexdigest()[:12]
    try:
        ops = load_sources([alone], f"{'derived_' * order}{operator.name}_{key}", ())
    except UnsupportedError as error:
        text = first_line(error)
        raise Skipped(text.partition(f"{last.name}: ")[2] or text) from None
    if backward_of(operator.name, order) not in alone.derived:
        raise Skipped(f"the gradient of {last.name} can't be derived")
    return next(each for each in registered_operators(ops) if each.name == operator.name)


def _derived(kernel: Kernel) -> Kernel:
    signature = kernel.signature if kernel.signature.pointwise else kernel.signature.replaced(derived=True)
    return Kernel(signature, kernel.function, kernel.line, kernel.path, kernel.language, kernel.given)


def _compile(twin: DerivedTwin, types: Mapping[str, DType], order: int) -> None:
    """Compile the handwritten kernels and the derived gradient, at the same time."""
    source, name = twin.operator.sources[0], backward_of(twin.operator.name, order)
    try:
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda derived: source.library(types, derived=derived), (name, "")))
    except CompileError as error:
        what = "forward" if order == 1 else "backward"
        raise Skipped(f"the {what} doesn't compile with derived gradients: {first_line(error)}") from None
