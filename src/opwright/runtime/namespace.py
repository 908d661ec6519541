"""A namespace of operators: what `opwright.load` returns, and which names it and its operators may have."""

from __future__ import annotations

import keyword
import re
from collections.abc import Container, Iterator, Sequence

import torch

from opwright.codegen import KernelSource
from opwright.errors import SignatureError, SourceError
from opwright.runtime.documented import document, written
from opwright.runtime.operators import Registered
from opwright.runtime.pickling import Restored, make_picklable, reduce_operators
from opwright.runtime.registry import started


class Operators:
    """The operators of a namespace, as attributes: each is the ``OpOverload`` itself."""

    def __init__(self, namespace: str, sources: Sequence[KernelSource] = ()) -> None:
        self._namespace, self._sources = namespace, tuple(sources)
        self._registered: dict[str, Registered] = {}
        self._removed: set[str] = set()

    def _replace(self, sources: Sequence[KernelSource], registered: dict[str, Registered]) -> None:
        """Make each operator an attribute of the instance: the quickest to look up."""
        gone = self._registered.keys() - registered.keys()
        self._removed = (self._removed | gone) - registered.keys()
        self._sources, self._registered = tuple(sources), registered
        for name, each in registered.items():
            setattr(self, name, each.op)
            make_picklable(self, name)
        for name in gone:
            delattr(self, name)
        self.__doc__ = f"{repr(self)[1:-1]}\n\n{document(registered, self._words(sources))}"

    def _words(self, sources: Sequence[KernelSource]) -> dict[str, tuple[str, str]]:
        """By operator: what its author says of it, and where it is written."""
        return written(sources)

    @property
    def _derived(self) -> Container[str]:
        """The names of those that follow from others."""
        return self._sources[0].derived if self._sources else ()

    def __getattr__(self, name: str) -> torch._ops.OpOverload:
        """There is no operator of that name."""
        known = ", ".join(self if "_registered" in self.__dict__ else ())
        why = "" if name not in self.__dict__.get("_removed", ()) else " any more: it was removed from the source"
        raise AttributeError(f"{self!r} has no operator {name!r}{why}; it has: {known}")

    def __copy__(self) -> Operators:
        """There is one of a namespace."""
        return self

    def __deepcopy__(self, memo: object) -> Operators:
        """There is one of a namespace."""
        return self

    def __reduce__(self) -> Restored:
        """By the sources: they are loaded where the pickle is read."""
        return reduce_operators(self)

    def __dir__(self) -> list[str]:
        """The operators' names."""
        return list(self)

    def __iter__(self) -> Iterator[str]:
        """The operators' names, without those of internal forms."""
        return (name for name in self._registered if not name.startswith("_"))

    def __repr__(self) -> str:
        space, sources = self.__dict__.get("_namespace"), self.__dict__.get("_sources", ())  # copy asks before they are
        return f"<opwright operators {space!r} from {', '.join(str(s.path) for s in sources)}>"


def identifier(stem: str) -> str:
    """The namespace of a file of that stem."""
    name = re.sub(r"\W", "_", stem, flags=re.ASCII)
    return f"_{name}" if not name.isidentifier() or keyword.iskeyword(name) else name


def check_name(name: str, namespace: str) -> None:
    """An operator is an attribute of its namespace, which has some of its own; ``_`` begins internal forms.

    Raises:
        SignatureError: no operator can have that name.
    """
    if name.startswith("_") or hasattr(torch._ops._OpNamespace(namespace), name):  # noqa: SLF001
        raise SignatureError(
            f"no operator can be called {name}: torch.ops.{namespace}.{name} is something else\n"
            f"  likely fix: call it {name.strip('_')}_op"
        )


def check_free(namespace: str, function: str = "load") -> None:
    """A namespace that torch or another library has operators in is not ours to add to.

    `function`: of ours, which is asked to.

    Raises:
        SourceError: it is one of those.
    """
    if (
        started().namespace_in_use(namespace)
        or hasattr(type(torch.ops), namespace)
        or type(vars(torch.ops).get(namespace)) not in {type(None), torch._ops._OpNamespace}  # noqa: SLF001
    ):
        raise SourceError(
            f"the namespace torch.ops.{namespace} belongs to PyTorch or to another library\n"
            f'  likely fix: {function}(..., namespace="...") with another name'
            + (", or rename the source" if function == "load" else "")
        )
