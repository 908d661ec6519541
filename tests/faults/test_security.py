"""What is run, and what isn't; who can put something there. The page is docs/security.md."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import opwright
from opwright.toolchain import Built, Options, Unit, build, include_line

PACKAGE = Path(opwright.__file__).parent
SOURCES = [path for path in sorted(PACKAGE.rglob("*.py")) if "templates" not in path.parts]  # texts with placeholders
SHELLS = {
    *("os.system", "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput", "pty.spawn", "commands.getoutput"),
    *("os.spawnl", "os.spawnlp", "os.spawnvp", "asyncio.create_subprocess_shell"),
}
NASTY = "a;touch pwned;$(touch pwned)`touch pwned`|touch pwned&touch pwned>pwned 'x \\ *?~#!"

RUNS_SCRIPTS = Path("legacy/run/script.py")
"""Takes the place of ``python train.py``: to run what it reads is its purpose."""


def calls(path: Path) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node


def test_there_is_something_to_look_at() -> None:
    assert any(name.endswith("subprocess.Popen") for path in SOURCES for name, _ in calls(path))


def uses_shell(name: str, call: ast.Call) -> bool:
    """Tell whether a call hands text to a shell."""
    if name in SHELLS or any(word.arg == "shell" for word in call.keywords):
        return True
    if name in {"subprocess.Popen", "subprocess.run", "subprocess.call", "subprocess.check_output"}:
        words = call.args[0]
        return isinstance(words, ast.List) and bool({"sh", "bash"} & set(map(ast.unparse, words.elts)))
    return False


@pytest.mark.slow
def test_no_shell() -> None:
    assert not [
        f"{path}: {ast.unparse(call)}" for path in SOURCES for name, call in calls(path) if uses_shell(name, call)
    ]


@pytest.mark.slow
def test_nothing_is_run_that_was_only_read() -> None:
    refused = {"eval", "exec", "pickle.load", "pickle.loads", "marshal.loads", "torch.load"}
    found = {
        (path.relative_to(PACKAGE), name)
        for path in SOURCES
        for name, _ in calls(path)
        if name in refused or name.startswith("tempfile.mktemp")
    }
    # What `opwright check` and the process that it started tell each other, over pipes and memory of their own.
    own = {Path("check", name) for name in ("calls/last_call.py", "isolation/supervisor.py", "isolation/worker.py")}
    assert found == {(RUNS_SCRIPTS, "exec"), *((path, "pickle.loads") for path in own)}


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
    with pytest.raises(Exception, match=r"touch|can't|';': No such file"):
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


def test_a_folder_of_a_unit_that_others_could_write_to_is_not_read_again(
    compiled: Callable[..., Built], answering: Callable[..., Path], answer: Callable[[Built], int]
) -> None:
    built = compiled(answering(41))
    folder = built.path.parent
    (folder / "left").write_text("by somebody")
    folder.chmod(0o777)
    again = compiled(answering(41))
    assert not again.cached
    assert answer(again) == 41
    assert folder.stat().st_mode & 0o777 == 0o700
    assert not (folder / "left").exists()
    assert compiled(answering(41)).cached
    assert not list(folder.parent.glob(".away-*"))


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
