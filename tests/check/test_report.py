"""Reports as text, JSON and JUnit; the command and the fixture."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner

import opwright
from opwright.check import Finding, Outcome, Report
from opwright.cli.check import command
from opwright.errors import SignatureError, SourceError

pytest_plugins = ["pytester"]

PYTHON = """
import torch

def doubled(x):
    return 2 * x

def tripled(x):
    return 3 * x

def nearly(x):  # by some 250 units of the last place
    return 2 * x * (1 + 3e-5)

def rounded(x):  # by one
    return 2 * x * (1 + 2**-23)

def unsigned(x):  # -0 + 0 is 0
    return 2 * x + 0
"""
SIGNATURE = "doubled(x: f32[N]) -> (y: f32[N])"


@pytest.fixture
def module(tmp_path: Path) -> str:
    path = tmp_path / "checked_functions.py"
    path.write_text(PYTHON)
    return str(path)


def test_a_report_as_text_json_and_junit() -> None:
    def wrong(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    report = opwright.check(wrong, torch.neg, signature=SIGNATURE, level="quick", only=("agreement", "sizes"))
    assert "wrong-value" in str(report)
    told = json.loads(report.to_json())
    assert [outcome["status"] for outcome in told["outcomes"]] == ["failed", "passed"]
    assert told["ok"] is False
    suite = ET.fromstring(report.to_junit())  # noqa: S314 - our own
    assert suite.get("failures") == "1"
    assert suite.find("testcase/failure") is not None
    with pytest.raises(AssertionError, match="wrong-value"):
        report.raise_if_wrong()


def test_the_command_says_by_its_status(module: str, tmp_path: Path) -> None:
    words = ["--quick", "--only", "agreement", "--signature", SIGNATURE, "--reference", f"{module}:doubled"]
    out = tmp_path / "report.json"
    good = CliRunner().invoke(command, [f"{module}:doubled", *words, "--json", str(out)])
    assert good.exit_code == 0, good.output
    assert json.loads(out.read_text())["ok"] is True
    bad = CliRunner().invoke(command, [f"{module}:tripled", *words])
    assert bad.exit_code == 1
    assert "wrong-value" in bad.output
    assert CliRunner().invoke(command, []).exit_code == 2
    unknown = CliRunner().invoke(command, [f"{module}:doubled", *words, "--only", "luck"])
    assert unknown.exit_code == 2
    assert "there is no check 'luck'" in unknown.output


def test_what_goes_to_stdout_is_alone_there(module: str) -> None:
    words = [f"{module}:doubled", "--quick", "--only", "inference mode", "--signature", SIGNATURE]
    done = CliRunner().invoke(command, [*words, "--junit", "-"])
    assert ET.fromstring(done.stdout).tag == "testsuite"  # noqa: S314 - our own
    assert "doubled: right" in done.stderr
    both = CliRunner().invoke(command, [*words, "--junit", "-", "--json", "-"])
    assert both.exit_code == 2
    assert "one of --json and --junit may go to the terminal, not both" in both.output


def report_of(*kinds: str) -> Report:
    findings = {kind: Finding(kind, f"{kind} it is\nand more") for kind in kinds}
    outcomes = [Outcome("f", f"check of {kind}", "failed", [finding]) for kind, finding in findings.items()]
    return Report([*outcomes, Outcome("f", "sizes", "passed", calls=7)])


def test_a_right_operator_is_one_line() -> None:
    outcomes = [
        Outcome("f", "sizes", "passed", seconds=1.25, detail="many", calls=1200),
        Outcome("f", "layouts", "passed", seconds=0.5, calls=34),
        Outcome("f", "agreement", "skipped", detail="no reference was given"),
    ]
    report = Report(outcomes)
    text = "f: right — 2 checks, 1,234 calls, 1.8 s; values weren't compared: no reference\n"
    assert str(report) == text
    assert all(word in report.to_text(verbose=True) for word in (text, "many", "agreement", "2 passed, 1 skipped"))
    assert str(Report(outcomes[2:])).startswith("f: agreement: no reference was given\nnothing was checked (1 skipped")


def test_the_cause_comes_first_and_what_follows_is_folded() -> None:
    report = report_of("nondeterministic", "wrong-value", "crashes", "out-of-bounds")
    assert report.first == "f: check of out-of-bounds: out-of-bounds: out-of-bounds it is"
    text = str(report)
    assert text.startswith("f: check of out-of-bounds: out-of-bounds\n  out-of-bounds it is\n  and more\n")
    others = "crashes (check of crashes), nondeterministic (check of nondeterministic), wrong-value"
    assert f"\n  also, perhaps for the same reason: {others} (check of wrong-value); " in text
    assert "crashes it is" not in text
    assert "crashes it is" in report.to_text(verbose=True)


def test_without_a_cause_only_what_says_the_same_is_folded() -> None:
    report = report_of("wrong-value", "wrong-sign")
    report.outcomes.append(Outcome("f", "again", "failed", list(report.outcomes[0].findings)))
    text = str(report)
    assert "wrong-value it is" in text
    assert "wrong-sign it is" in text
    assert "perhaps for the same reason: wrong-value (again);" in text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "more", "kind"),
    [
        ("nearly", [], "wrong-value"),
        ("nearly", ["--ulp", "500"], ""),
        ("rounded", [], ""),
        ("rounded", ["--ulp", "0"], "wrong-value"),
        ("unsigned", [], ""),
        ("unsigned", ["--signed-zero"], "negative-zero"),
    ],
)
def test_how_exact_a_value_has_to_be(module: str, name: str, more: list[str], kind: str) -> None:
    words = ["--quick", "--only", "agreement", "--signature", SIGNATURE, "--reference", f"{module}:doubled", *more]
    done = CliRunner().invoke(command, [f"{module}:{name}", *words])
    assert done.exit_code == bool(kind), done.output
    assert kind in done.output


def test_the_command_lists_checks() -> None:
    listed = CliRunner().invoke(command, ["--list"])
    assert listed.exit_code == 0
    assert "written outputs" in listed.output


def test_targets_that_cant_be_found(module: str) -> None:
    with pytest.raises(SignatureError, match="wasn't built by Opwright, so its signature has to be given"):
        opwright.check(f"{module}:doubled")
    with pytest.raises(
        SourceError, match=r"has no 'halve'; it has: doubled, nearly, rounded, torch, tripled, unsigned"
    ):
        opwright.check(f"{module}:halve", signature=SIGNATURE)
    with pytest.raises(SourceError, match="there is no module 'no_such_module'"):
        opwright.check("no_such_module:doubled", signature=SIGNATURE)
    with pytest.raises(ValueError, match="level='slow'"):
        opwright.check(torch.neg, signature=SIGNATURE, level="slow")  # type: ignore[arg-type] # what is tested


def test_operators_of_pytorch_and_functions() -> None:
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx: object, x: torch.Tensor) -> torch.Tensor:
            return 2 * x

    op = torch.ops.aten.neg.default
    for target, signature in ((op, "neg(x: f32[N]) -> (y: f32[N])"), (Doubled, SIGNATURE)):
        report = opwright.check(target, signature=signature, level="quick", only=("sizes",))
        assert report.ok, report


def test_the_fixture(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        f"""
        import torch

        def test_right(opwright_check):
            opwright_check(torch.neg, lambda x: -x, signature="{SIGNATURE}", only=("agreement",))

        def test_wrong(opwright_check):
            opwright_check(torch.neg, torch.abs, signature="{SIGNATURE}", only=("agreement",))
        """
    )
    result = run(pytester)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["doubled: agreement: wrong-value: y differs from the reference: *"])


def run(pytester: pytest.Pytester, *words: str) -> pytest.RunResult:
    plugins = ("-p", "no:opwright", "-p", "opwright.pytest_plugin", "-p", "no:cacheprovider")
    return pytester.runpytest_inprocess(*plugins, *words)


def test_the_fixture_for_cuda_kernels(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    pytester.makepyfile(
        """
        from opwright.cuda.emulation import runtime

        def test_it(cuda_place, request):
            backend, device = cuda_place
            settings = runtime._settings[-1]
            print("<", device, settings.order, settings.seed, backend and backend.check, ">")
        """
    )
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    result = run(pytester, "-rs", "-s")
    result.assert_outcomes(passed=4, skipped=1)
    order = ["cpu forward 1 False", "cpu reverse 1 False", "cpu random 1 False", "cpu forward 0 True"]
    result.stdout.fnmatch_lines([*(f"*< {each} >*" for each in order), "*there is no GPU*"])
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    result = run(pytester, "-s", "-k", "gpu")
    result.assert_outcomes(passed=1, deselected=4)
    result.stdout.fnmatch_lines(["*< cuda forward 0 None >*"])
