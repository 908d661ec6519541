"""Operators in pickles and copies: by where they came from, restored by loading that again.

PyTorch's own operators can't be pickled or copied at all: ``pickle.dumps(torch.ops.aten.mul.Tensor)`` is an error,
``copy.copy`` of it gives an object that isn't the operator, and of an ``OpOverloadPacket`` it doesn't end.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from opwright.errors import SourceError
from opwright.sources import Given
from opwright.toolchain import Options

if TYPE_CHECKING:
    from opwright.codegen.backends import Backend
    from opwright.runtime.namespace import Operators

Restored = tuple[Callable[..., Any], tuple[Any, ...]]


def make_picklable(ops: Operators, name: str) -> None:
    """Let the operator `name` of `ops`, and its packet, be pickled and copied."""
    op = getattr(ops, name)
    space = getattr(torch.ops, op.namespace)
    for thing, what in ((op, "default"), (getattr(space, name), "")):
        # On the instance: pickle and copy ask there, and PyTorch's classes stay as they are.
        thing.__reduce_ex__ = functools.partial(_reduce_operator, ops, name, what)


def reduce_operators(ops: Operators) -> Restored:
    """What a pickle holds of an `Operators` object: its sources, its namespace, how they were compiled."""
    sources = ops._sources  # noqa: SLF001
    kept = [(str(s.path), s.text if s.is_text else "", s.given) for s in sources]
    return restore_operators, (kept, ops._namespace, sources[0].options, sources[0].backend)  # noqa: SLF001


def restore_operators(
    kept: Sequence[tuple[str, str, tuple[Given, ...]]],
    namespace: str,
    options: Options,
    backend: Backend | None = None,
) -> Operators:
    """The operators of a pickle: those of this process, or loaded now.

    Raises:
        SourceError: a source isn't where it was when the pickle was written.
    """
    from opwright.codegen import KernelSource
    from opwright.runtime import loading

    known = loading._LOADED.get(namespace)  # noqa: SLF001 - its other half
    if known is not None and [Path(path).name for path, *_ in kept] == [s.path.name for s in known._sources]:  # noqa: SLF001
        return known
    missing = [path for path, text, _ in kept if not text and not Path(path).exists()]
    if missing:
        raise SourceError(
            f"{missing[0]}: the operators of torch.ops.{namespace} were pickled with this file as their "
            "source, and it isn't there\n"
            "  likely fix: put it there; or load the operators from where it is now before unpickling:\n"
            f'              opwright.load(..., namespace="{namespace}")'
        )
    found = [KernelSource(Path(path), options, text, given, backend) for path, text, given in kept]
    return loading.load_sources(found, namespace.removesuffix(backend.suffix if backend else ""), ())


def _reduce_operator(ops: Operators, name: str, what: str, protocol: int) -> Restored:
    del protocol
    return _restore_operator, (ops, name, what)


def _restore_operator(ops: Operators, name: str, what: str) -> Any:
    op = getattr(ops, name)
    return op if what else getattr(getattr(torch.ops, op.namespace), name)
