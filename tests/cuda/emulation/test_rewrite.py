"""What becomes of CUDA text, without a compiler."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from opwright.cuda.emulation.regions import regions
from opwright.cuda.emulation.rewrite import Rewriter
from opwright.errors import CompileError
from opwright.toolchain import header_dir


def never(words: object) -> str:
    raise AssertionError(f"preprocessed again with {words}")


def rewritten(text: str) -> str:
    return Rewriter()(f'# 1 "/project/k.cu"\n{text}', never)


def line_of(text: str, word: str) -> int:
    """The line of the author's file that a compiler would name for `word`."""
    (region,) = regions(text)
    return region.place(text.index(word)).line


def test_a_launch_becomes_a_call() -> None:
    found = rewritten("void f() { ns::k<T, 3><<<g, b, 16, s>>>(x, y++); }")
    assert '::opwright::emulation::configuration(g, b, 16, s), "ns::k<T, 3>", "/project/k.cu", 1,' in found
    assert "[&](auto &&...opwright_a) -> void { ns::k<T, 3>(opwright_a...); }, x, y++); }" in found


@pytest.mark.parametrize("null", ["0", "nullptr", "__null", "{1, 2}"])
def test_what_has_no_type_of_its_own_is_passed_as_it_is(null: str) -> None:
    found = rewritten(f"__global__ void k(); void f() {{ k<<<g, b>>>(x, {null}, z); }}")
    passed = "nullptr" if null == "__null" else null
    assert "[&](auto &&opwright_a0, auto &&opwright_a2) -> void" in found
    assert f"k(opwright_a0, {passed}, opwright_a2); }}, x, z)" in found


@pytest.mark.parametrize(
    "text",
    [
        "void f() {\n  k\n  <<<g,\n b>>>(x,\n y); here; }",
        "void f() {\n  k<<<g,\n b>>>(x,\n 0,\n y); here; }",
        'void f() {\n  k<<<g,\n# 4 "/project/k.cu" 3 4\n __null\n# 4 "/project/k.cu"\n>>>(x); \n\n here; }',
        'void f() {\n  k<<<g, b>>>(x,\n# 9 "/project/k.cu" 3 4\n __null\n# 9 "/project/k.cu"\n, y); \n\n here; }',
        "void f() {\n __shared__ int\n x\n [\n 3];\n here; }",
    ],
)
@pytest.mark.parametrize("before", ["", "__global__ void k(); "])
def test_every_line_stays_where_it_was(text: str, before: str) -> None:
    text = before + text
    assert line_of(rewritten(text), "here") == line_of(f'# 1 "/project/k.cu"\n{text}', "here")


def test_arguments_keep_their_lines() -> None:
    assert line_of(rewritten("void f() { k<<<1,\n2>>>(\n\nx); }"), "x)") == 4


def test_shared_variables_become_references() -> None:
    found = rewritten("__global__ void k() { __shared__ float a[4], *b; }")
    assert "struct opwright_shared_1 { float  a [ 4 ], * b ; static constexpr const char *names()" in found
    assert 'return "a, b"; } };' in found
    assert "auto &a = ::opwright::emulation::shared<opwright_shared_1>().a;" in found


def test_dynamic_shared_memory_is_an_array_without_end() -> None:
    found = rewritten("__global__ void k() { extern __shared__ __attribute__((aligned(16))) char m[][8]; }")
    assert "auto &m = (*reinterpret_cast<char  (*) [ ] [ 8 ]>(::opwright::emulation::dynamic_shared()));" in found


def test_shared_variables_outside_of_functions_are_found_where_they_are_used() -> None:
    text = """extern __shared__ int s[];
    __global__ void a() { s[0] = *s + (s)[1] + x.s + p->s; }
    void b(float s) { s = 2; }
    void c() { { int *s = q; s[1] = 2; } f(s); }
    """
    found = rewritten(text)
    used = "((*reinterpret_cast<int  (*) [ ]>(::opwright::emulation::dynamic_shared())))"
    assert f"{used}[0] = *{used} + ({used})[1] + x.s + p->s;" in found
    assert "void b(float s) { s = 2; }" in found
    assert f"{{ int *s = q; s[1] = 2; }} f({used});" in found


def test_the_authors_variables_may_be_called_like_indices() -> None:
    text = """__global__ void a(int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; f(gridDim, sizeof(blockDim)); }
    void b() { dim3 blockDim(16, 16); const dim3 gridDim = {n / blockDim.x}; k<<<gridDim, blockDim>>>(); }
    void c(dim3 threadIdx, const dim3 &blockIdx) { use(threadIdx.x * blockIdx.y); }
    __device__ int d() { return threadIdx.x & blockDim.y; }
    """
    found = rewritten(text)
    place = "::opwright::emulation::"
    assert f"int i = ({place}block_index()).x * ({place}block_size()).x + ({place}thread_index()).x;" in found
    assert f"f(({place}grid_size()), sizeof(({place}block_size())));" in found
    assert "dim3 blockDim(16, 16); const dim3 gridDim = {n / blockDim.x};" in found
    assert f"{place}configuration(gridDim, blockDim)" in found
    assert "void c(dim3 threadIdx, const dim3 &blockIdx) { use(threadIdx.x * blockIdx.y); }" in found
    assert f"return ({place}thread_index()).x & ({place}block_size()).y;" in found


def included(*headers: str) -> str:
    """A project's file that includes installed headers of these texts."""
    texts = [f'# 1 "/usr/include/{i}.h" 1 3 4\n{text}\n# 2 "/project/k.cu" 2\n' for i, text in enumerate(headers)]
    return "".join(['# 1 "/project/k.cu"\n', *texts])


def test_system_headers_stay_as_they_are() -> None:
    text = included("int a = b << 3; __shared__ int d;")
    assert Rewriter()(text, never) == text


def test_system_headers_that_launch_are_rewritten() -> None:
    launching = """template <class T> __global__ __launch_bounds__(32) void k(T *x) {
      __shared__ T s[2]; s[threadIdx.x] = 1; x[0] = s[0]; }
    template <class T> void f(T *x) { k<T> <<<1, 2>>>(x); }"""
    found = Rewriter()(included("__shared__ int d;", launching, "int e = __shared__;"), never)
    assert '::opwright::emulation::configuration(1, 2), "k<T>", "/usr/include/1.h", 3,' in found
    assert "s[(::opwright::emulation::thread_index()).x] = 1" in found
    assert found.count("__shared__") == 2, "those of the headers that launch nothing"
    assert "__global__" not in found


def test_words_of_cuda() -> None:
    found = rewritten("__noinline__ void f(); __global__ void k(); void g() __attribute__((__noinline__)); ")
    assert found.split("\n")[1] == (
        "__attribute__((noinline)) void f();  void k(); void g() __attribute__((__noinline__)); "
    )


@pytest.mark.parametrize("cast", ["(void *)", "(const void*)", "reinterpret_cast<void *>", "(void const *)"])
def test_a_kernel_that_is_launched_by_pointer_keeps_its_type(cast: str) -> None:
    assert re.search(r"cudaLaunchKernel\(\(?k<3>\)?, g", rewritten(f"int f() {{ cudaLaunchKernel({cast}(k<3>), g); }}"))


@pytest.mark.parametrize(
    ("written", "becomes"),
    [
        ("p = (void *)k;", 'p = ::opwright::emulation::address_of(k, "k");'),
        ("p = (const void*)&n::k<3, int>;", 'p = ::opwright::emulation::address_of(&n::k<3, int>, "n::k<3, int>");'),
        ("p = (void *)(k<3>);", 'p = ::opwright::emulation::address_of((k<3>), "k<3>");'),
        ("p = reinterpret_cast<void *>(k<3>);", 'p = ::opwright::emulation::address_of(k<3>, "k<3>");'),
        ("p = (void *)other;", "p = (void *)other;"),
        ("p = (int *)k;", "p = (int *)k;"),
    ],
)
def test_a_kernels_address_is_known(written: str, becomes: str) -> None:
    text = f"__global__ void k(int *x) {{}}\nint f() {{ k<<<1, 1>>>(x); {written} }}"
    assert rewritten(text).endswith(f" {becomes} }}")


@pytest.mark.parametrize(
    "callee", ["g", "s.g", "s->g", "table[1]", "(c ? k : g)", "k2", "N::g", "(g)", "s.k", "f<int>()"]
)
def test_a_launch_of_a_variable_takes_its_value(callee: str) -> None:
    found = rewritten(f"__global__ void k(int *x) {{}} void f() {{ {callee}<<<1, 1>>>(x, 0,\n {{y}}); }}")
    assert found.endswith(f'"{callee}", "/project/k.cu", 1, {callee}, x, 0,\n {{y}}); }}')
    assert "launch_pointer(" in found


@pytest.mark.parametrize("callee", ["k", "(k)", "::N::k", "k<int>", "((k<int>))", "other<4>", "T::template k<int>"])
def test_a_launch_of_a_name_calls_it(callee: str) -> None:
    found = rewritten(f"__global__ void k(int *x) {{}} void f() {{ {callee}<<<1, 1>>>(x); }}")
    assert f"[&](auto &&...opwright_a) -> void {{ {callee}(opwright_a...); }}" in found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '__device__ void f() {\n asm volatile("mma.u32 %0, %laneid;" : "=r"(x)); }',
            r"k\.cu:2: error: inline PTX .* mma\.u32",
        ),
        ("__global__ void k() {\n\n q<<<1, 1>>>(); }", r"k\.cu:3: error: a kernel launches q: dynamic parallelism"),
        ("void f() {\n q<<<1>>>(); }", r"k\.cu:2: error: <<<...>>> has 1 parts"),
        (
            "__global__ void k() { __shared__ int x = 3; }",
            r"k\.cu:1: error: a __shared__ variable can't have an initial",
        ),
    ],
)
def test_what_cannot_be_emulated_is_named(text: str, message: str) -> None:
    with pytest.raises(CompileError, match=message):
        rewritten(text)


def test_assembly_that_says_nothing_may_stay() -> None:
    text = 'void f() { asm volatile("" ::: "memory"); k<<<1, 1>>>(); }'
    assert 'asm volatile("" ::: "memory");' in rewritten(text)


def test_opwrights_own_headers_may_use_assembly() -> None:
    header = Path(header_dir()) / "opwright" / "x.h"
    head = f'# 1 "/project/k.cu"\n# 1 "{header}" 1\n__global__ void k();\n'
    text = head + 'void f() { asm("nop"); k<<<1, 1>>>(); }\n# 2 "/project/k.cu" 2\n'
    assert 'asm("nop"); ::opwright::emulation::launch(' in Rewriter()(text, never)


@pytest.mark.parametrize("call", ["k(x, 3);", "return k<4>(x, f(1, 2));", "if (x) ::ns; else k(y, {1, 2});"])
def test_a_kernel_called_like_a_function(call: str) -> None:
    text = (
        f"template <int N = 3>\n__global__ void __launch_bounds__(256) k(int *x, int n) {{}}\nint f() {{\n  {call} }}"
    )
    with pytest.raises(
        CompileError, match=r"k\.cu:4: error: the kernel k is called like a function\n  likely fix: launch"
    ):
        rewritten(text)


@pytest.mark.parametrize(
    "text",
    [
        "void f() { k<<<1, 2>>>(x, 3); k<4><<<1, 2>>>(x, 3); g((void *)k, k<4>); }",
        "void k(float *x, int n); void f() { k(x, 3); }",
        "float k(float); void f() { y = k(x); } void g() { k(x, 3); }",
        "void f() { y = std::k(x, 3) + a.k(x, 3); }",
        "void f() { y = k(x); }",
        "__global__ void k(int *x, int n); template __global__ void k<3>(int *, int);",
        "template <> __global__ void k<4>(int *x, int n) {}",
    ],
)
def test_functions_may_be_called_like_kernels(text: str) -> None:
    rewritten(f"__global__ void k(int *x, int n) {{}}\n{text}")
