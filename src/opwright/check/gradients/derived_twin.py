"""An operator without its handwritten backward: the same forward, whose gradient is derived, and how exact that is."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import torch

from opwright.check.calls.cases import Arguments, Case
from opwright.check.calls.target_operator import TargetOperator
from opwright.check.gradients.point import Tensors, point_of_case
from opwright.check.gradients.vjp import Forward
from opwright.check.report import Skipped, first_line
from opwright.codegen import KernelSource
from opwright.cuda.emulation import emulate
from opwright.errors import CompileError, KernelError, UnsupportedError
from opwright.runtime.load.loading import load_sources
from opwright.signature import DType
from opwright.signature.names import backward_of
from opwright.sources import Kernel, Source

_MAGNITUDES = "OPWRIGHT_TAPE_MAGNITUDES"
"""The macro with which a tape can add up the magnitudes of contributions, and the environment variable that asks for
them (include/opwright/tape/tape.h)."""

_UNSET = "computes with a number that was never set"
"""What a tape says of a forward that reads what it hasn't written (include/opwright/tape/tape.h)."""

_twins: dict[object, DerivedTwin] = {}


class UnsetNumberError(Exception):
    """A forward computes with a number that was never set, or that another call left behind."""


@dataclass
class DerivedTwin:
    """An operator's forward with its derived gradient.

    Attributes:
        operator: the operator with the derived gradient.
        refused: why the gradient of a call couldn't be derived, of the last one for which it couldn't.
    """

    operator: TargetOperator
    refused: str = ""

    def gradients(
        self, case: Case, arguments: Arguments, incoming: Tensors, seed: int
    ) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]] | None:
        """Return the derived gradients of a call, and what their rounding errors are proportional to, by argument.

        Args:
            case: the call.
            arguments: its arguments.
            incoming: the incoming gradient of each result.
            seed: seed of the operator's random numbers.

        Returns None if the call has no gradient, or none that can be derived.

        Raises:
            UnsetNumberError: what the tape can't hold shows a fault of the forward.
        """
        try:
            derived = _gradients(self.operator, case, arguments, incoming, seed)
            if derived is None:
                return None
            if self.operator.signature.pointwise:  # a sum of few terms
                largest = {name: value.abs().amax() if value.numel() else value for name, value in derived.items()}
                return derived, {name: largest[name].expand_as(value) for name, value in derived.items()}
            with _magnitudes_wanted():
                sizes = _gradients(self.operator, case, arguments, {n: g.abs() for n, g in incoming.items()}, seed)
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


def _gradients(
    operator: TargetOperator, case: Case, arguments: Arguments, incoming: Tensors, seed: int
) -> dict[str, torch.Tensor] | None:
    point = point_of_case(operator, case, arguments, seed)
    if point is None:
        return None
    forward = Forward(point)
    if not forward.results:
        return None
    return forward.backward({n: incoming.get(n, torch.zeros_like(r)) for n, r in forward.results.items()})


def without_backward(operator: TargetOperator) -> TargetOperator:
    """Return the operator with a derived gradient in place of its handwritten one.

    Raises:
        Skipped: the gradient can't be derived, or isn't handwritten; the reason is in the text.
    """
    return _loaded(operator, *_handwritten(operator), ())


def derived_twin(operator: TargetOperator, types: Mapping[str, DType]) -> DerivedTwin:
    """Return the operator's twin, with its kernels for `types` compiled; it is kept for later calls.

    Raises:
        Skipped: the gradient can't be derived, or isn't handwritten; the reason is in the text.
    """
    if operator.op in _twins:
        return _twins[operator.op]
    source, kernel = _handwritten(operator)
    twin = DerivedTwin(_loaded(operator, source, kernel, (f"-D{_MAGNITUDES}=1",)))
    _compile(twin, types)
    _twins[operator.op] = twin
    return twin


def _handwritten(operator: TargetOperator) -> tuple[KernelSource, Kernel]:
    """Return the forward's kernel and its source, if the operator has a handwritten backward for the CPU."""
    if operator.backward is None or not operator.sources:
        raise Skipped("there is no handwritten gradient whose source is known")
    if operator.device != "cpu":
        raise Skipped("gradients aren't derived on a device: device='emulated' runs the CUDA kernels on the CPU")
    written = {k.signature.name for source in operator.sources for k in source.kernels("cpu")}
    if backward_of(operator.name) not in written:
        raise Skipped("the gradient is derived itself")
    found = [(s, k) for s in operator.sources for k in s.kernels("cpu") if k.signature.name == operator.name]
    if not found:
        raise Skipped("its kernel is in no source that is known")
    return found[0]


def _loaded(operator: TargetOperator, source: KernelSource, kernel: Kernel, flags: tuple[str, ...]) -> TargetOperator:
    from opwright.check.targets import registered_operators

    signature = kernel.signature if kernel.signature.pointwise else kernel.signature.replaced(derived=True)
    wanted = {tensor.name for tensor in operator.differentiable}
    constants = frozenset(t.name for t in kernel.signature.tensors if t.name not in wanted)
    alone = replace(source, text=source.text, constants=constants)
    if source.is_emulated:  # not with every access checked, which the tape's would be, too
        alone.backend = emulate()
    alone.options = replace(source.options, extra_cflags=(*source.options.extra_cflags, *flags))
    whole = source.source  # in which alternatives have names of their own
    kernel = Kernel(signature, kernel.function, kernel.line, kernel.path, kernel.language, kernel.given)
    alone.source = alone.marked = Source(whole.path, whole.language, (kernel,), whole.includes)
    key = hashlib.sha256(os.fsencode(source.path.absolute()) + repr(flags).encode()).hexdigest()[:12]
    try:
        ops = load_sources([alone], f"derived_{operator.name}_{key}", ())
    except UnsupportedError as error:
        text = first_line(error)
        raise Skipped(text.partition(f"{operator.name}: ")[2] or text) from None
    return next(each for each in registered_operators(ops) if each.name == operator.name)


def _compile(twin: DerivedTwin, types: Mapping[str, DType]) -> None:
    """Compile the forward and its derived gradient, at the same time."""
    source, name = twin.operator.sources[0], backward_of(twin.operator.name)
    try:
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda derived: source.library(types, derived=derived), (name, "")))
    except CompileError as error:
        raise Skipped(f"the forward doesn't compile with derived gradients: {first_line(error)}") from None
