"""``opwright.load``: sources in, operators out."""

from __future__ import annotations

import keyword
import os
import re
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch

from opwright.codegen import KernelSource
from opwright.errors import SignatureError, SourceError, UnsupportedError
from opwright.runtime.lifetime import renew_in_forks
from opwright.runtime.operators import Registered, check_chain, overload_name, register
from opwright.runtime.pickling import Restored, make_picklable, reduce_operators
from opwright.runtime.registry import publish, started, switch
from opwright.runtime.supported import check_supported
from opwright.signature import Signature
from opwright.signature.wiring import chains
from opwright.sources import match
from opwright.toolchain import Options

_LOADED: dict[str, Operators] = {}
_LOCK = threading.RLock()
renew_in_forks(globals(), "_LOCK")


class Operators:
    """The operators of a namespace, as attributes: each is the ``OpOverload`` itself."""

    def __init__(self, namespace: str, sources: Sequence[KernelSource]) -> None:
        self._namespace, self._sources = namespace, tuple(sources)
        self._registered: dict[str, Registered] = {}

    def _add(self, registered: Registered) -> None:
        """Make the operator an attribute of the instance: the quickest to look up."""
        name = registered.kernel.signature.name
        self._registered[name] = registered
        setattr(self, name, registered.op)
        make_picklable(self, name)

    def __getattr__(self, name: str) -> torch._ops.OpOverload:
        """There is no operator of that name."""
        raise AttributeError(
            f"{self!r} has no operator {name!r}; it has: {', '.join(self.__dict__.get('_registered', ()))}"
        )

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
        return list(self._registered)

    def __iter__(self) -> Iterator[str]:
        """The operators' names."""
        return iter(self._registered)

    def __repr__(self) -> str:
        space, sources = self.__dict__.get("_namespace"), self.__dict__.get("_sources", ())  # copy asks before they are
        return f"<opwright operators {space!r} from {', '.join(str(s.path) for s in sources)}>"


def load(
    *sources: str | os.PathLike[str],
    namespace: str | None = None,
    dtypes: Sequence[torch.dtype] = (),
    extra_cflags: Sequence[str] = (),
    extra_ldflags: Sequence[str] = (),
    extra_include_paths: Sequence[str | os.PathLike[str]] = (),
    debug: bool = False,
) -> Operators:
    """Make operators of the kernels in C and C++ files.

    Nothing is compiled here, but for `dtypes`: each element type is compiled when a call first meets it, and kept in
    the cache for the next process. Loading a file again gives the same operators, which run the new code if it has
    changed.

    Args:
        sources: the files; each kernel in them is marked ``OPWRIGHT("signature")``.
        namespace: where the operators are found below ``torch.ops``; by default the first file's stem.
        dtypes: element types to compile at once, for every type variable that allows them.
        extra_cflags: words for the compiler, after Opwright's own.
        extra_ldflags: words for the linker.
        extra_include_paths: folders in which headers are searched.
        debug: compile with ``-g -O0``, so that a debugger stops at the source's lines.

    Raises:
        SourceError: a file can't be read, or a function doesn't fit its signature.
        SignatureError: a signature can't be read, or doesn't fit its relatives.
        UnsupportedError: a part of the notation that isn't supported.
        TypeError: a string where a sequence of strings is expected.
        CompileError: the compiler refused a source (only with `dtypes`; else at the call that needs it).
    """
    if not sources:
        raise SourceError("load() got no source file; expected at least one, as in load('my_op.cpp')")
    for name, words in (("extra_cflags", extra_cflags), ("extra_ldflags", extra_ldflags)):
        if isinstance(words, str):
            raise TypeError(f"load() got {name}={words!r}, expected a sequence of words: {name}={words.split()!r}")
    paths = [Path(source).absolute() for source in sources]
    space = _namespace(namespace or paths[0].stem)
    options = Options(
        debug=debug,
        include_dirs=tuple(os.fspath(path) for path in extra_include_paths),
        extra_cflags=tuple(extra_cflags),
        extra_ldflags=tuple(extra_ldflags),
    )
    found = [KernelSource(path, options) for path in paths]
    for source in found:
        source.relate(kernel.signature for other in found for kernel in other.source.kernels)
    with _LOCK:
        ops = _reload(_LOADED[space], found) if space in _LOADED else _load(space, found)
    _compile_now(ops, dtypes)
    return ops


def _load(namespace: str, sources: Sequence[KernelSource]) -> Operators:
    _check_free(namespace)
    ops = Operators(namespace, sources)
    providers = _providers(sources)
    found = chains(_signatures(sources))
    for name in providers:
        _check_name(name, namespace)
    for chain in found:  # all are judged before any is registered: what is registered stays
        check_chain(chain)
    for chain in found:
        for registered in register(namespace, chain, providers[chain[0].name]):
            registered.kernel.provider = providers[registered.kernel.signature.name]
            ops._add(registered)  # noqa: SLF001 - made above
    _LOADED[namespace] = ops
    return ops


def _reload(ops: Operators, sources: Sequence[KernelSource]) -> Operators:
    """The same operators, with what has changed in the files since."""
    old, new = [s.path for s in ops._sources], [s.path for s in sources]  # noqa: SLF001
    if old != new:
        raise SourceError(
            f"the namespace {ops._namespace!r} is taken by {_listed(old)}; {_listed(new)} wants it too\n"  # noqa: SLF001
            f'  likely fix: load(..., namespace="...") with another name for one of them'
        )
    wanted = {signature.name: overload_name(chain) for chain in chains(_signatures(sources)) for signature in chain}
    have = {name: registered.op._overloadname for name, registered in ops._registered.items()}  # noqa: SLF001
    changed = sorted(name for name in wanted.keys() | have.keys() if wanted.get(name) != have.get(name))
    if changed:
        raise UnsupportedError(
            f"{_listed(new)}: the signature of {', '.join(changed)} has changed since it was loaded; PyTorch keeps an "
            "operator's schema for the life of the process\n"
            '  likely fix: restart the process, or load(..., namespace="...") with a new name'
        )
    switch({name: registered.kernel for name, registered in ops._registered.items()}, _providers(sources))  # noqa: SLF001
    ops._sources = tuple(sources)  # noqa: SLF001
    return ops


def _providers(sources: Sequence[KernelSource]) -> dict[str, KernelSource]:
    return {kernel.signature.name: source for source in sources for kernel in source.source.kernels}


def _signatures(sources: Sequence[KernelSource]) -> list[Signature]:
    """Every signature, each supported and each fitting its function."""
    kernels = [kernel for source in sources for kernel in source.source.kernels]
    for kernel in kernels:
        check_supported(kernel.signature, f"{kernel.path}:{kernel.line}")
        match(kernel)
    names = [kernel.signature.name for kernel in kernels]
    for name in names:
        if names.count(name) > 1:
            where = [f"{k.path}:{k.line}" for k in kernels if k.signature.name == name]
            raise SourceError(f"{name} is defined more than once: {', '.join(where)}")
    return [kernel.signature for kernel in kernels]


def _compile_now(ops: Operators, dtypes: Sequence[torch.dtype]) -> None:
    names = {str(dtype).removeprefix("torch.") for dtype in dtypes}
    for registered in ops._registered.values() if names else ():  # noqa: SLF001
        kernel = registered.kernel
        for types in kernel.signature.instances():
            if all(dtype.torch_name in names for dtype in types.values()):
                publish(kernel, kernel.key(types))


def _namespace(stem: str) -> str:
    name = re.sub(r"\W", "_", stem, flags=re.ASCII)
    return f"_{name}" if not name.isidentifier() or keyword.iskeyword(name) else name


def _check_name(name: str, namespace: str) -> None:
    """An operator is an attribute of its namespace, which has some of its own; ``_`` begins internal forms."""
    if name.startswith("_") or hasattr(torch._ops._OpNamespace(namespace), name):  # noqa: SLF001
        raise SignatureError(
            f"no operator can be called {name}: torch.ops.{namespace}.{name} is something else\n"
            f"  likely fix: call it {name.strip('_')}_op"
        )


def _check_free(namespace: str) -> None:
    """A namespace that torch or another library has operators in is not ours to add to."""
    if (
        started().namespace_in_use(namespace.encode())
        or hasattr(type(torch.ops), namespace)
        or type(vars(torch.ops).get(namespace)) not in {type(None), torch._ops._OpNamespace}  # noqa: SLF001
    ):
        raise SourceError(
            f"the namespace torch.ops.{namespace} belongs to PyTorch or to another library\n"
            '  likely fix: load(..., namespace="...") with another name, or rename the source'
        )


def _listed(paths: Sequence[Path]) -> str:
    return ", ".join(map(str, paths))
