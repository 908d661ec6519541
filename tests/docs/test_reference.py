"""The reference has all that there is: it is made from the code, and here compared with it."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import opwright
from opwright import errors
from opwright.check.checks import all_checks
from opwright.cli import cli
from opwright.doctor.environment import OTHERS, OURS

KERNELS_USE = """
Tensor Strided parallel_for gemm Workspace OPWRIGHT_CHECK Generator Resizable sigmoid fma check_launch CUDA_KERNEL_LOOP
opw_call
"""
pytestmark = pytest.mark.slow  # the site is built for them
HEADERS = Path(opwright.__file__).parent / "include"


@pytest.fixture
def text(site: Path, request: pytest.FixtureRequest) -> str:
    """What is read on a page of the reference, in its own column."""
    page = (site / f"reference/{request.param}.html").read_text()
    article = page[page.index("<article") : page.index("</article>")]
    return html.unescape(re.sub(r"<[^>]*>", "", article))


def on(page: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("text", [page], indirect=True)


def words(text: str) -> set[str]:
    return set(re.findall(r"[\w.-]+", text))


def commands(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    yield name, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for below in command.list_commands(context):
            found = command.get_command(context, below)
            assert found
            yield from commands(found, f"{name} {below}")


@on("commands")
def test_every_command_and_option(text: str) -> None:
    found = dict(commands(cli, "opwright"))
    assert len(found) > 12
    for name, command in found.items():
        assert re.search(rf"^{name}¶?$", text, re.MULTILINE), name
        for option in command.params:
            assert isinstance(option, click.Argument) or option.opts[0] in words(text), (name, option.opts)


@on("headers")
def test_every_header(text: str) -> None:
    for path in (HEADERS / "opwright").glob("**/*.h"):
        if not {"shadow", "device", "fallback", "host"} & {*path.parts}:  # stand for headers of others
            assert path.relative_to(HEADERS).as_posix() in text


@on("headers")
@pytest.mark.parametrize("name", KERNELS_USE.split())
def test_what_kernels_use_is_declared(text: str, name: str) -> None:
    assert name in words(text)


@on("headers")
def test_no_declaration_shows_the_inside(text: str) -> None:
    public = text[: text.index("The rest")]
    assert "None..." not in public
    assert "data_" not in words(public)


@on("python")
def test_every_public_name(text: str) -> None:
    for name in opwright.__all__:
        assert name in (*errors.__all__, "__version__") or f"opwright.{name}" in words(text), name


@on("python")
def test_no_role_of_sphinx_is_shown(text: str) -> None:
    assert not re.findall(r":(?:attr|class|data|exc|func|meth|mod|obj):", text)


@on("errors")
def test_every_error(text: str) -> None:
    assert {f"opwright.{name}" for name in errors.__all__} <= words(text)
    assert "::" not in text
    assert "``" not in text


@on("checks")
def test_every_check(text: str) -> None:
    for check in all_checks().values():
        assert f"\n{check.name}\n{check.group}\n" in text, check.name


@on("environment")
def test_every_variable(text: str) -> None:
    assert OURS.keys() | OTHERS.keys() <= words(text)


@on("notation")
def test_every_rule(text: str) -> None:
    grammar = (Path(opwright.__file__).parent / "signature/notation.lark").read_text()
    for line in grammar.splitlines():
        assert line.startswith("// ") or line.removeprefix("//> ") in text, line
