"""Whole runs of ``opwright.bench``: no time is asserted."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import opwright
from opwright.bench import Report
from opwright.errors import ArgumentError, UnsupportedError

MY_OP = str(Path(__file__).parents[2] / "examples/my_op/my_op.cpp")
Write = Callable[..., Path]


@pytest.mark.slow
def test_an_operator_against_others() -> None:
    told: list[tuple[str, int, int]] = []
    threads = torch.get_num_threads()
    report = opwright.bench(
        MY_OP,
        against={
            "right": "3 * x - y",
            "wrong": "3 * x + y",
            "raises": "x.nothing",
            "constant": "(3 * x - y).detach()",
            "nan": "x * y * float('nan')",
        },
        axes={"...": (10, 100)},
        dtypes=(torch.float64,),
        threads=1,
        rounds=25,
        operations={"forward": "2 * numel", "backward": "2 * numel"},
        progress=lambda *words: told.append(words),
    )
    assert torch.get_num_threads() == threads
    points = {(m.point.sizes["..."], m.point.phase) for m in report.measurements}
    assert points == {(size, phase) for size in (10, 100) for phase in ("forward", "backward", "both")}
    compared = {(c.candidate, c.point.phase) for c in report.comparisons}
    assert compared == {("constant", "forward"), *(("right", phase) for phase in ("forward", "backward", "both"))}
    assert [(done, total) for _, done, total in told] == [(k, 6) for k in range(6)]
    notes = "\n".join(report.notes)
    assert "wrong: not measured at ...=10: z differs by" in notes
    assert "nan: not measured at ...=10: z: 10 of 10 elements are NaN in one of them alone" in notes
    assert "raises: not measured at ...=100: it raised AttributeError" in notes
    assert "constant: no backward: no result of it has a gradient" in notes
    first = report.measurements[0]
    assert (first.candidate, first.point.dtypes, first.point.threads) == ("my_op", {"T": "float64"}, 1)
    assert first.time.low <= first.time.median <= first.time.high
    assert first.roofline is not None
    assert (first.roofline.bytes, first.roofline.operations) == (10 * 8 * 3, 20)
    assert len(first.samples) == 25
    assert {"governor", "load average", "threads", "torch build", "cpu"} <= report.machine.keys()
    assert Report.read(report.to_json()) == report


def test_tensors_that_no_memory_can_hold() -> None:
    with pytest.raises(ArgumentError, match=r"no memory for its arguments: .*GiB, of which x takes"):
        opwright.bench(MY_OP, axes={"...": 10**14}, phases=("forward",), threads=1, rounds=2)


def test_infinite_bounds_are_null_in_json() -> None:
    report = opwright.bench(MY_OP, axes={"...": 10}, phases=("forward",), threads=1, rounds=2, rooflines=False)
    assert report.measurements[0].time.high == math.inf
    assert '"high": null' in report.to_json()
    assert Report.read(report.to_json()) == report
    assert report.measurements[0].roofline is None


def test_what_a_call_overwrites_is_put_back_before_each(write: Write) -> None:
    source = write(
        'OPWRIGHT("doubled(x: T[N]!) where T in (f32)")\ntemplate <class T>\n'
        "void doubled(Tensor<T> x) { for (int64_t i = 0; i < x.numel(); ++i) x[i] = 2 * x[i]; }",
        "bench_doubled.cpp",
    )
    seen: list[float] = []

    def other(x: torch.Tensor) -> None:
        seen.append(float(x.abs().max()))
        x.mul_(2)

    report = opwright.bench(str(source), against=[other], axes={"N": 8}, rounds=3, threads=1)
    assert len(report.comparisons) == 1
    assert len(seen) > 6
    assert max(seen) <= 1.0
    assert "doubled: no backward: no result of it has a gradient" in report.notes


@pytest.mark.slow
def test_a_kernels_own_error_is_told(write: Write) -> None:
    source = write(
        'OPWRIGHT("refusing(x: T[N], k: int) -> (y: T[N]) where T in (f32)")\ntemplate <class T>\n'
        'void refusing(Tensor<const T> x, int64_t k, Tensor<T> y) { OPWRIGHT_CHECK(k > 5, "k is ", k); y[0] = x[0]; }',
        "bench_refusing.cpp",
    )
    report = opwright.bench(str(source), phases=("forward",), rounds=2, threads=1)
    assert not report.measurements
    assert "refusing: no forward: refusing(): k is 1" in report.notes[0]
    assert opwright.bench(str(source), phases=("forward",), axes={"k": 9}, rounds=2, threads=1).measurements


@pytest.mark.slow
def test_an_axis_that_the_kernel_decides_counts_with_its_length(write: Write) -> None:
    source = write(
        'OPWRIGHT("first_three(x: T[N]) -> (y: T[?K<=N]) where T in (f32)")\ntemplate <class T>\n'
        "void first_three(Tensor<const T, 1> x, Resizable<T, 1> y) {\n"
        "  for (int64_t i = 0; i < 3; ++i) y[i] = x[i];\n  y.resize(3);\n}\n"
        'OPWRIGHT("first_three_backward(grad_y: T[K]) -> (grad_x: T[N]) where T in (f32)")\ntemplate <class T>\n'
        "void first_three_backward(Tensor<const T, 1> grad_y, Tensor<T, 1> grad_x) {\n"
        "  for (int64_t i = 0; i < grad_x.numel(); ++i) grad_x[i] = i < 3 ? grad_y[i] : T(0);\n}",
        "bench_first_three.cpp",
    )
    report = opwright.bench(str(source), axes={"N": 5}, rounds=2, threads=1)
    moved = {m.point.phase: m.roofline.bytes for m in report.measurements if m.roofline is not None}
    assert moved == {"forward": 4 * (5 + 3), "backward": 4 * (3 + 5), "both": 2 * 4 * (5 + 3)}


@pytest.mark.slow
def test_an_alternative_of_the_operators_own_name() -> None:
    def my_op(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return 3 * x - y

    report = opwright.bench(MY_OP, against=[my_op], axes={"...": 4}, phases=("forward",), rounds=2, threads=1)
    assert [(each.candidate, each.base) for each in report.comparisons] == [("my_op (2)", "my_op")]


@pytest.mark.slow
def test_others_operators_and_functions() -> None:
    report = opwright.bench(
        torch.ops.aten.relu.default, signature="relu(x: f32[N]) -> (y: f32[N])", axes={"N": 16}, rounds=2, threads=1
    )
    assert [m.point.phase for m in report.measurements] == ["forward", "backward", "both"]
    assert [m.roofline is None for m in report.measurements] == [False, True, True]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu() -> None:
    with pytest.raises(UnsupportedError) as caught:
        opwright.bench(MY_OP, devices=("cuda",))
    assert str(caught.value) == (
        "bench() got devices=('cuda',), but PyTorch finds no GPU here\n"
        "  likely fix: devices=('emulated',) runs CUDA kernels on the CPU; `opwright doctor` says what is missing"
    )


def test_words_that_it_does_not_know() -> None:
    with pytest.raises(ValueError, match="bench\\(\\) got phases='sideways', expected 'forward', 'backward', 'both'"):
        opwright.bench(MY_OP, phases=("sideways",))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="bench\\(\\) got devices='cpu', expected a sequence: \\('cpu',\\)"):
        opwright.bench(MY_OP, devices="cpu")
    with pytest.raises(ValueError, match="bench\\(\\) got cache='hot', expected 'warm', 'cold'"):
        opwright.bench(MY_OP, cache="hot")  # type: ignore[arg-type]


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # inductor's own
def test_a_compiled_alternative_and_cold_caches() -> None:
    report = opwright.bench(
        MY_OP, against=["compile:3 * x - y"], axes={"...": (64, 128)}, cache="cold", rounds=2, threads=1
    )
    assert len(report.comparisons) == 6
    assert {m.point.cache for m in report.measurements} == {"cold"}


@pytest.mark.exhaustive
def test_an_emulated_kernel() -> None:
    source = Path(__file__).parents[2] / "examples/round/round.cu"
    report = opwright.bench(str(source), devices=("emulated",), axes={"...": 64}, rounds=2, threads=1)
    assert {m.point.device for m in report.measurements} == {"emulated"}
