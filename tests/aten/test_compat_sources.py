"""A table of small sources, each written around one name that PyTorch has removed or deprecated: all compile and run.

They are compiled as two translation units here; where slow tests run, each on its own, with nothing but what its scan
asks for.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import subprocess
import sysconfig
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest
import torch
from torch.utils import cpp_extension

from opwright.aten.compat import needed
from opwright.aten.compat.api_changes import NAMES
from opwright.migrate import examine

SOURCES = Path(__file__).parent / "sources"
LIBRARIES = Path(torch.__file__).parent / "lib"
LINE = torch.arange(3.0)
SQUARE = torch.arange(9.0, dtype=torch.float64).reshape(3, 3)
HALVES = torch.arange(3.0, dtype=torch.float16)
COMPLEX = torch.tensor([3 + 4j, 1j])


class Fails(NamedTuple):
    """What a call raises."""

    kind: type[Exception]
    text: str


def blas_vectors(x: torch.Tensor) -> torch.Tensor:
    """What th_blas_vectors computes, by torch."""
    rows, p = x.flatten()[:6].reshape(2, 3), x.flatten()[:3]
    y = 10 * (1 + 2 * p)
    z = rows @ y
    a = torch.outer(z, y) + p @ p
    a[0] = p
    first = a[0, 0].clone()
    a[0, 0] = a[1, 2]
    a[1, 2] = first
    return a


INTEGERS = torch.tensor([3, 4])
ONE_AXIS = Fails(RuntimeError, r"^expected one axis, got 2\n?")
ASSERTED = Fails(RuntimeError, r"x\.dim\(\) == 1.* INTERNAL ASSERT FAILED")
# The source, what its run() is given, and what comes back.
TABLE: list[tuple[str, torch.Tensor, Any]] = [
    ("array_ref_header", LINE, 3),
    ("at_assert", LINE, LINE + 1),
    ("at_assert", SQUARE, ASSERTED),
    ("at_assertm", LINE, LINE + 1),
    ("at_assertm", SQUARE, Fails(RuntimeError, "expected one axis, got 2")),
    ("at_check", LINE, LINE + 1),
    ("at_check", SQUARE, ONE_AXIS),
    ("check_eq", LINE, LINE + 1),
    ("check_eq", SQUARE, Fails(RuntimeError, r"Check failed: x\.dim\(\) == 1 \(2 vs\. 1\)\. ?expected one axis")),
    ("at_check_macro", LINE, LINE + 1),
    ("at_check_macro", SQUARE.t(), Fails(RuntimeError, "^x must be contiguous")),
    ("at_check_silent", LINE, LINE + 1),
    ("at_check_silent", SQUARE, Fails(RuntimeError, r"^Expected x\.dim\(\) == 1 to be true, but got false")),
    ("at_error", LINE, LINE + 1),
    ("at_error", SQUARE, ONE_AXIS),
    ("at_index_error", SQUARE, Fails(IndexError, "^expected one axis, got 2")),
    ("at_optional", LINE, 11),
    ("at_warn", LINE, LINE + 1),
    ("auto_gil", LINE, True),
    ("auto_no_gil", LINE, True),
    ("c10_optional", LINE, 11),
    ("caffe2_api", LINE, 3),
    ("core_error_header", SQUARE, Fails(RuntimeError, "^expected one axis")),
    ("core_headers", LINE, "cpu1"),
    ("cpu_of_type", LINE, torch.ones(3, dtype=torch.int32)),
    ("cuda_of_type", LINE, "CUDAFloatType"),
    ("custom_operator_header", LINE, True),
    ("data_template", LINE, 1.0),
    ("data_template", SQUARE, Fails(RuntimeError, "expected scalar type Float but found Double")),
    ("data_template_dependent", LINE, 1.0),
    ("dispatch_all", INTEGERS, 7.0),
    ("dispatch_all", HALVES, Fails(NotImplementedError, r'"dispatch_all" not implemented for .Half')),
    ("dispatch_all_and", HALVES, 3.0),
    ("dispatch_all_and2", LINE.bfloat16(), 3.0),
    ("dispatch_all_and_complex", COMPLEX, 6.0),
    ("dispatch_all_and_half", HALVES, 3.0),
    ("dispatch_complex", COMPLEX, 6.0),
    ("dispatch_floating", LINE, 3.0),
    ("dispatch_floating", SQUARE, 36.0),
    ("dispatch_floating", INTEGERS, Fails(NotImplementedError, r'"dispatch_floating" not implemented for .Long')),
    ("dispatch_floating_and_half", HALVES, 3.0),
    ("dispatch_integral", INTEGERS, 7.0),
    ("dispatch_type_held", LINE, 3.0),
    ("element_size", HALVES, 2),
    ("error_header", SQUARE, Fails(RuntimeError, "^expected one axis")),
    ("export_header", LINE, -LINE),
    ("fallthrough", LINE, 3),
    ("general_header", LINE, torch.get_num_threads()),
    ("get_type", LINE, torch.ones(3, dtype=torch.float64)),
    ("get_type_of_options", HALVES, torch.ones(3, dtype=torch.float16)),
    ("half_header", LINE, 1.5),
    ("int_list", SQUARE, 2),
    ("is_variable", LINE, True),
    ("lazy_init_cuda", LINE, True if torch.cuda.is_available() else Fails(RuntimeError, "CUDA")),
    ("macros_header", LINE, 3),
    ("make_unique", LINE, 3),
    ("optional_header", LINE, 1),
    ("packed_accessor", LINE, 1.0),
    ("packed_tensor_accessor", LINE, 1.0),
    ("private_case_type", LINE, 3.0),
    ("private_case_type", SQUARE, Fails(RuntimeError, "private_case_type: not for Double")),
    ("register_operators", LINE, LINE),
    ("tensor_header", LINE, 2 * LINE),
    ("th_blas_gemm", SQUARE.float(), (SQUARE[:2] @ SQUARE[:2].t()).float()),
    ("th_blas_vectors", SQUARE, blas_vectors(SQUARE)),
    ("th_checks", LINE[:2], LINE[:2]),
    ("th_checks", LINE, Fails(RuntimeError, r"^no three at .*th_checks\.cpp:7")),
    ("th_checks", LINE[0], Fails(RuntimeError, "^invalid argument 1: expected 1 axes, got 0 at ")),
    ("th_checks", SQUARE, Fails(RuntimeError, r"^Assertion `x\.numel\(\) < 4' failed\. at ")),
    ("th_memory", LINE, 7),
    ("thc_ceil_div", LINE, 1032),
    ("thc_numerics", LINE, 6.0),
    ("thc_state", LINE, True),
    ("thc_state_extern_c", LINE, True),
    ("to_c_numbers", LINE, 15.0),
    ("torch_header_alone", LINE, 2 * LINE),
    ("type_first", LINE, torch.ones(2, 3)),
    ("type_header", LINE, LINE.double()),
    ("type_is_cuda", LINE, False),
    ("type_is_sparse", LINE, False),
    ("type_options", SQUARE, torch.ones(3, 3, dtype=torch.float64)),
    ("type_reference", SQUARE, torch.zeros(3, 3, dtype=torch.float64)),
    ("type_scalar_type", SQUARE, torch.zeros(2, dtype=torch.float64)),
    ("type_to_string", LINE, "CPUFloatType"),
    ("variant_header", LINE, 1),
]
NAMED = sorted({name for name, _, _ in TABLE})
# What is different after `opwright migrate`: the assertions are checks then.
NEEDS_CUDA = "thc_ceil_div"
MIGRATED = {"at_assert": Fails(RuntimeError, r"^Expected x\.dim\(\) == 1 to be true"), "at_assertm": ONE_AXIS}


@pytest.fixture(scope="module")
def headers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose torch/extension.h is a lighter one: half of what compiling the whole takes is the C++ frontend."""
    folder = tmp_path_factory.mktemp("headers")
    (folder / "torch").mkdir()
    (folder / "torch" / "extension.h").write_text(
        "#pragma once\n#include <torch/types.h>\n#include <torch/csrc/utils/pybind.h>\n"
    )
    (folder / "torch" / "torch.h").write_text("#pragma once\n#include <torch/types.h>\n")
    return folder


@pytest.fixture(scope="module")
def together(headers: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One library with all sources of the table, from two translation units."""
    folder = tmp_path_factory.mktemp("together")
    units = [unit(NAMED[start::2], folder / f"unit{start}.cpp") for start in (0, 1)]
    with ThreadPoolExecutor(2) as pool:
        objects = list(pool.map(lambda source: compiled(source, headers), units))
    return linked(objects, folder / "together.so")


@pytest.fixture(scope="module")
def migrated(headers: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same library, of sources that were migrated before."""
    folder = tmp_path_factory.mktemp("migrated")
    names = [name for name in NAMED if name != NEEDS_CUDA]
    for name in names:
        (folder / f"{name}.cpp").write_bytes(examine(SOURCES / f"{name}.cpp").after)
    units = [unit(names[start::2], folder / f"unit{start}.cpp", folder, "migrated_") for start in (0, 1)]
    return linked([compiled(source, headers) for source in units], folder / "migrated.so")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "given", "expected"), TABLE, ids=[f"{n}-{i}" for i, (n, _, _) in enumerate(TABLE)])
def test_a_source_of_the_table_runs(name: str, given: torch.Tensor, expected: object, together: Path) -> None:
    assert_returns(imported(name, together), given, expected)


@pytest.mark.slow
def test_a_warning_is_pytorchs(together: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert_returns(imported("at_warn", together), SQUARE, SQUARE + 1)
    assert "Warning: expected one axis, got 2" in capfd.readouterr().err


@pytest.mark.exhaustive
@pytest.mark.parametrize(("name", "given", "expected"), TABLE, ids=[f"{n}-{i}" for i, (n, _, _) in enumerate(TABLE)])
def test_a_source_does_the_same_when_it_is_migrated(
    name: str, given: torch.Tensor, expected: object, migrated: Path
) -> None:
    if name == NEEDS_CUDA:
        pytest.skip("what has taken the place of THC.h can't be compiled without CUDA")
    changed = MIGRATED.get(name) if isinstance(expected, Fails) else None
    assert_returns(imported(f"migrated_{name}", migrated), given, changed or expected)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", NAMED)
def test_a_source_of_the_table_runs_by_itself(name: str, headers: Path, tmp_path: Path, precompiled: Path) -> None:
    source = SOURCES / f"{name}.cpp"
    text = f'#define TORCH_EXTENSION_NAME alone_{name}\n#include "{source}"\n'
    (tmp_path / "one.cpp").write_text(text)
    built = linked([compiled(tmp_path / "one.cpp", headers, ("-include", str(precompiled)))], tmp_path / "one.so")
    for row, given, expected in TABLE:
        if row == name:
            assert_returns(imported(f"alone_{name}", built), given, expected)


@pytest.mark.exhaustive
def test_a_source_with_only_torchs_header_is_built_by_torch_itself(tmp_path: Path) -> None:
    source = SOURCES / "torch_header_alone.cpp"
    compat = needed([source])
    flags = [word for header in compat.headers for word in ("-include", str(header))]
    name = "opwright_compat_torch_header_alone"
    module = cpp_extension.load(name, [str(source)], extra_cflags=["-O0", *flags], build_directory=str(tmp_path))
    assert_returns(module, LINE, 2 * LINE)


def test_every_source_is_in_the_table_and_every_name_in_a_source() -> None:
    assert sorted(path.stem for path in SOURCES.glob("*.cpp")) == NAMED
    assert len(NAMED) >= 40
    text = "\n".join(use for path in SOURCES.iterdir() for use in needed([path]).report)
    cuda_only = {shim for name in NAMES for shim in name.shims if shim.startswith("thc_")}
    missing = {shim for name in NAMES for shim in name.shims if f"{shim} for" not in text}
    assert missing <= cuda_only, "shims that no source of the table needs"


def test_every_source_needs_what_its_table_says(capfd: pytest.CaptureFixture[str]) -> None:
    # Each is about a name that today's PyTorch lacks or warns of, but for the few aliases that it still has.
    kept = {"at_assert", "at_assertm", "at_error", "at_optional", "c10_optional", "cpu_of_type", "cuda_of_type"}
    kept |= {"register_operators"}
    assert {name for name in NAMED if not needed([SOURCES / f"{name}.cpp"])} == kept
    assert capfd.readouterr() == ("", "")


def unit(names: Sequence[str], path: Path, folder: Path = SOURCES, prefix: str = "") -> Path:
    """A translation unit of several sources, each with the name of its module: no two libraries share one.

    PyTorch ends the process where an operator is registered twice.
    """
    one = '#define TORCH_EXTENSION_NAME {0}\n#include "{1}"\n#undef TORCH_EXTENSION_NAME\n'
    path.write_text("".join(one.format(prefix + name, folder / f"{name}.cpp") for name in names))
    return path


def compiled(source: Path, headers: Path, before: Sequence[str] = ()) -> Path:
    """The object file of a source, compiled with what its scan asks for; a warning is an error."""
    compat = needed([source])
    folders = [headers, *compat.include_dirs]
    words = [f"-I{folder}" for folder in folders] + [word for h in compat.headers for word in ("-include", str(h))]
    target = source.with_suffix(".o")
    run(["g++", "-O0", *BASE, *before, *words, "-c", str(source), "-o", str(target)])
    return target


def linked(objects: Sequence[Path], target: Path) -> Path:
    """A library of object files."""
    libraries = ["-ltorch_python", "-ltorch", "-ltorch_cpu", "-lc10"]
    run(["g++", "-shared", *map(str, objects), "-o", str(target), f"-L{LIBRARIES}", *libraries])
    return target


BASE = ["-std=c++20", "-fPIC", *(f"-isystem{path}" for path in cpp_extension.include_paths())]
BASE += [f"-isystem{sysconfig.get_paths()['include']}"]


def run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@pytest.fixture(scope="module")
def precompiled(headers: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """PyTorch's headers compiled ahead, so that a single source takes seconds."""
    header = tmp_path_factory.mktemp("precompiled") / "ahead.h"
    header.write_text("#include <torch/extension.h>\n")
    run(["g++", "-O0", *BASE, f"-I{headers}", "-x", "c++-header", str(header), "-o", f"{header}.gch"])
    return header


def imported(name: str, library: Path) -> ModuleType:
    """One of a library's modules."""
    loader = importlib.machinery.ExtensionFileLoader(name, str(library))
    spec = importlib.util.spec_from_loader(name, loader)
    assert spec
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def assert_returns(module: ModuleType, given: torch.Tensor, expected: object) -> None:
    call: Callable[[torch.Tensor], object] = module.run
    if isinstance(expected, Fails):
        with pytest.raises(expected.kind, match=expected.text):
            call(given)
        return
    result = call(given)
    if isinstance(expected, torch.Tensor):
        assert isinstance(result, torch.Tensor)
        torch.testing.assert_close(result, expected)
    else:
        assert (type(result), result) == (type(expected), expected)
