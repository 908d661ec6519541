"""``opwright.bundle``: operators as one shared library that needs neither Python nor Opwright, for C++ programs."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from opwright._version import minor
from opwright.codegen import KernelSource, instance_name
from opwright.codegen.ahead_of_time import Chosen, Part
from opwright.codegen.ahead_of_time import choose as choose_parts
from opwright.errors import ArgumentError, ToolchainError, UnsupportedError
from opwright.runtime.bundle.text import CHOOSER, Embedded, Instance, KernelEntry, OperatorEntry, bundle_text
from opwright.runtime.interface import KernelState
from opwright.runtime.load.namespace import Operators
from opwright.runtime.native.plan import encode, encode_choice, encode_node, encode_tangents, variant_code
from opwright.runtime.native.runtime import CSRC, build_native
from opwright.runtime.register.operators import check_chain, missing, node_name
from opwright.runtime.torch_internals import OpOverload, schema_of
from opwright.signature import Signature
from opwright.signature.derivatives import chains
from opwright.signature.names import backward_of, jvp_of
from opwright.signature.wiring import node_plan
from opwright.toolchain import Options, Unit, build
from opwright.tracebacks import entry

if TYPE_CHECKING:
    from opwright.runtime.register.choosers import Chooser


@entry
def bundle(
    ops: Operators,
    path: str | os.PathLike[str],
    *,
    dtypes: Sequence[torch.dtype] | None = None,
    native: bool = False,
) -> Path:
    """Write operators as one shared library that depends on nothing but PyTorch.

    When the library is loaded (``dlopen``, ``torch.ops.load_library``), it registers the operators with PyTorch's
    dispatcher, kernels and backward included. This needs neither Python nor Opwright, so it works in a C++ program, for
    example beside an AOTInductor package. A library works with the PyTorch minor version that it was written with;
    under another version, each call of an operator raises an error that explains this. Operators that are already
    registered aren't replaced.

    CUDA kernels are included for the GPUs in ``TORCH_CUDA_ARCH_LIST``, or for those of this machine. They come from
    CUDA sources, and from pointwise operators in C++ that were loaded with ``backend=``. They are opened at the first
    call on a GPU.

    Args:
        ops: the result of `opwright.load`.
        path: the file to write, conventionally ``<namespace>.so``.
        dtypes: the element types to compile; by default all that the signatures allow.
        native: compile for this machine's processor instead of any processor of its architecture.

    Returns:
        The file's absolute path.

    Raises:
        ArgumentError: `dtypes` leave an operator without a kernel.
        UnsupportedError: the operators are emulated.
        CompileError: a compiler refused a source.
        ToolchainError: there is no usable C++ or CUDA compiler, or the file can't be written.
    """
    target = Path(path).absolute()
    states = [registered.kernel for registered in ops.__loaded__.registered.values()]
    chosen = choose(ops.__loaded__.sources, states, dtypes)
    units = [part.unit_within() for part in chosen.parts if part.device == "cpu"]
    # C sources are compiled separately from the C++ that calls them.
    parts = [part for unit in units for part in (replace(unit, extra=()), *unit.extra)]
    # CUDA code is built with different headers: if linked in, functions of the same name would be merged. So it is
    # embedded as a separate library.
    within = [Embedded(p.table, _cuda_library(p, native)) for p in chosen.parts if p.device == "cuda"]
    text = bundle_text(target.name, ops.__loaded__.namespace, minor(torch.__version__), *_entries(ops, chosen), within)
    built = build(Unit(target.stem, text, extra=tuple(parts)), _options(ops, native))
    _put(built.path, target)
    return target


def _cuda_library(part: Part, native: bool) -> Path:
    return part.cuda_library(replace(part.source.options, native=native))


def _entries(ops: Operators, chosen: Chosen) -> tuple[list[KernelEntry], list[OperatorEntry]]:
    """Return the kernels and operators that the library registers, in the order in which `opwright.load` did."""
    states = {name: registered.kernel for name, registered in ops.__loaded__.registered.items()}
    known_chains = list(chains(state.signature for state in states.values()))
    places = _places(known_chains)
    kernels: list[KernelEntry] = []
    operators: list[OperatorEntry] = []
    for chain in known_chains:
        for i, signature in enumerate(chain):
            state = states[signature.name]
            instances = [
                Instance(state.key(t, device=d), instance_name(t), chosen.where[signature.name, d].table, d)
                for d in chosen.devices(signature.name)
                for t in chosen.kernels[signature.name]
            ]
            kernels.append(KernelEntry(signature, len(state.axes), state.ellipsis, state.derived, instances))
            backward, jvp = places.get(backward_of(signature.name), -1), places.get(jvp_of(signature.name), -1)
            words = encode_node(node_plan(signature, check_chain(chain)[i] if backward >= 0 else None))
            words += encode_tangents(signature if jvp >= 0 else None)
            # The form with residuals comes second.
            wiring = places[signature.name] + bool(signature.residuals), backward, jvp
            forms = _forms(ops, state, len(kernels) - 1, mask=i > 0)
            operators += [replace(form, wiring=wiring, words=words) for form in forms]
    for registered in ops.__loaded__.registered.values():
        place = places[registered.kernel.signature.name]
        for variant in registered.variants.values():
            kernel, nothing = operators[place].kernel, array("q", [0])
            entry = OperatorEntry(
                variant.op,
                kernel,
                nothing,
                residuals=False,
                node=variant.signature.shown_name,
                missing="",
                words=nothing,
            )
            operators.append(replace(entry, wiring=(place, -1, -1), variant=variant_code(variant.signature)))
    known = {entry.op: place for place, entry in enumerate(operators)}
    operators += [_choosing(chooser, known) for chooser in ops.__loaded__.current.choosers.values()]
    return kernels, operators


def _choosing(chooser: Chooser, places: Mapping[OpOverload, int]) -> OperatorEntry:
    """Return what chooses between alternatives, which are at these places among the operators."""
    names = [argument.name for argument in schema_of(chooser.op).arguments]
    own = array("q", [len(chooser.ops), *(places[op] for op in chooser.ops)]) + encode_choice(chooser.choice, names)
    name, takes, nothing = chooser.choice.name, chooser.choice.takes(), array("q", [0])
    return OperatorEntry(chooser.op, 0, nothing, residuals=False, node=name, missing=takes, words=own, variant=CHOOSER)


def _places(found: Iterable[Sequence[Signature]]) -> dict[str, int]:
    """Return the index of each signature's public form among the operators of all chains."""
    places, next_place = {}, 0
    for signature in (signature for chain in found for signature in chain):
        places[signature.name] = next_place
        next_place += 2 if signature.residuals else 1
    return places


def _forms(ops: Operators, state: KernelState, kernel: int, *, mask: bool) -> list[OperatorEntry]:
    """Return the public operator of a signature and, if there are residuals, the recorded one."""
    signature = state.signature
    plan = encode(signature, state.axes, ellipsis=state.ellipsis, mask=mask, derived=state.derived)
    registered = ops.__loaded__.registered[signature.name]
    forms = [(registered.op, False), (registered.recorded, True)][: 1 + bool(signature.residuals)]
    return [
        OperatorEntry(op, kernel, plan, residuals=residuals, node=node_name(signature), missing=missing(signature))
        for op, residuals in forms
    ]


def _options(ops: Operators, native: bool) -> Options:
    options = ops.__loaded__.sources[0].options  # all sources have the same options
    libraries = Path(torch.__file__).parent / "lib"
    flags = [str(_runtime())]
    if sys.platform == "linux":  # weak references alone don't make the linker keep a library
        flags += [f"-Wl,--version-script={CSRC / 'bundle' / 'bundle.map'}", "-Wl,--no-as-needed"]
    flags += [f"-L{libraries}", "-ltorch_cpu", "-lc10", *options.extra_ldflags]
    return replace(options, native=native, include_dirs=(*options.include_dirs, CSRC), extra_ldflags=tuple(flags))


def _runtime() -> Path:
    """Build the runtime as an object file whose references to PyTorch are weak, and return its path.

    With weak references, a library can be loaded even if this PyTorch lacks some of the symbols, and can raise its own
    error; the dynamic linker's error would only name a mangled symbol.
    """
    built = build_native(for_bundles=True).path
    objcopy = shutil.which("objcopy") or shutil.which("llvm-objcopy")
    if objcopy is None:
        return built
    weak = built.with_suffix(".weak.o")
    if not weak.exists():
        temporary = weak.with_suffix(f".{os.getpid()}")
        subprocess.run([objcopy, "--weaken", built, temporary], check=True)
        os.replace(temporary, weak)
    return weak


def _put(library: Path, target: Path) -> None:
    """Copy to a temporary name, then rename: a process that has the old file mapped keeps it."""
    passing = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(library, passing)
        os.replace(passing, target)
    except OSError as error:
        with contextlib.suppress(OSError):
            passing.unlink()
        raise ToolchainError(f"{target}: can't be written: {error.strerror or error}") from error


def choose(
    sources: Sequence[KernelSource], states: Iterable[KernelState], dtypes: Sequence[torch.dtype] | None
) -> Chosen:
    """Return the kernels and parts that a bundle of these operators needs.

    Raises:
        ArgumentError: `dtypes` leave an operator without a kernel.
        UnsupportedError: the operators are emulated.
    """
    if emulated := [source.path.name for source in sources if source.is_emulated]:
        raise UnsupportedError(
            f"bundle(): the operators of {', '.join(emulated)} are emulated, which is for tests\n"
            "  likely fix: bundle what load() gives without backend='emulate'"
        )
    names = None if dtypes is None else {str(dtype).removeprefix("torch.") for dtype in dtypes}
    chosen = choose_parts(sources, names)
    for state in states:
        _check_any(state.signature, chosen.kernels[state.signature.name], dtypes)
    return chosen


def _check_any(signature: Signature, found: Sequence[object], dtypes: Sequence[torch.dtype] | None) -> None:
    if not found:
        raise ArgumentError(
            f"bundle(): dtypes={list(dtypes or ())} leave {signature.name} without a kernel\n"
            f"  signature:  {signature}\n"
            f"  likely fix: add an element type for each of {', '.join(signature.type_variables)}"
        )
