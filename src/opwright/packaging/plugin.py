"""What setuptools calls: entry points that find a project's libraries, and bring the commands that build them.

They are called for every project that is built where Opwright is installed, so a project without libraries costs a look
at its pyproject.toml.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from opwright.errors import PackagingError

if TYPE_CHECKING:
    from opwright.packaging.config import Library

_TABLE = b"opwright"


def from_pyproject(distribution: Any) -> None:
    """Entry point ``setuptools.finalize_distribution_options``: what ``[tool.opwright.libraries]`` describes."""
    file = Path("pyproject.toml")
    if not file.is_file() or _TABLE not in file.read_bytes():
        return
    from opwright.packaging.config import from_pyproject as read

    _judged(distribution, lambda: read(Path.cwd()), "pyproject.toml")


def from_setup_py(distribution: Any, attribute: str, value: object) -> None:
    """Entry point ``distutils.setup_keywords``: ``setup(opwright_libraries={"my_package.ops": {...}})``."""
    from opwright.packaging.config import read_libraries

    _judged(distribution, lambda: read_libraries(value, f"setup({attribute}=...)"), "setup.py")


def _judged(distribution: Any, read: Any, place: str) -> None:
    from setuptools.errors import SetupError

    try:
        _add(distribution, read(), place)
    except PackagingError as error:  # of its own classes setuptools prints the text alone
        raise SetupError(str(error)) from error


def _add(distribution: Any, libraries: list[Library], place: str) -> None:
    """Note the libraries, once, however often this is called, and have the commands build them."""
    if not libraries:
        return
    if not hasattr(distribution, "opwright_found"):
        distribution.opwright_found = {}
        _bring_commands(distribution)
    for library in libraries:
        before, _ = distribution.opwright_found.setdefault(library.name, (place, library))
        if before != place:
            raise PackagingError(
                f"{library.name} is described in {before} and in {place}\n  likely fix: remove one of them"
            )


def _bring_commands(distribution: Any) -> None:
    from opwright.packaging.commands import build_opwright, with_operators, without_built
    from opwright.packaging.tagged import for_every_python

    commands = distribution.cmdclass
    commands[build_opwright.__name__] = build_opwright
    commands["build"] = with_operators(distribution.get_command_class("build"))
    commands["egg_info"] = without_built(distribution.get_command_class("egg_info"))
    commands["bdist_wheel"] = for_every_python(distribution.get_command_class("bdist_wheel"))
    # What is built is of this platform: modules go to platlib, and the wheel isn't pure.
    distribution.has_ext_modules = lambda: True
