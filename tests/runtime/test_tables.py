"""What C++ and Python both know is the same: generated files are up to date, ctypes has the C ABI's structures."""

from __future__ import annotations

import ctypes
import runpy
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import opwright
from opwright.runtime import abi
from opwright.runtime.native import plan
from opwright.signature.scalars import KINDS, ScalarKind

PACKAGE = Path(opwright.__file__).parent

FILES = dict(runpy.run_path(str(Path(__file__).parents[2] / "tools/generate_tables.py"))["files"]())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_what_is_generated_is_up_to_date(path: Path) -> None:
    assert path.read_text() == FILES[path], "run tools/generate_tables.py"


@pytest.mark.parametrize("table", ["KINDS", "CODES", "BROADCAST", "TYPE_KINDS", "SOURCES"])
def test_no_code_is_given_twice(table: str) -> None:
    codes = getattr(plan, table)
    assert sorted(codes.values()) == list(range(len(codes)))


STRUCTURES: dict[str, Any] = {
    "opw_kernel": abi.KernelRow,
    "opw_library": abi.LibraryTable,
    "opw_tensor": abi.TensorRow,
    "opw_scalar": abi.Scalar,
    "opw_rng": abi.Rng,
    "opw_call": abi.Call,
    "opw_host": abi.Host,
}


def test_ctypes_has_the_structures_of_the_header(tmp_path: Path) -> None:
    members = [(name, field[0]) for name, structure in STRUCTURES.items() for field in structure._fields_]
    place = 'printf("{0} {1} %zu %zu\\n", offsetof({0}, {1}), sizeof((({0} *)0)->{1}));'
    lines = [place.format(*member) for member in members]
    lines += [f'printf("{name} size 0 %zu\\n", sizeof({name}));' for name in STRUCTURES]
    text = "\n".join(['printf("version is %d 0\\n", OPWRIGHT_ABI_VERSION);', *lines])
    source, program = tmp_path / "abi.c", tmp_path / "abi"
    source.write_text(f"#include <stdio.h>\n#include <opwright/abi.h>\nint main(void) {{\n{text}\nreturn 0;\n}}\n")
    subprocess.run(
        [shutil.which("cc") or "gcc", f"-I{PACKAGE / 'include'}", str(source), "-o", str(program)], check=True
    )
    done = subprocess.run([str(program)], check=True, capture_output=True, text=True)
    version, *listed = done.stdout.splitlines()
    ours = [
        f"{name} {member} {getattr(STRUCTURES[name], member).offset} {getattr(STRUCTURES[name], member).size}"
        for name, member in members
    ]
    assert version == f"version is {abi.VERSION} 0"
    assert listed == ours + [f"{name} size 0 {ctypes.sizeof(structure)}" for name, structure in STRUCTURES.items()]


@pytest.mark.parametrize("kind", KINDS.values(), ids=str)
def test_a_scalar_fits_its_places(kind: ScalarKind) -> None:
    packed = kind.pack(kind.ordinary(0.5))
    assert len(packed) == len(kind.members)
    assert set(kind.members) <= {field[0] for field in abi.Scalar._fields_}
    reader = f" {kind.reader}(int i, const char *name) const"
    assert reader in (PACKAGE / "include/opwright/library/library.h").read_text()
