from __future__ import annotations

from pathlib import Path

import pytest

from opwright.migrate import Examined, examine
from opwright.migrate.blas import GEMM

# What is rewritten, and into what.
REWRITTEN = [
    ('AT_CHECK(x.dim() == 1, "one ", n);', 'TORCH_CHECK(x.dim() == 1, "one ", n);'),
    (
        "#define CHECK(x) \\\n  AT_CHECK(x.is_contiguous(), #x)",
        "#define CHECK(x) \\\n  TORCH_CHECK(x.is_contiguous(), #x)",
    ),
    ('AT_WARN("slow");', 'TORCH_WARN("slow");'),
    ('AT_ASSERTM(a < b, "small");', 'TORCH_CHECK(a < b, "small");'),
    ("AT_ASSERT(a < b);", "TORCH_CHECK(a < b);"),
    ('AT_ERROR("no ", kind);', 'TORCH_CHECK(false, "no ", kind);'),
    ("AT_ERROR();", "TORCH_CHECK(false);"),
    ('AT_INDEX_ERROR("row ", i);', 'TORCH_CHECK_INDEX(false, "row ", i);'),
    ("x.data<float>()", "x.data_ptr<float>()"),
    ("x->data<scalar_t>() + 1", "x->data_ptr<scalar_t>() + 1"),
    ("x.template data<std::complex<double>>()", "x.template data_ptr<std::complex<double>>()"),
    ("x.contiguous() .data <T> ()", "x.contiguous() .data_ptr <T> ()"),
    ("x.type().is_cuda()", "x.is_cuda()"),
    ("x->type().is_sparse()", "x->is_sparse()"),
    ("x.type() . scalarType()", "x.scalar_type()"),
    (
        'AT_DISPATCH_FLOATING_TYPES(x.type(), "f", ([&] {}));',
        'AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "f", ([&] {}));',
    ),
    (
        'AT_DISPATCH_ALL_TYPES_AND(at::kHalf, xs[0].type(), "f", [&] { g(y.type(), "a"); });',
        'AT_DISPATCH_ALL_TYPES_AND(at::kHalf, xs[0].scalar_type(), "f", [&] { g(y.type(), "a"); });',
    ),
    (
        'AT_DISPATCH_ALL_TYPES_AND_HALF(x->type(), "f", [&] {});',
        'AT_DISPATCH_ALL_TYPES_AND(at::kHalf, x->scalar_type(), "f", [&] {});',
    ),
    ("int n = s.toCInt() + s.toCLong();", "int n = s.item<int>() + s.item<int64_t>();"),
    ("void f(at::IntList sizes);", "void f(at::IntArrayRef sizes);"),
    ("c10::optional<int> a = at::nullopt;", "std::optional<int> a = std::nullopt;"),
    ("auto p = c10::guts::make_unique<T>(1);", "auto p = std::make_unique<T>(1);"),
    ("AutoNoGIL released;", "pybind11::gil_scoped_release released;"),
    ("struct CAFFE2_API S;", "struct TORCH_API S;"),
    ("case 1: C10_FALLTHROUGH;", "case 1: [[fallthrough]];"),
    ("#include <ATen/Error.h>", "#include <c10/util/Exception.h>"),
    ('#  include "ATen/cuda/CUDAGuard.h" // of old', "#include <c10/cuda/CUDAGuard.h> // of old"),
    ("#include <TH/TH.h>\nint TOTAL;", "#include <torch/types.h>\nint TOTAL;"),
    ("#include <THC/THCAtomics.cuh>", "#include <ATen/cuda/Atomic.cuh>"),
    (
        "#include <torch/torch.h>\nPYBIND11_MODULE(a, m) {}",
        "#include <torch/extension.h>\nPYBIND11_MODULE(a, m) {}",
    ),
    (
        '#include <a.h>\nnamespace k {\n#include "b.h"\nint n = THCCeilDiv(5, 2);\n}',
        '#include <a.h>\n#include <ATen/ceil_div.h>\nnamespace k {\n#include "b.h"\nint n = at::ceil_div(5, 2);\n}',
    ),
    (
        "#include <THC/THC.h>\nauto s = at::globalContext().getCurrentCUDAStream();",
        "#include <ATen/cuda/CUDAContext.h>\nauto s = at::cuda::getCurrentCUDAStream();",
    ),
    (
        "#include <a.h>\n#include <THC/THC.h>\n\nextern THCState *state;\n\nvoid f() { THCudaFree(state, p); }",
        (
            "#include <a.h>\n#include <ATen/cuda/CUDAContext.h>\n#include <c10/cuda/CUDACachingAllocator.h>\n\n"
            "void f() { c10::cuda::CUDACachingAllocator::raw_delete(p); }"
        ),
    ),
    (
        "#include <THC/THC.h>\n  THCState *s = at::globalContext().lazyInitCUDA(); // once\n  THCudaMalloc(s, f(1));",
        (
            "#include <ATen/cuda/CUDAContext.h>\n#include <c10/cuda/CUDACachingAllocator.h>\n"
            "  at::globalContext().lazyInitDevice(at::kCUDA); // once\n"
            "  c10::cuda::CUDACachingAllocator::raw_alloc(f(1));"
        ),
    ),
    (
        "#include <THC/THCThrustAllocator.cuh>\nTHCThrustAllocator a(THCState_getState(x));\n",
        "#include <ATen/cuda/ThrustAllocator.h>\nat::cuda::ThrustAllocator a;\n",
    ),
    (
        "#include <THC/THCBlas.h>\nTHCudaBlas_Dgemv(state, 't', m, n);",
        "#include <ATen/cuda/CUDABlas.h>\nat::cuda::blas::gemv<double>('t', m, n);",
    ),
    (
        "#include <THC/THCBlas.h>\nTHCudaBlas_HgemmStridedBatched(state, 't', m);",
        "#include <ATen/cuda/CUDABlas.h>\nat::cuda::blas::bgemm<at::Half>('t', m);",
    ),
    (
        "#include <a.h>\n#include <TH/TH.h>\n\nvoid f() { THDoubleBlas_gemm('t', m); }",
        f"#include <a.h>\n#include <torch/types.h>\n{GEMM}\nvoid f() {{ column_major_gemm<double>('t', m); }}",
    ),
    (
        "#include <ATen/ATen.h>\nint g(int n) { return THCCeilDiv(n, 32) + THCRoundUp<int>(n, 8); }",
        (
            "#include <ATen/ATen.h>\n#include <ATen/ceil_div.h>\n"
            "int g(int n) { return at::ceil_div(n, 32) + at::round_up<int>(n, 8); }"
        ),
    ),
]
# What is no use of anything, and what is one but is left alone, with the names that are reported.
LEFT: list[tuple[str, list[str]]] = [
    ('const char *s = "AT_CHECK(x)"; // AT_CHECK(x.data<int>())', []),
    ('/* THCudaCheck(e) */ auto r = R"(AT_CHECK(\n)";', []),
    ("#if 0\nAT_CHECK(x);\n#endif", []),
    ("#error AT_CHECK isn't here", []),
    ("x.device().type() == at::kCUDA; value.type();", []),
    ("v.data() + m.data()[0]; AT_CHECKED(x); MY_AT_CHECK(y);", []),
    ('AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "f", [&] { h(x.type()); });', []),
    ('AT_DISPATCH_INDEX_TYPES(x.type(), "f", [&] {});', []),
    ("#ifndef AT_CHECK\n#define AT_CHECK TORCH_CHECK\n#endif\nvoid f() { AT_CHECK(true); }", []),
    ("template <class T> __device__ T THCCeilDiv(T a, T b) { return a / b; }\nint n = THCCeilDiv(5, 2);", []),
    ("struct AutoNoGIL { int x; };\nAutoNoGIL a;", []),
    ("#include <torch/torch.h>\n#include <torch/python.h>\nPYBIND11_MODULE(a, m) {}", []),
    ("x.storage().data<float>()", [".data<T>()"]),
    ("x.data<float", [".data<T>()"]),
    ("at::zeros(x.type(), {2});", ["at::zeros(type, sizes)"]),
    ("const at::Type &t = at::getType(options);", ["at::Type", "at::getType"]),
    ("#include <ATen/Type.h>\nat::Type *t;", ["<ATen/Type.h>", "at::Type"]),
    ("#include <TH/TH.h>\nTHFloatBlas_ger(a);", ["<TH/TH.h>", "TH<T>Blas_*"]),
    ("THFloatBlas_gemm(a);", ["TH<T>Blas_*"]),
    ("THCudaBlas_Hgemv(state, a);", ["THCudaBlas_*"]),
    ("#include <c10/util/variant.h>", ["<c10/util/variant.h>"]),
    ("void f(THCState *state) { g(state); }", ["THCState"]),
    ("auto *s = at::globalContext().lazyInitCUDA();", ["lazyInitCUDA"]),
    ("#if TORCH_VERSION_MAJOR < 1\nvoid f() { AT_CHECK(true); }\n#endif", ["AT_CHECK"]),
    ("#ifndef TORCH_CHECK\n#define TORCH_CHECK AT_CHECK\n#endif", ["AT_CHECK"]),
    ("int n = THCCeilDiv(5, 2);", ["THCCeilDiv"]),
    ("#include <a.h>\n#ifdef WITH_CUDA\nint n = THCCeilDiv(5, 2);\n#endif", ["THCCeilDiv"]),
    ("#include <THC/THC.h>\nTHCNumerics<float>::max();", ["<THC/THC.h>", "THCNumerics"]),
    ('extern "C" {\n#include "a.h"\n}\nint n = THCCeilDiv(5, 2);', ["THCCeilDiv"]),
    ('extern "C" {\n#include <THC/THC.h>\n}', ["<THC/THC.h>"]),
    (
        '#include <THC/THC.h>\n#include "generic/a.h"\n#include "THC/THCGenerateAllTypes.h"\n',
        ["<THC/THC.h>", "THC/THCGenerateAllTypes.h"],
    ),
    (
        '#ifndef THC_GENERIC_FILE\n#define THC_GENERIC_FILE "a.cu"\n#else\nTHCudaCheck(f());\n#endif',
        ["THC_GENERIC_FILE", "THC_GENERIC_FILE", "THCudaCheck"],
    ),
    ("auto r = torch::jit::RegisterOperators();", ["torch::jit::RegisterOperators"]),
]


@pytest.mark.parametrize(("before", "after"), REWRITTEN, ids=range(len(REWRITTEN)))
def test_what_is_understood_is_rewritten(before: str, after: str, tmp_path: Path) -> None:
    result = judged(before, tmp_path)
    assert result.after.decode() == after
    assert result.findings
    assert not any(finding.by_hand for finding in result.findings)


@pytest.mark.parametrize(("text", "names"), LEFT, ids=range(len(LEFT)))
def test_what_is_not_is_left_alone(text: str, names: list[str], tmp_path: Path) -> None:
    result = judged(text, tmp_path)
    assert result.after.decode() == text
    assert [finding.name for finding in result.findings] == names


def test_lines_are_those_of_the_file(tmp_path: Path) -> None:
    found = judged('\n// one\nAT_CHECK(\n    x.data<int>()[0]);\n/* a\n b */ AT_WARN("c");', tmp_path).findings
    assert [(finding.line, finding.name) for finding in found] == [(3, "AT_CHECK"), (4, ".data<T>()"), (6, "AT_WARN")]


def test_a_state_that_something_takes_stays_with_its_header(tmp_path: Path) -> None:
    text = "#include <THC/THC.h>\nextern THCState *state;\nvoid f() { THCudaFree(state, p); own(state); }"
    result = judged(text, tmp_path)
    assert result.after.decode().startswith("#include <THC/THC.h>\n")
    assert "extern THCState *state;" in result.after.decode()
    assert {f.name: f.note for f in result.findings if f.by_hand} == {
        "<THC/THC.h>": "extern THCState *state is still used",
        "extern THCState *state": "something here still takes it",
    }


def test_a_state_in_a_header_stays(tmp_path: Path) -> None:
    result = judged("extern THCState *state;\n", tmp_path, "state.h")
    assert result.after == result.before
    assert [f.note for f in result.findings] == ["in a header: sources that still take it may include this one"]


def test_two_headers_that_became_one_are_included_once(tmp_path: Path) -> None:
    result = judged("#include <THC/THC.h>\n#include <THC/THCGeneral.h>\n#include <ATen/Error.h>\n", tmp_path)
    assert result.after == b"#include <ATen/cuda/CUDAContext.h>\n#include <c10/util/Exception.h>\n"


def test_a_source_of_the_first_generation_is_only_reported(tmp_path: Path) -> None:
    text = (
        "#include <THC/THC.h>\nextern THCState *state;\n"
        "int f(THCudaTensor *a, THCudaTensor *b) {\n  THCudaCheck(g(THCudaTensor_data(state, a)));\n  return 1;\n}\n"
    )
    for name in ("op.c", "op.cu"):
        result = judged(text, tmp_path, name)
        assert result.after == result.before
        assert [(f.line, f.name, f.by_hand) for f in result.findings] == [
            (1, "<THC/THC.h>", True),
            (2, "extern THCState *state", True),
            (3, "THCudaTensor (3 times)", True),
            (4, "THCudaCheck", True),
        ]


def test_c_is_not_rewritten(tmp_path: Path) -> None:
    result = judged("#include <THC/THC.h>\nvoid f() { THCudaCheck(g()); }\n", tmp_path, "op.c")
    assert result.after == result.before
    assert {finding.note for finding in result.findings} == {"a C source: left as it is"}


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_line_ends_and_bytes_stay(end: str, tmp_path: Path) -> None:
    before = f"// caf\xe9 \xa0{end}#include <a.h>{end}int n = THCCeilDiv(5, 2);{end}".encode("latin-1")
    path = tmp_path / "op.cu"
    path.write_bytes(before)
    expected = f"// caf\xe9 \xa0{end}#include <a.h>{end}#include <ATen/ceil_div.h>{end}int n = at::ceil_div(5, 2);{end}"
    assert examine(path).after == expected.encode("latin-1")


@pytest.mark.parametrize(
    "text", ["", "(", 'AT_CHECK("', "AT_ERROR(", "x.data<", "THCudaMalloc(", "#include <", "/*", "'"]
)
def test_what_is_cut_off_is_survived(text: str, tmp_path: Path) -> None:
    judged(text, tmp_path)
    judged(text + "\n#if THC_VERSION", tmp_path)


def judged(text: str, folder: Path, name: str = "op.cu") -> Examined:
    path = folder / name
    path.write_text(text, encoding="latin-1")
    return examine(path)


@pytest.mark.parametrize(
    ("text", "name", "after"),
    [
        ("auto y = x.type().tensor({2});", "tensor() of at::Type", "auto y = at::empty({2}, x.type().options());"),
        ("auto y = x->type().zeros({2});", "zeros() of at::Type", "auto y = at::zeros({2}, x->type().options());"),
        ("auto y = x.toLongTensor();", ".toLongTensor()", "auto y = x.to(at::kLong);"),
    ],
)
def test_functions_of_a_type_are_rewritten(text: str, name: str, after: str, tmp_path: Path) -> None:
    result = judged(f"#include <torch/extension.h>\n{text}\n", tmp_path, "op.cpp")
    (found,) = result.findings
    assert (found.line, found.name, found.status) == (2, name, "removed")
    assert result.after.decode() == f"#include <torch/extension.h>\n{after}\n"
