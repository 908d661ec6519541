"""The kinds of projects, and the content of each project file from templates."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from opwright._version import __version__
from opwright.scaffold.origin import author, requirement

if TYPE_CHECKING:
    from opwright.scaffold.names import Name

_EDITS = "After an edit nothing has to be installed again: a kernel is compiled when it is called next."
_WHEEL = """\
The wheel holds the kernels, compiled for every element type. It needs no compiler where it is
installed, and is the same for every Python and every PyTorch that Opwright supports; `opwright audit dist/*.whl` says
where it loads."""
_WHEEL_OF_ATEN = """\
The wheel is for one Python and one
PyTorch minor version, as that of every extension with PyTorch's headers."""
_USERS_NEED = """\
They need no compiler: the kernels are in the wheel. With a compiler, Opwright builds its runtime at the first call
(once, half a minute); without one, it takes the one in Python, which is slower at each call. A wheel that carries the
runtime spares them both: `[tool.opwright] runtimes = ["2.13"]` in `pyproject.toml`, with the minor versions of PyTorch
that they have."""
_USERS_OF_ATEN_NEED = """\
The wheel is for the Python and the minor version of PyTorch with which it was built: name that version in
`dependencies`."""


@dataclass(frozen=True)
class Kind:
    """A kind of project.

    Attributes:
        help: a description for the command line.
        folders: the folders of its templates; files of later folders replace those of earlier ones.
        values: the replacements of ``@...@``.
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
        "REFERENCE": "PyTorch's operators",
        "USERS_NEED": _USERS_NEED,
        "LANGUAGE": "C++",
        "WHEELS_BUILT": "cp312-manylinux_*",
        "IMPORT_F": "",
        "IMPORT_OP": "my_op.ops import my_op as op",
        **others,
    }


_OWN_REFERENCE = {"REFERENCE": "PyTorch's own form of it", "IMPORT_F": "import torch.nn.functional as F\n"}
_RMS_TESTS = {**_OWN_REFERENCE, "LAYER": "MyOp(6)", "LEARNED": "weight"}
_WITH_CUDA = {
    "OPWRIGHT_TO_BUILD": "opwright[cuda]",  # includes NVRTC, so that wheels can be built without a CUDA toolkit
    "OPWRIGHT_HERE": "opwright[torch,check,cuda]",
}

KINDS = {
    "pointwise": Kind(
        "A function of one element; its loop and its derivatives are made.",
        ("common", "pointwise"),
        _values("Swish with a learned slope, as a PyTorch operator", '["csrc/*.cpp"]', LAYER="MyOp()", LEARNED="beta"),
    ),
    "kernel": Kind(
        "C++ over views of tensors, forward and backward by hand (the default).",
        ("common", "kernel"),
        _values("Root mean square normalisation, as a PyTorch operator", '["csrc/*.cpp"]', **_RMS_TESTS),
    ),
    "c": Kind(
        "Plain C functions over pointers and sizes.",
        ("common", "c"),
        _values("An exponential moving average, as a PyTorch operator", '["csrc/*.c"]', LANGUAGE="C"),
    ),
    "aten": Kind(
        "C++ with <torch/extension.h>.",
        ("common", "aten"),
        _values(
            "A gated linear unit, as a PyTorch operator",
            "",
            EDITS="After an edit in `csrc` type `make`; in Python, nothing.",
            WHEEL=_WHEEL_OF_ATEN,
            USERS_NEED=_USERS_OF_ATEN_NEED,
            WHEELS_BUILT="cp31{0,1,2,3}-manylinux_*",
            IMPORT_OP="my_op.layer import op",
            LAYER="MyOp(6, 3)",
            LEARNED="weight",
            **_OWN_REFERENCE,
        ),
    ),
    "cuda": Kind(
        "C++ for the CPU and CUDA for GPUs; tested without one, too.",
        ("common", "kernel", "gpu", "cuda"),
        _values(
            "Root mean square normalisation, as a PyTorch operator",
            '["csrc/*.cpp", "csrc/*.cu"]',
            **_WITH_CUDA,
            **_RMS_TESTS,
        ),
    ),
    "legacy": Kind(
        "CUDA kernels as Caffe has them: put a layer's .cu in, type make.",
        ("common", "gpu", "legacy"),
        _values("A rectifier with a slope for each channel, as a PyTorch operator", '["csrc/*.cu"]', **_WITH_CUDA),
    ),
}


TEMPLATES = Path(__file__).parent / "templates"
_PLACEHOLDER = re.compile(r"my_op|MyOp|my-op|@([A-Z_]+)@")
# Templates that are inserted into others, by placeholder.
_PARTS = {
    "README": "_readme.md",
    "BUILD": "_build.mk",
    "PROJECT": "_project.toml",
    "TOOLS": "_tools.toml",
    "TEST_HEAD": "_test_head.py",
    "TEST_COMPILED": "_test_compiled.py",
}


def templates(kind: Kind) -> dict[str, Path]:
    """Return the kind's templates by their paths in a project, including the templates of parts.

    A template that a tool would take for a file of its own (settings, or Python that can be compiled) has ``.in``
    appended to its name.
    """
    return {
        path.relative_to(TEMPLATES / folder).as_posix().removesuffix(".in"): path
        for folder in kind.folders
        for path in sorted((TEMPLATES / folder).rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }


def files(kind: Kind, name: Name) -> dict[str, str]:
    """Return the content of each project file by its path in the project."""
    texts = {place: path.read_text("utf-8") for place, path in templates(kind).items()}
    name_of_author, email = author()
    values = {**kind.values, "VERSION": __version__, "OPWRIGHT_SOURCE": requirement()}
    values |= {"AUTHOR": name_of_author, "EMAIL": email, "YEAR": str(datetime.now(timezone.utc).year)}
    values |= {key: texts.pop(part) for key, part in _PARTS.items()}
    return {_fill(place, name, values): _fill(text, name, values) for place, text in texts.items()}


def _fill(text: str, name: Name, values: dict[str, str]) -> str:
    def value(match: re.Match[str]) -> str:
        if match[1]:
            return _fill(values[match[1]], name, values)
        return {"my_op": name.package, "MyOp": name.module, "my-op": name.project}[match[0]]

    return _PLACEHOLDER.sub(value, text)
