"""The library and its headers: what is exported, what compiles, and what a C compiler and the library agree on."""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
import torch

from opwright.errors import ToolchainError
from opwright.legacy import calls
from opwright.legacy.th_library import exported, header_dirs, load_library
from opwright.toolchain import Options, Unit, build, find_compiler
from tests.legacy.conftest import CSRC
from tests.legacy.extensions import TYPES, Extension, FatalError, extension, prototypes
from tests.legacy.headers import declared
from tests.legacy.tensors import DTYPES, numbered, typed

pytestmark = pytest.mark.native
HEADERS = [path for path in sorted((header_dirs()[0] / "TH").rglob("*.h")) if path.parent.name != "shared"]  # parts
C_FLAGS = ["-Wall", "-Wextra", "-Wno-unused-function", "-Werror", *(f"-I{folder}" for folder in header_dirs())]


def test_what_is_declared_is_there() -> None:
    assert sorted({*prototypes(), *declared()} - exported()) == []


def test_what_is_there_is_declared() -> None:
    ours = {name for name in exported() if re.match(r"TH(?!C)", name)}
    of_thc = {name for name in ours if re.search(r"_copy(Async)?Cuda", name)}  # THC's headers have these
    assert sorted(ours - of_thc - {*prototypes(), *declared()}) == []


@pytest.mark.parametrize("name", TYPES)
def test_every_type_has_the_same_functions(name: str) -> None:
    def functions(of: str) -> set[str]:
        return {found.removeprefix(f"TH{of}") for found in declared() if re.match(rf"TH{of}(Tensor|Storage)_", found)}

    only = {
        "Long": {"Storage_sizeDesc", "Storage_newInferSize"},
        "Byte": {found for found in functions("Byte") if re.search("_logical|RNGState", found)},
    }
    assert functions(name) - only.get(name, set()) <= functions("Double")
    assert name != "Float" or functions(name) == functions("Double")


def test_it_is_loaded_for_all() -> None:
    assert load_library() is load_library()
    everybody = ctypes.CDLL(None)
    assert hasattr(everybody, "THFloatTensor_newWithSize2d")
    assert hasattr(everybody, "THDefaultAllocator")


def test_importing_loads_no_torch() -> None:
    program = "import sys, opwright, opwright.legacy.th_library, opwright.legacy.calls; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("standard", ["c99", "gnu99", "c11", "c++11", "c++17"])
@pytest.mark.parametrize("name", ["TH/TH.h", "TH.h"])
def test_the_headers_compile(standard: str, name: str, tmp_path: Path) -> None:
    language = "c++" if "+" in standard else "c"
    text = f"#include <{name}>\n#include <TH/generic/THTensor.h>\n"
    text += "float *data(THFloatTensor *t) { return t->storage->data; }\n"
    command = [
        find_compiler("c").path,
        f"-std={standard}",
        *C_FLAGS,
        "-x",
        language,
        "-",
        "-c",
        "-o",
        str(tmp_path / "o.o"),
    ]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", HEADERS, ids=lambda path: path.name)
def test_each_header_stands_alone(path: Path) -> None:
    relative = path.relative_to(header_dirs()[0])
    before = "#include <TH/THGeneral.h>\n#define TH_GENERIC_FILE <stddef.h>\n" if "THGenerate" in path.name else ""
    text = f"{before}#include <{relative}>\n"
    command = [find_compiler("c").path, "-std=c99", *C_FLAGS, "-fsyntax-only", "-x", "c", "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_generic_code() -> None:
    wanted = "".join(
        f"{'double' if name in ('Float', 'Double') else 'int64_t'} generic_{name}_sum(TH{name}Tensor *t);\n"
        f"TH{name}Tensor *generic_{name}_new(TH{name}Storage *s);\n"
        for name in TYPES
    )
    made = extension(wanted, '#include "generic_sum.c"\n#include "THGenerateAllTypes.h"\n', include_dirs=(CSRC,))
    for name, dtype in DTYPES.items():
        t = numbered((2, 3), dtype)
        half = 0.5 if dtype.is_floating_point else 0
        assert getattr(made, f"generic_{name}_sum")(t) == 21 + half
        with pytest.raises(
            FatalError, match=f"invalid argument 1: {name}Tensor must be contiguous at .*generic_sum.c:"
        ):
            getattr(made, f"generic_{name}_sum")(t.t())
        assert getattr(made, f"generic_{name}_new")(typed(t.untyped_storage(), dtype)).tolist() == [1, 2, 3, 4, 5, 6]


_MEMORY = r"""
static int allocated, freed;
static void *count_malloc(void *context, ptrdiff_t bytes) { ++*(int *)context; return malloc((size_t)bytes); }
static void *count_realloc(void *context, void *memory, ptrdiff_t bytes) {
  (void)context;
  return realloc(memory, (size_t)bytes);
}
static void count_free(void *context, void *memory) { (void)context; ++freed; free(memory); }
static THAllocator counting = {count_malloc, count_realloc, count_free};
static int buffer[4] = {1, 2, 3, 4};

int counts(void) { return 100 * allocated + freed; }
THIntStorage *counted(int64_t n) { return THIntStorage_newWithAllocator(n, &counting, &allocated); }
THIntStorage *around(void) {
  int *memory = THAlloc(4 * sizeof(int));
  for (int i = 0; i < 4; ++i) memory[i] = 10 * i;
  return THIntStorage_newWithData(memory, 4);
}
THIntStorage *around_static(void) {
  THIntStorage *s = THIntStorage_newWithData(buffer, 4);
  THIntStorage_clearFlag(s, TH_STORAGE_FREEMEM);
  return s;
}
THIntStorage *unresizable(void) {
  THIntStorage *s = THIntStorage_newWithSize(2);
  THIntStorage_clearFlag(s, TH_STORAGE_RESIZABLE);
  THIntStorage_resize(s, 3);
  return s;
}
int default_allocator(void) {
  char *memory = THDefaultAllocator.malloc(NULL, 10000);
  int aligned = (uintptr_t)memory % 64 == 0;
  memory = THDefaultAllocator.realloc(NULL, memory, 20000);
  memory[19999] = 1;
  THDefaultAllocator.free(NULL, memory);
  return aligned;
}
int no_memory(void) { return THAlloc(0) == NULL && THRealloc(THAlloc(4), 0) == NULL; }
void too_much(int64_t bytes) { THFree(THAlloc(bytes)); }
int sizes(void) {
  int64_t a[] = {2, 3}, b[] = {2, 4};
  return THSize_isSameSizeAs(a, 2, a, 2) + 2 * THSize_isSameSizeAs(a, 2, b, 2) + 4 * THSize_isSameSizeAs(a, 2, a, 1) +
         10 * (int)THSize_nElement(2, a);
}
int swapped(void) {
  THIntStorage *a = THIntStorage_newWithSize2(1, 2), *b = THIntStorage_newWithSize1(3);
  THIntStorage_swap(a, b);
  int found = 100 * (int)a->size + 10 * (int)b->size + a->data[0];
  THIntStorage_free(a);
  THIntStorage_free(b);
  return found;
}
THIntTensor *from_sizes(int n, int64_t *size, int64_t *stride) { return THIntTensor_newWithSizeNd(n, size, stride); }
THIntTensor *copied_back(THIntTensor *t) {
  THIntTensor *c = THIntTensor_newContiguous(t);
  for (ptrdiff_t i = 0; i < THIntTensor_nElement(c); ++i) THIntTensor_data(c)[i] *= 2;
  THIntTensor_freeCopyTo(c, t);
  THIntTensor_retain(t);
  return t;
}
void expand_two(THIntTensor *a, THIntTensor *b, THIntTensor *ra, THIntTensor *rb) {
  THIntTensor *in[] = {a, b}, *out[] = {ra, rb};
  THIntTensor_expandNd(out, in, 2);
}
static char seen[200];
static void handle(const char *text, void *data) { snprintf(seen, sizeof seen, "%s|%s", text, (char *)data); }
static void handle_argument(int n, const char *text, void *data) {
  snprintf(seen, sizeof seen, "%d|%s|%s", n, text, (char *)data);
}
const char *handled(int argument) {
  return argument < 0 ? seen : (argument ? (THArgCheck(0, argument, "text"), "") : (THError("text"), ""));
}
void set_handlers(int on) {
  THSetErrorHandler(on ? handle : NULL, "mine");
  THSetArgErrorHandler(on ? handle_argument : NULL, "mine");
}
THIntStorage *mapped(const char *file, int64_t size, int shared) {
  return THIntStorage_newWithMapping(file, size, shared);
}
THIntStorage *raw_copied(void) {
  THIntStorage *s = THIntStorage_newWithSize(4);
  THIntStorage_rawCopy(s, buffer);
  return s;
}
"""
_MEMORY_PROTOTYPES = """
int counts(void); THIntStorage *counted(int64_t n); THIntStorage *around(void); THIntStorage *around_static(void);
THIntStorage *unresizable(void); int default_allocator(void); int no_memory(void); void too_much(int64_t bytes);
int sizes(void); int swapped(void); THIntTensor *from_sizes(int n, int64_t *size, int64_t *stride);
THIntTensor *copied_back(THIntTensor *t);
void expand_two(THIntTensor *a, THIntTensor *b, THIntTensor *ra, THIntTensor *rb);
const char *handled(int argument); void set_handlers(int on);
THIntStorage *mapped(const char *file, int64_t size, int shared); THIntStorage *raw_copied(void);
"""


@pytest.fixture(scope="module")
def memory() -> Extension:
    return extension(_MEMORY_PROTOTYPES, _MEMORY)


def ints(storage: torch.storage.TypedStorage) -> list[int]:
    return torch.empty(0, dtype=torch.int32).set_(storage._untyped_storage).tolist()


def test_memory_of_c(memory: Extension) -> None:
    storage = memory.counted(4)
    assert memory.counts() == 100
    del storage
    assert memory.counts() == 101
    assert ints(memory.around()) == [0, 10, 20, 30]
    for _ in range(2):  # it isn't freed
        assert ints(memory.around_static()) == [1, 2, 3, 4]
    assert ints(memory.raw_copied()) == [1, 2, 3, 4]
    with pytest.raises(FatalError, match="can't be resized"):
        memory.unresizable()
    assert memory.default_allocator() == 1
    assert memory.no_memory() == 1
    for wrong in (-1, (1 << 63) - 1):
        with pytest.raises(FatalError, match="memory"):
            memory.too_much(wrong)
    assert memory.sizes() == 1 + 60
    assert memory.swapped() == 123


def test_files_as_memory(memory: Extension, tmp_path: Path) -> None:
    file = tmp_path / "numbers"
    file.write_bytes(b"".join(n.to_bytes(4, sys.byteorder) for n in range(6)))
    private = memory.mapped(str(file).encode(), 6, 0)
    assert ints(private) == list(range(6))
    assert ints(memory.mapped(str(file).encode(), 0, 0)) == list(range(6))
    shared = memory.mapped(str(file).encode(), 3, 1)
    torch.empty(0, dtype=torch.int32).set_(shared._untyped_storage).fill_(9)
    assert ints(memory.mapped(str(file).encode(), 6, 0)) == [9, 9, 9, 3, 4, 5]
    for size in (0, 6):
        with pytest.raises(FatalError, match="No such file"):
            memory.mapped(str(tmp_path / "none").encode(), size, 0)


def test_sizes_in_arrays(memory: Extension) -> None:
    size, stride = memory.ffi.new("int64_t[]", [2, 3, 4]), memory.ffi.new("int64_t[]", [1, -1, -1])
    assert memory.from_sizes(3, size, memory.ffi.NULL).stride() == (12, 4, 1)
    assert memory.from_sizes(3, size, stride).stride() == (1, 4, 1)
    assert memory.from_sizes(0, memory.ffi.NULL, memory.ffi.NULL).shape == (0,)


def test_results_copied_back(memory: Extension) -> None:
    t = torch.arange(6, dtype=torch.int32).reshape(2, 3).t()
    assert memory.copied_back(t) is t
    assert t.tolist() == [[0, 6], [2, 8], [4, 10]]
    assert memory.copied_back(t.t()).tolist() == [[0, 4, 8], [12, 16, 20]]


def test_tensors_expanded_together(memory: Extension) -> None:
    a, b = (torch.arange(n, dtype=torch.int32).reshape(shape) for n, shape in ((3, (3, 1)), (4, (4,))))
    one, other = torch.empty(0, dtype=torch.int32), torch.empty(0, dtype=torch.int32)
    memory.expand_two(a, b, one, other)
    for ours, expected in zip((one, other), torch.broadcast_tensors(a, b), strict=True):
        assert torch.equal(ours, expected)
        assert ours.stride() == expected.stride()
    with pytest.raises(FatalError, match="the size of tensor 1 must match the others' at dimension 0"):
        memory.expand_two(a.view(3), b, one, other)


def test_error_handlers(memory: Extension) -> None:
    memory.set_handlers(1)
    try:
        with pytest.raises(FatalError):
            memory.handled(0)
        assert re.fullmatch(rb"text at \S*:\d+\|mine", memory.ffi.string(memory.handled(-1)))
        with pytest.raises(FatalError):
            memory.handled(7)
        assert re.fullmatch(rb"7\|text at \S*:\d+\|mine", memory.ffi.string(memory.handled(-1)))
    finally:
        memory.set_handlers(0)


@pytest.mark.slow
def test_layouts_of_structs() -> None:
    """The library's structs against what a compiler makes of the headers."""
    fields = {"Tensor": ["size", "stride", "nDimension", "storage", "storageOffset", "refcount", "flag"]}
    fields["Storage"] = ["data", "size", "refcount", "flag", "allocator", "allocatorContext", "view"]
    lines = ["#include <TH/TH.h>", "#include <cstddef>", '#include "tensor.h"']
    for kind, names in fields.items():
        for name in names:
            theirs, ours = f"offsetof(TH{{}}{kind}, {name})", f"offsetof(opw::th::{kind}, {name})"
            lines += [f"static_assert({theirs.format(each)} == {ours});" for each in TYPES]
    lines += [f"static_assert(sizeof(TH{each}Tensor) <= sizeof(opw::th::Tensor));" for each in TYPES]
    from opwright.legacy.th_library import torch_options

    options = torch_options()
    folders = (*options.include_dirs, *header_dirs())
    changed = {**vars(options), "include_dirs": folders, "extra_cflags": ("-O0", "-Wno-invalid-offsetof")}
    build(Unit("th-layouts", "\n".join(lines)), Options(**changed))


def test_without_headers_of_python(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sysconfig, "get_paths", lambda: {"include": str(tmp_path)})
    with pytest.raises(ToolchainError) as caught:
        calls.build_native()
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert str(caught.value) == (
        f"Python's headers are missing: there is no Python.h in {tmp_path}\n"
        f"  expected:   the headers of this Python {version}; cffi's extensions are compiled with them as well\n"
        f"  likely fix: apt install python{version}-dev (Debian, Ubuntu), dnf install python3-devel (Fedora)"
    )
