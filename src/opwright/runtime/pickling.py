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

if TYPE_CHECKING:
    from opwright.runtime.loading import Operators

Restored = tuple[Callable[..., Any], tuple[Any, ...]]


def make_picklable(ops: Operators, name: str) -> None:
    """Let the operator `name` of `ops`, and its packet, be pickled and copied."""
    op = getattr(ops, name)
    space = getattr(torch.ops, op.namespace)
    for thing, what in ((op, "default"), (getattr(space, name), "")):
        # On the instance: pickle and copy ask there, and PyTorch's classes stay as they are.
        thing.__reduce_ex__ = functools.partial(_reduce_operator, ops, name, what)


def reduce_operators(ops: Operators) -> Restored:
    """What a pickle holds of an `Operators` object: its files, its namespace, how they were compiled."""
    sources = ops._sources  # noqa: SLF001
    options = sources[0].options
    chosen = {
        "namespace": ops._namespace,  # noqa: SLF001
        "extra_cflags": options.extra_cflags,
        "extra_ldflags": options.extra_ldflags,
        "extra_include_paths": tuple(map(str, options.include_dirs)),
        "debug": options.debug,
    }
    return restore_operators, ([str(source.path) for source in sources], chosen)


def restore_operators(paths: Sequence[str], chosen: dict[str, Any]) -> Operators:
    """The operators of a pickle: those of this process, or loaded now.

    Raises:
        SourceError: a source isn't where it was when the pickle was written.
    """
    from opwright.runtime import loading

    known = loading._LOADED.get(chosen["namespace"])  # noqa: SLF001 - its other half
    if known is not None and [Path(path).name for path in paths] == [s.path.name for s in known._sources]:  # noqa: SLF001
        return known
    missing = [path for path in paths if not Path(path).exists()]
    if missing:
        raise SourceError(
            f"{missing[0]}: the operators of torch.ops.{chosen['namespace']} were pickled with this file as their "
            "source, and it isn't there\n"
            "  likely fix: put it there; or load the operators from where it is now before unpickling:\n"
            f'              opwright.load(..., namespace="{chosen["namespace"]}")'
        )
    return loading.load(*paths, **chosen)


def _reduce_operator(ops: Operators, name: str, what: str, protocol: int) -> Restored:
    del protocol
    return _restore_operator, (ops, name, what)


def _restore_operator(ops: Operators, name: str, what: str) -> Any:
    op = getattr(ops, name)
    return op if what else getattr(getattr(torch.ops, op.namespace), name)
