"""``%%opwright`` in a real kernel, as a notebook talks to it."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from jupyter_client.manager import start_new_kernel

CELL = """%%opwright
OPWRIGHT("times(x: T, k: int = 2) -> (y: T)")
template <class T>
T times(T x, int64_t k) { return x * k; }
"""

pytestmark = [pytest.mark.exhaustive, pytest.mark.filterwarnings("ignore")]  # zmq's and tornado's own
Run = Callable[[str], list[tuple[str, dict[str, Any]]]]


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("kernel")
    own = {"IPYTHONDIR": str(folder / "ipython"), "TORCH_EXTENSIONS_DIR": os.environ["TORCH_EXTENSIONS_DIR"]}
    source = str(Path(__file__).parents[2] / "src")
    manager, client = start_new_kernel(
        kernel_name="python3", env={**os.environ, **own, "PYTHONPATH": source}, cwd=str(folder)
    )
    yield client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


@pytest.fixture
def run(kernel: Any) -> Run:
    """Run a cell: what is sent to the notebook, in order."""

    def execute(code: str) -> list[tuple[str, dict[str, Any]]]:
        sent: list[tuple[str, dict[str, Any]]] = []
        kernel.execute_interactive(
            code, timeout=300, output_hook=lambda message: sent.append((message["msg_type"], message["content"]))
        )
        return [(kind, content) for kind, content in sent if kind not in ("status", "execute_input")]

    return execute


def shown(sent: list[tuple[str, dict[str, Any]]]) -> list[str]:
    return [content["data"]["text/plain"] for kind, content in sent if kind.endswith("display_data")]


def test_a_notebook(run: Run, kernel: Any) -> None:
    assert run("%load_ext opwright\nimport torch") == []
    sent = run(CELL.replace("x * k", f"x * k + 0 * {os.getpid()}"))  # nothing in the cache has this
    assert [kind for kind, _ in sent[:2]] == ["display_data", "update_display_data"]
    said = shown(sent)
    assert re.fullmatch(r"compiling times \(.*\) \.\.\.|building the runtime .*", said[0])
    assert re.fullmatch(r"loaded in \d+\.\d\d s\ntimes\(x: T, k: int = 2\) -> \(y: T\)", said[-1])
    assert len({content["transient"]["display_id"] for _, content in sent}) == 1  # one line, replaced
    assert run("print(times(torch.ones(1)).item(), times(torch.ones(1), k=5).item())") == [
        ("stream", {"name": "stdout", "text": "2.0 5.0\n"})
    ]
    said = shown(run(CELL.replace("x * k", "x * k + 1")))
    assert re.match(r"loaded again in \d+\.\d\d s\n", said[-1])
    assert run("print(times(torch.ones(1)).item())")[0][1]["text"] == "3.0\n"
    reply = kernel.inspect("times", 3, reply=True, timeout=60)["content"]
    assert "times(x: torch.Tensor, k: int = 2) -> torch.Tensor" in re.sub(
        r"\x1b\[[\d;]*m", "", reply["data"]["text/plain"]
    )


def test_an_error_at_the_cells_line(run: Run) -> None:
    run("%load_ext opwright")
    sent = run(CELL.replace("x * k", "x * kk").replace("times", "wrong_times"))
    assert shown(sent)[-1] == "not loaded"
    kind, content = sent[-1]
    assert (kind, content["ename"]) == ("error", "CompileError")
    assert re.match(r"CompileError: cell:4:\d+: error: .*kk", content["traceback"][0])
    assert "---->   4 T wrong_times(T x, int64_t k) { return x * kk; }" in content["traceback"]


def test_a_wrong_option(run: Run) -> None:
    run("%load_ext opwright")
    kind, content = run(CELL.replace("%%opwright", "%%opwright --bakend emulate"))[0]
    assert (kind, content["name"]) == ("stream", "stderr")
    assert re.search(r"No such option.*--bakend.*Did you mean.*--backend", content["text"])
