"""Which kernels become plain loops, decided from text: none in which a thread may wait or has to be known."""

from __future__ import annotations

import pytest

from opwright.cuda.emulation.rewrite import Rewriter

LAUNCH = "void go(float *x) { k<<<1, 1>>>(x); }"


def rewritten(text: str, *, loops: bool = True) -> str:
    return Rewriter(loops=loops)(f'# 1 "/project/k.cu"\n{text}\n', lambda words: "")


def kernel(body: str, before: str = "", head: str = "__global__ void k(float *x)") -> str:
    return f"{before}\n{head} {{ {body} }}\n{LAUNCH}"


@pytest.mark.parametrize(
    "text",
    [
        kernel("x[threadIdx.x] = 1;"),
        kernel("if (x[0] > (2)) return; x[threadIdx.x] = sqrtf(x[0]) + (float)(blockIdx.x) + min(1, 2);"),
        kernel("x[0] = f(x[threadIdx.x]);", "__device__ float f(float v) { return v > 0 ? g<2>(v) : -v; }"
               "template <int n> __device__ float g(float v) { return powf(v, n); }"),
        kernel("V v(x[0]); x[1] = (v + v).a;", "struct V { float a; __device__ V(float b) : a(b) {} "
               "__device__ V operator+(V o) { return V(a + o.a); } };"),
        kernel("x[0] = 1;", "__device__ int id() { return threadIdx.x; } struct F { __device__ int operator()() "
               "{ __syncthreads(); return id(); } };"),
        kernel("x[0] = tex2D<float>(t, 1, x[1]); surf1Dwrite(x[0], t, 4 * threadIdx.x); tex1Dfetch(x, t, 2);",
               head="__global__ void k(float *x, cudaTextureObject_t t = 0)"),
        kernel("const int slot = atomicAdd((int *)x, 1); x[slot] = 1;"),
        kernel("for (int i = 0; i < 3; ++i) { if (x[i] > 0) atomicAdd(x, 1.0f); else atomicSub(x, 2.0f); ::f(x); }",
               "__device__ void f(float *x) { do atomicMax((int *)x, 1); while (x[1] > x[2]); }"),
        kernel("atomicAdd(x, 1.0f);", "template <class T> __global__ void k(T *y);",
               "template <class T> __global__ void k(T *x)"),
    ],
)  # fmt: skip
def test_no_thread_waits(text: str) -> None:
    assert "opwright_plain_k(const ::opwright::emulation::Here &" in rewritten(text)
    assert "::launch_plain(" in rewritten(text)
    assert "opwright_plain" not in rewritten(text, loops=False)


@pytest.mark.parametrize(
    ("body", "before"),
    [
        ("__syncwarp();", ""),
        ("x[0] = __shfl_sync(~0u, x[0], 1);", ""),
        ("__shared__ float s[2]; s[0] = 1;", ""),
        ("s[0] = 1;", "__shared__ float s[2];"),
        ("atomicCAS((int *)x, 0, 1);", ""),
        ("while (atomicAdd((int *)x, 0) == 0) {} x[1] = 1;", ""),
        ("for (;;) { const int v = (int)atomicOr_block<int>((int *)x, 0); if (v) break; }", ""),
        ("while (seen(x)) {}", "__device__ bool seen(float *x) { return atomicAdd((int *)x, 0) == 0; }"),
        ('printf("%d", threadIdx.x);', ""),
        ("x[id()] = 1;", "__device__ int id() { return threadIdx.x; }"),
        ("x[f()] = 1;", "__device__ int id() { return threadIdx.x; } __device__ int f() { return id(); }"),
        ("x[f(1.5f)] = 1;", ("template <class T> __device__ int f(T) { return 1; }"
                       "__device__ int f(float) { __syncthreads(); return 1; }")),
        ("x[0] = f(1);", "__device__ float f(int);"),
        ("x[0] = f(1);", "float f(int) { return 1; }"),
        ("x[0] = f(1);", "__device__ float g(int) { return threadIdx.x; } __device__ float (*f)(int) = g;"),
        ("x[0] = table[1](1);", ("__device__ float g(int) { return threadIdx.x; }"
                                "__device__ float (*table[2])(int) = {g, g};")),
        ("F f; x[0] = f(1);", "struct F { __device__ float operator()(int) { return threadIdx.x; } };"),
        ("x[0] = F()(1);", "struct F { __device__ float operator()(int) { return threadIdx.x; } };"),
        ("x[0] = F{}(1);", "struct F { __device__ float operator()(int) { return threadIdx.x; } };"),
        ("V v = 1.0f; x[0] = v.a;", "struct V { float a; __device__ V(float b) { a = threadIdx.x; } };"),
        ("for (int i : *x) { x[i] = 1; }", "struct R { __device__ int *begin() { __syncthreads(); return 0; } };"),
        ("x[0] = V{1} + V{2};", ("struct V { float a; };"
                                 "__device__ float operator+(V, V) { __syncthreads(); return 1; }")),
        ("F f; x[0] = f(1);", ("struct F { __device__ float operator()(int) { return threadIdx.x; } };"
                              "__device__ float f(int) { return 1; }")),
        ("auto f = [&] { return 1; }; x[0] = 1;", ""),
        ("struct L { int i; }; x[0] = 1;", ""),
        ("cg::thread_block b = cg::this_thread_block(); x[0] = 1;", "namespace cg = cooperative_groups;"),
        ("x[0] = 1;", "using namespace cub;"),
        ("x[0] = T::sum(x[0]);", ("struct T { static __device__ float sum(float) "
                                 "{ typedef cub::WarpReduce<float> R; return 1; } };")),
    ],
)  # fmt: skip
def test_a_thread_may_wait(body: str, before: str) -> None:
    assert "opwright_plain" not in rewritten(kernel(body, before))


@pytest.mark.parametrize(
    "text",
    [
        ("template <class F> __global__ void k(F f) { f(); }\n"
        "void go() { k<<<1, 1>>>([] __device__ { __syncthreads(); }); }"),
        ("template <float (*f)(float)> __global__ void k(float *x) { x[0] = f(x[0]); }\n"
        "void go(float *x) { k<g><<<1, 1>>>(x); }"),
        "__device__ int f() {} template <class F> __global__ void k(F f) { f(); }\nvoid go() { k<<<1, 1>>>(3); }",
        "template <class F> __global__ void k(F sqrt) { auto &f = sqrt; f(); sqrt(2); }\nvoid go() { k<<<1, 1>>>(3); }",
        "template <class... T> __global__ void k(T... x) { }\nvoid go(float *x) { k<<<1, 1>>>(x); }",
        "__global__ void k(float *) { }\nvoid go(float *x) { k<<<1, 1>>>(x); }",
        "__global__ void k(float *x);\nvoid go(float *x) { k<<<1, 1>>>(x); }",
        "__global__ void k(int x);\n__global__ void k(float *x) { }\nvoid go(float *x) { k<<<1, 1>>>(3); }",
        "__global__ void k(int x, int y = 2);\n__global__ void k(int x, int y) { }\nvoid go() { k<<<1, 1>>>(3); }",
        ("template <int n = 2> __global__ void k(int x);\n"
        "template <int n> __global__ void k(int x) { }\nvoid go() { k<<<1, 1>>>(3); }"),
        ("template <class T> __global__ void k(T *x) { }\n"
        "template <> __global__ void k<int>(int *x) { }\nvoid go(int *x) { k<<<1, 1>>>(x); }"),
        "__global__ void k(float *x) { }\nvoid go(void (*k)(float *), float *x) { k<<<1, 1>>>(x); }",
        "__global__ void k(float *x) { }\nvoid go(float *x) { auto k = other; k<<<1, 1>>>(x); }",
        "__global__ void k(float *x) { }\nvoid go(float *x) { k<<<1, 1>>>(x); time(k, x); }",
        "namespace n { __global__ void k(float *x) { } }\nusing n::k;\nvoid go(float *x) { k<<<1, 1>>>(x); }",
        "__global__ void k(float *x) { }\nvoid go(float *x) { void (*p)(float *) = &k; k<<<1, 1>>>(x); }",
    ],
)  # fmt: skip
def test_a_kernel_that_no_second_function_can_stand_for(text: str) -> None:
    assert "opwright_plain" not in rewritten(text)


def test_a_launch_before_the_function_takes_the_kernel() -> None:
    found = rewritten(f"__global__ void k(float *x);\n{LAUNCH}\n__global__ void k(float *x) {{ }}\n{LAUNCH}")
    first, second = found.split("opwright_plain_k(const", 1)
    assert "::launch(" in first
    assert "::launch_plain(" in second


@pytest.mark.parametrize(
    "body",
    [
        "__shared__ float s[9]; s[threadIdx.x] = 1; __syncthreads(); x[0] = s[0];",
        "for (int i = 0; i < blockDim.x; i += 2) { x[i] = 1; __syncthreads(); if (x[0]) { x[1] = 2; } }",
        "int n = blockDim.x; while (x[0]) { if (x[1]) break; } n *= 2; if (n > 2) { __syncthreads(); } x[0] = 1;",
        "int n = blockDim.x & (blockDim.y); if ((n) * (n + 1) / 2 > sizeof(int) * n) { __syncthreads(); } x[0] = 1;",
        "if constexpr (sizeof(int) > 2) { __syncthreads(); } x[0] = 1;",
    ],
)
def test_barriers_where_all_threads_come(body: str) -> None:
    found = rewritten(kernel(body))
    assert "opwright_plain_k(const ::opwright::emulation::BlockHere &" in found
    assert "::launch_blocks(" in found


@pytest.mark.parametrize(
    "body",
    [
        "if (x[0]) return; __syncthreads();",
        "if (threadIdx.x < 3) { __syncthreads(); }",
        "if (x[0]) { __syncthreads(); }",
        "__shared__ int size; for (int i = 0; i < size; ++i) { __syncthreads(); }",
        "int n = threadIdx.x; for (int i = 0; i < n; ++i) { __syncthreads(); }",
        "for (int i = 0; i < 9; ++i) { __syncthreads(); if (x[i]) i = 3; }",
        "for (int i = 0; i < 9; ++i) { __syncthreads(); change(i); }",
        "for (int i = 0; i < 9; ++i) { __syncthreads(); int &j = i; j = threadIdx.x; }",
        "for (int i = 0; i < 9; ++i) { int *j = &i; *j = threadIdx.x; __syncthreads(); }",
        "for (int i = 0; i < 9; ++i) { if (x[i]) continue; __syncthreads(); }",
        "for (int i = 0; i < 9; ++i) { __syncthreads(); if (x[i]) break; }",
        "while (x[0]) { __syncthreads(); }",
        "do { __syncthreads(); } while (x[0]);",
        "auto i = threadIdx.x; __syncthreads(); x[i] = 1;",
        "auto [i, j] = make_int2(1, 2); __syncthreads(); x[i] = j;",
        "alignas(16) float y[2]; __syncthreads(); y[0] = x[0];",
        "int i = 1; __syncthreads(); if (x[0]) { decltype(i) j = i; x[j] = 1; }",
        "constexpr int i = f(1); __syncthreads(); x[i] = 1;",
        "for (int i = 0; i < 2; ++i) { int n = i; __syncthreads(); int i = n; __syncthreads(); x[i] = n; }",
        "__syncthreads(); if (x[0]) return; __shared__ int n; x[n] = 1;",
        "int n = 4; if (x[0]) { int &m = n; m = 2; } for (int i = 0; i < n; ++i) { __syncthreads(); }",
        "int n = 4; (n)++; if (x[0]) (n) = 5; if (n > 2) { __syncthreads(); }",
        "int n = 4; *(float *)&n = x[0]; if (n > 2) { __syncthreads(); }",
        "V i = 1; __syncthreads(); x[0] = i;",
        "volatile float *y = x; __syncthreads(); y[0] = 1;",
        "float s[65]; __syncthreads(); s[0] = 1;",
        "float s[n]; __syncthreads(); s[0] = 1;",
        "if (x[0]) goto end; __syncthreads(); end: x[0] = 1;",
        "__syncthreads_count(1);",
        "__syncthreads(); x[0] = __shfl_sync(~0u, x[0], 1);",
        "switch (blockDim.x) { case 1: __syncthreads(); }",
        "\n#pragma GCC unroll 2\nfor (int i = 0; i < 2; ++i) x[i] = 1; __syncthreads();",
    ],
)
def test_barriers_that_cannot_be_cut_at(body: str) -> None:
    before = "const int size = 2; __device__ void change(int &i) { i = 3; } constexpr int f(int i) { return i; }"
    assert "opwright_plain" not in rewritten(kernel(body, before))


def test_lines_stay_where_they_were() -> None:
    text = kernel(
        "\n const int i = threadIdx.x,\n j = i;\n float a,\n b = x[i];\n __syncthreads();\n a = j; x[0] = a + b;\n"
    )
    for loops in (False, True):
        assert rewritten(text, loops=loops).rstrip().split("\n")[-1].count("go") == 1
    lines: dict[str, set[int]] = {}
    at = 0
    for line in rewritten(text).split("\n"):
        at = int(line.split()[1]) if line.startswith("# ") else at + 1
        for word in ("x[0] = a + b", "go"):
            if word in line:
                lines.setdefault(word, set()).add(at - line.startswith("# "))
    assert {word: len(found) for word, found in lines.items()} == {"x[0] = a + b": 1, "go": 1}
