"""Libraries that are linked from the object file of another unit."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

import pytest

from opwright.toolchain import Options, Unit, build
from opwright.toolchain.build import linked_object
from opwright.toolchain.build.linked_object import LinkObject
from opwright.toolchain.cache.store import files_read

TEXT = '#include "value.h"\nextern "C" __attribute__((visibility("default"))) int answer() { return VALUE + %d; }\n'


def linked(project: Path, name: str, add: int = 0) -> Path:
    """Return the library `name` of an object file whose function returns ``VALUE + add``."""
    inner = Unit("inner", TEXT % add, project / "inner.cpp", embeds=True)
    unit = Unit(name, "", addition=LinkObject(inner, Options(native=False, relocatable=True)))
    return build(unit, Options(native=False)).path


def answer(library: Path) -> int:
    """Call the function of a library."""
    return int(ctypes.CDLL(str(library)).answer())


def test_two_libraries_of_one_object(project: Path, counting: Callable[[], int]) -> None:
    (project / "value.h").write_text("#define VALUE 1\n")
    first = linked(project, "first")
    compiled = counting()
    assert answer(first) == 1
    second = linked(project, "second")
    assert second != first
    assert answer(second) == 1
    assert linked(project, "first") == first
    # Its own empty text, and the link: the object isn't compiled again.
    assert counting() - compiled < compiled


def test_an_edit_of_a_text_or_of_a_header_of_the_object(project: Path) -> None:
    (project / "value.h").write_text("#define VALUE 1\n")
    first = linked(project, "one")
    assert answer(linked(project, "one", add=4)) == 5
    (project / "value.h").write_text("#define VALUE 2\n")
    assert answer(linked(project, "one")) == 2
    (project / "value.h").write_text("#define VALUE 1\n")
    assert linked(project, "one") == first


def test_an_object_whose_headers_arent_known(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its record may be gone when it is linked: then no record is kept that a header's edit wouldn't change."""
    (project / "value.h").write_text("#define VALUE 1\n")
    monkeypatch.setattr(linked_object, "files_read", lambda _: [])
    assert answer(linked(project, "unknown")) == 1
    monkeypatch.setattr(linked_object, "files_read", files_read)
    (project / "value.h").write_text("#define VALUE 2\n")
    assert answer(linked(project, "unknown")) == 2
