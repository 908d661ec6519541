"""Whatever lies in the cache, it is used only if it is whole; else it is built again."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from opwright.codegen import KernelSource
from opwright.errors import ToolchainError
from opwright.signature import DType
from opwright.toolchain import Built, Options, Unit, build
from opwright.toolchain.cache.manifest import content

Compiled = Callable[..., Built]
Damage = Callable[[Path], object]
ELF_CLASS, ELF_MACHINE = 4, 18


def overwrite(data: bytes, at: int) -> Damage:
    def do(path: Path) -> None:
        blob = bytearray(path.read_bytes())
        blob[at : at + len(data)] = data
        path.write_bytes(blob)

    return do


def cut(part: float) -> Damage:
    return lambda path: os.truncate(path, int(path.stat().st_size * part))


def become(what: Callable[[Path], object]) -> Damage:
    def do(path: Path) -> None:
        if path.is_dir():
            path.rename(path.with_name("away"))
        else:
            path.unlink(missing_ok=True)
        what(path)

    return do


def full_folder(path: Path) -> None:
    (path / "deep").mkdir(parents=True)
    (path / "deep" / "file").write_text("something")


def own_library_elsewhere(path: Path) -> None:
    path.symlink_to(sys.executable)


ANYTHING: dict[str, Damage] = {
    "gone": lambda path: path.unlink(),
    "empty": cut(0),
    "text": lambda path: path.write_text("something else\n"),
    "garbage": lambda path: path.write_bytes(os.urandom(path.stat().st_size)),
    "a folder": become(full_folder),
    "a link to nothing": become(lambda path: path.symlink_to("nowhere")),
    "a link to itself": become(lambda path: path.symlink_to(path.name)),
    "a link elsewhere": become(own_library_elsewhere),
    "a pipe": become(os.mkfifo),
}
LIBRARY: dict[str, Damage] = {
    **ANYTHING,
    "half of it": cut(0.5),
    "all but the end": cut(0.999),
    "one page": lambda path: os.truncate(path, 4096),
    "longer": lambda path: os.truncate(path, path.stat().st_size + 1),
    "zeros": lambda path: path.write_bytes(bytes(path.stat().st_size)),
    "a zero page": overwrite(bytes(4096), 4096),
    "one bit": lambda path: overwrite(bytes([path.read_bytes()[5000] ^ 1]), 5000)(path),
    "of another processor": overwrite(struct.pack("<H", 183), ELF_MACHINE),
    "of 32 bits": overwrite(b"\x01", ELF_CLASS),
    "a program": lambda path: path.write_bytes(Path(sys.executable).read_bytes()),
}


@pytest.mark.slow
@pytest.mark.parametrize("damage", LIBRARY)
def test_a_damaged_library(
    damage: str, compiled: Compiled, answering: Callable[..., Path], answer: Callable[[Built], int],
    start: Callable[..., subprocess.Popen[str]], ended: Callable[..., tuple[int, str, str]],
) -> None:  # fmt: skip
    source = answering("41")
    LIBRARY[damage](compiled(source).path)
    status, output, errors = ended(start(source))  # another process: this one could have it mapped
    assert (status, errors) == (0, "")
    assert output.split()[1:3] == ["False", "41"]
    assert compiled(source).cached


def record(**changes: object) -> Damage:
    def do(path: Path) -> None:
        records = json.loads(path.read_text())
        path.write_text(json.dumps([{**each, **changes} for each in records]))

    return do


def older(path: Path) -> None:
    records = json.loads(path.read_text())
    path.write_text(json.dumps([{name: each[name] for name in each if name != "digest"} for each in records]))


MANIFEST: dict[str, Damage] = {
    **ANYTHING,
    "half of it": cut(0.5),
    "deep": lambda path: path.write_text("[" * 100_000),
    "of an older version": older,
    "of a newer version": record(more=1),
    "a path for a name": record(library="../../../../bin/sh"),
    "numbers for texts": record(library=3, stamp=4),
    "texts for numbers": record(size="many"),
    "lists of numbers": record(system=[1], names=[2]),
    "no list": lambda path: path.write_text("3"),
    "nothing": lambda path: path.write_text("null"),
}


@pytest.mark.slow
@pytest.mark.parametrize("damage", MANIFEST)
def test_a_damaged_manifest(
    damage: str, compiled: Compiled, answering: Callable[..., Path], answer: Callable[[Built], int]
) -> None:
    source = answering("41")
    MANIFEST[damage](compiled(source).path.parent / "manifest.json")
    built = compiled(source)
    assert not built.cached
    assert answer(built) == 41
    assert compiled(source).cached


@pytest.mark.sampled(4)
@pytest.mark.slow
@pytest.mark.parametrize("damage", ANYTHING)
@pytest.mark.parametrize("name", ["lock", "op.opwright.cpp", "compile_commands.json", "build.log"])
def test_other_damaged_files(
    damage: str, name: str, compiled: Compiled, answering: Callable[..., Path], answer: Callable[[Built], int]
) -> None:
    source = answering("41; int unused")
    folder = compiled(source).path.parent
    (folder / "build.log").touch()
    ANYTHING[damage](folder / name)
    assert compiled(source).cached  # none of them is needed
    (folder / "manifest.json").unlink()
    built = compiled(source)
    assert not built.cached
    assert answer(built) == 41
    assert compiled(source).cached


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["a link to nothing", "a link to itself", "a pipe", "a file"])
@pytest.mark.parametrize("up", [1, 2])
def test_something_else_for_a_folder(
    damage: str, up: int, compiled: Compiled, answering: Callable[..., Path], answer: Callable[[Built], int]
) -> None:
    source = answering("41")
    folder = compiled(source).path.parents[up - 1]
    ({**ANYTHING, "a file": become(Path.touch)}[damage])(folder)
    built = compiled(source)
    assert not built.cached
    assert answer(built) == 41
    assert compiled(source).cached


def test_strange_things_in_a_folder(
    compiled: Compiled, answering: Callable[..., Path], leftovers: Callable[[], list[str]]
) -> None:
    source = answering("41")
    folder = compiled(source).path.parent
    full_folder(folder / ".work-1-dead")
    (folder / ".work-file").write_text("")
    (folder / ".work-link").symlink_to("/")
    (folder / "manifest.json").unlink()
    assert not compiled(source).cached
    assert leftovers() == []
    assert Path("/").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "3", "null", "[" * 100_000, '{"kind": "gcc"}', "\0\0\0",
     '{"kind": "gcc", "version": "abc", "target": "x", "line": "y", "system_dirs": []}',
     '{"kind": 3, "version": [], "target": null, "line": 1, "system_dirs": [4]}',
     '{"kind": "gcc", "version": [12, 2], "target": "x86_64-linux-gnu", "line": "", "system_dirs": 7}'],
)  # fmt: skip
def test_what_is_remembered_of_a_compiler(
    content: str, compiled: Compiled, answering: Callable[..., Path], root: Path
) -> None:
    source = answering("41")
    compiled(source)
    (file,) = set(root.glob("compilers/*.json")) - set(root.glob("compilers/last-*.json"))
    good = file.read_text()
    file.write_text(content)
    assert compiled(source).cached
    assert file.read_text() == good


def test_a_cache_of_an_older_version(compiled: Compiled, answering: Callable[..., Path], root: Path) -> None:
    """Another layout altogether, as a later or earlier version may have left it."""
    for name in ("units", "compilers", "lock", "version.json", "v0/units/x"):
        full_folder(root / name / "old") if "." not in name else (root / name).write_text("{}")
    for path in (root, *root.rglob("*")):
        path.chmod(0o700)
    assert not compiled(answering("41")).cached
    assert compiled(answering("41")).cached


def test_a_library_that_others_can_write_to_is_not_run(compiled: Compiled, answering: Callable[..., Path]) -> None:
    source = answering("41")
    path = compiled(source).path
    for mode in (0o777, 0o720, 0o702):
        path.chmod(mode)
        assert not compiled(source).cached
        assert path.stat().st_mode & 0o022 == 0
        assert compiled(source).cached
    os.link(path, path.with_name("elsewhere"))
    assert compiled(source).cached


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_another_users_library_is_not_run(compiled: Compiled, answering: Callable[..., Path]) -> None:
    source = answering("41")
    path = compiled(source).path
    os.chown(path, 12345, -1)
    assert not compiled(source).cached
    assert path.stat().st_uid == 0
    os.chown(path.parent, 12345, -1)
    with pytest.raises(ToolchainError, match=rf"{path.parent} belongs to user 12345, not to user 0"):
        compiled(source)


def test_a_folder_of_units_that_others_can_write_to_is_refused(
    compiled: Compiled, answering: Callable[..., Path]
) -> None:
    source = answering("41")
    folder = compiled(source).path.parents[1]
    folder.chmod(0o770)
    with pytest.raises(ToolchainError, match=rf"{folder} has mode 0770: others can put code into it"):
        compiled(source)
    folder.chmod(0o700)
    assert compiled(source).cached


def test_a_units_folder_that_others_can_write_to_is_not_read_again(
    compiled: Compiled, answering: Callable[..., Path], root: Path
) -> None:
    source = answering("41")
    path = compiled(source).path
    path.parent.chmod(0o770)
    path.write_bytes(b"put there by somebody else")
    assert not compiled(source).cached
    assert path.read_bytes().startswith(b"\x7fELF")
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert not list(root.rglob(".away-*"))


def test_a_careless_umask_makes_nothing_public(compiled: Compiled, answering: Callable[..., Path], root: Path) -> None:
    before = os.umask(0)
    try:
        path = compiled(answering("41")).path
    finally:
        os.umask(before)
    for each in (path, path.parent, path.parents[1], path.parents[2]):
        assert each.stat().st_mode & 0o022 == 0
    assert compiled(answering("41")).cached


def test_a_foreign_library_whose_record_agrees_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing but its loading can tell; and a loader that has it once keeps it under that name."""
    torch = pytest.importorskip("torch")
    import opwright
    from opwright.runtime.native.runtime import native

    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(Path(tempfile.gettempdir()) / f"opwright-tests-{os.geteuid()}"))
    native()
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path / "extensions"))
    source = tmp_path / "foreign.cpp"
    source.write_text(KERNEL)
    library = Path(KernelSource(source, Options()).library({"T": DType.F32}))
    os.replace(build(Unit("other", "int nothing_of_ours;\n")).path, library)
    size = library.stat().st_size
    record(size=size, digest=content(library, size))(library.parent / "manifest.json")
    assert opwright.load(source).f(torch.ones(2)).tolist() == [3.0, 3.0]
    assert len(list(library.parent.glob("*.so"))) == 2


_LOAD = """
import torch, opwright
ops = opwright.load({source!r})
print(ops.f(torch.ones(2)).tolist())
"""
KERNEL = """#include <opwright.h>
OPWRIGHT("f(x: T[N]) -> (y: T[N])")
template <class T> void f(Tensor<const T, 1> x, Tensor<T, 1> y) {
  for (int64_t i = 0; i < x.numel(); ++i) y[i] = 3 * x[i];
}
"""


@pytest.mark.exhaustive  # it builds the runtime
def test_a_damaged_runtime(tmp_path: Path, root: Path) -> None:
    source = tmp_path / "triple.cpp"
    source.write_text(KERNEL)

    def load() -> tuple[str, str]:
        words = [sys.executable, "-c", _LOAD.format(source=str(source))]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout, done.stderr

    assert "building the runtime" in load()[1]
    assert load() == ("[3.0, 3.0]\n", "")
    (library,) = root.glob("units/opwright-runtime-*/*.so")
    cut(0.5)(library)
    assert "building the runtime" in load()[1]
    # Foreign, and the record agrees with it: nothing but the loading itself can tell.
    (kernel,) = root.glob("units/triple-*/*.so")
    library.write_bytes(kernel.read_bytes())
    record(size=library.stat().st_size, digest=content(library, library.stat().st_size))(
        library.parent / "manifest.json"
    )
    output, errors = load()
    assert output == "[3.0, 3.0]\n"
    assert errors.count("building the runtime") == 1
    assert load() == ("[3.0, 3.0]\n", "")
