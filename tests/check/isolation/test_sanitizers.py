"""Kernels that leave their tensors, overflow, or race are found in a child process; right ones pass."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import opwright
from opwright.check import request
from opwright.check.isolation.child_process import Done
from opwright.check.isolation.sanitizers import count_calls, last_call, parse_tsan_reports, races_within

KERNEL = """
#include <opwright.h>
OPWRIGHT("{name}(x: i32[N]) -> (y: i32[N])")
void {name}(Tensor<const int32_t, 1> x, Tensor<int32_t, 1> y) {{
  for (int64_t i = 0; i < x.numel(); ++i)
    y[i] = {body};
}}
"""
BODIES = {
    "sanitized_right": ("2 * x[i]", None),
    "sanitized_reads_beyond": ("x[i + 1]", "out-of-bounds"),
    "sanitized_overflows": ("(x[i] + 9) * 1000000000", "integer-overflow"),
}


@pytest.mark.sampled(3)
@pytest.mark.slow
@pytest.mark.parametrize("name", BODIES)
def test_sanitizers(name: str, tmp_path: Path) -> None:
    body, kind = BODIES[name]
    path = tmp_path / f"{name}.cpp"
    path.write_text(KERNEL.format(name=name, body=body))
    report = opwright.check(path, only=("sanitizers",))
    assert report.kinds == ({kind} if kind else set()), report
    assert report.ok is (kind is None)
    if kind:
        assert f"{path}:6" in report.findings[0].message
    else:
        assert report.outcomes[0].status == "passed", report


@pytest.mark.slow
def test_a_call_that_doesnt_return(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(request.CALL_SECONDS, "normal", 1.0)
    path = tmp_path / "sanitized_loops.cpp"
    body = "x[i];\n  for (volatile int64_t i = 0; x.numel() == 3 && i < 1; ) {}"
    path.write_text(KERNEL.format(name="sanitized_loops", body=body))
    (finding,) = opwright.check(path, only=("sanitizers",), isolate=False).findings
    assert finding.kind == "doesnt-return"
    assert finding.message.startswith('a call hasn\'t returned within 1 s\n  in the call with shapes {"x": [3]}')
    assert "ops.sanitized_loops(x)" in finding.reproducer


@pytest.mark.exhaustive
def test_nothing_was_found_where_nothing_was_called(tmp_path: Path) -> None:
    path = tmp_path / "sanitized_refuses.cpp"
    checked = KERNEL.format(name="sanitized_refuses", body="x[i]").replace(
        "  for", '  OPWRIGHT_CHECK(x.numel() > 1 << 30, "it is too short");\n  for', 1
    )
    path.write_text(checked)
    outcome = opwright.check(path, only=("sanitizers",)).outcomes[0]
    assert outcome.status == "skipped"
    assert "the kernel refused all" in outcome.detail


@pytest.mark.parametrize(
    ("told", "count", "last"),
    [('{"x": [2]}\n{"x": [3]}\n2\n', 2, '{"x": [3]}'), ('{"x": [2]}\n', 0, '{"x": [2]}'), ("", 0, "none")],
)
def test_what_a_child_has_done(told: str, count: int, last: str) -> None:
    done = Done([], 0, told, "")
    assert count_calls(done) == count
    assert last_call(done).endswith(f"with shapes {last}")


RACES = """
#include <opwright.h>
#include <vector>
static bool ready = false;
static float factor;
static std::vector<float> table(4, 2.f);
OPWRIGHT("races_within(x: f32[N]) -> (y: f32[N], sum: f32[])")
void races_within(Tensor<const float, 1> x, Tensor<float, 1> y, Tensor<float, 0> sum) {
  float total = 0;
  parallel_for(x.numel(), [&](int64_t i) {
    y[i] = TWICE * x[i];
    total += x[i];  // LINE
  });
  *sum.data() = total;
}
OPWRIGHT("races_between(x: T[N]) -> (y: T[N]) where T in (f32, f64)")
template <class T>
void races_between(Tensor<const T, 1> x, Tensor<T, 1> y) {
  if (!ready) {  // LINE
    factor = 2;
    ready = true;
  }
  for (int64_t i = 0; i < x.numel(); ++i) y[i] = factor * x[i];
}
OPWRIGHT("races_never(x: f32[N]) -> (y: f32[N], sum: f32[])")
void races_never(Tensor<const float, 1> x, Tensor<float, 1> y, Tensor<float, 0> sum) {
  static int64_t counted = 0;
  __atomic_fetch_add(&counted, 1, __ATOMIC_RELAXED);
  Workspace<float> parts(x.numel());
  parallel_for(x.numel(), [&](int64_t i) { parts[i] = x[i]; });
  parallel_for(x.numel(), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) y[i] = table[i % 4] * parts[x.numel() - 1 - i];
  });
  float total = 0;
  for (int64_t i = 0; i < x.numel(); ++i) total += y[i];
  *sum.data() = total;
}
OPWRIGHT("races_never_backward(grad_y: f32[N], grad_sum: f32[]) -> (grad_x: f32[N])")
void races_never_backward(Tensor<const float, 1> gy, Tensor<const float, 0> gs, Tensor<float, 1> gx) {
  const float all = *gs.data();
  parallel_for(gx.numel(), [&](int64_t i) { gx[i] = 2 * (gy[gx.numel() - 1 - i] + all); });
}
"""
WATCHED = {"races_within": "data-race", "races_between": "data-race", "races_never": None}


@pytest.fixture(scope="session")
def racing(tmp_path_factory: pytest.TempPathFactory) -> opwright.Operators:
    path = tmp_path_factory.mktemp("races") / "checked_races.cpp"
    path.write_text(RACES)
    return opwright.load(path, extra_cflags=["-DTWICE=2"])


@pytest.mark.sampled(3)
@pytest.mark.slow
@pytest.mark.parametrize("name", WATCHED)
def test_thread_sanitizer(name: str, racing: opwright.Operators) -> None:
    """Threads of a loop, and threads that call for the first time; no race is what a loop's end or an atomic orders."""
    report = opwright.check(getattr(racing, name), only=("data races",), level="quick")
    kind = WATCHED[name]
    assert report.kinds == ({kind} if kind else set()), report
    if kind:
        begin = RACES[: RACES.index(f"void {name}(")].count("\n") + 1
        line = next(k for k, text in enumerate(RACES.splitlines(), 1) if k > begin and text.endswith("// LINE"))
        places = [f"checked_races.cpp:{number}" for number in range(line, line + 3)]  # `ready` or `factor`
        assert any(place in report.findings[0].message for place in places), report
    else:
        assert report.outcomes[0].status == "passed", report


def test_a_sanitizer_that_there_is_not() -> None:
    with pytest.raises(ValueError, match=r"sanitize='memory', expected some of 'address', 'undefined', 'thread'"):
        opwright.check("x.cpp", sanitize=("memory",))


def test_what_cant_be_built_anew_cant_be_asked_for() -> None:
    options: dict[str, Any] = {"level": "quick", "only": ("sizes",), "sanitize": "thread,address"}
    with pytest.raises(ValueError, match=r"sanitize='thread,address' and f, which wasn't loaded from a source file"):
        opwright.check(lambda x: 2 * x, signature="f(x: f32[N]) -> (y: f32[N])", **options)


def test_openmp_is_not_judged(tmp_path: Path) -> None:
    """What its threads wait for can't be seen: every value that one makes for another would be a race."""
    path = tmp_path / "checked_openmp.cpp"
    path.write_text(KERNEL.format(name="checked_openmp", body="2 * x[i]"))
    ops = opwright.load(path, extra_cflags=["-fopenmp"])
    (outcome,) = opwright.check(ops, only=("data races",))
    assert (outcome.status, outcome.detail.partition(":")[0]) == (
        "skipped",
        "OpenMP's threads wait for each other in libgomp, unseen by ThreadSanitizer",
    )


TOLD = """
==================
WARNING: ThreadSanitizer: data race (pid=7)
  Atomic write of size 4 at 0x7b04 by thread T2:
    #0|memcpy|interceptors.inc|10|/usr/lib/libtsan.so
    #1|inner|/opt/include/vector.h|12|/cache/units/op.so
    #2|op|/src/op.cpp|5|/cache/units/op.so
    #3|<null>|<null>|0|/usr/lib/libffi.so.8

  Previous read of size 8 at 0x7b00 by main thread:
    #0|op|/src/op.cpp|7|/cache/units/op.so

  Location is heap block of size 8 at 0x7b00 allocated by thread T2:
    #0|malloc|interceptors.inc|10|/usr/lib/libtsan.so

SUMMARY: ThreadSanitizer: data race /src/op.cpp:5 in op
==================
WARNING: ThreadSanitizer: data race (pid=7)
  Read of size 4 at 0x7b04 by thread T2:
    #0|op|/src/op.cpp|7|/cache/units/op.so

  Previous write of size 4 at 0x7b04 by thread T1:
    #0|fill|/src/op.cpp|3|/cache/units/op.so
    #1|_GLOBAL__sub_I_op|/src/op.cpp|3|/cache/units/op.so
==================
WARNING: ThreadSanitizer: data race (pid=7)
  Write of size 4 at 0x7b04 by thread T2:
    #0|other|<null>|0|/usr/lib/libtorch.so

  Previous write of size 4 at 0x7b04 by thread T1:
    #0|op|/src/op.cpp|7|/cache/units/op.so
"""


def test_reports_are_read_and_others_left_out() -> None:
    found = parse_tsan_reports(TOLD)
    assert len(found) == 3
    (own,) = races_within(Path("/cache"), found)
    assert [access.what for access in own.accesses] == ["atomic write of 4 bytes", "read of 8 bytes"]
    assert [access.place(["/src/op.cpp"]) for access in own.accesses] == ["/src/op.cpp:5", "/src/op.cpp:7"]
    assert own.accesses[0].place(["/src/another.cpp"]) == "/opt/include/vector.h:12"
