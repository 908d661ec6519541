from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import opwright
from opwright.aten.compat import Compat, needed
from opwright.aten.compat.api_changes import HEADERS, NAMES
from opwright.aten.compat.selection import _INCLUDE, _SHIMS

INCLUDE = Path(torch.__file__).parent / "include"
Write = Callable[[str, str], Path]


@pytest.fixture
def source(tmp_path: Path) -> Write:
    def to(text: str, name: str = "op.cpp") -> Path:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    return to


def shims(*sources: Path, flags: tuple[str, ...] = ()) -> list[str]:
    return [header.name for header in needed(sources, flags).headers]


@pytest.mark.parametrize(
    "text",
    [
        "#include <torch/extension.h>\nvoid f() { TORCH_CHECK(true); x.data_ptr<float>(); x.scalar_type(); }",
        '// AT_CHECK(x)\n/* THCState */ const char *s = "AT_CHECK"; auto r = R"a(THCState)a";',
        "#if 0\nAT_CHECK(x);\n#include <THC/THC.h>\n#endif",
        "#error use AT_CHECK",
        'x.device().type(); AT_DISPATCH_ALL_TYPES(x.scalar_type(), "f", [] {});',
        "#ifndef AT_CHECK\n#define AT_CHECK TORCH_CHECK\n#endif\nvoid f() { AT_CHECK(true); }",
        "template <typename T>\ninline T THCCeilDiv(T a, T b) { return (a + b - 1) / b; }\nint n = THCCeilDiv(1, 2);",
        "struct AutoNoGIL {};",
    ],
)
def test_what_is_current_or_its_own_needs_nothing(text: str, source: Write) -> None:
    compat = needed([source(text, "op.cpp")], ["-O3"])
    assert not compat
    assert compat == Compat()


def test_a_call_is_no_definition(source: Write) -> None:
    path = source("void f() { if (a) { b = THCCeilDiv(1, 2); } else { return THCCeilDiv(1, 2); } }", "op.cu")
    assert shims(path) == ["thc_arithmetic.h"]


def test_only_what_is_needed_is_included(source: Write) -> None:
    assert shims(source('void f() { AT_CHECK(true, "a"); }', "op.cpp")) == ["check.h"]
    assert shims(source('AT_DISPATCH_ALL_TYPES(x.type(), "f", [] {});', "op.cpp")) == ["dispatch.h", "deprecated.h"]


def test_headers_of_the_project_count(source: Write, tmp_path: Path) -> None:
    source('#pragma once\n#include "b.h"\n#define CHECK(x) AT_CHECK(x)', "a.h")
    source('#pragma once\n#include "a.h"\nTHCState *s;', "b.h")
    source("AT_WARN(1);", "far/c.h")
    path = source('#include "a.h"\n#include <far.h>\n#include "c.h"\n#include "absent.h"', "op.cpp")
    assert shims(path) == ["check.h", "thc_state.h"]
    assert "AT_WARN" not in "".join(needed([path]).report)
    assert f"AT_WARN ({tmp_path / 'far' / 'c.h'}:1)" in needed([path], ["-I", str(tmp_path / "far")]).report[0]


def test_pytorchs_own_headers_are_not_read(source: Write) -> None:
    path = source('#include "torch/extension.h"\n', "op.cpp")
    assert not needed([path], [f"-I{INCLUDE}"])


def test_several_sources_share_what_they_need(source: Write) -> None:
    first = source("AT_CHECK(true);", "a.cpp")
    second = source("AT_CHECK(true); AutoGIL held;", "b.cpp")
    assert shims(first, second) == ["check.h", "gil.h"]


def test_what_cannot_be_read_needs_nothing(tmp_path: Path, source: Write) -> None:
    assert not needed([tmp_path / "absent.cpp", tmp_path])
    path = source("AT_CHECK(true);", "op.cpp")
    path.write_bytes(path.read_bytes() + b"\0\xff\xfe")
    assert shims(path) == ["check.h"]


def test_headers_that_are_gone_are_ours(source: Write) -> None:
    compat = needed([source('#include <torch/extension.h>\n#include "ATen/Error.h"\n', "op.cpp")])
    assert compat.headers == ()
    assert compat.include_dirs == (_INCLUDE,)


def test_a_copy_of_a_header_in_the_project_is_left_to_it(source: Write, tmp_path: Path) -> None:
    source("#define THCudaCheck(x) (x)\n", "THC/THC.h")
    assert not needed([source('#include "THC/THC.h"\nvoid f() { THCudaCheck(1); }', "a.cu")])
    angled = source("#include <THC/THC.h>\nvoid f() { THCudaCheck(1); }", "b.cu")
    assert not needed([angled], [f"-I{tmp_path}"])
    assert shims(angled) == ["thc_check.h"]


def test_the_report_says_what_where_and_why(source: Write) -> None:
    path = source("#include <ATen/Error.h>\n\nvoid f() {\n  AT_CHECK(1);\n  AT_WARN(2);\n}\n", "op.cpp")
    assert needed([path], ["-std=c++11", "-O2"]).report == (
        f"check.h for AT_CHECK ({path}:4), AT_WARN ({path}:5)",
        f"<ATen/Error.h>, which PyTorch no longer has ({path}:1): Opwright's own; today <c10/util/Exception.h>",
        "-std=c++11: -std=c++20, as PyTorch itself is compiled",
    )


def test_standards_are_raised_and_nothing_else_changes() -> None:
    given = ["-O3", "-std=c++11", "-std=gnu++14", "--std=c++17", "-std=c99", "-std=c++23", "-std", "c++14"]
    given += ["-Xcompiler", "-std=c++11,-fPIC", "-DX=-std=c++11", "-std=c++2a"]
    expected = ["-O3", "-std=c++20", "-std=gnu++20", "--std=c++20", "-std=c99", "-std=c++23", "-std", "c++20"]
    expected += ["-Xcompiler", "-std=c++20,-fPIC", "-DX=-std=c++11", "-std=c++2a"]
    assert Compat().flags(given) == expected


def test_the_headers_are_there_and_pytorch_has_none_of_them() -> None:
    for header in HEADERS:
        text = (_INCLUDE / header.name).read_text()
        assert "#pragma once" in text or "_INC\n" in text
        assert "#include" in text
        assert not (INCLUDE / header.name).exists(), f"{header.name} is no header that is gone"
        if not header.name.endswith(".cuh") and "cuda" not in header.today and "/" in header.today:
            api = INCLUDE / "torch/csrc/api/include"
            assert any((folder / header.today).exists() for folder in (INCLUDE, api)), header.today
    assert {str(path.relative_to(_INCLUDE)) for path in _INCLUDE.rglob("*.*")} == {header.name for header in HEADERS}


def test_every_shim_is_in_the_table_and_the_other_way_round() -> None:
    included = {"thc_cuda.h"}  # by other shims
    assert {shim for name in NAMES for shim in name.shims} | included == {path.name for path in _SHIMS.iterdir()}
    assert len({name.name for name in NAMES}) == len(NAMES)


def test_nothing_here_imports_pytorch(source: Write) -> None:
    path = source("AT_CHECK(true);", "op.cpp")
    code = f"""if True:
        import sys
        from pathlib import Path
        from opwright.aten.compat import needed
        assert needed([Path({str(path)!r})])
        assert "torch" not in sys.modules
    """
    root = str(Path(opwright.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": root}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_copy_of_thc_atomics_is_known_by_its_guard(source: Write) -> None:
    """It may be anywhere in the project, and may include what PyTorch no longer has."""
    copy = "#ifndef THC_ATOMICS_INC\n#define THC_ATOMICS_INC\n#include <TH/THHalf.h>\n#endif\n"
    source(copy, "cuda/Atomics.cuh")
    kernel = source('#include "cuda/Atomics.cuh"\n', "op.cu")
    compat = needed([kernel])
    assert [header.name for header in compat.headers] == ["thc_atomics.h"]
    assert compat.report == (f"thc_atomics.h for a copy of THCAtomics.cuh ({kernel.parent}/cuda/Atomics.cuh:1)",)
    source(copy.replace("THC_ATOMICS_INC", "MY_ATOMICS_INC").replace("#include <TH/THHalf.h>", ""), "cuda/Atomics.cuh")
    assert not needed([kernel])


@pytest.mark.parametrize("path", sorted((_INCLUDE / "THC").iterdir()) + sorted((_INCLUDE / "TH").iterdir()), ids=str)
def test_headers_have_the_include_guards_of_thc(path: Path) -> None:
    """So that a project's copy of one adds nothing after it."""
    from opwright.legacy.th_library import header_dirs

    before = next(header_dirs()[0].glob(f"{path.parent.name}/{path.name}")).read_text()
    guard = next((line for line in before.splitlines() if line.startswith("#ifndef")), "#pragma once")
    text = path.read_text() + "".join(
        shim.read_text() for shim in _SHIMS.glob("thc_atomics.h") if "Atomics" in path.name
    )
    assert guard in text
