"""install, uninstall, status; OPWRIGHT_LEGACY; what importing costs."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

import opwright.legacy
from opwright.legacy import installation, patching
from opwright.legacy.patching import Change

PACKAGE = Path(opwright.legacy.__file__).parent
SOURCE = str(PACKAGE.parent.parent)


@pytest.fixture(autouse=True)
def taken_back() -> Iterator[None]:
    opwright.legacy.uninstall()
    yield
    opwright.legacy.uninstall()


def run(code: str, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([environment.pop("PYTHONPATH", ""), SOURCE]).lstrip(os.pathsep)
    return subprocess.run(
        [sys.executable, *words, "-c", code], capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": path, **environment},
    )  # fmt: skip


def printed(code: str, *words: str, **environment: str) -> list[str]:
    done = run(code, *words, **environment)
    assert (done.stderr, done.returncode) == ("", 0)
    return done.stdout.splitlines()


def test_names() -> None:
    assert opwright.legacy.__all__ == ["create_extension", "install", "status", "uninstall"]
    assert dir(opwright.legacy) == opwright.legacy.__all__
    with pytest.raises(AttributeError, match=r"module 'opwright.legacy' has no attribute 'nothing'"):
        opwright.legacy.nothing  # noqa: B018


def test_installed_and_taken_back() -> None:
    assert not hasattr(torch.utils, "ffi")
    assert str(opwright.legacy.status()) == "opwright.legacy is not installed"
    opwright.legacy.install()
    opwright.legacy.install()
    ffi = importlib.import_module("torch.utils.ffi")

    assert ffi.create_extension is opwright.legacy.create_extension
    status = opwright.legacy.status()
    assert (status.installed, status.waiting) == (True, False)
    assert "torch.utils.ffi" in [change.name for change in status.changes]
    assert "\n  torch.utils.ffi  " in str(status)
    assert all(change.does for change in status.changes)
    opwright.legacy.uninstall()
    opwright.legacy.uninstall()
    assert "torch.utils.ffi" not in sys.modules
    assert not hasattr(torch.utils, "ffi")
    assert opwright.legacy.status() == (False, False, ())


def test_what_another_installed_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = type(sys)("torch.utils.ffi")
    monkeypatch.setitem(sys.modules, "torch.utils.ffi", theirs)
    monkeypatch.setattr(torch.utils, "ffi", theirs, raising=False)
    opwright.legacy.install()
    assert sys.modules["torch.utils.ffi"] is not theirs
    opwright.legacy.uninstall()
    assert sys.modules["torch.utils.ffi"] is theirs
    assert vars(torch.utils)["ffi"] is theirs


def test_all_or_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A change that can't be made takes those before it back."""
    undone: list[str] = []

    def change(name: str) -> Change:
        def apply() -> Callable[[], None]:
            if name == "third":
                raise RuntimeError("not today")
            return lambda: undone.append(name)

        return Change(name, "something", apply)

    module = type(sys)("offers")
    module.CHANGES = tuple(map(change, ("first", "second", "third")))  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "offers", module)
    monkeypatch.setattr(installation, "_OFFERS", ("offers",))
    with pytest.raises(RuntimeError, match="not today"):
        opwright.legacy.install()
    assert undone == ["second", "first"]
    assert opwright.legacy.status() == (False, False, ())


# Before torch is imported


def test_nothing_is_imported_for_it() -> None:
    code = "import sys, opwright; print(*[n for n in sys.modules if n.startswith('opwright')])"
    assert not any("legacy" in name for name in printed(code)[0].split())
    code = """import sys
before = set(sys.modules)
import opwright.legacy
opwright.legacy.install()
print(opwright.legacy.status().waiting, [each.name for each in opwright.legacy.status().changes])
new = {name.partition(".")[0] for name in set(sys.modules) - before}
print(sorted(new & {"torch", "cffi", "numpy", "tempfile", "subprocess", "pathlib"}))
opwright.legacy.uninstall()
import sys
print(opwright.legacy.status(), [f for f in sys.meta_path if "opwright" in type(f).__module__])
"""
    assert printed(code) == [
        "True ['async']",
        "[]",
        "opwright.legacy is not installed []",
    ]


@pytest.mark.slow
def test_it_happens_at_the_end_of_import_torch() -> None:
    code = """import sys
import opwright.legacy
opwright.legacy.install()
from torch.utils.ffi import create_extension
import torch
print(create_extension.__module__, type(torch.__loader__).__name__, torch.__loader__ is torch.__spec__.loader)
print(opwright.legacy.status().waiting, [f for f in sys.meta_path if "opwright" in type(f).__module__])
"""
    assert printed(code) == ["opwright.legacy.ffi.create SourceFileLoader True", "False []"]


def test_a_module_that_cannot_be_imported_or_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_module.py").write_text("1 / 0\n")
    (tmp_path / "fine_module.py").write_text("def f():\n    return 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    called: list[str] = []
    offs = [
        patching.after_import(name, lambda name=name: called.append(name))  # type: ignore[misc]
        for name in ("broken_module", "fine_module", "no_module", "called_off")
    ]
    offs[3]()
    with pytest.raises(ZeroDivisionError):
        importlib_import("broken_module")
    with pytest.raises(ModuleNotFoundError, match="No module named 'no_module'"):
        importlib_import("no_module")
    assert not patching.is_imported("fine_module")
    importlib_import("fine_module")
    assert patching.is_imported("fine_module")
    assert called == ["fine_module"]
    for off in offs:
        off()


def importlib_import(name: str) -> None:
    sys.modules.pop(name, None)
    __import__(name)


def test_a_change_that_fails_does_not_break_import_torch() -> None:
    code = """import sys, types
import opwright.legacy, opwright.legacy.installation as installation
from opwright.legacy.patching import Change
failing = Change("x", "nothing", lambda: 1 / 0)
sys.modules["offers"] = types.SimpleNamespace(CHANGES=(failing,))
installation._OFFERS = ("offers",)
opwright.legacy.install()
import torch
print(torch.ones(1).item(), opwright.legacy.status().changes)
"""
    done = run(code)
    assert done.stdout == "1.0 ()\n"
    assert done.stderr == "opwright: legacy support is not installed: ZeroDivisionError: division by zero\n"


# Without cffi


_WITHOUT_CFFI = """
import sys
sys.modules["cffi"] = None
import importlib.util
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name == "cffi" else find(name, package)
import opwright.legacy
"""


def test_without_cffi() -> None:
    code = """
for step in ("import torch.utils.ffi", "opwright.legacy.create_extension('a', [], [])"):
    try:
        exec(step)
    except ImportError as error:
        print(error)
"""
    text = ["torch.utils.ffi requires the cffi package", "  likely fix: pip install cffi, or opwright[legacy]"]
    assert printed(f"{_WITHOUT_CFFI}opwright.legacy.install()\n{code}") == text * 2


# The environment variable


SHOW = "import sys, opwright.legacy as l; print(l.status().installed, 'torch' in sys.modules)"


def test_the_line_that_every_interpreter_runs(tmp_path: Path) -> None:
    """Of the .pth file in the wheel; site runs such lines from folders of packages."""
    line = (PACKAGE / "opwright_legacy.pth").read_text()
    assert len(line.splitlines()) == 1
    (tmp_path / "opwright_legacy.pth").write_text(line)
    code = f"import site; site.addsitedir({str(tmp_path)!r}); {SHOW}"
    assert printed(code, OPWRIGHT_LEGACY="1") == ["True False"]
    for off in ("", "0"):
        assert printed(code, OPWRIGHT_LEGACY=off) == ["False False"]
    quiet = f"import site, sys; site.addsitedir({str(tmp_path)!r}); print('opwright' in sys.modules)"
    assert printed(quiet, OPWRIGHT_LEGACY="0") == ["False"]


def test_the_wheel_holds_that_line() -> None:
    text = (PACKAGE.parent.parent.parent / "pyproject.toml").read_text()
    assert '"src/opwright/legacy/opwright_legacy.pth" = "opwright_legacy.pth"' in text


def test_the_folder_for_children(tmp_path: Path) -> None:
    site = str(PACKAGE / "run" / "site")
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.theirs = __file__\n")
    show = f"{SHOW}; print(getattr(sys, 'theirs', None), {site!r} in sys.path, sys.modules['sitecustomize'].__file__)"
    theirs = str(tmp_path / "sitecustomize.py")
    found = printed(show, OPWRIGHT_LEGACY="1", PYTHONPATH=os.pathsep.join([site, str(tmp_path)]))
    assert found == ["True False", f"{theirs} False {theirs}"]
    assert printed(SHOW, OPWRIGHT_LEGACY="1", PYTHONPATH=site) == ["True False"]
    assert printed(SHOW, PYTHONPATH=site, OPWRIGHT_LEGACY="0") == ["False False"]


def test_an_interpreter_starts_whatever_is_wrong(tmp_path: Path) -> None:
    """Opwright isn't there; or is broken."""
    site = str(PACKAGE / "run" / "site")
    without = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    words = [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = [{site!r}]; import sitecustomize; print('up')"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env={**without, "OPWRIGHT_LEGACY": "1"})
    assert (done.stdout, done.stderr) == ("up\n", "")
    code = """import opwright.legacy.startup as startup, sys
sys.modules["opwright.legacy.installation"] = None
startup.start()
print("up")
"""
    done = run(code, OPWRIGHT_LEGACY="1")
    assert done.stdout == "up\n"
    expected = (
        "opwright: OPWRIGHT_LEGACY has no effect: ModuleNotFoundError: import of opwright.legacy.installation halted"
    )
    assert done.stderr.splitlines()[-1].startswith(expected)
