from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

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


def opwright(*words: object, cwd: Path | None = None, without_torch: bool = False) -> subprocess.CompletedProcess[str]:
    block = "import sys; sys.modules['torch'] = None; " if without_torch else "import sys; "
    script = f"{block}sys.argv[1:] = {list(map(str, words))!r}; from opwright.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=cwd, check=False, env=_wide_terminal()
    )


def _wide_terminal() -> dict[str, str]:
    return {**os.environ, "COLUMNS": "200"}


def test_help_lists_the_commands() -> None:
    done = opwright("--help")
    assert done.returncode == 0
    for name in ("build", "demo", "info"):
        assert name in done.stdout


def test_info_shows_what_the_signatures_say(write: Callable[..., Path]) -> None:
    done = opwright("info", write(PLAIN), without_torch=True)
    assert done.returncode == 0, done.stderr
    lines = [line.split(maxsplit=1) for line in done.stdout.splitlines() if line.strip()]
    first = dict(line for line in lines[:8] if len(line) == 2)
    assert first["signature"].strip() == "twice(x: f32[N], k: int) -> (y: f32[N], n: i64[])"
    assert first["schema"].strip() == "twice(Tensor x, SymInt k) -> (Tensor, Tensor)"
    assert first["devices"].strip() == "cpu"
    assert first["differentiable"].strip() == "in x; no gradient is taken for n"
    assert first["saved"].strip() == "k"


def test_info_of_an_operator_without_a_backward_says_what_to_write(write: Callable[..., Path]) -> None:
    text = (
        'OPWRIGHT("f(x: f32[N]) -> (y: f32[N])")\nvoid f(Tensor<const float, 1> x, Tensor<float, 1> y) { y[0] = x[0]; }'
    )
    done = opwright("info", write(text))
    assert "f_backward(grad_y: f32[N], x: f32[N]) -> (grad_x: f32[N])" in done.stdout


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
from opwright.toolchain import process
process.Processes.run = None  # nothing may be compiled any more
ops = opwright.load({str(source)!r})
for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
    assert ops.my_op(torch.ones(2, dtype=dtype), torch.ones(2, dtype=dtype)).tolist() == [2.0, 2.0]
"""
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("int x = ;\n" + PLAIN, "op.cpp:2:9: error:"),
        ('OPWRIGHT("f(x: f32[N) -> (y: f32[N])")\nvoid f() {}', "op.cpp:2: "),
        ("", 'there is no OPWRIGHT("...") in it'),
    ],
)
def test_an_error_is_a_message_and_status_1(write: Callable[..., Path], text: str, error: str) -> None:
    done = opwright("build", write(text))
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("opwright: error: ")
    assert error in done.stderr


def test_a_kernel_that_fails_for_one_element_type_is_told_to_list_its_types(write: Callable[..., Path]) -> None:
    body = 'static_assert(sizeof(T) > 2, "no halves"); y[0] = x[0];'
    text = (
        f'OPWRIGHT("f(x: T[N]) -> (y: T[N])")\ntemplate <class T> void f(Tensor<const T> x, Tensor<T> y) {{ {body} }}'
    )
    done = opwright("build", write(text))
    assert done.returncode == 1
    assert "for T=f16: " in done.stderr
    assert "list its types: where T in (f32, f64)" in done.stderr


def test_a_missing_file_is_named() -> None:
    done = opwright("build", "nowhere.cpp")
    assert done.returncode == 1
    assert "nowhere.cpp" in done.stderr


def test_the_demo_without_torch_says_what_to_install() -> None:
    done = opwright("demo", without_torch=True)
    assert done.returncode == 1
    assert "pip install opwright[torch]" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_the_demo_shows_the_table_and_writes_the_plot(tmp_path: Path) -> None:
    done = opwright("demo", "--output", tmp_path / "plot.png", "--rounds", 2)
    assert done.returncode == 0, done.stderr
    assert "NO" not in done.stdout
    assert "whole operator" in done.stdout
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
