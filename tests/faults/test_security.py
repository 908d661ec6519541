"""What is run, and what isn't; who can put something there. The page is docs/security.md."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from opwright.toolchain import Built, Options, Unit, build, include_line
from opwright.toolchain import cache as cache_module

PACKAGE = Path(cache_module.__file__).parents[1]
SOURCES = sorted(PACKAGE.rglob("*.py"))
SHELLS = {
    *("os.system", "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput", "pty.spawn", "commands.getoutput"),
    *("os.spawnl", "os.spawnlp", "os.spawnvp", "asyncio.create_subprocess_shell"),
}
NASTY = "a;touch pwned;$(touch pwned)`touch pwned`|touch pwned&touch pwned>pwned 'x \\ *?~#!"

RUNS_SCRIPTS = Path("legacy/idioms/script.py")
"""Takes the place of ``python train.py``: to run what it reads is its purpose."""


def calls(path: Path) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node


def test_there_is_something_to_look_at() -> None:
    assert any(name.endswith("subprocess.Popen") for path in SOURCES for name, _ in calls(path))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_shell(path: Path) -> None:
    for name, call in calls(path):
        assert name not in SHELLS, ast.unparse(call)
        assert not any(word.arg == "shell" for word in call.keywords), ast.unparse(call)
        if name in {"subprocess.Popen", "subprocess.run", "subprocess.call", "subprocess.check_output"}:
            words = call.args[0]
            assert not (isinstance(words, ast.List) and {"sh", "bash"} & set(map(ast.unparse, words.elts)))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_nothing_is_run_that_was_only_read(path: Path) -> None:
    refused = {"eval", "exec", "pickle.load", "pickle.loads", "marshal.loads", "torch.load"}
    if path.relative_to(PACKAGE) == RUNS_SCRIPTS:
        refused.remove("exec")
    for name, call in calls(path):
        assert name not in refused, ast.unparse(call)
        assert not name.startswith("tempfile.mktemp"), ast.unparse(call)


def test_names_are_never_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: Callable[[Built], int], counting: Callable[[], int]
) -> None:
    folder = tmp_path / NASTY.replace("/", "")
    folder.mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(folder / "cache"))
    source = folder / "op.cpp"
    source.write_text(
        '#include "value.h"\nextern "C" __attribute__((visibility("default"))) int answer() { return VALUE; }\n'
    )
    (folder / "value.h").write_text("#define VALUE 41\n")
    options = Options(include_dirs=(folder,), define=(f"UNUSED={NASTY}",))
    built = build(Unit(NASTY, include_line(source) + "\n", source), options)
    assert answer(built) == 41
    assert counting() == 1
    assert not list(tmp_path.rglob("pwned"))
    with pytest.raises(Exception, match="error: "):
        build(Unit(NASTY, "int x = ;\n", source), options)
    assert not list(tmp_path.rglob("pwned"))


@pytest.mark.parametrize("variable", ["CXX", "OPWRIGHT_LAUNCHER", "CMAKE_CXX_COMPILER_LAUNCHER"])
def test_variables_hold_words_and_no_commands(
    variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gxx: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(variable, f"{gxx if variable == 'CXX' else 'env'} ; touch {tmp_path}/pwned")
    with pytest.raises(Exception, match=r"touch|can't"):
        build(Unit("op", "int x;\n"))
    assert not (tmp_path / "pwned").exists()


def test_importing_starts_nothing_and_writes_nothing(tmp_path: Path) -> None:
    script = """
import sys
seen = []
sys.addaudithook(lambda event, args: seen.append((event, args)))
import opwright, opwright.toolchain, opwright.signature, opwright.sources, opwright.codegen
starts = ("subprocess.Popen", "os.system", "os.exec", "os.fork", "os.posix_spawn", "socket.connect", "ctypes.dlopen")
started = [event for event, _ in seen if event in (*starts, "os.mkdir", "os.rename", "os.remove")]
opened = [args for event, args in seen if event == "open" and isinstance(args[1], str)]
written = [args for args in opened if set("wax+") & set(args[1])]
print(started, written)
"""
    environment = {**os.environ, "HOME": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1", "TORCH_EXTENSIONS_DIR": ""}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "[] []\n"
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_shared_under_a_name_that_others_can_foresee(
    tmp_path: Path, compiled: Callable[..., Built], answering: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a variable it is the user's own cache, never the system's folder for temporary files."""
    home, temporary = tmp_path / "home", tmp_path / "temporary"
    for folder in (home, temporary):
        folder.mkdir()
    monkeypatch.delenv("TORCH_EXTENSIONS_DIR")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("TMPDIR", str(temporary))
    assert home / ".cache" / "opwright" in compiled(answering(41)).path.parents
    assert list(temporary.iterdir()) == []


def test_a_folder_that_was_swapped_is_noticed(
    root: Path, compiled: Callable[..., Built], answering: Callable[..., Path]
) -> None:
    """A link that leads elsewhere now, to a folder that others can write to: seen although it was checked before."""
    compiled(answering(41))
    root.rename(root.with_name("away"))
    root.mkdir()
    root.chmod(0o777)
    with pytest.raises(Exception, match="has mode 0777: others can put code into it"):
        compiled(answering(41))
