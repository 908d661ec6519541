"""Extensions that were built for another emulator, or for a GPU, are refused before their code runs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from opwright.aten.emulation.admission import DEVICE, problem
from opwright.toolchain import find_compiler

OWN = "opwright-emulation-1.2.0-00000000000000aa.so"
CHECKED = "opwright-emulation-1.2.0-checked-00000000000000bb.so"
OLDER = "opwright-emulation-1.1.0.dev3-00000000000000cc.so"
OTHER = "opwright-emulation-1.2.0-00000000000000dd.so"
FIRST = "opwright-emulation-00000000000000ee.so"
"""The name of the first versions, of which extensions had the whole path."""
AGAIN = "build it again as it was built, under opwright run --emulate{}: setup.py build_ext --inplace, or load"

HAD, MISSING = "_ZN2at4cuda3hadEv", "_ZNK3c104cuda7missing5neverEi"
"""Functions at::cuda::had() and c10::cuda::missing::never(int) const."""

Built = Callable[..., Path]


@pytest.fixture
def built(tmp_path: Path) -> Built:
    """Build a module of Python's that says when its initialisers run, and needs libraries of the given names."""
    compiler = find_compiler("c").path

    def build(*needed: str, by_path: bool = False, calls: Sequence[str] = ()) -> Path:
        paths: list[Path] = []
        for name in needed:
            paths.append(tmp_path / "libraries" / name)
            paths[-1].parent.mkdir(exist_ok=True)
            named = [] if by_path else [f"-Wl,-soname,{name}"]
            subprocess.run([compiler, "-shared", "-x", "c", "/dev/null", "-o", paths[-1], *named], check=True)
        source, module = tmp_path / "ext.c", tmp_path / "ext.so"
        source.write_text(
            "#include <stdio.h>\n"
            '__attribute__((constructor)) static void begin(void) { fputs("its code ran\\n", stderr); }\n'
            "void *PyInit_ext(void) { return 0; }\n"
            + "".join(f"void {name}(void);\nvoid call{name}(void) {{ {name}(); }}\n" for name in calls)
        )
        needs = ["-Wl,--no-as-needed", *map(str, paths), f"-Wl,-rpath,{tmp_path / 'libraries'}"]
        subprocess.run([compiler, "-shared", "-fPIC", source, "-o", module, *needs], check=True)
        return module

    return build


def loading(library: Path, how: str) -> tuple[str, str]:
    """Load a library in a process that has the emulator `OWN`; return what is raised, and what its code writes."""
    code = (
        "import ctypes, sys\nfrom pathlib import Path\n"
        "from opwright.aten.emulation.admission import admit_alone\n"
        f"admit_alone(Path('/cache') / {OWN!r}, {HAD!r}.__eq__)\nsys.path.insert(0, {str(library.parent)!r})\n"
        f"try:\n    {how}\nexcept Exception as error:\n    print(f'{{type(error).__name__}}: {{error}}')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout, done.stderr


def test_one_of_this_emulator_passes(built: Built) -> None:
    assert problem(str(built("libc10.so", "libtorch_cpu.so", OWN)), OWN, HAD.__eq__) == ""


@pytest.mark.parametrize(
    ("runtime", "file", "reason", "built_for", "this"),
    [
        (OWN, CHECKED, "was built with --check, and this process runs without it", "checks every access", "unchecked"),
        (CHECKED, OWN, "was built without --check, and this process runs with it", "unchecked", "checks every access"),
        (
            *(OWN, OLDER, "was built by another version of Opwright, whose emulator isn't this process's"),
            *("unchecked", "unchecked"),
        ),
        (
            *(OWN, OTHER, "was built for an emulator of other sources, or by another compiler, than this process's"),
            *("unchecked", "unchecked"),
        ),
    ],
)
def test_one_of_another_emulator(built: Built, runtime: str, file: str, reason: str, built_for: str, this: str) -> None:
    library = built("libc10.so", file)
    version = file.split("-")[2]
    assert problem(str(library), runtime, HAD.__eq__) == (
        f"{library} {reason}\n"
        f"  built for:  Opwright {version}, {built_for}: {file}\n"
        f"  this one:   Opwright 1.2.0, {this}: {runtime}\n"
        f"  likely fix: {AGAIN.format(' --check' if runtime == CHECKED else '')}"
    )


@pytest.mark.parametrize("is_there", [True, False])
def test_one_that_refers_to_its_emulator_by_path(built: Built, is_there: bool) -> None:
    """As the first versions did. The file may be gone, with the cache that it was in."""
    library = built("libtorch.so", FIRST, by_path=True)
    if not is_there:
        (library.parent / "libraries" / FIRST).unlink()
    said = problem(str(library), OWN, HAD.__eq__)
    assert "was built by another version of Opwright" in said
    assert f"built for:  an older Opwright, unchecked: {FIRST}" in said
    assert loading(library, "import ext") == (f"ImportError: {said}\n", "")


@pytest.mark.parametrize("needed", [["libcudart.so.12"], ["libc10_cuda.so", "libtorch_cuda_linalg.so"]])
def test_one_for_gpus(built: Built, needed: list[str]) -> None:
    library = built("libc10.so", *needed)
    assert problem(str(library), OWN, HAD.__eq__) == (
        f"{library} was built for a GPU, and this process emulates CUDA\n"
        f"  it needs:   {', '.join(needed)}\n"
        f"  likely fix: {AGAIN.format('')}"
    )
    assert AGAIN.format(" --check") in problem(str(library), CHECKED, HAD.__eq__)


@pytest.mark.parametrize("needed", [[], ["libc10.so", "libtorch_python.so"], ["libcudart.so.12"], [OTHER]])
def test_what_is_no_extension_for_cuda_passes(built: Built, needed: list[str]) -> None:
    """Python's modules, PyTorch's extensions for the CPU, what uses CUDA beside PyTorch, and Opwright's own kernels."""
    library = built(*needed)
    assert problem(str(library), OWN, HAD.__eq__) == ""
    assert loading(library, f"ctypes.CDLL({str(library)!r})") == ("", "its code ran\n")


def test_what_isn_t_there_or_no_library_is_left_to_the_loader(tmp_path: Path) -> None:
    (tmp_path / "empty.so").write_bytes(b"")
    (tmp_path / "text.so").write_text("libc10.so libcudart.so")
    for name in ("missing.so", "empty.so", "text.so", "."):
        assert problem(str(tmp_path / name), OWN, HAD.__eq__) == ""


@pytest.mark.parametrize(("how", "error"), [("import ext", "ImportError"), ("ctypes.CDLL({!r})", "OSError")])
def test_it_is_refused_before_its_code_runs(built: Built, how: str, error: str) -> None:
    library = built("libc10.so", OTHER)
    assert loading(library, how.format(str(library))) == (f"{error}: {problem(str(library), OWN, HAD.__eq__)}\n", "")


DEVICE_TOO = ("libc10.so", "libtorch_cpu.so", DEVICE, OWN)
LACKS = "c10::cuda::missing::never(int) const, which Opwright's emulation of CUDA doesn't have\n  likely fix: leave"


def test_one_that_calls_what_the_device_hasnt(built: Built) -> None:
    library = built(*DEVICE_TOO, calls=[HAD, MISSING, "_ZN3c107anotherEv"])
    said = problem(str(library), OWN, HAD.__eq__)
    assert said.startswith(f"{library} calls {LACKS} that part out, #ifndef OPWRIGHT_EMULATION, or run it on a GPU")
    assert loading(library, "import ext") == (f"ImportError: {said}\n", "")


@pytest.mark.parametrize("needed", [DEVICE_TOO, (*DEVICE_TOO, "libmine.so")])
def test_one_that_calls_what_is_there(built: Built, needed: Sequence[str]) -> None:
    """Or what its author's own library may have."""
    calls = [HAD, *([MISSING] if "libmine.so" in needed else [])]
    assert problem(str(built(*needed, calls=calls)), OWN, HAD.__eq__) == ""
