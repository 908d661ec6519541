"""Homes and cache folders that are missing, read-only, full, strangely named, or something else altogether."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from opwright.errors import ToolchainError
from opwright.toolchain import Built, cache_root
from opwright.toolchain.cache import folder as cache_folder

Compiled = Callable[..., Built]
Start = Callable[..., "subprocess.Popen[str]"]
Ended = Callable[..., "tuple[int, str, str]"]
Nobody = tuple[Path, int | None]
FIX = "likely fix: "


def source_in(folder: Path) -> Path:
    source = folder / "op.cpp"
    source.write_text('extern "C" __attribute__((visibility("default"))) int answer() { return 41; }\n')
    return source


@pytest.fixture
def as_nobody(nobody: Nobody, ended: Ended) -> Callable[..., tuple[int, str, str]]:
    """Build as an unprivileged user: ``as_nobody({"HOME": ...})``; variables that are None are not set."""
    folder, somebody = nobody

    def run(variables: dict[str, str | None], user: int | None = None) -> tuple[int, str, str]:
        source = source_in(folder)
        given = {name: value for name, value in variables.items() if value is not None}
        environment = {name: v for name, v in {**os.environ, **given}.items() if variables.get(name, "") is not None}
        words = [sys.executable, "-c", become(user or somebody) + CHILD, str(source)]
        process = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, cwd=folder
        )
        status, output, errors = ended(process)
        assert "Traceback" not in errors
        return status, output, errors

    return run


# Everything is imported before: Python's own files may be another user's.
_BECOME = """
import concurrent.futures.thread, ctypes, encodings.ascii, encodings.idna, os, pkgutil, pwd, shutil, subprocess
import opwright.toolchain
for found in pkgutil.walk_packages(opwright.toolchain.__path__, "opwright.toolchain."):
    __import__(found.name)
os.setgroups([]), os.setgid(65534), os.setuid(USER)
"""


def become(user: int | None) -> str:
    return _BECOME.replace("USER", str(user)) if user else ""


CHILD = """
import ctypes, sys
from pathlib import Path
from opwright.errors import ToolchainError
from opwright.toolchain import Unit, build, include_line
source = Path(sys.argv[1])
try:
    built = build(Unit(source.stem, include_line(source), source))
except ToolchainError as error:
    sys.exit(str(error))
print(ctypes.CDLL(str(built.path)).answer(), ascii(str(built.path)))
"""
NO_VARIABLES: dict[str, str | None] = {"TORCH_EXTENSIONS_DIR": None, "XDG_CACHE_HOME": None}


def test_a_home_that_is_missing_is_made(nobody: Nobody, as_nobody: Callable[..., tuple[int, str, str]]) -> None:
    home = nobody[0] / "no" / "such" / "home"
    status, output, errors = as_nobody({**NO_VARIABLES, "HOME": str(home)})
    assert (status, errors) == (0, "")
    assert output.startswith("41 ")
    assert (home / ".cache" / "opwright").stat().st_mode & 0o777 == 0o700


def test_a_home_that_can_not_be_written_to(nobody: Nobody, as_nobody: Callable[..., tuple[int, str, str]]) -> None:
    home = nobody[0] / "home"
    home.mkdir(mode=0o555)
    status, _, errors = as_nobody({**NO_VARIABLES, "HOME": str(home)})
    assert status == 1
    assert errors.startswith(f"can't write to the build cache {home}/.cache/opwright: Permission denied")
    assert errors.splitlines()[1].startswith(f"  {FIX}free or unlock that place, or set TORCH_EXTENSIONS_DIR to a ")


def test_a_cache_that_can_not_be_written_to(nobody: Nobody, as_nobody: Callable[..., tuple[int, str, str]]) -> None:
    folder, _ = nobody
    variables: dict[str, str | None] = {"TORCH_EXTENSIONS_DIR": str(folder / "x")}
    assert as_nobody(variables)[0] == 0
    shut = [path for path in (folder / "x").rglob("*") if path.is_dir()]
    for path in shut:
        path.chmod(0o500)
    status, output, errors = as_nobody(variables)
    assert (status, errors) == (0, "")  # all is there
    assert output.startswith("41 ")
    (manifest,) = folder.rglob("manifest.json")
    manifest.parent.chmod(0o700)
    manifest.unlink()
    manifest.parent.chmod(0o500)
    status, _, errors = as_nobody(variables)
    assert status == 1
    assert errors.startswith(f"can't write to the build cache {folder}/x/opwright: Permission denied (")
    assert FIX in errors


def test_no_home_at_all(nobody: Nobody, as_nobody: Callable[..., tuple[int, str, str]]) -> None:
    if not nobody[1]:
        pytest.skip("only root can be a user whom nobody knows")
    folder, _ = nobody
    os.chown(folder, 54321, 54321)
    status, _, errors = as_nobody({**NO_VARIABLES, "HOME": None}, user=54321)
    assert (status, errors.splitlines()) == (
        1,
        [
            "there is no place for the build cache: HOME isn't set, and the user database doesn't know user 54321",
            "  likely fix: set HOME, or set TORCH_EXTENSIONS_DIR to a folder of your own",
        ],
    )
    assert sorted(path.name for path in folder.iterdir()) == ["op.cpp"]  # no folder called ~
    assert as_nobody({"TORCH_EXTENSIONS_DIR": str(folder / "x"), "HOME": None}, user=54321)[0] == 0


@pytest.mark.parametrize("home", [None, ""])
def test_without_the_variable_the_user_database_knows(home: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    import pwd

    monkeypatch.delenv("TORCH_EXTENSIONS_DIR")
    monkeypatch.delenv("HOME")
    if home is not None:
        monkeypatch.setenv("HOME", home)
    assert cache_folder._user_cache() == Path(pwd.getpwuid(os.getuid()).pw_dir) / ".cache" / "opwright"


def test_a_file_for_a_folder(tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root.parent.write_text("")
    with pytest.raises(ToolchainError, match=rf"can't write to the build cache {root}: Not a directory.*\n  {FIX}"):
        cache_root()
    root.parent.unlink()
    root.parent.mkdir()
    root.write_text("")
    with pytest.raises(
        ToolchainError, match=rf"the build cache {root} is not a folder\n  {FIX}remove it, or set TORCH"
    ):
        cache_root()


def test_links(root: Path, tmp_path: Path, compiled: Compiled, answering: Callable[..., Path]) -> None:
    root.parent.mkdir()
    target = tmp_path / "elsewhere" / "deep"
    root.symlink_to(target)  # leads nowhere as yet
    path = compiled(answering("41")).path
    assert target in path.parents
    assert compiled(answering("41")).cached
    assert target.stat().st_mode & 0o777 == 0o700
    root.unlink()
    root.symlink_to(root)
    cache_folder._CHECKED.clear()  # as in a new process
    with pytest.raises(ToolchainError, match=rf"the build cache {root} is not a folder|can't write .* symbolic links"):
        cache_root()


def test_a_link_into_a_folder_that_anybody_can_replace(root: Path, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    (shared / "mine").mkdir(parents=True)
    (shared / "mine").chmod(0o700)
    shared.chmod(0o777)
    root.parent.mkdir()
    root.symlink_to(shared / "mine")
    with pytest.raises(ToolchainError, match=rf"lies below {shared}, which has mode 0777: anybody"):
        cache_root()


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [b"sp ace", b"\xff\xfe not utf-8", b"new\nline", b"$(touch pwned);`id`", b"100%", b"-o", b'it\'s "so"']
)
def test_strange_names(
    name: bytes, nobody: Nobody, as_nobody: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    folder, _ = nobody
    for chosen in (os.path.join(str(folder), os.fsdecode(name)), os.fsdecode(name)):  # absolute, relative
        status, output, errors = as_nobody({"TORCH_EXTENSIONS_DIR": chosen})
        assert (status, errors) == (0, "")
        assert output.startswith("41 ")
    assert sorted(os.listdir(os.fsencode(folder))) == sorted([name, b"op.cpp"])


def test_a_relative_folder_where_the_working_folder_is_gone(tmp_path: Path) -> None:
    script = "import os, sys; os.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone')\n"
    words = [sys.executable, "-c", script + CHILD, str(source_in(tmp_path))]
    environment = {**os.environ, "TORCH_EXTENSIONS_DIR": "here"}
    done = subprocess.run(words, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("can't write to the build cache here: No such file or directory\n  likely fix: ")


@pytest.mark.exhaustive  # PyTorch in a process of its own, and its runtime is compiled
def test_an_operator_in_a_folder_with_a_strange_name(tmp_path: Path) -> None:
    source = Path(os.fsdecode(os.path.join(os.fsencode(tmp_path), b"\xff ; x.cpp")))
    source.write_text(
        '#include <opwright.h>\nOPWRIGHT("f(x: f32[N]) -> (y: f32[N])")\n'
        "void f(Tensor<const float, 1> x, Tensor<float, 1> y) { y[0] = 2 * x[0]; }\n"
    )
    script = "import sys, torch, opwright; print(opwright.load(sys.argv[1]).f(torch.ones(1)).item())"
    environment = {**os.environ, "TORCH_EXTENSIONS_DIR": os.path.join(str(tmp_path), os.fsdecode(b"\xff\n$x"))}
    done = subprocess.run(
        [sys.executable, "-c", script, str(source)], env=environment, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, b"2.0\n"), done.stderr


def assert_whole_files(root: Path, load: Callable[[Path], object]) -> None:
    """Nothing under a final name is half a file."""
    for path in root.rglob("*"):
        if path.suffix == ".json":
            json.loads(path.read_text())
        if path.suffix == ".so":
            load(path)
    assert list(root.rglob(".*")) == []


def loadable(path: Path) -> None:
    subprocess.run([sys.executable, "-c", "import ctypes, sys; ctypes.CDLL(sys.argv[1])", str(path)], check=True)


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Callable[[int], Path]]:
    """A file system of that many KiB (made, or changed): ``tiny_disk(64)``."""
    mount, umount = shutil.which("mount"), shutil.which("umount")
    disk = tmp_path / "disk"
    disk.mkdir()

    def resize(kib: int) -> Path:
        words = ["-o", "remount"] if os.path.ismount(disk) else ["-t", "tmpfs"]
        call = [str(mount), *words, "-o", f"size={kib}k,nr_inodes=200,mode=700", "tiny", str(disk)]
        done = subprocess.run(call, capture_output=True, text=True, check=False) if mount else None
        if done is None or done.returncode:
            pytest.skip(f"can't mount a file system: {done.stderr.strip() if done else 'no mount'}")
        return disk

    yield resize
    if os.path.ismount(disk):
        subprocess.run([str(umount), "-l", str(disk)], check=True)


def test_a_full_disk(
    tiny_disk: Callable[[int], Path], monkeypatch: pytest.MonkeyPatch, compiled: Compiled,
    answering: Callable[..., Path], answer: Callable[[Built], int],
) -> None:  # fmt: skip
    root = tiny_disk(16) / "opwright"
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(root.parent))
    source, failures = answering("41"), 0
    for kib in (16, 20, 24, 28, 32, 40, 48, 64, 128):
        tiny_disk(kib)
        try:
            built = compiled(source)
        except ToolchainError as error:
            failures += 1
            assert "No space left on device" in str(error), error  # noqa: PT017 - it may also fit
            assert str(root) in str(error), error  # noqa: PT017
            assert FIX in str(error), error  # noqa: PT017
            assert_whole_files(root, loadable)
            continue
        assert answer(built) == 41
        break
    assert failures >= 2
    assert kib < 128
    assert compiled(source).cached


def test_a_disk_that_fills_while_it_is_compiled(
    tiny_disk: Callable[[int], Path], monkeypatch: pytest.MonkeyPatch, compiled: Compiled, root: Path,
    answering: Callable[..., Path], compiler: Callable[[str], Path],
) -> None:  # fmt: skip
    """Something else takes all the space after the compiler is done: what is left is to publish."""
    disk = tiny_disk(2000)
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(disk))
    compiler(f'"$gxx" "$@" || exit 1\n[ -e "{disk}/filler" ] || cat /dev/zero >"{disk}/filler" 2>/dev/null\nexit 0')
    source = answering("41")
    with pytest.raises(
        ToolchainError, match=rf"can't write to the build cache {disk}/opwright: No space left on dev"
    ) as e:
        compiled(source)
    assert "opwright cache clean" in str(e.value)
    assert_whole_files(disk / "opwright", loadable)
    (disk / "filler").write_text("")
    assert not compiled(source).cached
    assert compiled(source).cached


_LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
"""


@pytest.mark.slow
@pytest.mark.parametrize("size", [0, 100, 1000, 3000, 9000])
def test_files_that_may_not_grow(
    size: int, root: Path, answering: Callable[..., Path], compiled: Compiled, ended: Ended
) -> None:
    source = answering("41")
    words = [sys.executable, "-c", _LIMITED + CHILD, str(source), str(size)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    status, _, errors = ended(process)
    assert status == 1
    assert "Traceback" not in errors
    assert "File too large" in errors or "File size limit exceeded" in errors or "signal 25" in errors, errors
    assert FIX in errors
    assert_whole_files(root, loadable)
    assert not compiled(source).cached


def test_a_disk_whose_programs_may_not_run(
    tiny_disk: Callable[[int], Path],
    monkeypatch: pytest.MonkeyPatch,
    compiled: Compiled,
    answering: Callable[..., Path],
) -> None:
    import ctypes

    from opwright.toolchain.messages.loaders import loading_problem

    disk = tiny_disk(4000)
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(disk))
    path = compiled(answering("41")).path
    mount = shutil.which("mount")
    subprocess.run([str(mount), "-o", "remount,noexec", str(disk)], check=True)
    with pytest.raises(OSError, match="failed to map segment") as caught:
        ctypes.CDLL(str(path))
    assert loading_problem(str(caught.value)) == (
        f"{caught.value}\n  likely fix: its folder is on a file system that is mounted noexec; "
        "set TORCH_EXTENSIONS_DIR to a folder elsewhere"
    )
