"""Every exception that Opwright raises.

::

    RuntimeError
    └── OpwrightError
        ├── SignatureError      (ValueError)           a signature that can't be read or makes no sense
        ├── SourceError         (ValueError)           a source that doesn't fit its signature
        ├── ToolchainError                             no usable compiler, or one that can't be run
        │   └── CompileError                           the compiler refused the source
        ├── ArgumentError       (ValueError)           a call that doesn't fit the operator's signature
        ├── PackagingError      (ValueError)           a package that can't be built as it is described, or isn't whole
        ├── KernelError                                a kernel's own ``OPWRIGHT_CHECK`` failed
        └── UnsupportedError    (NotImplementedError)  understood, but not supported here

All derive from :class:`RuntimeError`, because that is what PyTorch's own operators raise and
what its tracers expect of an operator that fails.
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
    """The root of Opwright's exceptions."""


class SignatureError(OpwrightError, ValueError):
    """A signature can't be read, or contradicts itself or its relatives."""


class SourceError(OpwrightError, ValueError):
    """A source file doesn't fit the signatures in it."""


class ToolchainError(OpwrightError):
    """No usable compiler was found, or it could not be run."""


class CompileError(ToolchainError):
    """The compiler refused the source; the text begins with the user's own line."""


class ArgumentError(OpwrightError, ValueError):
    """A call's arguments don't fit the operator's signature."""


class PackagingError(OpwrightError, ValueError):
    """A package of operators can't be built as it is described, or what is installed of one isn't whole."""


class KernelError(OpwrightError):
    """A check inside a kernel (``OPWRIGHT_CHECK``) failed."""


class UnsupportedError(OpwrightError, NotImplementedError):
    """Something that Opwright understands but can't do here."""
