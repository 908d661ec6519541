"""What build() leaves."""

from __future__ import annotations

import subprocess
from pathlib import Path

import cffi
import pytest
import torch

from opwright.legacy.th_library import load_library
from tests.legacy.ffi.project import CC, HEADER, SOURCE, Project


def test_the_script_form(project: Project) -> None:
    assert project.create().build() == str(project.folder / "_ext/my/_my.so")
    module = project.load()
    assert module.__all__ == ["X", "counted"]
    assert module.X == 32
    assert module.counted(torch.zeros(2, 3)) == 6


def test_the_package_form(project: Project) -> None:
    """Importable, other than in its time."""
    assert project.create("mine.ext", package=True).build() == str(project.folder / "mine/ext/_ext.abi3.so")
    assert project.load("mine.ext").counted(torch.zeros(4)) == 4


def test_a_name_without_dots(project: Project) -> None:
    assert project.create("mine").build() == str(project.folder / "mine/_mine.so")
    assert project.load("mine").counted(torch.zeros(4)) == 4


def test_variables_are_as_cffi_gives_them(project: Project) -> None:
    project.write(
        "src/my.h",
        """
        static int table[3] = {3, 1, 4};
        typedef struct { int width; float scale; } settings;
        extern settings defaults;
        extern float *latest;
        extern int calls;
        int count(void);
        extern int (*hook)(int);
        """,
    )
    project.write(
        "src/my.c",
        """
        typedef struct { int width; float scale; } settings;
        settings defaults = {7, 0.5f};
        float kept[2] = {2.5f, 3.5f}, *latest = kept;
        int calls;
        int count(void) { latest = kept + 1; return ++calls; }
        static int doubled(int n) { return 2 * n; }
        int (*hook)(int) = doubled;
        """,
    )
    project.create().build()
    my = project.load()
    assert list(my.table) == [3, 1, 4]
    assert (my.defaults.width, my.defaults.scale) == (7, 0.5)
    assert (my.latest[0], my.calls, my.hook(21)) == (2.5, 0, 42)
    assert my.count() == 1
    assert (my.latest[0], my.calls) == (3.5, 1)
    names: dict[str, object] = {}
    exec("from _ext.my import *", names)  # noqa: S102 - the form itself is tested
    assert set(my.__all__) == {"table", "defaults", "latest", "calls", "count", "hook"} <= set(names)
    with pytest.raises(AttributeError, match=r"module '_ext\.my' has no attribute 'tabel'"):
        _ = my.tabel


def test_variables_of_a_committed_package(project: Project) -> None:
    """Its generated file wraps whatever is callable, and every object of cffi is."""
    project.write("src/my.h", "static int table[3] = {3, 1, 4};\nint counted(THFloatTensor *x);\n")
    project.create().build()
    project.write(
        "_ext/my/__init__.py",
        "from opwright.legacy.ffi_module import _wrap_function\nfrom ._my import lib as _lib, ffi as _ffi\n"
        "for _name in dir(_lib):\n    globals()[_name] = _wrap_function(getattr(_lib, _name), _ffi)\n",
    )
    my = project.load()
    assert list(my.table) == [3, 1, 4]
    assert my.counted(torch.zeros(2)) == 2


def test_constants_enums_and_types(project: Project) -> None:
    project.write(
        "src/my.h",
        """
        /* a comment, with ä, in no particular encoding */
        #define NAME 7
        typedef enum { RED, GREEN = 5, BLUE } color; // another one
        enum { PLAIN = 3 };
        color after(color c);
        _Bool negated(_Bool b);
        size_t doubled(size_t n);
        int64_t first(int64_t *numbers);
        const char *greeting(void);
        double half(float x);
        void nothing(void *data, unsigned char byte);
        long dimension(const THFloatTensor *x);
        """.encode("latin-1"),
    )
    project.write(
        "src/my.c",
        """
        #include <TH/TH.h>
        #include <stdbool.h>
        typedef enum { RED, GREEN = 5, BLUE } color;
        color after(color c) { return c == RED ? GREEN : BLUE; }
        _Bool negated(_Bool b) { return !b; }
        size_t doubled(size_t n) { return 2 * n; }
        int64_t first(int64_t *numbers) { return numbers[0]; }
        const char *greeting(void) { return "hello"; }
        double half(float x) { return x / 2; }
        void nothing(void *data, unsigned char byte) { (void)data; (void)byte; }
        long dimension(const THFloatTensor *x) { return x->nDimension; }
        """,
    )
    project.create().build()
    my = project.load()
    ffi = cffi.FFI()
    assert (my.NAME, my.RED, my.GREEN, my.BLUE, my.PLAIN) == (7, 0, 5, 6, 3)
    assert (my.after(my.RED), my.after(my.GREEN)) == (my.GREEN, my.BLUE)
    assert (my.negated(True), my.negated(False)) == (False, True)
    assert my.doubled(1 << 40) == 1 << 41
    assert my.first(ffi.new("int64_t[]", [-(1 << 40), 2])) == -(1 << 40)
    assert ffi.string(my.greeting()) == b"hello"
    assert my.half(3.0) == 1.5
    assert my.nothing(ffi.NULL, 200) is None
    assert my.dimension(torch.zeros(2, 3, 4)) == 3


def test_several_headers_and_sources(project: Project) -> None:
    project.write("src/more.h", "int twice(int n);")
    project.write("src/more.c", "int shared_number; int twice(int n) { shared_number = n; return 2 * n; }")
    project.write("src/my.c", f"int shared_number;\n{SOURCE}")
    project.create(headers=("src/my.h", "src/more.h"), sources=["src/my.c", Path("src/more.c")]).build()
    assert project.load().twice(21) == 42


@pytest.mark.slow
def test_gpu_tensors_in_the_header_of_a_build_without_cuda(project: Project) -> None:
    project.write("src/my.h", "int counted(THFloatTensor *x);\nint on_gpu(THCudaTensor *x);\n")
    gpu = "int on_gpu(THCudaTensor *x) { return (int)x->size[0]; }\n"
    project.write("src/my.c", f"#include <TH/TH.h>\n#include <THC/THC.h>\n{SOURCE.partition(chr(10))[2]}{gpu}")
    project.create(with_cuda=False).build()
    my = project.load()
    assert my.counted(torch.ones(2, 3)) == 6
    with pytest.raises(TypeError, match="struct THCudaTensor"):
        my.on_gpu(torch.ones(2))


def test_cpp_sources_with_c_ones(project: Project) -> None:
    project.write("src/my.h", f"{HEADER}int sorted_first(int a, int b);")
    project.write(
        "src/more.cpp",
        '#include <algorithm>\n#include <vector>\nextern "C" int sorted_first(int a, int b)\n'
        "{ std::vector<int> v{a, b}; std::sort(v.begin(), v.end()); if (a == b) throw 1; return v[0]; }",
    )
    flags = ["-std=c99", "-std=c++11"]
    project.create(sources=["src/my.c", "src/more.cpp"], language="c++", extra_compile_args=flags).build()
    my = project.load()
    assert my.sorted_first(3, 2) == 2
    assert my.counted(torch.zeros(3)) == 3


@pytest.mark.slow
def test_a_wrapper_in_cpp(project: Project) -> None:
    project.write("src/my.h", "int counted(THFloatTensor *x);")
    project.write("src/my.cpp", SOURCE)
    ffi = project.create(sources="src/my.cpp", source_extension=".cpp")
    ffi.build()
    assert project.load().counted(torch.zeros(3)) == 3


def test_flags_macros_folders_and_libraries(project: Project, tmp_path: Path) -> None:
    project.write("include/mine.h", "#define MINE 5\n")
    project.write("lib/other.c", "int other(void) { return 100; }")
    subprocess.run([CC, "-shared", "-fPIC", "other.c", "-o", "libother.so"], cwd=project.folder / "lib", check=True)
    project.write(
        "src/my.c",
        "#include <mine.h>\n#include <math.h>\n#include <omp.h>\n"
        "#ifdef GONE\n#error GONE\n#endif\nint other(void);\n"
        "int counted(void *x) { int n = 0;\n#pragma omp parallel for reduction(+ : n)\n"
        "for (int i = 0; i < 8; i++) n += 1;\nreturn n + MINE + NUMBER + EMPTY + other() + (int)sqrt(n * 2); }",
    )
    project.write("src/my.h", "int counted(void *x);")
    project.create(
        define_macros=[("NUMBER", "30"), ("EMPTY", None), ("GONE", None)],
        undef_macros=["GONE"],
        include_dirs=["include"],
        libraries=["other", "m"],
        library_dirs=[str(project.folder / "lib")],
        extra_compile_args={"cxx": ["-fopenmp"], "nvcc": ["-arch=sm_30"]},
        extra_link_args="-Wl,--no-undefined-version",
    ).build()
    assert project.load().counted(cffi.FFI().NULL) == 8 + 5 + 30 + 1 + 100 + 4


@pytest.mark.slow
@pytest.mark.parametrize("compiler", ["today's", "GCC 14's rules"])
def test_old_c(project: Project, compiler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No prototype, another pointer, an int for a pointer, no return type, a bare inline."""
    if compiler != "today's":
        errors = ("implicit-function-declaration", "incompatible-pointer-types", "int-conversion", "implicit-int")
        monkeypatch.setenv("CC", " ".join([CC, *(f"-Werror={error}" for error in errors)]))
    project.write("src/my.h", "int counted(THFloatTensor *x);\nint main_part(THFloatTensor *x);")
    project.write(
        "src/my.c",
        "#include <TH/TH.h>\n"
        "inline int plus(int a, int b) { return a + b; }\n"
        "static int length(THDoubleTensor *x) { return (int)x->size[0]; }\n"
        "old(x) int x; { return x; }\n"
        "int counted(THFloatTensor *x) { int *p = 1; return plus(length(x), later((long)p)); }\n"
        "int main_part(THFloatTensor *x) { float M = M_PI; return (int)M; }\n"
        "int later(long n) { return old((int)n) - 1; }\n",
    )
    project.create(extra_compile_args=["-O0", "-Wno-unused"]).build()  # a -W of the user's: warnings are on
    my = project.load()
    assert my.counted(torch.zeros(5, 2)) == 5
    assert my.main_part(torch.zeros(1)) == 3


def test_functions_with_names_of_th_are_the_users(project: Project) -> None:
    load_library()
    project.write(
        "src/my.c",
        "#include <TH/TH.h>\nfloat *THFloatTensor_data(const THFloatTensor *x) { return 0; }\n"
        "int counted(THFloatTensor *x) { return THFloatTensor_data(x) == 0; }",
    )
    project.create().build()
    assert project.load().counted(torch.zeros(1)) == 1
