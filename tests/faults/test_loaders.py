"""Libraries that are whole and still can't be loaded: what the loader says is explained."""

from __future__ import annotations

import ctypes
import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from opwright.toolchain.messages.loaders import loading_problem

NEWER = "GLIBCXX_3.4.999"


@pytest.fixture
def newer(tmp_path: Path, gxx: str) -> Path:
    """The folder of a C++ library that has a version which the one in this process lacks."""
    folder = tmp_path / "newer"
    folder.mkdir()
    (folder / "map").write_text(f"{NEWER} {{ global: from_the_future; local: *; }};\n")
    (folder / "future.c").write_text("int from_the_future(void) { return 7; }\n")
    words = ["-shared", "-fPIC", "-nostdlib", "-x", "c", str(folder / "future.c")]
    link = [f"-Wl,--version-script={folder / 'map'}", "-Wl,-soname,libstdc++.so.6", "-o", str(folder / "libnewer.so")]
    subprocess.run([gxx, *words, *link], check=True)
    return folder


def test_a_cpp_library_that_is_older_than_the_compilers(newer: Path, tmp_path: Path, gxx: str) -> None:
    library = tmp_path / "needs.so"
    (tmp_path / "needs.cpp").write_text(
        'extern "C" int from_the_future(); extern "C" int f() { return from_the_future(); }'
    )
    subprocess.run(
        [gxx, "-shared", "-fPIC", tmp_path / "needs.cpp", f"-L{newer}", "-lnewer", "-o", library], check=True
    )
    ctypes.CDLL("libstdc++.so.6")  # as PyTorch brings it
    with pytest.raises(OSError, match=NEWER) as caught:
        ctypes.CDLL(str(library))
    text = loading_problem(str(caught.value))
    assert text is not None
    first, fix, loader = text.splitlines()
    assert first.startswith(f"{library} can't be loaded: the C++ library in this process, ")
    assert first.endswith(f"libstdc++.so.6, is older than the compiler's: it lacks {NEWER}")
    assert fix.startswith(
        "  likely fix: update it (in a conda environment: conda install -c conda-forge libstdcxx-ng), or"
    )
    assert loader == f"  loader:     {caught.value}"


@pytest.mark.parametrize(
    ("said", "starts"),
    [
        ("/lib/libc.so.6: version `GLIBC_2.99' not found (required by /x/a b.so)",
         "/x/a b.so can't be loaded: it was linked on a system whose libc.so.6 has GLIBC_2.99, and this one ("),
        ("/e/libstdc++.so.6: version `CXXABI_1.3.99' not found (required by /x.so)",
         "/x.so can't be loaded: the C++ library in this process, /e/libstdc++.so.6, is older than the compiler's"),
        ("/x.so: cannot allocate memory in static TLS block",
         "/x.so: cannot allocate memory in static TLS block\n  likely fix: load it earlier, or set GLIBC_TUNABLES="),
        ("/x.so: failed to map segment from shared object: Operation not permitted",
         "/x.so: failed to map segment from shared object: Operation not permitted\n  likely fix: its folder is on"),
    ],
)  # fmt: skip
def test_what_building_again_would_not_mend(said: str, starts: str) -> None:
    assert (loading_problem(said) or "").startswith(starts)
    assert (loading_problem(f"{said}\nException raised from somewhere") or "").startswith(starts.partition("\n")[0])


@pytest.mark.parametrize(
    "said", ["", "/x.so: file too short", "/x.so: invalid ELF header", "/x.so: undefined symbol: f",
             "/x.so: cannot open shared object file: No such file or directory", "\ufffd\n\n"]
)  # fmt: skip
def test_what_building_again_may_mend(said: str) -> None:
    assert loading_problem(said) is None


def test_an_operator_with_an_older_cpp_library(
    newer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiler: Callable[[str], Path]
) -> None:
    """Through the whole stack; the runtime comes from the cache that all tests share."""
    torch = pytest.importorskip("torch")
    import opwright
    from opwright.runtime.native.runtime import native

    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(Path(tempfile.gettempdir()) / f"opwright-tests-{os.geteuid()}"))
    native()
    notes, library = tmp_path / "compilations", newer / "libnewer.so"
    library.write_bytes(library.read_bytes().replace(b"libstdc++.so.6", b"libstdcxx.so.6"))  # else ld drops one of two
    compiler(
        f'echo . >>"{notes}"\nfor word; do [ "$last" = -o ] && output="$word"; last="$word"; done\n'
        '"$gxx" "$@" || exit 1\nexec sed -i "s/libstdcxx.so.6/libstdc++.so.6/" "$output"'
    )
    source = tmp_path / "older_cpp.cpp"
    source.write_text(
        '#include <opwright.h>\nextern "C" int from_the_future();\nOPWRIGHT("f(x: f32[N]) -> (y: f32[N])")\n'
        "void f(Tensor<const float, 1> x, Tensor<float, 1> y) { y[0] = from_the_future(); }\n"
    )
    ops = opwright.load(source, extra_ldflags=[f"-L{newer}", "-lnewer"])
    for _ in range(2):
        with pytest.raises(opwright.ToolchainError, match=rf"^f\(\): .* is older than .* lacks {NEWER}\n  likely fix"):
            ops.f(torch.ones(1))
    assert notes.read_text().split() == ["."]  # compiling again wouldn't help
