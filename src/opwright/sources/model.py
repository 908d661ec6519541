"""The classes for a scanned source file: its kernels, their functions and parameters."""

from __future__ import annotations

import pathlib
import re
from typing import Literal

from opwright.errors import SourceError
from opwright.languages import Language
from opwright.record import record
from opwright.signature import Signature

View = Literal["Tensor", "Strided", "Resizable", "List", "StridedList", "pointer", "scalar", "other"]
VIEWS: frozenset[View] = frozenset({"Tensor", "Strided", "Resizable", "List", "StridedList"})
Role = Literal["input", "scalar", "output", "residual", "rng", "stream", "axis", "number"]

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|NULL", re.ASCII)


_STREAMS = {"Stream", "cudaStream_t", "CUstream"}
_BEHIND_STREAMS = {"struct CUstream_st", "CUstream_st"}
"""What CUDA's types of a stream point to, where typedefs were looked up."""


def is_number(text: str) -> bool:
    """Return whether `text` is a number or ``NULL``; calls in an `ExternalSignature` may contain these and names."""
    return bool(_NUMBER.fullmatch(text))


@record
class Parameter:
    """A parameter of a function, as written in the source.

    ``Tensor<const T, 2> x`` has the view "Tensor", the element "T", is const and of rank 2. ``const float *p`` is a
    const "pointer" to "float". ``int64_t k`` is a "scalar" whose element is "int64_t".

    Attributes:
        name: the name, or "".
        text: the whole parameter on one line.
        view: the kind of parameter: a view, a pointer, a scalar, or other.
        element: the element type without ``const``, ``opwright::`` and ``std::``; for an "other", the whole type.
        const: whether the elements are const.
        rank: N of ``Tensor<T, N>``, if it is written as a number.
        reference: whether the parameter is an lvalue reference, ``T &y``.
    """

    name: str
    text: str
    view: View
    element: str
    const: bool = False
    rank: int | None = None
    reference: bool = False

    @property
    def is_stream(self) -> bool:
        """Whether it is a CUDA stream: its type says so, whatever its name."""
        if self.view == "pointer":
            return self.element in _BEHIND_STREAMS and not self.const
        return self.element in _STREAMS and self.view not in VIEWS and (self.const or not self.reference)


@record
class Function:
    """The head of a function.

    Attributes:
        name: the qualified name, such as "mine::my_op".
        template: the names of its template parameters, in order; for a non-type parameter, its whole text.
        template_defaults: their default arguments, "" for none.
        parameters: its parameters, in order; empty for ``(void)``.
        returns: its return type, on one line.
        line: the line of its name, from 1.
        text: the whole head on one line, for messages.
        static: whether it is declared ``static`` (or, in C, ``inline``), so that other files can't call it.
        path: the file that contains it, if that isn't the source itself.
        defined: whether a body follows the head.
        kernel: whether it is a CUDA ``__global__`` function, which runs on the device and has to be launched.
        tested: the names of the parameters that its body tests for being there, where a result can be unwanted.
        macros: for each macro in its head, whether it was expanded, and why it wasn't; for messages.
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
    tested: tuple[str, ...] = ()
    macros: tuple[str, ...] = ()
    template_defaults: tuple[str, ...] = ()


@record
class ExternalSignature:
    """A signature passed separately from the source, for a function without a mark.

    Attributes:
        signature: the operator's signature.
        function: the function's name; in C++ it may include namespaces.
        call: the arguments for the function's parameters, in order: names in the signature, and numbers. None: the
            parameters are matched by their own names.
        arguments: the template arguments of the instance that is meant; None: the function as it is declared.
    """

    signature: Signature
    function: str
    call: tuple[str, ...] | None = None
    arguments: tuple[str, ...] | None = None


@record
class Kernel:
    """A function with its signature.

    Attributes:
        signature: the signature in ``OPWRIGHT("...")``.
        function: the function that follows.
        line: the line of ``OPWRIGHT``, from 1.
        path: the file.
        language: the file's language, which determines how the function is called.
        given: the external signature, if the signature isn't written in the source.
    """

    signature: Signature
    function: Function
    line: int
    path: pathlib.Path
    language: Language
    given: ExternalSignature | None = None

    @property
    def by_name(self) -> bool:
        """Whether arguments are matched by name: for C functions, and C++ functions with pointers and without views."""
        if self.language == "c" or self.signature.pointwise:
            return self.language == "c"
        views = {parameter.view for parameter in self.function.parameters}
        return self.given is not None and not self.function.template and not views & VIEWS

    def mismatch(self, problem: str, fix: str) -> SourceError:
        """Return the error for a function that doesn't fit its signature, with both of them.

        Args:
            problem: the actual and the expected declaration.
            fix: the likely fix.
        """
        function, signature = self.function, self.signature
        place = f"{function.path or self.path}:{function.line}"
        origin = "given in ops" if self.given else f"{self.path}:{self.line}"
        macros = "".join(f"  macro:      {told}\n" for told in function.macros)
        return SourceError(
            f"{place}: {signature.name}: {problem}\n"
            f"  signature:  {signature}  ({origin})\n"
            f"  function:   {function.text}  ({place})\n{macros}"
            f"  likely fix: {fix}"
        )


@record
class Source:
    """A source file.

    Attributes:
        path: the file.
        language: "c", "c++" or "cuda".
        kernels: its kernels in the order of the file.
        includes: the included headers, as written: ``<opwright.h>``, ``"helper.h"``.
    """

    path: pathlib.Path
    language: Language
    kernels: tuple[Kernel, ...]
    includes: tuple[str, ...]


@record
class Argument:
    """The argument that a parameter gets when the kernel is called.

    Attributes:
        parameter: the function's parameter.
        role: the source of its value.
        name: the name in the signature ("" for the stream); for the role "number", the number as written.
    """

    parameter: Parameter
    role: Role
    name: str
