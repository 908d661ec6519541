"""Entry points for setuptools: they find a project's libraries and register the commands that build them.

setuptools calls them for every project that is built in an environment with Opwright. For a project without libraries
they only read its pyproject.toml.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from opwright.errors import PackagingError

if TYPE_CHECKING:
    from opwright.packaging.config import Library

_TABLE = b"opwright"


def from_pyproject(distribution: Any) -> None:
    """Register the libraries of ``[tool.opwright.libraries]``.

    This is an entry point ``setuptools.finalize_distribution_options``.
    """
    file = Path("pyproject.toml")
    if not file.is_file() or _TABLE not in file.read_bytes():
        return
    from opwright.packaging.config import from_pyproject as read
    from opwright.packaging.config import runtimes

    def both() -> list[Library]:
        distribution.opwright_runtimes = runtimes(Path.cwd())
        return read(Path.cwd())

    _judged(distribution, both, "pyproject.toml")


def from_setup_py(distribution: Any, attribute: str, value: object) -> None:
    """Register the libraries of ``setup(opwright_libraries={"my_package.ops": {...}})``.

    This is an entry point ``distutils.setup_keywords``.
    """
    from opwright.packaging.config import read_libraries

    _judged(distribution, lambda: read_libraries(value, f"setup({attribute}=...)"), "setup.py")


def _judged(distribution: Any, read: Any, place: str) -> None:
    from setuptools.errors import SetupError

    try:
        _add(distribution, read(), place)
    except PackagingError as error:  # setuptools prints its own errors without a traceback
        raise SetupError(str(error)) from error


def _add(distribution: Any, libraries: list[Library], place: str) -> None:
    """Add the libraries to the distribution and register the build commands; repeated calls change nothing."""
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
    from opwright.packaging.setuptools_commands import build_opwright, for_every_python, with_operators, without_built

    commands = distribution.cmdclass
    commands[build_opwright.__name__] = build_opwright
    commands["build"] = with_operators(distribution.get_command_class("build"))
    commands["egg_info"] = without_built(distribution.get_command_class("egg_info"))
    commands["bdist_wheel"] = for_every_python(distribution.get_command_class("bdist_wheel"))
    # The package depends on the platform: modules are installed to platlib, and the wheel isn't pure.
    distribution.has_ext_modules = lambda: True
