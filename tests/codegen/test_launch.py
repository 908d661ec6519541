"""What is added to CUDA texts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from opwright import SourceError
from opwright.codegen.calls import with_streams
from opwright.codegen.source import KernelSource
from opwright.signature import DType
from opwright.toolchain import Options

_STREAM = "::opwright::current_stream()"


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("k<<<g, b>>>(x);", f"k<<<g, b, 0, {_STREAM}>>>(x);"),
        ("k<T><<<g, b,\n 4 * n>>>(x);\n// <<<", f"k<T><<<g, b,\n 4 * n, {_STREAM}>>>(x);\n// <<<"),
        (
            "#define BLOCK 256  // as in kernels/*.cu\nk<<<g, b>>>(x);",
            f"#define BLOCK 256  // as in kernels/*.cu\nk<<<g, b, 0, {_STREAM}>>>(x);",
        ),
        ("k<<<g, b, 0, s>>>(x); k<<<1, 2>>>();", f"k<<<g, b, 0, s>>>(x); k<<<1, 2, 0, {_STREAM}>>>();"),
        ("#if 0\nk<<<g>>>;\n#endif\nint π = 1 << 3;", "#if 0\nk<<<g>>>;\n#endif\nint π = 1 << 3;"),
        ("no launch", "no launch"),
    ],
)
def test_launches_without_a_stream_get_the_current_one(written: str, expected: str) -> None:
    assert with_streams(written, "k.cu") == expected


def test_a_launch_that_cannot_be_read_is_named() -> None:
    with pytest.raises(SourceError, match=r"k\.cu:3: this launch can't be read: <<<\.\.\.>>> has 1 parts, expected"):
        with_streams("\n\nvoid f() { k<<<1>>>(); }", "k.cu")


def test_more_shared_memory_than_usual_is_asked_for(write: Callable[..., Path]) -> None:
    def text(shared: str) -> str:
        source = f"""OPWRIGHT("f(x: T[N]) -> (y: T[N]) launch over N, threads 32, shared {shared}")
        template <class T> __global__ void f(Tensor<const T, 1> x, Tensor<T, 1> y) {{ }}"""
        return KernelSource(write(source, "shared.cu"), Options()).cuda_text({"T": DType.BF16}).text

    asked = "cudaFuncSetAttribute(::f<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, int(grid.shared))"
    assert asked not in text("48*1024")
    assert asked in text("48*1024+1")
    assert asked in text("4*N")


def test_tables_say_for_which_device(write: Callable[..., Path]) -> None:
    source = KernelSource(
        write('OPWRIGHT("f(x: f32[N]!)")\nvoid f(Tensor<float, 1> x, cudaStream_t s) { }', "device.cu"), Options()
    )
    for device in ("cuda", "cpu"):
        text = source.cuda_text({}, device).text
        assert f'{{"f", "", "{device}", &opwright_generated_entry_0, 0x0}}' in text
    assert 'opwright::check_launch("device.cu", 2);' in text
    assert 'names[] = {"x"};' in text
    assert source.assignments("cuda") == [{}]
    assert source.assignments("cpu") == []
