"""The operators of an installed package: registered from libraries that were compiled when its wheel was built."""

from __future__ import annotations

import importlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opwright._version import __version__
from opwright.codegen import KernelSource
from opwright.codegen.parts import DESCRIPTION, FORMAT
from opwright.errors import PackagingError, UnsupportedError
from opwright.runtime.loading import add_loaded
from opwright.runtime.namespace import Operators, identifier
from opwright.runtime.reloading import renew
from opwright.signature import DType, parse
from opwright.signature.derive import with_derived
from opwright.signature.dtypes import BY_NAME
from opwright.signature.wiring import chains, inherited
from opwright.toolchain.variants import VARIANTS, best, processor_flags

_LOADED: dict[str, Shipped] = {}


def load(module: str, file: str) -> Operators:
    """The operators of the package `module`, whose ``__init__.py`` is `file`: nothing is compiled, or read twice.

    Raises:
        PackagingError: what is installed isn't whole, or is for another Opwright or processor.
        SourceError: another library has operators of that namespace.
    """
    if module in _LOADED:
        return _LOADED[module]
    folder = Path(file).parent
    shipped = Shipped(module, folder, _facts(folder, module))
    add_loaded(shipped._namespace, shipped._register)  # noqa: SLF001 - the rest of it
    return _LOADED.setdefault(module, shipped)


def _facts(folder: Path, module: str) -> dict[str, Any]:
    try:
        facts = json.loads((folder / DESCRIPTION).read_bytes())
        form, version = int(facts["format"]), str(facts["opwright"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise PackagingError(
            f"{module}: {folder / DESCRIPTION} can't be read: {error}\n  likely fix: install the package again"
        ) from error
    if form > FORMAT:
        raise PackagingError(
            f"{module} was built by Opwright {version}, in a form that this one, {__version__}, doesn't know\n"
            f"  likely fix: pip install 'opwright>={version}'"
        )
    return dict(facts)


@dataclass(frozen=True)
class ShippedKernel:
    """Where one kernel's machine code comes from: files beside the package's module, one for each device.

    Attributes:
        name: the kernel's.
        module: the package's.
        files: by device.
        dtypes: the element types that were compiled; None: all that its signature allows.
        masked: whether there is an instance for each choice of results. Those that are shipped compute all.
    """

    name: str
    module: str
    files: Mapping[str, Path]
    dtypes: Collection[DType] | None
    masked: bool
    ahead = None

    @property
    def devices(self) -> frozenset[str]:
        """For which it has kernels."""
        return frozenset(self.files)

    def library(
        self,
        types: Mapping[str, DType],
        wanted: int = 0,  # noqa: ARG002 - it computes all
        *,
        device: str = "cpu",
        rebuild: bool = False,
    ) -> str:
        """The file with the kernel for these element types on that device.

        Raises:
            PackagingError: it isn't there, or was found to be damaged.
            UnsupportedError: the package has nothing for that device, or for these types.
        """
        if device not in self.files:
            raise UnsupportedError(
                f"{self.name}(): {self.module} was built with kernels for {' and '.join(self.files)}, none for {device}"
                "\n  likely fix: move the tensors, or install a build of it for that device"
            )
        lacking = [dtype for dtype in types.values() if self.dtypes is not None and dtype not in self.dtypes]
        if lacking:
            known = ", ".join(dtype.torch_name for dtype in self.dtypes or ())
            raise UnsupportedError(
                f"{self.name}(): {self.module} was built without kernels for {lacking[0].torch_name}; it has {known}\n"
                f"  likely fix: convert the tensors; or, when the package is built: dtypes = [..., "
                f'"{lacking[0].torch_name}"]'
            )
        path = self.files[device]
        if rebuild or not path.is_file():
            what = "is damaged, or for another kind of machine" if path.is_file() else "isn't there"
            raise PackagingError(
                f"{self.name}(): {path}, a part of {self.module}, {what}\n  likely fix: install the package again"
            )
        return str(path)


class Shipped(Operators):
    """The operators of an installed package."""

    def __init__(self, module: str, folder: Path, facts: Mapping[str, Any]) -> None:
        super().__init__(identifier(module))
        self._module, self._folder, self._facts = module, folder, facts
        self._follows: frozenset[str] = frozenset()

    @property
    def _derived(self) -> Collection[str]:
        return self._follows

    def _words(self, sources: Sequence[KernelSource]) -> dict[str, tuple[str, str]]:  # noqa: ARG002 - they are elsewhere
        return {name: (words, "") for name, words in self._facts.get("comments", {}).items()}

    def __repr__(self) -> str:
        """Whose they are."""
        return f"<opwright operators {self._namespace!r} of {self._module}>"

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        """By the package: it is imported where the pickle is read."""
        return _of_module, (self._module,)

    def _register(self) -> Operators:
        try:
            texts, kernels, dtypes = (self._facts[key] for key in ("signatures", "kernels", "dtypes"))
            chosen = None if dtypes is None else tuple(BY_NAME[dtype] for dtype in dtypes)
            every, derived = with_derived(inherited(map(parse, texts)))
            found = chains(each for each in every if each.name in kernels)
            libraries = {part: self._library(part, files) for part, files in self._facts["libraries"].items()}
            providers = {
                name: ShippedKernel(
                    name,
                    self._module,
                    {device: libraries[part] for device, part in where.items()},
                    chosen,
                    name in derived and derived[name].signature.is_backward,
                )
                for name, where in kernels.items()
            }
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            if isinstance(error, PackagingError):
                raise
            raise PackagingError(
                f"{self._module}: {self._folder / DESCRIPTION} isn't what Opwright writes: {error!r}\n"
                "  likely fix: install the package again"
            ) from error
        self._follows = frozenset(derived)
        renew(self._namespace, {}, found, providers, lambda registered: self._replace((), registered))
        return self

    def _library(self, part: str, files: Mapping[str, str]) -> Path:
        """The file of a part for this machine's processor."""
        chosen = best(files)
        if chosen is None:
            needs = VARIANTS[min(files, key=[*VARIANTS].index)].needs
            lacking = ", ".join(sorted(needs - processor_flags()))
            raise PackagingError(
                f"{self._module}: no build of {part} runs on this processor, which lacks {lacking}\n"
                "  likely fix: build the package from source, on a machine like this one"
            )
        return self._folder / Path(files[chosen]).name


def _of_module(module: str) -> Operators:
    """The operators of a pickle.

    Raises:
        ModuleNotFoundError: the package isn't installed here.
    """
    importlib.import_module(module)
    return _LOADED[module]
