"""Sources, headers and caches in folders with names that shells and makefiles dislike."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from opwright.errors import CompileError
from opwright.toolchain import Built, Options, Unit, build, include_line

ODD = [
    "with space", "it's", 'double"quote', "$HOME ${x} $(x) $$", "back\\slash", "tab\there", "hash#tag", "semi;colon",
    "co:lon", "per%cent", "ünï-код-日本", "-dash", "@at", "a=b,c", "star*?[x]", "(paren) & | < >", "~tilde", " edge ",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", ODD)
def test_odd_folders(
    name: str, any_compiler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    answering: Callable[..., Path], answer: Callable[[Built], int],
) -> None:  # fmt: skip
    home = tmp_path / name
    (home / "include").mkdir(parents=True)
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(home / "cache"))
    source = answering("NEAR + FAR", '#include "near.h"\n#include <far.h>', home / "op.cpp")
    (home / "near.h").write_text("#define NEAR 1\n")
    (home / "include" / "far.h").write_text("#define FAR 10\n")
    options = Options(include_dirs=(home / "include",))
    unit = Unit("op", include_line(source) + "\n", source)
    built = build(unit, options)
    assert home / "cache" in built.path.parents
    assert answer(built) == 11
    unlisted = "clang" in any_compiler and {"\\", "\t"} & set(name)  # clang writes other names in its depfile
    assert build(unit, options).cached is not bool(unlisted)
    for header, line, expected in (("near.h", "#define NEAR 2\n", 12), ("include/far.h", "#define FAR 20\n", 22)):
        (home / header).write_text(line)
        again = build(unit, options)
        assert not again.cached
        assert answer(again) == expected


@pytest.mark.slow
@pytest.mark.parametrize("name", ODD)
def test_errors_in_odd_folders(name: str, any_compiler: str, tmp_path: Path) -> None:
    source = tmp_path / name / "op.cpp"
    source.parent.mkdir()
    source.write_text("int fine;\nint x = oops;\n")
    with pytest.raises(CompileError) as error:
        build(Unit("op", include_line(source) + "\n", source))
    assert str(error.value).splitlines()[0].startswith(f"{source}:2:9: error: ")
    assert "oops" in str(error.value).splitlines()[0]
