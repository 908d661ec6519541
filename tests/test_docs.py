"""Every code block of the README and of docs/ runs; what it prints is what it says it prints."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.interpreter import run_python

ROOT = Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs").glob("**/*.md"))
# A translation's code is that of the page it translates (see below), which runs.
TRANSLATIONS = [path for path in PAGES if path.suffixes[:-1] in ([".ko"], [".zh"])]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(path for path in PAGES if path not in TRANSLATIONS)]
# Pages whose blocks take long: all together, `make test` stays within its time.
SLOW: tuple[str, ...] = (
    "tutorial/",
    "how_to/torch_compile",
    "how_to/first_cuda",
)
EXAMPLES = sorted((ROOT / "examples").glob("*/README.md"))
KERNELS = ("**/*.c", "**/*.cpp", "**/*.cu", "**/*.cuh", "**/*.h")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PYTHON_FILE = re.compile(r"# (\S+\.py)\n")


def name_of(document: Path) -> str:
    return document.relative_to(ROOT).as_posix().removeprefix("docs/")


def marked(documents: list[Path]) -> list[Any]:
    slow = {path: pytest.mark.exhaustive if name_of(path).startswith(SLOW) else () for path in documents}
    return [pytest.param(path, id=name_of(path), marks=slow[path]) for path in documents]


def blocks(document: Path, language: str) -> list[str]:
    return [code for name, code in BLOCK.findall(document.read_text()) if name == language]


def files_of(document: Path) -> dict[str, str]:
    """C++ and C blocks, whose first line names a file, Python blocks whose first line does, and a Makefile."""
    named = {}
    for language in ("cpp", "c"):
        for code in blocks(document, language):
            first = re.match(r"// (\S+)\n", code)
            assert first, f"a {language} block of {document.name} has no first line with its file's name"
            named[first[1]] = code
    for code in blocks(document, "python"):
        if first := PYTHON_FILE.match(code):
            named[first[1]] = code
    named.update(("Makefile", code) for code in blocks(document, "make"))
    return named


def write_files(document: Path, folder: Path) -> None:
    for name, text in files_of(document).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


@pytest.mark.slow
@pytest.mark.parametrize("document", marked(DOCUMENTS))
def test_python_blocks_run(document: Path, tmp_path: Path) -> None:
    write_files(document, tmp_path)
    script = "\n".join(code for code in blocks(document, "python") if not PYTHON_FILE.match(code))
    if not script and not files_of(document):
        pytest.skip("no Python or C++ in it")
    done = run_python(script, folder=tmp_path, strict=True)
    assert done.returncode == 0, done.stderr
    expected = [line[2:] for line in script.splitlines() if line.startswith("# ")]
    assert done.stdout.splitlines() == expected


@pytest.mark.slow
@pytest.mark.parametrize("document", EXAMPLES, ids=lambda path: path.parent.name)
def test_python_blocks_of_an_example_run_in_its_folder(document: Path) -> None:
    script = "\n".join(blocks(document, "python"))
    done = run_python(script, folder=document.parent, strict=True)
    assert done.returncode == 0, done.stderr
    assert script


@pytest.mark.parametrize("document", EXAMPLES, ids=lambda path: path.parent.name)
def test_cpp_blocks_of_an_example_are_in_its_sources(document: Path) -> None:
    sources = "".join(path.read_text() for pattern in KERNELS for path in document.parent.glob(pattern))
    for line in "".join([*blocks(document, "cpp"), *blocks(document, "c")]).splitlines():
        assert line in sources


def run_make(words: list[str], folder: Path) -> None:
    """A document's own Makefile; nvcc compiles for one GPU, since for all of them it takes minutes."""
    ours = f"OPWRIGHT={sys.executable} -m opwright"
    environment = {**os.environ, "TORCH_CUDA_ARCH_LIST": "8.0"}
    command = [shutil.which("make") or "make", *words, ours]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr


def commands_of(document: Path) -> list[list[str]]:
    """The words of each command of a page that is ours, or make's."""
    lines = "\n".join(blocks(document, "sh")).splitlines()
    return [words for line in lines if (words := shlex.split(line, comments=True)) and words[0] in ("make", "opwright")]


def with_commands() -> list[Path]:
    """The pages with commands, except those whose commands are all on a page before them, and are about no file."""
    chosen, seen = [], set[tuple[str, ...]]()
    for document in DOCUMENTS:
        files = files_of(document)
        here = {
            tuple(words if files.keys().isdisjoint(words) else [*words, str(document)])
            for words in commands_of(document)
        }
        if here - seen or (here and "Makefile" in files):
            chosen.append(document)
            seen |= here
    return chosen


@pytest.mark.slow
@pytest.mark.parametrize("document", marked(with_commands()))
def test_shell_blocks_name_what_exists(document: Path, tmp_path: Path) -> None:
    """`make` targets exist; `opwright` commands run (the demo and the targets themselves are run by CI)."""
    write_files(document, tmp_path)
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for words in commands_of(document):
        if words[0] == "make" and not blocks(document, "make"):
            assert words[1] in targets, words
            continue
        if words[0] == "make":
            run_make(words[1:], tmp_path)
            continue
        asked = [*words[1:], "--help"] if words[1:] == ["demo"] else words[1:]
        done = run_python("opwright", *asked, folder=tmp_path, module=True)
        assert done.returncode == 0, done.stderr


def test_no_block_of_another_kind() -> None:
    kinds = {name_of(path): {name for name, _ in BLOCK.findall(path.read_text())} for path in DOCUMENTS}
    kinds["notebook.md"].discard("ipython")  # cells, which tests/notebook runs
    assert set().union(*kinds.values()) <= {"python", "cpp", "c", "sh", "make", "text"}


@pytest.mark.parametrize("document", TRANSLATIONS, ids=name_of)
def test_a_translation_has_the_blocks_of_its_original(document: Path) -> None:
    original = document.with_suffix("").with_suffix(".md")
    assert BLOCK.findall(document.read_text()) == BLOCK.findall(original.read_text())


@pytest.mark.parametrize("language", ["ko", "zh"])
def test_the_tutorial_is_there_in_every_language(language: str) -> None:
    pages = [path for path in DOCUMENTS if path.parent.name == "tutorial"]
    assert pages
    for path in pages:
        assert path.with_suffix(f".{language}.md") in TRANSLATIONS, path


def test_the_measured_table_is_that_of_the_results() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools/write_figures.py"), "--check"], check=False, env=dict(os.environ)
    )
    assert done.returncode == 0, "run tools/write_figures.py"
