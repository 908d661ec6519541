"""A namespace of operators, which `opwright.load` returns, and the rules for its name and its operators' names."""

from __future__ import annotations

import functools
import keyword
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from opwright.closest_name import closest_name
from opwright.codegen import KernelSource
from opwright.errors import SignatureError, SourceError
from opwright.runtime.register.docstrings import document
from opwright.runtime.register.kernels import started_runtime
from opwright.runtime.register.operators import Registered
from opwright.runtime.register.overloads import Current
from opwright.runtime.torch_internals import OpNamespace, OpOverload
from opwright.signature.names import attribute_of, operator_of, overload_of

Restored = tuple[Callable[..., Any], tuple[Any, ...]]
"""The content of a pickle: a function and its arguments."""


class Operators:
    """The operators of a namespace, as attributes; each attribute is the ``OpOverload`` itself.

    That of an operator with named overloads is PyTorch's ``OpOverloadPacket``, and the overloads are its attributes.
    """

    __loaded__: Loaded
    """The source of the operators. No operator's name begins with an underscore, so this one can't collide."""

    def __init__(self, loaded: Loaded) -> None:
        self.__loaded__ = loaded

    def __getattr__(self, name: str) -> Any:
        """Raise AttributeError: there is no operator with that name."""
        loaded = self.__dict__.get("__loaded__")  # copy calls this before it is set
        known = ", ".join(self if loaded else ())
        why = " any more: it was removed from the source" if loaded and name in loaded.removed else ""
        similar = closest_name(name, self) if loaded and not why else None
        guess = f"\n  likely fix: did you mean {similar}?" if similar else ""
        raise AttributeError(f"{self!r} has no operator {name!r}{why}; it has: {known}{guess}")

    def __copy__(self) -> Operators:
        """Return itself: there is one object for each namespace."""
        return self

    def __deepcopy__(self, memo: object) -> Operators:
        """Return itself: there is one object for each namespace."""
        return self

    def __reduce__(self) -> Restored:
        """Return the source of the operators, which is loaded again when the pickle is read."""
        return self.__loaded__.pickled(self.__loaded__)

    def __dir__(self) -> list[str]:
        """Return the operators' names."""
        return list(self)

    def __iter__(self) -> Iterator[str]:
        """Yield the operators' names, each once, without those of internal forms."""
        names = dict.fromkeys(map(operator_of, self.__loaded__.ops))
        return (name for name in names if not name.startswith("_"))

    def __repr__(self) -> str:
        loaded = self.__dict__.get("__loaded__")
        return f"<opwright operators {loaded.namespace!r} {loaded.origin}>" if loaded else "<opwright operators>"


@dataclass(eq=False)
class Loaded:
    """The source of a namespace of operators, and its registered operators.

    Attributes:
        namespace: the operators' namespace below ``torch.ops``.
        origin: where the operators come from, as shown by ``repr``.
        pickled: returns the content of a pickle of the operators.
        sources: their source files; empty for an installed package.
        derived: the names of derived operators.
        current: its registered operators.
        removed: the names of operators that existed before the last reload.
        operators: the object that users have.
    """

    namespace: str
    origin: str
    pickled: Callable[[Loaded], Restored]
    sources: tuple[KernelSource, ...] = ()
    derived: Collection[str] = ()
    current: Current = field(default_factory=Current)
    removed: set[str] = field(default_factory=set)
    operators: Operators = field(init=False)

    def __post_init__(self) -> None:
        self.operators = Operators(self)

    @property
    def registered(self) -> Mapping[str, Registered]:
        """The registered operators by name."""
        return self.current.registered

    def replace(self, current: Current, comments: Mapping[str, tuple[str, str]]) -> None:
        """Replace the attributes of `operators`: each operator is an instance attribute, the fastest to look up.

        Args:
            current: the operators.
            comments: by operator, its author's comment and its location.
        """
        before = self.ops
        self.current = current
        gone = before.keys() - self.ops.keys()
        self.removed = (self.removed | gone) - self.ops.keys()
        overloaded = {operator_of(name) for name in self.ops if overload_of(name)}
        for name, op in self.ops.items():
            operator = operator_of(name)
            setattr(self.operators, operator, op.overloadpacket if operator in overloaded else op)
        for name, op in {**current.all_ops, **self.ops}.items():
            self._make_picklable(name, op)
        for name in {*map(operator_of, gone)} - {*map(operator_of, self.ops)}:
            delattr(self.operators, name)
        self.operators.__doc__ = f"{repr(self.operators)[1:-1]}\n\n{document(current, comments)}"

    @property
    def ops(self) -> dict[str, OpOverload]:
        """What users call, by name."""
        return self.current.ops

    def _make_picklable(self, name: str, op: OpOverload) -> None:
        """Make an operator and its packet picklable and copyable, by reference to their source.

        PyTorch's own operators aren't: ``pickle.dumps(torch.ops.aten.mul.Tensor)`` raises, ``copy.copy`` of it returns
        an object that isn't the operator, and ``copy.copy`` of an ``OpOverloadPacket`` doesn't terminate.
        """
        targets: tuple[tuple[Any, bool], ...] = (op, True), (op.overloadpacket, False)
        for target, is_overload in targets:
            # Set on the instance, where pickle and copy look it up, so that PyTorch's classes stay unchanged.
            target.__reduce_ex__ = functools.partial(_reduce_operator, self.operators, name, is_overload)


def _reduce_operator(ops: Operators, name: str, is_overload: bool, protocol: int) -> Restored:
    del protocol
    return _restore_operator, (ops, name, is_overload)


def _restore_operator(ops: Operators, name: str, is_overload: bool) -> Any:
    found = getattr(ops, operator_of(name))
    packet = found.overloadpacket if isinstance(found, OpOverload) else found
    return getattr(packet, attribute_of(name)) if is_overload else packet


def identifier(stem: str) -> str:
    """Return the namespace for a file with that stem."""
    name = re.sub(r"\W", "_", stem, flags=re.ASCII)
    return f"_{name}" if not name.isidentifier() or keyword.iskeyword(name) else name


def check_name(name: str, namespace: str) -> None:
    """Refuse a name that is an attribute of ``torch.ops.<namespace>`` already, or begins with ``_`` (internal forms).

    Raises:
        SignatureError: no operator can have that name.
    """
    name = operator_of(name)
    if name.startswith("_") or hasattr(OpNamespace(namespace), name):
        raise SignatureError(
            f"no operator can be called {name}: torch.ops.{namespace}.{name} is something else\n"
            f"  likely fix: call it {name.strip('_')}_op"
        )


def check_free(namespace: str, function: str = "load") -> None:
    """Refuse a namespace in which PyTorch, another library or another source has operators.

    `function`: the function of Opwright that the user called, for the message.

    Raises:
        SourceError: the namespace has operators already.
    """
    if (
        started_runtime().namespace_in_use(namespace)
        or hasattr(type(torch.ops), namespace)
        or type(vars(torch.ops).get(namespace)) not in {type(None), OpNamespace}
    ):
        raise SourceError(
            f"the namespace torch.ops.{namespace} is taken by PyTorch, another library or another source\n"
            f'  likely fix: {function}(..., namespace="...") with another name'
            + (", or rename the source" if function == "load" else "")
        )
