"""The operators of an installed package: registered from libraries that were compiled when its wheel was built."""

from __future__ import annotations

import importlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opwright._version import __version__
from opwright.codegen.ahead_of_time import DESCRIPTION, FORMAT
from opwright.errors import PackagingError, UnsupportedError
from opwright.runtime.load.loading import add_loaded
from opwright.runtime.load.namespace import Loaded, Operators, identifier
from opwright.runtime.native.prebuilt import offer
from opwright.runtime.register.overloads import Current, renew
from opwright.signature import DType, Signature, parse
from opwright.signature.derivatives import chains, with_derived
from opwright.signature.dtypes import BY_NAME
from opwright.signature.wiring import inherited
from opwright.toolchain.compilers.cpu import VARIANTS, best, processor_flags

_LOADED: dict[str, Operators] = {}


def load(module: str, file: str) -> Operators:
    """Return the operators of the package `module`, whose ``__init__.py`` is `file`, without compiling anything.

    Raises:
        PackagingError: the installed package is incomplete, or is for another version of Opwright or processor.
        SourceError: another library has operators in that namespace.
    """
    if module in _LOADED:
        return _LOADED[module]
    folder = Path(file).parent
    facts = _facts(folder, module)
    if isinstance(facts.get("runtimes"), str):
        offer(folder / facts["runtimes"])
    loaded = Loaded(identifier(module), f"of {module}", lambda _loaded: (restore_operators, (module,)))
    return _LOADED.setdefault(module, add_loaded(loaded, lambda: _register(loaded, module, folder, facts)))


def _facts(folder: Path, module: str) -> dict[str, Any]:
    """Read the description of an installed package; raise PackagingError if that isn't possible."""
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
class InstalledKernel:
    """The provider of an installed kernel: library files beside the package's module, one for each device.

    Attributes:
        signature: the kernel's signature.
        module: the package's module name.
        files: library files by device.
        dtypes: the element types that were compiled; None: all that its signature allows.
        masked: whether there can be a separate instance for each subset of results. Shipped instances compute all.
    """

    signature: Signature
    module: str
    files: Mapping[str, Path]
    dtypes: Collection[DType] | None
    masked: bool
    ahead = None

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self.signature.name

    @property
    def devices(self) -> frozenset[str]:
        """The devices that have kernels."""
        return frozenset(self.files)

    def library(
        self,
        types: Mapping[str, DType],
        wanted: int = 0,  # noqa: ARG002 - the library computes all results
        *,
        device: str = "cpu",
        rebuild: bool = False,
    ) -> str:
        """Return the path of the library with the kernel for these element types on that device.

        Raises:
            PackagingError: the file is missing, or was found to be damaged.
            UnsupportedError: the package has no kernel for that device, or for these types.
        """
        if device not in self.files:
            raise UnsupportedError(
                f"{self.name}(): {self.module} was built with kernels for {' and '.join(self.files)}, none for {device}"
                "\n  likely fix: move the tensors, or install a build of it for that device"
            )
        names = None if self.dtypes is None else {dtype.torch_name for dtype in self.dtypes}
        if names is not None and not self.signature.selects(types, names):
            lacking = [dtype for dtype in types.values() if dtype.torch_name not in names]
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


def _register(loaded: Loaded, module: str, folder: Path, facts: Mapping[str, Any]) -> None:
    try:
        texts, kernels, dtypes = (facts[key] for key in ("signatures", "kernels", "dtypes"))
        compiled = None if dtypes is None else tuple(BY_NAME[dtype] for dtype in dtypes)
        signatures, derived = with_derived(inherited(_parsed(texts)))
        by_name = {signature.name: signature for signature in signatures}
        operator_chains = chains(signature for signature in signatures if signature.name in kernels)
        libraries = {part: _library(part, module, folder, files) for part, files in facts["libraries"].items()}
        providers = {
            name: InstalledKernel(
                by_name[name],
                module,
                {device: libraries[part] for device, part in parts.items()},
                compiled,
                name in derived and derived[name].masked,
            )
            for name, parts in kernels.items()
        }
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, PackagingError):
            raise
        raise PackagingError(
            f"{module}: {folder / DESCRIPTION} isn't what Opwright writes: {error!r}\n"
            "  likely fix: install the package again"
        ) from error
    loaded.derived = frozenset(derived)
    comments = {name: (text, "") for name, text in facts.get("comments", {}).items()}
    renew(loaded.namespace, Current(), operator_chains, providers, lambda current: loaded.replace(current, comments))


def _parsed(texts: Sequence[str]) -> list[Signature]:
    """Return the signatures; those with one name are alternatives."""
    signatures = [*map(parse, texts)]
    if len({signature.name for signature in signatures}) == len(signatures):
        return signatures
    from opwright.signature.alternatives import renamed

    return renamed(signatures)


def _library(part: str, module: str, folder: Path, files: Mapping[str, str]) -> Path:
    """Return the path of the shared library of one source and device that was built for this machine's processor."""
    variant = best(files)
    if variant is None:
        needs = VARIANTS[min(files, key=[*VARIANTS].index)].required
        lacking = ", ".join(sorted(needs - processor_flags()))
        raise PackagingError(
            f"{module}: no build of {part} runs on this processor, which lacks {lacking}\n"
            "  likely fix: build the package from source, on a machine like this one"
        )
    return folder / Path(files[variant]).name


def restore_operators(module: str) -> Operators:
    """Return the operators of a pickle by importing their package.

    Raises:
        ModuleNotFoundError: the package isn't installed here.
    """
    importlib.import_module(module)
    return _LOADED[module]
