"""The kinds of projects, and what their files say of themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_EDITS = "After an edit nothing has to be installed again: a kernel is compiled when it is called next."
_WHEEL = """\
The wheel holds the kernels, compiled for every element type. It needs no compiler where it is
installed, and is the same for every Python and every PyTorch that Opwright supports; `opwright audit dist/*.whl` says
where it loads."""
_WHEEL_OF_ATEN = """\
The wheel is for one Python and one
PyTorch minor version, as that of every extension with PyTorch's headers."""


@dataclass(frozen=True)
class Kind:
    """One kind.

    Attributes:
        help: what it is, for the command line.
        folders: of templates; files of later ones replace those of earlier ones.
        values: what stands in place of ``@...@``.
    """

    help: str
    folders: tuple[str, ...]
    values: Mapping[str, str]


def _values(description: str, sources: str, **others: str) -> dict[str, str]:
    return {
        "DESCRIPTION": description,
        "SOURCES": sources,
        "OPWRIGHT_TO_BUILD": "opwright",
        "OPWRIGHT_HERE": "opwright[torch,check]",
        "EDITS": _EDITS,
        "WHEEL": _WHEEL,
        **others,
    }


_WITH_CUDA = {
    "OPWRIGHT_TO_BUILD": "opwright[cuda]",  # NVRTC, so that wheels can be built where there is no CUDA toolkit
    "OPWRIGHT_HERE": "opwright[torch,check,cuda]",
}

KINDS = {
    "pointwise": Kind(
        "A function of one element; its loop and its derivatives are made.",
        ("common", "pointwise"),
        _values("Swish with a learned slope, as a PyTorch operator", '["csrc/*.cpp"]'),
    ),
    "kernel": Kind(
        "C++ over views of tensors, forward and backward by hand (the default).",
        ("common", "kernel"),
        _values("Root mean square normalisation, as a PyTorch operator", '["csrc/*.cpp"]'),
    ),
    "c": Kind(
        "Plain C functions over pointers and sizes.",
        ("common", "c"),
        _values("An exponential moving average, as a PyTorch operator", '["csrc/*.c"]'),
    ),
    "aten": Kind(
        "C++ with <torch/extension.h>.",
        ("common", "aten"),
        _values(
            "A gated linear unit, as a PyTorch operator",
            "",
            EDITS="After an edit in `csrc` type `make`; in Python, nothing.",
            WHEEL=_WHEEL_OF_ATEN,
        ),
    ),
    "cuda": Kind(
        "C++ for the CPU and CUDA for GPUs; tested without one, too.",
        ("common", "kernel", "cuda"),
        _values("Root mean square normalisation, as a PyTorch operator", '["csrc/*.cpp", "csrc/*.cu"]', **_WITH_CUDA),
    ),
    "legacy": Kind(
        "CUDA kernels as Caffe has them: put a layer's .cu in, type make.",
        ("common", "legacy"),
        _values("A rectifier with a slope for each channel, as a PyTorch operator", '["csrc/*.cu"]', **_WITH_CUDA),
    ),
}
