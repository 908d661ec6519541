"""Every exception that Opwright raises.

::

    RuntimeError
    └── OpwrightError
        ├── SignatureError      (ValueError)           a signature that can't be read or makes no sense
        ├── SourceError         (ValueError)           a source that doesn't fit its signature
        ├── ToolchainError                             no usable compiler, or one that can't be run
        │   └── CompileError                           the compiler refused the source
        ├── ArgumentError       (ValueError)           a call that doesn't fit the operator's signature
        ├── PackagingError      (ValueError)           a package that can't be built as described, or is incomplete
        ├── KernelError                                a kernel's own ``OPWRIGHT_CHECK`` failed
        └── UnsupportedError    (NotImplementedError)  understood, but not supported here

All derive from :class:`RuntimeError`, which PyTorch's own operators raise and PyTorch's tracers expect of an operator
that fails.
"""

from __future__ import annotations

__all__ = [
    "ArgumentError",
    "CompileError",
    "KernelError",
    "OpwrightError",
    "PackagingError",
    "SignatureError",
    "SourceError",
    "ToolchainError",
    "UnsupportedError",
]


class OpwrightError(RuntimeError):
    """The base class of Opwright's exceptions."""


_LONGEST_LINE = 400


class SignatureError(OpwrightError, ValueError):
    """A signature can't be parsed, or contradicts itself or the signature of its forward or backward.

    Attributes:
        operator: the name of the operator with that signature, if the message doesn't begin with its place.
    """

    operator = ""

    def __str__(self) -> str:
        """Return the message; of a very long line, the beginning."""
        lines = super().__str__().split("\n")
        return "\n".join(line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}..." for line in lines)


class SourceError(OpwrightError, ValueError):
    """A source file doesn't fit the signatures in it."""


class ToolchainError(OpwrightError):
    """No usable compiler was found, or it could not be run."""


class CompileError(ToolchainError):
    """The compiler refused the source; the message begins with the location in the user's source."""


class ArgumentError(OpwrightError, ValueError):
    """A call's arguments don't fit the operator's signature."""


class PackagingError(OpwrightError, ValueError):
    """A package of operators can't be built as described, or an installed one is incomplete."""


class KernelError(OpwrightError):
    """A check inside a kernel (``OPWRIGHT_CHECK``) failed."""


class UnsupportedError(OpwrightError, NotImplementedError):
    """A valid request isn't supported, by this version or on this machine."""
