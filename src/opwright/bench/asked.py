"""Whether what was asked for fits the operators: looked at as a whole, before hours of measuring end in an error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from opwright.bench.axes import call_at, check_names, grid
from opwright.bench.refusal import RequestError
from opwright.bench.setting import Request, type_choices
from opwright.check.subject import Subject
from opwright.errors import ArgumentError
from opwright.signature import Binding, Sample, Signature


def check_request(found: Mapping[str, Sequence[Subject]], asked: Request) -> int:
    """How many points there are to measure.

    Args:
        found: the operators, by device.
        asked: what for.

    Raises:
        RequestError: no operator has such an axis or element type, no call such sizes; the operations can't be told.
    """
    signatures = [subject.signature for subjects in found.values() for subject in subjects]
    check_names(signatures, asked.axes)
    return sum(_calls(sig, asked) for sig in signatures) * len(asked.threads) * len(asked.phases)


def _calls(sig: Signature, asked: Request) -> int:
    """How many calls of different sizes and element types."""
    choices, sizes = type_choices(sig, asked.dtypes), grid(sig, asked.axes)
    for types in choices:
        for each in sizes:
            try:
                call = call_at(sig, each, types)
            except ArgumentError as error:
                raise RequestError(str(error)) from error
            for phase in asked.phases:
                asked.operations.of(sig, _decided(sig, call), phase)
    return len(choices) * len(sizes)


def _decided(sig: Signature, call: Sample) -> Binding:
    """With a length for each axis that only the kernel knows."""
    known = call.binding
    return Binding({**dict.fromkeys(sig.data_axes, 1), **known.axes}, known.ellipsis, known.types)
