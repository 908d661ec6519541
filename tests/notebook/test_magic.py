"""``%%opwright`` in IPython's shell."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from opwright.errors import CompileError, OpwrightError, SignatureError, SourceError, ToolchainError
from opwright.log import progress
from opwright.notebook.display import progress_line

DOCUMENT = Path(__file__).parents[2] / "docs" / "notebook.md"
CUBE = """
OPWRIGHT("nb_cube(x: T) -> (y: T)")
template <class T>
T nb_cube(T x) { return x * x * x; }
"""
HALF = """
OPWRIGHT("nb_half(x: I[N]) -> (y: I[N]) where I in (i64, i32)")
template <class I>
void nb_half(Tensor<const I, 1> x, Tensor<I, 1> y) { for (int64_t i = 0; i < x.numel(); ++i) y[i] = x[i] / 2; }
"""


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InteractiveShell]:
    config = Config()
    config.HistoryManager.enabled = False
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IPYTHONDIR", str(tmp_path_factory.mktemp("ipython")))
        made = InteractiveShell(config=config)
        made.run_line_magic("load_ext", "opwright")
        yield made
        made.run_line_magic("unload_ext", "opwright")
        assert "opwright" not in made.magics_manager.magics["cell"]


Run = Callable[..., str]


@pytest.fixture
def run(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a cell; what it shows. `fails`: what it raises, and nothing else may."""

    def cell(text: str, line: str = "", fails: type[BaseException] | None = None) -> str:
        done = shell.run_cell(f"%%opwright {line}{text}" if "OPWRIGHT" in text or line else text)
        raised = done.error_in_exec or done.error_before_exec
        assert (type(raised) if raised else None) is fails, raised
        shown = capsys.readouterr()
        return re.sub(r"\x1b\[[\d;]*m", "", shown.out + shown.err)

    return cell


def user(shell: InteractiveShell) -> dict[str, Any]:
    names: dict[str, Any] = shell.user_ns
    return names


@pytest.mark.slow
def test_operators_land_and_are_loaded_again(run: Run, shell: InteractiveShell) -> None:
    said = run(CUBE, "--namespace nb_first")
    assert re.fullmatch(r"loaded in \d+\.\d\d s\nnb_cube\(x: T\) -> \(y: T\)\n", said)
    taken, x = user(shell)["nb_cube"], torch.tensor([2.0])
    assert taken is torch.ops.nb_first.nb_cube.default
    assert "nb_cube_backward" not in user(shell)
    assert taken(x) == 8
    assert re.match(r"loaded again in \d+\.\d\d s\n", run(CUBE.replace("* x;", "* x + 1;"), "--namespace nb_first"))
    assert taken(x) == 9
    said = run(CUBE.replace("(x: T)", "(x: T, k: int)").replace("T x)", "T x, int64_t k)"), "--namespace nb_first")
    assert re.match(r"loaded again in \d+\.\d\d s; another signature: nb_cube, nb_cube_backward,", said)
    assert user(shell)["nb_cube"](x, 1) == 8


def test_an_error_is_shown_at_the_cells_line(run: Run) -> None:
    lines = run(CUBE.replace("* x;", "* foo(x);"), fails=CompileError).splitlines()
    assert re.fullmatch(r"CompileError: cell:4:\d+: error: .*foo.*", lines[0])
    assert lines[1:4] == [
        '        2 OPWRIGHT("nb_cube(x: T) -> (y: T)")',
        "        3 template <class T>",
        "---->   4 T nb_cube(T x) { return x * x * foo(x); }",
    ]
    assert not any("Traceback" in line or "magic.py" in line for line in lines)
    lines = run(CUBE.replace("-> (y", "-> y"), fails=SignatureError).splitlines()
    assert lines[0] == "SignatureError: cell:2: expected '(' after '->', found 'y'"
    assert lines[1] == '---->   2 OPWRIGHT("nb_cube(x: T) -> y: T)")'
    assert "likely fix" in lines[-1]


def test_a_cell_without_a_mark_is_told_what_the_magic_can_say(run: Run) -> None:
    assert run("\nint nb_none;\n", "--cpp", fails=SourceError).splitlines() == [
        'SourceError: cell: there is no OPWRIGHT("...") in it',
        '  expected one before each kernel: OPWRIGHT("f(x: T[...]) -> (y: T[...])")',
        '  or signatures given from outside: --ops "f(x: f32[N]) -> (y: f32[N])"',
    ]


def test_a_name_of_pythons_that_is_hidden_is_told_once(run: Run, shell: InteractiveShell) -> None:
    cell, words = CUBE.replace("nb_cube", "abs"), "--namespace nb_abs --lazy"
    assert re.match(r"loaded in .* s; Python's own abs is hidden: del abs brings it back\n", run(cell, words))
    assert re.match(r"loaded again in \S+ s\n", run(cell, words))
    run("del abs")
    assert "abs is hidden" in run(cell, words)
    run("del abs")
    assert "print is hidden" in run(cell, f"print {words}")
    run("del print")
    assert "hidden" not in run(cell, f"nb_found {words}")
    assert "abs" not in user(shell)


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("term", "is_rewritten"), [("xterm", True), ("dumb", False)])
def test_a_terminals_line_is_written_anew(term: str, is_rewritten: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setenv("TERM", term)
    monkeypatch.setenv("COLUMNS", "12")
    with progress_line(InteractiveShell()) as said:
        progress("compiling nb")
        progress("linking")
        said.end("loaded in 1 s")
    with pytest.raises(KeyError), progress_line(InteractiveShell()):  # noqa: PT012 - what ends within it
        progress("compiling")
        raise KeyError
    first, failed = ["compiling n", "linking ...", ""], ["compiling .", ""]
    steps = ["".join(f"\r\x1b[K{text}" for text in each) if is_rewritten else "" for each in (first, failed)]
    assert terminal.getvalue() == f"{steps[0]}loaded in 1 s\n{steps[1]}"


def test_a_name_for_all_of_them_and_what_integers_are_compiled_for(run: Run, shell: InteractiveShell) -> None:
    run(CUBE.replace("nb_cube", "nb_one") + HALF.replace("nb_half", "nb_two"), "both --namespace nb_both")
    both = user(shell)["both"]
    assert "nb_one" not in user(shell)
    assert both.nb_two(torch.tensor([4])) == 2
    compiled = {
        name: each.kernel.types(key) for name, each in both.__loaded__.registered.items() for key in each.kernel.paths
    }
    assert {str(dtype) for dtype in compiled["nb_one"].values()} == {"f32"}
    assert {str(dtype) for dtype in compiled["nb_two"].values()} == {"i64"}


@pytest.mark.parametrize(("line", "expected"), [("--lazy", set()), ("--dtype f64 --dtype torch.int64", {"f64"})])
def test_what_is_compiled(line: str, expected: set[str], run: Run, shell: InteractiveShell) -> None:
    name = f"nb_compiled_{len(expected)}"
    run(CUBE.replace("nb_cube", name), f"found {line}")
    kernel = user(shell)["found"].__loaded__.registered[name].kernel
    assert {str(dtype) for key in kernel.paths for dtype in kernel.types(key).values()} == expected


def test_alternatives_and_variants_have_a_line_each(run: Run, shell: InteractiveShell) -> None:
    said = run(
        '\nOPWRIGHT("nb_blur(x: f32[N]) -> (y: f32[N]) variants: out")\n'
        "void nb_blur(Tensor<const float, 1> x, Tensor<float, 1> y) { y[0] = x[0]; }\n"
        'OPWRIGHT("nb_blur(x: f32[N, M]) -> (y: f32[N, M]) variants: out")\n'
        "void nb_blur(Tensor<const float, 2> x, Tensor<float, 2> y) { y(0, 0) = x(0, 0); }\n",
        "--lazy",
    )
    lines = [line for line in said.splitlines() if line.startswith("nb_blur")]
    assert lines == [
        "nb_blur(x: f32[N]) -> (y: f32[N]) variants: out",
        "nb_blur.out(x: f32[N], out: f32[N]!) -> (out)",
        "nb_blur(x: f32[N, M]) -> (y: f32[N, M]) variants: out",
        "nb_blur.out(x: f32[N, M], out: f32[N, M]!) -> (out)",
    ]
    assert "nb_blur" in user(shell)


def test_plain_c_and_kernels_for_gpus(run: Run, shell: InteractiveShell) -> None:
    run("\nint nb_ten(int n, float *x) { return n ? 10 : 0; }\n", '--c --ops "nb_ten(x: f32[n]) -> (y: i32[])"')
    assert user(shell)["nb_ten"](torch.ones(1)) == 10
    said = run(
        '\nOPWRIGHT("nb_gpu(x: f32[N]) -> (y: f32[N]) launch over N, threads 64")\n'
        "__global__ void nb_gpu(Tensor<const float, 1> x, Tensor<float, 1> y) { y[threadIdx.x] = 3; }\n",
        "--backend emulate --lazy",
    )
    assert "nb_gpu(x: f32[N]) -> (y: f32[N])" in said
    assert user(shell)["nb_gpu"].namespace == "nb_gpu_emulated"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("--bakend emulate", r"No such option.*--bakend.*Did you mean.*--backend"),
        ("--dtype float33", "'float33' is no element type, expected one of uint8,"),
        ("2x", "'2x' can't be the name of a variable"),
        ("a b", r"unexpected extra argument \(b\)"),
        ('"a', "'\"a' can't be split into words: No closing quotation"),
    ],
)
def test_options_that_there_are_not(line: str, says: str, run: Run) -> None:
    from IPython.core.error import UsageError

    said = run(CUBE, line, fails=UsageError)
    assert said.startswith("UsageError: %%opwright: ")
    assert re.search(says, said)
    assert said.endswith("%%opwright --help shows what there is\n")


def test_a_back_end_that_there_is_not(run: Run) -> None:
    assert "expected one of 'nvcc', 'nvrtc', 'emulate'" in run(CUBE, "--backend nope", fails=ToolchainError)


@pytest.mark.exhaustive
def test_every_cell_of_the_documentation(shell: InteractiveShell) -> None:
    cells = re.findall(r"^```ipython\n(.*?)^```$", DOCUMENT.read_text(), re.MULTILINE | re.DOTALL)
    assert len(cells) == 6
    for cell in cells[1:]:  # the first is done: %load_ext
        shell.run_cell(cell).raise_error()


def test_help(run: Run) -> None:
    said = run(CUBE, "--help")
    assert said.startswith("Usage: %%opwright [OPTIONS] [VARIABLE]\n")
    assert "--backend" in said


def test_the_question_mark(run: Run, shell: InteractiveShell) -> None:
    run(CUBE)
    shown: Any = shell.object_inspect_mime("nb_cube")
    text = re.sub(r"\x1b\[[\d;]*m", "", shown["text/plain"])
    assert re.search(r"Signature: +nb_cube\(x: torch\.Tensor\) -> torch\.Tensor", text)
    assert "nb_cube(x: T) -> (y: T)\n\nArgs:\n    x: T\n" in text


def test_an_extension_with_pytorchs_headers_is_not_taken_for_kernels(
    run: Run, shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch
) -> None:
    from types import ModuleType

    from opwright import frontends as front

    def load(path: Path, **words: Any) -> ModuleType:
        module = ModuleType(words["namespace"])
        vars(module).update(twice=len, _hidden=1)
        assert path.read_text().startswith("\n#include <torch/extension.h>\n")
        return module

    monkeypatch.setattr(front, "load", load)
    said = run("\n#include <torch/extension.h>\nint OPWRIGHTS;\n", "--cpp")
    assert said.startswith("built in ")
    assert user(shell)["twice"] is len


def test_errors_of_ours_alone_are_shown_so(run: Run, shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("opwright.notebook.magic._contents", lambda _operators: 1 // 0)
    assert "magic.py" in run(CUBE, fails=ZeroDivisionError)
    assert not hasattr(OpwrightError("x"), "_render_traceback_")
