from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import pytest
import torch
from rich.table import Table

import opwright as package
from opwright import cli
from opwright.cli import demo, info
from opwright.codegen import KernelSource
from opwright.signature.derivatives import chains
from opwright.toolchain import Options

MY_OP = Path(__file__).parents[2] / "examples/my_op/my_op.cpp"
PLAIN = """
OPWRIGHT("twice(x: f32[N], k: int) -> (y: f32[N], n: i64[])")
void twice(Tensor<const float, 1> x, int64_t k, Tensor<float, 1> y, Tensor<int64_t, 0> n) {
  for (int64_t i = 0; i < x.numel(); ++i) y[i] = k * x[i];
  n() = k;
}
OPWRIGHT("twice_backward(grad_y: f32[N], k: int) -> (grad_x: f32[N])")
void twice_backward(Tensor<const float, 1> grad_y, int64_t k, Tensor<float, 1> grad_x) {
  for (int64_t i = 0; i < grad_x.numel(); ++i) grad_x[i] = k * grad_y[i];
}
"""


TWO_TYPES = """
OPWRIGHT("f(x: T[N]) -> (y: T[N]) where T in (f32, f64)")
template <class T> void f(Tensor<const T, 1> x, Tensor<T, 1> y) { y[0] = x[0]; }
"""


def opwright(
    *words: object, cwd: Path | None = None, without_torch: bool = False, prefix: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    block = "import sys; sys.modules['torch'] = None; " if without_torch else "import sys; "
    script = f"{block}sys.argv[1:] = {list(map(str, words))!r}; from opwright.cli import main; main()"
    return subprocess.run(
        [*prefix, sys.executable, "-c", script],
        capture_output=True,
        text=True,
        cwd=cwd,
        check=False,
        env=_wide_terminal(),
    )


def _wide_terminal() -> dict[str, str]:
    return {**os.environ, "COLUMNS": "200"}


@pytest.mark.parametrize("words", [["--help"], []])
def test_help_begins_with_what_is_needed_first(words: list[str]) -> None:
    done = opwright(*words)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\n  opwright new my-op && cd my-op && make test " in done.stdout
    first, more = done.stdout.partition("\nBegin with:\n")[2].split("\nMore commands:\n")
    assert re.findall(r"^  (\w+)  ", first, re.MULTILINE) == ["new", "info", "check", "bench"]
    listed = re.findall(r"^  (\w+)  ", more, re.MULTILINE)
    assert listed == sorted(listed)
    assert {"build", "bundle", "cache", "demo", "doctor"} <= {*listed}


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["chekc"], "there is no command 'chekc'; did you mean check"),
        (["zzz"], "there is no command 'zzz'; there are new, info, check, bench, "),
        (["build", "--bakend", "x", "a.cpp"], "No such option"),
        (["info"], "Missing argument 'FILES...'"),
        (["new", "a1", "--c", "--cuda"], "a project is of one kind, and got --c and --cuda"),
    ],
)
def test_what_cannot_be_understood_has_one_form_and_status_2(words: list[str], text: str, tmp_path: Path) -> None:
    done = opwright(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(f"opwright: error: {text}"), done.stderr
    assert done.stderr.splitlines()[-1].startswith("  likely fix: ")
    assert done.stderr.endswith(" --help\n")
    assert done.stdout == ""


def test_an_unknown_check_is_answered_before_anything_is_built(tmp_path: Path) -> None:
    done = opwright("check", "--only", "valuess", "nowhere.cpp", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("opwright: error: there is no check 'valuess'; did you mean values?\n")


def test_ctrl_c_is_status_130(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(info, "collect", interrupted)
    monkeypatch.setattr(sys, "argv", ["opwright", "info", "a.cpp"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 130
    assert capsys.readouterr().err.strip() == "opwright: error: stopped"


def test_info_shows_what_the_signatures_say(write: Callable[..., Path]) -> None:
    done = opwright("info", write(PLAIN), without_torch=True)
    assert done.returncode == 0, done.stderr
    lines = [line.split(maxsplit=1) for line in done.stdout.splitlines() if line.strip()]
    first = dict(line for line in lines[:8] if len(line) == 2)
    assert first["signature"].strip() == "twice(x: f32[N], k: int) -> (y: f32[N], n: i64[])"
    assert re.fullmatch(r"twice\.sig_[0-9a-f]{12}\(Tensor x, SymInt k\) -> \(Tensor, Tensor\)", first["schema"].strip())
    assert first["devices"].strip() == "cpu"
    assert first["differentiable"].strip() == "in x; no gradient is taken for n"
    assert first["saved"].strip() == "k (value)"


def test_info_of_an_operator_without_a_backward_says_what_to_write(write: Callable[..., Path]) -> None:
    text = (
        'OPWRIGHT("f(x: f32[N]) -> (y: f32[N])")\nvoid f(Tensor<const float, 1> x, Tensor<float, 1> y) { y[0] = x[0]; }'
    )
    done = opwright("info", write(text))
    assert "f_backward(grad_y: f32[N], x: f32[N]) -> (grad_x: f32[N])" in done.stdout


WITH_RESIDUALS = """
OPWRIGHT("half_of(x: f32[N], k: float) -> (y: f32[N]; kept: f32[N])")
void half_of(Tensor<const float, 1> x, double k, Tensor<float, 1> y, Tensor<float, 1> kept) {
  y[0] = kept[0] = k * x[0];
}
OPWRIGHT("half_of_backward(grad_y: f32[N], kept: f32[N], k: float) -> (grad_x: f32[N])")
void half_of_backward(Tensor<const float, 1> g, Tensor<const float, 1> kept, double k, Tensor<float, 1> d) {
  d[0] = k * g[0] + kept[0];
}
"""


def test_info_shows_the_schemas_that_are_registered(write: Callable[..., Path]) -> None:
    file = write(WITH_RESIDUALS, "schemas_of_info.cpp")
    package.load(file)
    kernels = KernelSource(file, Options()).source.kernels
    (chain,) = chains([kernel.signature for kernel in kernels])
    forward, backward = info.describe(chain)
    assert forward["saved"] == "kept, k (value)"
    assert "internal form" not in backward
    shown = [forward["schema"], forward["internal form"], backward["schema"]]
    names = ["half_of", "_half_of_with_residuals", "half_of_backward"]
    registered = [getattr(torch.ops.schemas_of_info, name).default._schema for name in names]
    assert [torch._C.parse_schema(f"schemas_of_info::{text}") for text in shown] == registered


POINTWISE = """
OPWRIGHT("curve(x: T, w: T?, m: M) -> (y: T) where M in (bool)")
template <class T, class M> T curve(T x, Optional<T> w, M m) { return m ? tanh(x) * (w ? *w : T(1)) : x; }
OPWRIGHT("steps(x: T) -> (y: T)")
template <class T>
T steps(T x) {
  T y = x;
  while (y < 100) y = y * y + 1;
  return y;
}
OPWRIGHT("kept(x: T) -> (y: f32)")
template <class T> void kept(T x, float &y) { y = value_of(x); }
OPWRIGHT("total(x: T[N], y: T[]) -> (sum: T[]) batched")
template <class T> void total(Tensor<const T, 1> x, Tensor<const T, 0> y, Tensor<T, 0> sum) { sum() = y(); }
"""


def shown(text: str) -> dict[str, dict[str, str]]:
    """What `opwright info` printed, by operator, with where each stands as "place"."""
    found: dict[str, dict[str, str]] = {}
    for block in text.strip().split("\n\n"):
        first, *rest = block.splitlines()
        name, place = first.split(maxsplit=1)
        rows = (row.strip().split(maxsplit=1) for row in rest if row.startswith("  ") and not row.startswith("   "))
        found[name] = {"place": place.strip(), **{row[0]: row[1].strip() for row in rows if len(row) == 2}}
    return found


@pytest.mark.slow
def test_info_of_pointwise_operators(write: Callable[..., Path]) -> None:
    file = write(POINTWISE, "pointwise_info.cpp")
    said = shown(opwright("info", file, without_torch=True).stdout)
    orders = ("", "_backward", "_backward_backward")
    assert list(said) == [*(f"{name}{order}" for name in ("curve", "steps") for order in orders), "kept", "total"]
    assert said["curve"]["place"].endswith("pointwise_info.cpp:3")
    assert said["curve_backward"]["place"] == "derived from curve"
    assert said["curve"]["kind"] == "pointwise: arguments broadcast and promote"
    assert said["total"]["kind"] == "batched: leading axes broadcast"
    assert said["curve"]["gradient"] == said["curve_backward"]["gradient"] == "derived"
    assert said["curve"]["forward"] == "mode      derived"
    assert said["kept"]["differentiable"].startswith("no: y: f32 has a fixed type")
    assert "gradient" not in said["total"]
    assert said["curve"]["vectorised"] == said["curve_backward"]["vectorised"] == "yes (float32, bool)"
    for name in ("steps", "steps_backward"):  # how often it goes round depends on the element
        assert said[name]["vectorised"].startswith("no: ")
        assert said[name]["vectorised"].endswith(" (float32)")
    assert "vectorised" not in {**said["total"], **said["curve_backward_backward"]}


@pytest.mark.slow
def test_files_with_operators_of_one_name_are_several_files(tmp_path: Path) -> None:
    text = 'OPWRIGHT("{}")\ntemplate <class T> T {} {{ return x; }}\n'
    first, second, third = (tmp_path / f"one_name_{letter}.cpp" for letter in "abc")
    first.write_text(text.format("same(x: T, y: T) -> (z: T) where T in (f32)", "same(T x, T y)"))
    second.write_text(text.format("same(x: T) -> (z: T) where T in (f64)", "same(T x)"))
    third.write_text(
        text.format("same_backward(grad_z: T) -> (grad_x: T)", "same_backward(T grad_z)").replace(" x;", " grad_z;")
    )
    apart = opwright("info", first, second).stdout
    assert "Tensor x, Tensor y)" in apart
    assert apart.count("derived from same") == 4
    together = opwright("info", second, third).stdout
    assert f"same_backward  {third}:1" in together
    assert "derived from same_backward" in together
    assert "T: f64" in together
    built = opwright("build", first, second, without_torch=True).stdout
    assert built.count("T=f32") == built.count("T=f64") == 2


def test_info_without_a_compiler_says_so(write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "/nonexistent/c++")
    done = opwright("info", write(POINTWISE, "no_compiler_for_info.cpp"))
    assert done.returncode == 0
    assert shown(done.stdout)["curve"]["vectorised"].startswith("not known: ")


def test_info_shows_the_schemas_of_derived_operators_as_they_are_registered(write: Callable[..., Path]) -> None:
    file = write(POINTWISE, "derived_schemas.cpp")
    package.load(file)
    source = KernelSource(file, Options())
    for chain in chains(source.signatures.values()):
        if chain[0].name in source.derived:
            continue
        for signature, facts in zip(chain, info.describe(chain, source.signatures, source.derived), strict=True):
            packet = getattr(torch.ops.derived_schemas, signature.name)
            assert torch._C.parse_schema(f"derived_schemas::{facts['schema']}") == packet.default._schema


@pytest.mark.slow
def test_build_compiles_derived_gradients_too(write: Callable[..., Path]) -> None:
    source = write(f"{POINTWISE}// {os.urandom(8).hex()}", "built_with_gradients.cpp")
    done = opwright("build", source, "--dtype", "f64", "--dtype", "bool", without_torch=True)
    assert done.returncode == 0, done.stderr
    labels = [line.split("│")[1].strip() for line in done.stdout.splitlines() if "built_with" in line]
    own = ["built_with_gradients.cpp"] * 2  # those of T, and those of T and M
    assert labels == [*own, *(f"{own[0]}: {name}_backward" for name in ("curve", "steps"))]
    script = f"""
import torch, opwright
from opwright.toolchain.build import processes
processes.Processes.run = None  # nothing may be compiled any more
ops = opwright.load({str(source)!r})
x, w = (torch.ones(2, dtype=torch.float64, requires_grad=True) for _ in range(2))
ops.curve(x, w, torch.tensor(True)).sum().backward()
torch.testing.assert_close(w.grad, x.detach().tanh())
"""
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.slow
def test_build_compiles_every_element_type_and_load_finds_them(write: Callable[..., Path]) -> None:
    source = write(MY_OP.read_text().replace("#include <opwright.h>", ""), "built_by_cli.cpp")
    source.write_text(source.read_text() + f"// {source}\n")  # a text that is in no cache
    first = opwright("build", source, without_torch=True)
    assert first.returncode == 0, first.stderr
    rows = [line for line in first.stdout.splitlines() if "built_by_cli.cpp" in line]
    assert [kind for kind in ("T=f32", "T=f64", "T=f16", "T=bf16") if any(kind in row for row in rows)] == [
        "T=f32",
        "T=f64",
        "T=f16",
        "T=bf16",
    ]
    assert all(" ms " in row for row in rows)
    assert opwright("build", source, "--dtype", "f32").stdout.count("cached") == 1
    script = f"""
import torch, opwright
from opwright.toolchain.build import processes
processes.Processes.run = None  # nothing may be compiled any more
ops = opwright.load({str(source)!r})
for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
    assert ops.my_op(torch.ones(2, dtype=dtype), torch.ones(2, dtype=dtype)).tolist() == [2.0, 2.0]
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_build_compiles_at_once_as_many_as_may_be(
    write: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write(f"{TWO_TYPES}// {tmp_path}", "at_once.cpp")
    script = tmp_path / "c++"
    # Each compilation waits until the other has begun too.
    script.write_text(
        f'#!/bin/sh\ncase "$*" in *at_once*-o*) touch "{tmp_path}/begun-$$"; for i in $(seq 100); do '
        f'[ "$(ls {tmp_path} | grep -c begun)" -ge 2 ] && break; sleep 0.1; done;; esac\nexec c++ "$@"\n'.replace(
            "exec c++", f"exec {shutil.which('c++')}"
        )
    )
    script.chmod(0o755)
    monkeypatch.setenv("CXX", str(script))
    monkeypatch.setenv("MAX_JOBS", "2")
    done = opwright("build", source)
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith("│")]
    assert [row[3] for row in rows] == ["T=f32", "T=f64"]
    assert all(float(row[5]) < 9000 for row in rows)


def test_build_refuses_a_strange_number_of_jobs(write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAX_JOBS", "many")
    done = opwright("build", write(PLAIN))
    assert done.returncode == 1
    assert "MAX_JOBS='many': expected a positive whole number" in done.stderr


@pytest.mark.parametrize(
    ("text", "error", "status"),
    [
        ("int x = ;\n" + PLAIN, "op.cpp:2:9: error:", 1),
        ('OPWRIGHT("f(x: f32[N) -> (y: f32[N])")\nvoid f() {}', "op.cpp:2: ", 2),
        ("", 'there is no OPWRIGHT("...") in it', 2),
    ],
)
def test_an_error_is_a_message_and_a_status(write: Callable[..., Path], text: str, error: str, status: int) -> None:
    done = opwright("build", write(text))
    assert done.returncode == status
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("opwright: error: ")
    assert error in done.stderr
    assert "for : " not in done.stderr


def test_a_kernel_that_fails_for_one_element_type_is_told_to_list_its_types(write: Callable[..., Path]) -> None:
    body = 'static_assert(sizeof(T) > 2, "no halves"); y[0] = x[0];'
    text = (
        f'OPWRIGHT("f(x: T[N]) -> (y: T[N])")\ntemplate <class T> void f(Tensor<const T> x, Tensor<T> y) {{ {body} }}'
    )
    done = opwright("build", write(text))
    assert done.returncode == 1
    assert "for T=f16: " in done.stderr
    assert "list its types: where T in (f32, f64)" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("command", ["build", "info"])
def test_a_file_that_cannot_be_read_is_named(command: str, tmp_path: Path) -> None:
    (tmp_path / "folder.cpp").mkdir()
    (tmp_path / "loop.cpp").symlink_to(tmp_path / "loop.cpp")
    (tmp_path / "gone.cpp").symlink_to(tmp_path / "deleted.cpp")
    (tmp_path / "binary.cpp").write_bytes(bytes(range(256)) * 64)
    (tmp_path / "marked.cpp").write_bytes(b'\xff\x00OPWRIGHT("\xfe\x00\x80f(")\xc3\x00 void')
    (tmp_path / "library.so").write_bytes(b"\x7fELF\x00\xff")
    for name, error in (
        ("nowhere.cpp", "nowhere.cpp: can't be read: No such file or directory"),
        ("gone.cpp", "gone.cpp: can't be read: No such file or directory"),
        ("folder.cpp", "folder.cpp: can't be read: Is a directory"),
        (".", ".: "),
        ("loop.cpp", "loop.cpp: can't be read: Too many levels of symbolic links"),
        ("binary.cpp", 'binary.cpp: there is no OPWRIGHT("...") in it'),
        ("marked.cpp", "marked.cpp:1: "),
        ("library.so", "library.so: "),
    ):
        done = opwright(command, name, cwd=tmp_path, without_torch=True)
        assert done.returncode == 2
        assert "Traceback" not in done.stderr
        assert done.stderr.startswith(f"opwright: error: {error}"), done.stderr
        assert not done.stdout


ROOT = os.geteuid() == 0  # who may read everything, unless told otherwise
UNPRIVILEGED = ("setpriv", "--bounding-set=-dac_override,-dac_read_search") if ROOT else ()


@pytest.mark.skipif(ROOT and not shutil.which("setpriv"), reason="root may read everything")
@pytest.mark.parametrize("command", ["build", "info"])
def test_a_file_without_permission_is_named(command: str, write: Callable[..., Path]) -> None:
    path = write(PLAIN)
    path.chmod(0)
    done = opwright(command, path, prefix=UNPRIVILEGED)
    assert done.returncode == 2
    assert done.stderr == f"opwright: error: {path}: can't be read: Permission denied\n"


def test_the_demo_without_torch_says_what_to_install() -> None:
    done = opwright("demo", without_torch=True)
    assert done.returncode == 1
    assert "pip install opwright[torch]" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("passed", [True, False])
def test_a_check_of_the_demo_that_fails_is_an_error(
    passed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo, "_built_ahead", lambda _folder: nullcontext())
    monkeypatch.setattr(demo, "_fresh", lambda *_: 0.1)
    monkeypatch.setattr(demo, "_passes", lambda name, _: [True, True, passed or name != "sigmoid", True])
    monkeypatch.setattr(demo, "_timings", lambda *_: {})
    monkeypatch.setattr(demo, "_times", lambda _: Table())
    monkeypatch.setattr(demo, "plot", lambda *_: None)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv("COLUMNS", "80")
    run = partial(demo.command.main, ["--output", str(tmp_path / "plot.png")], standalone_mode=False)
    if passed:
        run()
    else:
        with pytest.raises(package.OpwrightError, match=r"^a check failed: see NO in the table of operators$"):
            run()
    out = capsys.readouterr().out
    assert ("NO" in out) == (not passed)
    assert ("opwright new my-op" in out) == passed
    assert "gradgradcheck" in out
    assert "lltm_derived" in out  # nothing is cut off
    assert max(len(line) for line in out.splitlines() if line[:1] in "┏┡│└") <= 80


def test_where_the_plot_of_the_demo_goes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert demo._picture(None) == Path("opwright-demo.png")
    assert demo._picture(tmp_path / "x.png") == tmp_path / "x.png"
    monkeypatch.setattr(demo, "find_spec", lambda _name: None)
    assert demo._picture(None) is None
    with pytest.raises(
        ModuleNotFoundError, match=r"the plot needs matplotlib\n  likely fix: pip install opwright\[bench\]"
    ):
        demo._picture(tmp_path / "x.png")


@pytest.mark.exhaustive
def test_the_demo_shows_the_table_and_writes_the_plot(tmp_path: Path) -> None:
    done = opwright("demo", "--output", tmp_path / "plot.png", "--rounds", 2)
    assert done.returncode == 0, done.stderr
    assert "NO" not in done.stdout
    assert "whole operator" in done.stdout
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")


PLAIN_C = """
float total(int n, const float *x) { float s = 0; while (n-- > 0) s += x[n]; return s; }
double root(double value, double *y) { *y = 0; return value; }
int work(int n, const double *x, double *y) { return 0; }
"""
TOTAL = "total(x: f32[n]) -> (sum: f32[])"


@pytest.mark.slow
def test_build_and_info_of_plain_c(tmp_path: Path) -> None:
    source = tmp_path / "plain_cli.c"
    source.write_text(PLAIN_C)
    ops = ["--ops", TOTAL, "--ops", "work(x: f64[n]) -> (y: f64[n])"]
    done = opwright("info", source, *ops, without_torch=True)
    assert done.returncode == 0, done.stderr
    assert f"total  {source}:2" in done.stdout
    assert "work(x: f64[n]) -> (y: f64[n])" in done.stdout
    first, second = (opwright("build", source, *ops, without_torch=True) for _ in range(2))
    assert first.returncode == second.returncode == 0, first.stderr
    assert "plain_cli.c" in second.stdout
    assert "cached" in second.stdout
    refused = opwright("build", source, "--ops", "totals(x: f32[n]) -> (sum: f32[])")
    assert refused.returncode == 2
    assert "did you mean total?" in refused.stderr
    refused = opwright("build", source, *ops, "-l", "no_such_library", "-L", str(tmp_path))
    assert "the linker finds no library no_such_library" in refused.stderr


@pytest.mark.slow
@pytest.mark.native
def test_bundle_writes_what_load_library_opens(write: Callable[..., Path], tmp_path: Path) -> None:
    source = write(TWO_TYPES, "bundled_by_cli.cpp")
    done = opwright("bundle", source, "-o", tmp_path / "here.so", "--dtype", "f32")
    assert done.returncode == 0, done.stderr
    version = ".".join(torch.__version__.split(".")[:2])
    assert done.stdout == f"{tmp_path / 'here.so'}: torch.ops.bundled_by_cli (f), for PyTorch {version}\n"
    script = f"""
import torch
torch.ops.load_library({str(tmp_path / "here.so")!r})
print(torch.ops.bundled_by_cli.f(torch.ones(1)).tolist())
"""
    called = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert called.stdout == "[1.0]\n"


def test_bundle_of_an_extension_is_refused(write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package, "load", lambda *_, **__: sys)
    run = partial(cli.cli.main, ["bundle", "extension.cpp"], standalone_mode=False)
    with pytest.raises(package.UnsupportedError, match=r"extension\.cpp includes PyTorch's headers, and is no source"):
        run()


def test_the_examples_of_run_stand_on_lines_of_their_own() -> None:
    said = opwright("run", "--help").stdout
    assert "\n  opwright run build.py\n  opwright run setup.py install\n" in said
    assert "torch.utils.cpp_extension" in said
