"""create_extension: what it makes when it is called, and what build() leaves."""

from __future__ import annotations

import importlib
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cffi
import pytest
import torch

import opwright
from opwright.legacy import create_extension
from opwright.legacy.library import load_library

CC = shutil.which("cc") or "gcc"
FatalError: type[Exception] = vars(torch)["FatalError"]
HEADER = "int counted(THFloatTensor *x);\n#define X 32\n"
SOURCE = "#include <TH/TH.h>\nint counted(THFloatTensor *x) { return (int)THFloatTensor_nElement(x); }\n"


class Project:
    """A folder with a C extension in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.write("src/my.h", HEADER)
        self.write("src/my.c", SOURCE)

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def create(self, name: str = "_ext.my", headers: Any = "src/my.h", sources: Any = ("src/my.c",), **kw: Any) -> Any:
        kw.setdefault("relative_to", str(self.folder / "build.py"))
        kw.setdefault("verbose", False)
        return create_extension(name, headers, sources, **kw)

    def load(self, name: str = "_ext.my") -> types.ModuleType:
        """The generated package, imported anew from this folder."""
        load_library()
        top = name.partition(".")[0]
        for known in [known for known in sys.modules if known.partition(".")[0] == top]:
            del sys.modules[known]
        sys.path.insert(0, str(self.folder))
        importlib.invalidate_caches()
        try:
            return importlib.import_module(name)
        finally:
            sys.path.remove(str(self.folder))


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    yield Project(tmp_path)
    for name in [name for name in sys.modules if name.partition(".")[0] in ("_ext", "mine")]:
        del sys.modules[name]


# What is there as soon as it is called


def test_it_is_a_genuine_ffi_with_a_build(project: Project) -> None:
    ffi = project.create()
    assert type(ffi) is cffi.FFI
    assert ffi.typeof("struct THCudaTensor *") is ffi.typeof("THCudaTensor *")
    assert callable(ffi.build)
    assert not list(project.folder.rglob("*.so"))


def test_every_struct_is_declared(project: Project) -> None:
    ffi = project.create()
    names = {
        f"{prefix}{'' if prefix == 'THCuda' and element == 'Float' else element}{kind}"
        for prefix in ("TH", "THCuda")
        for element in ("Double", "Float", "Long", "Int", "Short", "Char", "Byte")
        for kind in ("Tensor", "Storage")
    }
    assert len(names) == 28
    assert all(ffi.typeof(f"struct {name} *") is ffi.typeof(f"{name} *") for name in names)
    with pytest.raises(cffi.CDefError):
        ffi.typeof("THCudaFloatTensor")


def test_packages_are_made_on_every_level(project: Project) -> None:
    kept = project.write("a/__init__.py", "kept = 1\n")
    leaf = project.write("a/b/c/__init__.py", "overwritten = 1\n")
    project.create("a.b.c")
    assert kept.read_text() == "kept = 1\n"
    assert (project.folder / "a/b/__init__.py").read_text() == ""
    text = leaf.read_text()
    assert "from torch.utils.ffi import _wrap_function" in text
    assert "from ._c import lib as _lib, ffi as _ffi" in text


@pytest.mark.parametrize("shape", ["file", "folder", "path", "working"])
def test_relative_to(project: Project, shape: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if shape == "working":
        monkeypatch.chdir(project.folder)
        create_extension("_ext.my", ["src/my.h"], ["src/my.c"], False)
    else:
        given: dict[str, Any] = {
            "file": str(project.folder / "x.py"),
            "folder": f"{project.folder}/",
            "path": project.folder / "x.py",
        }
        create_extension("_ext.my", ["src/my.h"], ["src/my.c"], relative_to=given[shape])
    assert (project.folder / "_ext/my/__init__.py").exists()


def test_absolute_paths_pass(project: Project, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    ffi = project.create(
        headers=[str(project.folder / "src/my.h")],
        sources=[project.folder / "src/my.c"],
        relative_to=f"{elsewhere}/",
    )
    assert ffi.build() == str(elsewhere / "_ext/my/_my.so")


@pytest.mark.parametrize("text", ["#include <stdint.h>\n", "#ifdef X\nint f(void);\n#endif\n", "int f(THFoo *x);\n"])
def test_a_header_that_cffi_cannot_parse(project: Project, text: str) -> None:
    project.write("src/my.h", text)
    with pytest.raises(cffi.CDefError):
        project.create()


def test_the_words_that_setuptools_gets(project: Project) -> None:
    ffi = project.create(
        "mine.ext",
        package=True,
        define_macros=[("WITH_CUDA", None)],
        include_dirs=["include"],
        libraries=["m"],
        extra_compile_args=["-std=c99", "-O1"],
        extra_link_args=["-s"],
    )
    module, source, suffix, words = ffi._assigned_source
    assert module == "mine.ext._ext"
    assert source.startswith("#include <TH/TH.h>\n")
    assert HEADER in source
    assert suffix == ".c"
    assert words["sources"] == [str(project.folder / "src/my.c")]
    assert words["define_macros"] == [("WITH_CUDA", None)]
    assert words["include_dirs"][-1] == str(project.folder / "include")
    assert os.path.isfile(os.path.join(words["include_dirs"][0], "TH/TH.h"))
    assert words["libraries"] == ["m"]
    assert "-fexceptions" in words["extra_compile_args"]
    assert "-std=gnu99" not in words["extra_compile_args"]
    assert words["extra_link_args"][-1] == "-s"


def test_distutils_extension(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project.folder)
    extension = project.create("mine.ext", package=True).distutils_extension(verbose=False)
    assert extension.name == "mine.ext._ext"
    assert extension.sources == ["build/mine/ext/_ext.c", str(project.folder / "src/my.c")]


def test_a_header_from_another_system(project: Project) -> None:
    project.write(
        "src/my.h", b"\xef\xbb\xbf// \xb1\xea\xca\xb6 in GBK\r\n#define X 32\r\nint counted(THFloatTensor *x);\r\n"
    )
    project.create().build()
    assert project.load().counted(torch.zeros(3)) == 3


# What build() leaves


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


# Rebuilding


def test_nothing_is_compiled_twice(project: Project, capfd: pytest.CaptureFixture[str]) -> None:
    first = project.create(verbose=True).build()
    assert "compiling _ext.my" in capfd.readouterr().err
    before = os.stat(first)
    assert project.create(verbose=True).build() == first
    assert "nothing to compile" in capfd.readouterr().err
    assert os.stat(first).st_mtime_ns == before.st_mtime_ns
    assert os.stat(first).st_ino == before.st_ino


def test_an_edited_header_or_object_compiles_again(project: Project) -> None:
    project.write("src/number.h", "#define NUMBER 1\n")
    project.write("src/my.h", "int counted(void);")
    project.write("src/my.c", '#include "number.h"\nint more(void);\nint counted(void) { return NUMBER + more(); }')

    def compile_object(number: int) -> None:
        code = project.write("src/more.c", f"int more(void) {{ return {number}; }}")
        subprocess.run([CC, "-c", "-fPIC", str(code), "-o", str(code.with_suffix(".o"))], check=True)

    def built() -> int:
        project.create(extra_objects=["src/more.o"]).build()
        with_so = [sys.executable, "-c", "import _my; print(_my.lib.counted())"]
        done = subprocess.run(with_so, cwd=project.folder / "_ext/my", capture_output=True, text=True, check=True)
        return int(done.stdout)

    compile_object(10)
    assert built() == 11
    project.write("src/number.h", "#define NUMBER 2\n")
    assert built() == 12
    compile_object(20)
    assert built() == 22
    project.write("src/number.h", "#define NUMBER 1\n")
    compile_object(10)
    assert built() == 11


_BUILD = """
import sys
sys.path.insert(0, {source!r})
from opwright.legacy import create_extension
ffi = create_extension("_ext.my", "src/my.h", ["src/my.c"], verbose=False, relative_to={file!r})
ffi.build()
"""


def start(project: Project) -> subprocess.Popen[str]:
    source = str(Path(opwright.__file__).parent.parent)
    code = _BUILD.format(source=source, file=str(project.folder / "build.py"))
    return subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)


def test_four_processes_at_once(project: Project) -> None:
    project.write("src/my.c", f"{SOURCE}/* {os.urandom(8).hex()} */")
    running = [start(project) for _ in range(4)]
    for each in running:
        assert (each.communicate()[1], each.returncode) == ("", 0)
    assert sorted(path.name for path in (project.folder / "_ext/my").iterdir()) == ["__init__.py", "_my.so"]
    assert project.load().counted(torch.zeros(2)) == 2


def test_killed_and_built_again(project: Project) -> None:
    slow = "".join(f"int f{i}(int x) {{ return x * {i} + f{i - 1}(x); }}\n" for i in range(1, 2000))
    project.write("src/my.c", f"{SOURCE}static int f0(int x) {{ return x; }}\n{slow}/* {os.urandom(8).hex()} */")
    victim = start(project)
    deadline = time.monotonic() + 60
    while not (project.folder / "_ext/my/__init__.py").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.3)
    victim.send_signal(signal.SIGKILL)
    victim.communicate()
    assert not (project.folder / "_ext/my/_my.so").exists()
    project.create().build()
    assert project.load().counted(torch.zeros(2)) == 2


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written(project: Project) -> None:
    project.create()
    project.folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    with pytest.raises(opwright.ToolchainError, match=r"can't be written: Permission denied"):
        project.create("other.my")
    project.folder.chmod(stat.S_IRWXU)


def test_a_file_in_the_place_of_a_folder(project: Project) -> None:
    in_the_way = project.write("_ext", "no folder")
    with pytest.raises(
        opwright.ToolchainError, match=rf"create_extension\('_ext.my'\): {in_the_way}/__init__.py can't"
    ):
        project.create()


@pytest.mark.parametrize("name", ["with space", "dots.and.more", "ünïcödé-漢字", "quo'te", 'dou"ble', "dollar$HOME"])
def test_odd_folders(tmp_path: Path, name: str) -> None:
    project = Project(tmp_path / name)
    project.create(extra_objects=["src/missing.o"], include_dirs=["src"]).build()
    assert project.load().counted(torch.zeros(2)) == 2


# What is missing


MISSING_SOURCE = (
    "#include <TH/TH.h>\nint launch(float *x);\nvoid on_stream(int n);\n"
    "int counted(THFloatTensor *x) { return (int)THFloatTensor_nElement(x); }\n"
    "int on_gpu(THFloatTensor *x) { return launch(THFloatTensor_data(x)); }\n"
    "void other(void) { on_stream(1); }\n"
)


@pytest.fixture
def without_objects(project: Project) -> Project:
    project.write("src/my.h", "int counted(THFloatTensor *x);\nint on_gpu(THFloatTensor *x);\nvoid other(void);")
    project.write("src/my.c", MISSING_SOURCE)
    project.write("src/kernel.cu", '#include <stdio.h>\nextern "C" int launch(float *x) { return 1; }\n')
    project.write("src/second.cu", 'extern "C" void on_stream(int n) {}\n')
    return project


def test_functions_of_missing_objects_say_so(without_objects: Project) -> None:
    project = without_objects
    project.create(extra_objects=["src/kernel.cu.o", "src/second.o"]).build()
    my = project.load()
    assert my.counted(torch.zeros(3)) == 3
    for call, name, stem, result in (
        (lambda: my.on_gpu(torch.zeros(3)), "launch", "kernel", "kernel.cu.o"),
        (my.other, "on_stream", "second", "second.o"),
    ):
        with pytest.raises(FatalError) as raised:
            call()
        text = str(raised.value)
        assert text.startswith(f"{name}() isn't in _ext.my: it was to come from {project.folder}/src/{result}, which")
        assert f"`opwright run nvcc -c {project.folder}/src/{stem}.cu -o {project.folder}/src/{result} " in text


def test_an_object_that_comes_later_is_linked(without_objects: Project) -> None:
    project = without_objects
    project.create(extra_objects=["src/kernel.cu.o", "src/second.o"]).build()
    project.write("kernel.c", "int launch(float *x) { return 17; }")
    subprocess.run([CC, "-c", "-fPIC", "kernel.c", "-o", "src/kernel.cu.o"], cwd=project.folder, check=True)
    project.create(extra_objects=["src/kernel.cu.o", "src/second.o"]).build()
    my = project.load()
    assert my.on_gpu(torch.zeros(3)) == 17
    with pytest.raises(FatalError, match=r"on_stream\(\) isn't in _ext.my"):
        my.other()


def test_all_of_it_in_missing_objects(project: Project) -> None:
    """39 of 160 extensions had no sources: all was in what nvcc made."""
    project.create(sources=[], extra_objects=["/nowhere/kernels.cu.o"]).build()
    with pytest.raises(FatalError, match=r"counted\(\) isn't in _ext.my: it was to come from /nowhere/kernels"):
        project.load().counted(torch.zeros(1))


def test_cpp_names_are_shown_as_written(project: Project) -> None:
    project.write(
        "src/my.cpp",
        '#include <TH/TH.h>\nvoid go(int, float *);\nextern "C" int counted(THFloatTensor *x) { go(1, 0); return 1; }',
    )
    project.create(sources=["src/my.cpp"], extra_objects=["gone.o"]).build()
    with pytest.raises(FatalError, match=r"go\(int, float\*\)\(?\)? isn't in"):
        project.load().counted(torch.zeros(1))


def test_setuptools_links_the_same_stand_ins(without_objects: Project) -> None:
    project = without_objects
    project.write(
        "build.py",
        "from opwright.legacy import create_extension\n"
        "ffi = create_extension('mine.ext', 'src/my.h', ['src/my.c'], package=True, relative_to=__file__,"
        " extra_objects=['src/kernel.cu.o', 'src/second.o'])\n",
    )
    setup = (
        "from setuptools import setup\nsetup(name='x', packages=[], ext_package='', cffi_modules=['build.py:ffi'])\n"
    )
    project.write("setup.py", setup)
    done = subprocess.run(
        [sys.executable, "setup.py", "build_ext", "--inplace"],
        cwd=project.folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert (project.folder / "mine/ext/_ext.abi3.so").exists()
    my = project.load("mine.ext")
    assert my.counted(torch.zeros(3)) == 3
    with pytest.raises(FatalError, match=r"launch\(\) isn't in mine.ext: it was to come from \S+kernel.cu.o"):
        my.on_gpu(torch.zeros(1))


def test_committed_generated_files_still_import(project: Project) -> None:
    """43 repositories have such a file under version control, and some build with another tool."""
    project.create().build()
    text = (
        "from torch.utils.ffi import _wrap_function\nfrom ._my import lib as _lib, ffi as _ffi\n"
        "counted = _wrap_function(_lib.counted, _ffi)\n"
    )
    project.write("_ext/my/__init__.py", text)
    opwright.legacy.install()
    try:
        assert project.load().counted(torch.zeros(2)) == 2
    finally:
        opwright.legacy.uninstall()


def test_pycache_is_not_needed(project: Project, tmp_path: Path) -> None:
    """Moved after it was built: nothing in it knows where it was."""
    project.create().build()
    moved = Project(tmp_path / "moved")
    shutil.move(project.folder / "_ext", moved.folder / "_ext")
    assert moved.load().counted(torch.zeros(2)) == 2
