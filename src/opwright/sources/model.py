"""What is known of a source file: its kernels, their functions and parameters."""

from __future__ import annotations

import pathlib
import re
from typing import Literal

from opwright.signature import Signature
from opwright.signature.record import record

__all__ = ["Argument", "Function", "Given", "Kernel", "Language", "Parameter", "Role", "Source", "View", "is_number"]

Language = Literal["c", "c++", "cuda"]
View = Literal["Tensor", "Strided", "Resizable", "pointer", "scalar", "other"]
Role = Literal["input", "scalar", "output", "residual", "rng", "stream", "axis", "number"]

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|NULL", re.ASCII)


def is_number(text: str) -> bool:
    """Whether it is a number, or ``NULL``: what the call in a `Given` may hold besides names."""
    return bool(_NUMBER.fullmatch(text))


@record
class Parameter:
    """A parameter of a function, as it is written.

    ``Tensor<const T, 2> x`` has the view "Tensor", the element "T", is const and of rank 2. ``const float *p`` is a
    const "pointer" to "float". ``int64_t k`` is a "scalar" whose element is "int64_t".

    Attributes:
        name: its name, "" where it has none.
        text: the whole parameter on one line.
        view: what kind of thing it is.
        element: the element type without ``const``, ``opwright::`` and ``std::``; for an "other" its whole type.
        const: whether the elements can't be written.
        rank: N of ``Tensor<T, N>``, where it is written as a number.
        reference: whether it is an lvalue reference, ``T &y``.
    """

    name: str
    text: str
    view: View
    element: str
    const: bool = False
    rank: int | None = None
    reference: bool = False


@record
class Function:
    """The head of a function.

    Attributes:
        name: the name that calls it from outside all namespaces, such as "mine::my_op".
        template: the names of its template parameters, in order; one that is no type is there with its whole text.
        parameters: its parameters, in order; empty for ``(void)``.
        returns: its return type, on one line.
        line: the line of its name, from 1.
        text: the whole head on one line, as it is shown in messages.
        static: whether it is declared ``static`` (or, in C, ``inline``): not to be called from another file.
        path: the file that it stands in, where that isn't the source itself.
        defined: whether a body follows the head.
        kernel: whether it is a ``__global__`` one of CUDA: it runs on the device, and is launched.
    """

    name: str
    template: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    returns: str
    line: int
    text: str
    static: bool = False
    path: pathlib.Path | None = None
    defined: bool = True
    kernel: bool = False


@record
class Given:
    """A signature that is given beside the source, for a function that bears no mark.

    Attributes:
        signature: the operator's.
        function: the function's name; in C++ perhaps with its namespaces.
        call: what the function's parameters are, in order: names of the signature, and numbers. None: they go by
            their own names.
    """

    signature: Signature
    function: str
    call: tuple[str, ...] | None = None


@record
class Kernel:
    """A function with its signature.

    Attributes:
        signature: what is written in ``OPWRIGHT("...")``.
        function: the function that follows.
        line: the line of ``OPWRIGHT``, from 1.
        path: the file.
        language: the file's language, which says how the function is called.
        given: how the signature was given, where it isn't written in the source.
    """

    signature: Signature
    function: Function
    line: int
    path: pathlib.Path
    language: Language
    given: Given | None = None

    @property
    def by_name(self) -> bool:
        """Whether its arguments go by name: a C function, or one of C++ that takes pointers and no views."""
        if self.language == "c" or self.signature.pointwise:
            return self.language == "c"
        views = {parameter.view for parameter in self.function.parameters}
        return self.given is not None and not self.function.template and not views & {"Tensor", "Strided", "Resizable"}


@record
class Source:
    """A source file.

    Attributes:
        path: the file.
        language: "c", "c++" or "cuda".
        kernels: its kernels in the order of the file.
        includes: what it includes, as written: ``<opwright.h>``, ``"helper.h"``.
    """

    path: pathlib.Path
    language: Language
    kernels: tuple[Kernel, ...]
    includes: tuple[str, ...]


@record
class Argument:
    """What a parameter is given when the kernel is called.

    Attributes:
        parameter: the function's parameter.
        role: where its value comes from.
        name: which one it is, by the signature's name ("" for the stream); a "number" as it is written.
    """

    parameter: Parameter
    role: Role
    name: str
