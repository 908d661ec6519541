"""``opwright.bundle``: operators as one shared library that needs neither Python nor Opwright, for C++ programs."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import torch

from opwright.codegen import instance_name
from opwright.codegen.parts import Chosen, Part
from opwright.errors import ToolchainError
from opwright.runtime.bundle_parts import choose
from opwright.runtime.bundle_text import Embedded, Instance, KernelEntry, OperatorEntry, bundle_text
from opwright.runtime.interface import KernelState
from opwright.runtime.namespace import Operators
from opwright.runtime.native import CSRC, build_native
from opwright.runtime.operators import check_chain, missing, node_name
from opwright.runtime.plan import encode, encode_node, encode_tangents
from opwright.signature import Signature
from opwright.signature.derive import jvp_name
from opwright.signature.node import node_plan
from opwright.signature.wiring import BACKWARD, chains
from opwright.toolchain import Options, Unit, build


def bundle(
    ops: Operators,
    path: str | os.PathLike[str],
    *,
    dtypes: Sequence[torch.dtype] | None = None,
    native: bool = False,
) -> Path:
    """Write operators as one shared library that brings all it needs but PyTorch itself.

    Wherever it is loaded (``dlopen``, ``torch.ops.load_library``), the operators are registered with PyTorch's
    dispatcher, kernels and backward included, without Python and without Opwright: beside a package of AOTInductor in
    a C++ program, for instance. It serves the PyTorch minor version that it was written with; under another one, each
    call of an operator is an error that says so. Operators that are registered already stay as they are.

    Of CUDA sources it holds the kernels for the GPUs in ``TORCH_CUDA_ARCH_LIST``, or those of this machine; of
    pointwise operators in C++ too, if they were loaded with ``backend=``. They are opened at the first call on a GPU.

    Args:
        ops: what `opwright.load` returned.
        path: the file to write, by custom ``<namespace>.so``.
        dtypes: the element types to compile; by default all that the signatures allow.
        native: compile for this machine's processor, and not for any of its architecture.

    Returns:
        The file's absolute path.

    Raises:
        ArgumentError: `dtypes` leave an operator without a kernel.
        UnsupportedError: the operators are emulated.
        CompileError: a compiler refused a source.
        ToolchainError: there is no usable compiler, or none for CUDA, or the file can't be written.
    """
    target = Path(path).absolute()
    states = [registered.kernel for registered in ops._registered.values()]  # noqa: SLF001
    chosen = choose(ops._sources, states, dtypes)  # noqa: SLF001
    units = [part.unit_within() for part in chosen.parts if part.device == "cpu"]
    # C is compiled by itself, beside the C++ that calls it.
    parts = [part for unit in units for part in (replace(unit, extra=()), *unit.extra)]
    # CUDA's headers differ: linked together, functions of the same name would become one. So it is a library within.
    within = [Embedded(p.table, _cuda_library(p, native)) for p in chosen.parts if p.device == "cuda"]
    text = bundle_text(target.name, ops._namespace, torch_minor(), *_entries(ops, chosen), within)  # noqa: SLF001
    built = build(Unit(target.stem, text, extra=tuple(parts)), _options(ops, native))
    _put(built.path, target)
    return target


def _cuda_library(part: Part, native: bool) -> Path:
    return part.cuda_library(replace(part.source.options, native=native))


def _entries(ops: Operators, chosen: Chosen) -> tuple[list[KernelEntry], list[OperatorEntry]]:
    """What the library registers, in the order in which `opwright.load` did."""
    states = {name: registered.kernel for name, registered in ops._registered.items()}  # noqa: SLF001
    found = list(chains(state.signature for state in states.values()))
    places = _places(found)
    kernels: list[KernelEntry] = []
    operators: list[OperatorEntry] = []
    for chain in found:
        for i, signature in enumerate(chain):
            state = states[signature.name]
            instances = [
                Instance(state.key(t, device=d), instance_name(t), chosen.where[signature.name, d].table, d)
                for d in chosen.devices(signature.name)
                for t in chosen.kernels[signature.name]
            ]
            given = len(signature.sizes) + len(state.axes)
            kernels.append(KernelEntry(signature, given, state.ellipsis, state.derived, instances))
            backward, jvp = places.get(signature.name + BACKWARD, -1), places.get(jvp_name(signature.name), -1)
            words = encode_node(node_plan(signature, check_chain(chain)[i] if backward >= 0 else None))
            words += encode_tangents(signature if jvp >= 0 else None)
            # The form with residuals comes second.
            wiring = places[signature.name] + bool(signature.residuals), backward, jvp
            forms = _forms(ops, state, len(kernels) - 1, mask=i > 0)
            operators += [replace(form, wiring=wiring, words=words) for form in forms]
    return kernels, operators


def _places(found: Iterable[Sequence[Signature]]) -> dict[str, int]:
    """Where each signature's public form stands among the operators of all chains."""
    places, next_place = {}, 0
    for signature in (signature for chain in found for signature in chain):
        places[signature.name] = next_place
        next_place += 2 if signature.residuals else 1
    return places


def _forms(ops: Operators, state: KernelState, kernel: int, *, mask: bool) -> list[OperatorEntry]:
    """The public operator of a signature and, where there are residuals, the internal one: as they were registered."""
    signature = state.signature
    plan = encode(signature, state.axes, ellipsis=state.ellipsis, mask=mask, derived=state.derived)
    found = [(getattr(ops, signature.name), False)]
    if signature.residuals:
        space = getattr(torch.ops, ops._namespace)  # noqa: SLF001
        found.append((getattr(space, f"_{signature.name}_with_residuals").default, True))
    return [
        OperatorEntry(op, kernel, plan, residuals=residuals, node=node_name(signature), missing=missing(signature))
        for op, residuals in found
    ]


def torch_minor() -> tuple[int, int]:
    """The PyTorch that is in use: its C++ interfaces stay the same within a minor version."""
    major, minor = torch.__version__.split(".")[:2]
    return int(major), int(minor)


def _options(ops: Operators, native: bool) -> Options:
    options = ops._sources[0].options  # noqa: SLF001 - one for all
    libraries = Path(torch.__file__).parent / "lib"
    words = [str(_runtime())]
    if sys.platform == "linux":  # what is weak asks for no library by itself
        words += [f"-Wl,--version-script={CSRC / 'bundle.map'}", "-Wl,--no-as-needed"]
    words += [f"-L{libraries}", "-ltorch_cpu", "-lc10", *options.extra_ldflags]
    return replace(options, native=native, include_dirs=(*options.include_dirs, CSRC), extra_ldflags=tuple(words))


def _runtime() -> Path:
    """The runtime as an object file whose references to PyTorch are weak.

    So a library is loaded even by a PyTorch that lacks what it refers to, and can say what is wrong itself; the dynamic
    linker would name a mangled symbol.
    """
    built = build_native(for_bundles=True).path
    objcopy = shutil.which("objcopy") or shutil.which("llvm-objcopy")
    if objcopy is None:
        return built
    weak = built.with_suffix(".weak.o")
    if not weak.exists():
        made = weak.with_suffix(f".{os.getpid()}")
        subprocess.run([objcopy, "--weaken", built, made], check=True)
        os.replace(made, weak)
    return weak


def _put(library: Path, target: Path) -> None:
    """Copy under a passing name, then rename: a process that has the old file mapped keeps it."""
    passing = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(library, passing)
        os.replace(passing, target)
    except OSError as error:
        with contextlib.suppress(OSError):
            passing.unlink()
        raise ToolchainError(f"{target}: can't be written: {error.strerror or error}") from error
