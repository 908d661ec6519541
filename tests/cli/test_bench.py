"""The command ``opwright bench``."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from opwright.bench.results.measurement import Comparison, Interval, Measurement, Point
from opwright.bench.results.report import Report
from opwright.cli.bench import command, parse_alternatives


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(command, [str(word) for word in words])


def report(path: Path, scale: float = 1.0, against: float = 2.0) -> Path:
    """What an earlier run has written."""
    point = Point("op", "forward", {"N": 8}, {"T": "float32"})
    found = Report(machine={"cpu": "one"})
    for name, time in (("op", 1e-6 * scale), ("other", 1e-6 * scale * against)):
        samples = tuple(time * (1 + 0.001 * (k % 3)) for k in range(30))
        found.measurements.append(Measurement(point, name, Interval(time, time, time), samples, 0, 1))
    found.comparisons.append(Comparison(point, "other", "op", Interval(against, against, against), "slower"))
    path.write_text(found.to_json())
    return path


def test_a_report_is_shown_again(tmp_path: Path) -> None:
    earlier = report(tmp_path / "a.json")
    done = run(earlier, "--markdown", tmp_path / "a.md", "--json", tmp_path / "b.json")
    assert done.exit_code == 0, done.output
    assert "2.00 µs" in done.output
    assert "| other | 2.00 µs |" in (tmp_path / "a.md").read_text()
    assert (tmp_path / "b.json").read_text() == earlier.read_text()


def test_json_on_the_terminal_is_json_alone(tmp_path: Path) -> None:
    done = run(report(tmp_path / "a.json"), "--json", "-")
    assert json.loads(done.stdout)["confidence"] == 0.99
    assert "2.00 µs" in done.stderr


def test_a_picture_of_a_report(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    done = run(report(tmp_path / "a.json"), "--picture", tmp_path / "a.svg", "--picture", tmp_path / "a.png")
    assert done.exit_code == 0, done.output
    assert "</svg>" in (tmp_path / "a.svg").read_text()
    assert (tmp_path / "a.png").stat().st_size > 0


def test_slower_than_an_alternative_is_status_1(tmp_path: Path) -> None:
    assert run(report(tmp_path / "a.json"), "--fail-if-slower", "5%").exit_code == 0
    done = run(report(tmp_path / "b.json", against=0.5), "--fail-if-slower", "5%")
    assert done.exit_code == 1
    assert "op over other: 2.00 (2.00-2.00), more than 1.05" in done.output


def test_two_reports_are_compared(tmp_path: Path) -> None:
    before, after = report(tmp_path / "a.json"), report(tmp_path / "b.json", scale=1.5)
    done = run("--compare", before, after, "--markdown", tmp_path / "c.md", "--json", tmp_path / "c.json")
    assert done.exit_code == 0, done.output
    assert "slower" in done.output
    assert "1.50" in (tmp_path / "c.md").read_text()
    assert json.loads((tmp_path / "c.json").read_text())["changes"][0]["verdict"] == "slower"
    assert run("--compare", before, after, "--fail-if-slower", "60%").exit_code == 0
    failed = run("--compare", before, after, "--fail-if-slower", "5%")
    assert failed.exit_code == 1
    assert "op, after over before: 1.50" in failed.output


def test_nothing_in_common_is_no_success(tmp_path: Path) -> None:
    before, empty = report(tmp_path / "a.json"), tmp_path / "b.json"
    empty.write_text(Report().to_json())
    done = run("--compare", before, empty, "--fail-if-slower", "5%")
    assert done.exit_code == 1
    assert "the reports have no measurement of the operator in common" in done.output


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ((), "expected a source file, an operator as module:name or file.py:name, or --compare"),
        (("x.cpp", "--fail-if-slower", "5%"), "--fail-if-slower needs something to be slower than"),
        (("x.cpp", "--fail-if-slower", "much"), "'much' is no percentage; expected one such as 5% or 2.5%"),
        (("x.cpp", "--against", "a=f(x)", "--against", "a=g(x)"), "two alternatives are called 'a'"),
        (("x.cpp", "--compare", "a.json", "b.json"), "--compare measures nothing"),
        (("x.cpp", "--phase", "sideways"), "'sideways' is not one of 'forward', 'backward', 'both'"),
        (("x.cpp", "--picture", "x.pdf"), "expected a name that ends in .png or .svg"),
        (("x.cpp", "--json", "-", "--markdown", "-"), "one of --json and --markdown may go to the terminal"),
        (("x.cpp", "--confidence", "1"), "1.0 is not in the range 0.5<=x<1"),
    ],
)
def test_what_cant_be_understood_is_status_2(words: tuple[str, ...], text: str) -> None:
    done = run(*words)
    assert done.exit_code == 2
    assert text in " ".join(done.output.split())


def test_files_that_cant_be_read_or_written(tmp_path: Path) -> None:
    missing, wrong, other = tmp_path / "missing.json", tmp_path / "wrong.json", tmp_path / "other.json"
    wrong.write_text("{")
    other.write_text('{"ok": true}')
    earlier = report(tmp_path / "a.json")
    for words, status, text in (
        ((missing,), 1, "No such file or directory"),
        (("--compare", earlier, missing), 1, "No such file or directory"),
        (("--compare", wrong, earlier), 1, "this is no report of opwright bench: JSONDecodeError"),
        (
            (other,),
            1,
            "this is no report of opwright bench: KeyError: 'measurements' likely fix: name a file that --json",
        ),
        ((earlier, "--json", tmp_path / "none" / "a.json"), 2, "its folder doesn't exist"),
        (("x.cpp", "--profile", tmp_path / "none" / "a.json"), 2, "its folder doesn't exist"),
    ):
        done = run(*words)
        assert done.exit_code == status
        assert text in " ".join(done.output.split())


def test_a_missing_matplotlib_is_told_before_anything_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = run("no_such_file.cpp", "--picture", "x.png")
    assert isinstance(done.exception, ModuleNotFoundError)
    assert "pip install opwright[bench]" in str(done.exception)


def test_labels() -> None:
    given = ("C++ on ATen=a.py:f", "f(x, a=1)", "x == y", "gelu=g(x, approximate='tanh')", "HEAD~1", "a+b=x + y")
    assert parse_alternatives(given) == {
        "C++ on ATen": "a.py:f",
        "f(x, a=1)": "f(x, a=1)",
        "x == y": "x == y",
        "gelu": "g(x, approximate='tanh')",
        "HEAD~1": "HEAD~1",
        "a+b": "x + y",
    }


PYTHON = """
def doubled(x):
    return 2 * x

def added(x):
    return x + x

def tripled(x):
    return 3 * x

def stopped(x):
    stopped.calls = getattr(stopped, "calls", 0) + (len(x) == 16)
    if stopped.calls > 1:
        raise KeyboardInterrupt
    return 2 * x
"""


@pytest.fixture
def doubled(tmp_path: Path) -> tuple[str, ...]:
    """An operator of Python, and so few rounds that it is quick."""
    (tmp_path / "timed.py").write_text(PYTHON)
    return (f"{tmp_path}/timed.py:doubled", "--signature", "doubled(x: T[N]) -> (y: T[N])", "--rounds", "3")


@pytest.mark.slow
def test_an_operator_is_timed_against_others(doubled: tuple[str, ...], tmp_path: Path) -> None:
    file, written = f"{tmp_path}/timed.py", tmp_path / "a.json"
    words = ["--against", f"sum={file}:added", "--against", "x * 2", "--axis", "N=8:32:x4", "--phase", "forward"]
    done = run(*doubled, *words, "--dtype", "float64", "--threads", "1", "--operations", "N", "--json", written)
    assert done.exit_code == 0, done.output
    assert "doubled, forward, T=float64, cpu, 1 thread, warm cache" in done.output
    found = Report.read(written.read_text())
    assert [(each.candidate, each.point.sizes["N"]) for each in found.measurements] == [
        (name, size) for size in (8, 32) for name in ("doubled", "sum", "x * 2")
    ]
    assert all(len(each.samples) == 3 for each in found.measurements)
    assert [each.candidate for each in found.comparisons] == ["sum", "x * 2"] * 2
    assert "GFLOP/s" in done.output


def test_an_alternative_that_disagrees_is_status_1(doubled: tuple[str, ...], tmp_path: Path) -> None:
    words = ("--against", f"{tmp_path}/timed.py:tripled", "--axis", "N=8", "--phase", "forward")
    done = run(*doubled, *words, "--fail-if-slower", "900%")
    assert done.exit_code == 1
    assert f"{tmp_path}/timed.py:tripled wasn't measured" in done.output
    assert "y differs by" in done.output


def test_a_call_that_ends_the_process_is_told(tmp_path: Path) -> None:
    path = tmp_path / "dying.cpp"
    path.write_text(
        '#include <opwright.h>\nOPWRIGHT("dying(x: f32[N]) -> (y: f32[N])")\n'
        "void dying(Tensor<const float> x, Tensor<float> y) {\n"
        "  if (x.numel() == 16) *static_cast<volatile int *>(nullptr) = 1;\n"
        "  for (int64_t i = 0; i < x.numel(); ++i) y[i] = x[i];\n}\n"
    )
    done = run(path, "--rounds", "3", "--axis", "N=8,16", "--phase", "forward", "--threads", "1")
    assert done.exit_code == 1, done.output
    said = " ".join(done.output.split())
    assert "dying: not measured at N=16: a forked child that calls it is killed by SIG" in said


@pytest.mark.slow
def test_ctrl_c_shows_the_points_that_are_measured(doubled: tuple[str, ...], tmp_path: Path) -> None:
    written = tmp_path / "a.json"
    words = ("--axis", "N=8,16", "--phase", "forward", "--threads", "1", "--json", written)
    done = run(f"{tmp_path}/timed.py:stopped", *doubled[1:], *words)
    assert done.exit_code == 130, done.output
    assert "stopped by Ctrl-C: 1 of 2 points were measured" in done.output
    found = Report.read(written.read_text())
    assert found.stopped
    assert {each.point.sizes["N"] for each in found.measurements} == {8}


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("EARLIER", "--axis", "N=3"), "was measured: --axis would do nothing"),
        (("--compare", "EARLIER", "EARLIER", "--rounds", "9"), "--compare measures nothing: --rounds would do nothing"),
    ],
)
def test_options_that_would_do_nothing(words: tuple[str, ...], text: str, tmp_path: Path) -> None:
    earlier = str(report(tmp_path / "a.json"))
    done = run(*(earlier if word == "EARLIER" else word for word in words))
    assert done.exit_code == 2
    assert text in " ".join(done.output.split())


def test_a_trace_names_the_phases(doubled: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    words = ("--axis", "N=8", "--phase", "forward", "--phase", "backward", "--threads", "1", "--profile", path)
    done = run(*doubled, *words, "--against", "twice=x + x")
    assert done.exit_code == 0, done.output
    assert f"{path}: a trace" in done.output
    events = json.loads(path.read_text())["traceEvents"]
    ranges = [each for each in events if each.get("cat") == "user_annotation"]
    names = {each["name"] for each in ranges}
    where = "N=8, T=float32, cpu, 1 thread, warm cache"
    assert names == {
        f"{before}{name}: {phase}, {where}"
        for name in ("doubled", "twice")
        for before, phase in (("", "forward"), ("", "backward"), ("before ", "backward"))
    }
    (first, *_) = (each for each in ranges if each["name"] == f"doubled: forward, {where}")
    inside = [each["name"] for each in events if each.get("cat") == "cpu_op" and _within(each, first)]
    assert "aten::mul" in inside


def _within(event: dict[str, float], span: dict[str, float]) -> bool:
    return span["ts"] <= event["ts"] and event["ts"] + event["dur"] <= span["ts"] + span["dur"]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--axis", "M=8"), "doubled() has no axis 'M'; it has: N"),
        (("--axis", "N=8:"), "'N=8:' isn't an axis with its sizes expected: B=16, S=128,256"),
        (("--axis", "N"), "'N' isn't an axis with its sizes"),
        (("--axis", "N=8", "--axis", "N=16"), "--axis N is there twice; several sizes are written N=16,32"),
        (("--dtype", "quaternion"), "doubled() has no element type quaternion"),
        (("--against", "no_such_name(x)"), "no_such_name"),
        (("--against", "x * torch.exp("), "is no Python expression"),
        (("--operations", "2*Q"), "isn't an expression over the axes of doubled(): N"),
        (("--axis", "N=0:8:x2"), "a range by a factor has to begin above 0"),
        (("--axis", "N=1e999"), "'N=1e999' isn't an axis with its sizes"),
    ],
)
def test_what_the_operator_does_not_have(doubled: tuple[str, ...], words: tuple[str, ...], text: str) -> None:
    done = run(*doubled, *words, "--phase", "forward")
    said = f"{done.output} {done.exception}"
    assert (done.exit_code, text in " ".join(said.split())) == (2, True), said


def test_targets_that_cant_be_found(tmp_path: Path) -> None:
    for target in (tmp_path / "none.cpp", f"{tmp_path}/none.py:op", "word"):
        done = run(target)
        assert done.exit_code == 2
        assert "Error: " in done.output


def test_what_is_too_uncertain_is_counted(tmp_path: Path) -> None:
    path = report(tmp_path / "a.json")
    found = Report.read(path.read_text())
    found.comparisons[0] = dataclasses.replace(found.comparisons[0], ratio=Interval(1.0, 0.5, 2.0), verdict="too noisy")
    path.write_text(found.to_json())
    done = run(path, "--fail-if-slower", "5%")
    assert done.exit_code == 0
    assert "ratios too uncertain to exclude that the operator is slower by 5%: 1" in done.output
