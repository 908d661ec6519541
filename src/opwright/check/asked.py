"""What a caller asked for, before anything runs: what would silently do nothing is refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opwright.check.subject import Subject
from opwright.errors import SourceError


class Several(tuple[Any, ...]):
    """What the command checks together: options that are one target's aren't the others'."""

    __slots__ = ()


def refuse(found: Sequence[Subject], *, straight_through: Sequence[str], sanitize: Sequence[str]) -> None:
    """Say what can't be done with the operators that were found.

    Raises:
        SourceError: there are no kernels but CUDA's, and tensors of the CPU.
        ValueError: an input that no operator has; sanitizers for what wasn't loaded from a source file.
    """
    _refuse_cuda(found)
    inputs = [(subject.name, param.name) for subject in found for param in subject.signature.inputs]
    for given in straight_through:
        operator, _, name = given.rpartition(".")
        if not any(name == known and operator in ("", each) for each, known in inputs):
            listed = ", ".join(f"{each}.{known}" for each, known in inputs) or "none"
            raise ValueError(f"check() got straight_through={given!r}, expected one of the inputs: {listed}")
    if sanitize and not any(subject.sources for subject in found):
        names = ", ".join(subject.name for subject in found)
        raise ValueError(
            f"check() got sanitize={','.join(sanitize)!r} and {names}, which wasn't loaded from a source file: only "
            "such kernels can be built anew\n  likely fix: check the source file"
        )


def only_for_cuda(subject: Subject) -> bool:
    """Whether it can't be called with the tensors that it would be called with: those of the CPU."""
    return subject.device == "cpu" and bool(subject.devices) and "cpu" not in subject.devices


def _refuse_cuda(found: Sequence[Subject]) -> None:
    if found and all(map(only_for_cuda, found)):
        names = ", ".join(subject.name for subject in found)
        raise SourceError(
            f"{names}: the kernels are for CUDA only, and check() was to call them with tensors of the CPU\n"
            '  likely fix: device="emulated" (--device emulated) runs a source file\'s CUDA kernels on the CPU; on a '
            'machine with a GPU, device="cuda" (--device cuda)'
        )
