"""Generated pages of the reference: names, errors, checks, environment variables."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterable

import opwright
from opwright import errors, log
from opwright.check.checks import all_checks
from opwright.doctor.environment import OTHERS, OURS

# Modules with public names for users; errors are on a page of their own.
MODULES = ("opwright", "opwright.check", "opwright.bench", "opwright.cpp_extension", "opwright.legacy", "opwright.log")


def names(module: str) -> list[str]:
    """Return the public names of a module that have a section on its page."""
    loaded = importlib.import_module(module)
    mine = [name for name in loaded.__all__ if name not in (*errors.__all__, "__version__")]
    return [name for name in mine if _is_documented(getattr(loaded, name))]


def _is_documented(value: object) -> bool:
    return inspect.isclass(value) or inspect.isroutine(value) or inspect.ismodule(value)


def _others(module: str) -> str:
    """Return the constants and type aliases."""
    loaded = importlib.import_module(module)
    named = [f"`{name}`" for name in loaded.__all__ if not _is_documented(getattr(loaded, name))]
    return f"Also there: {', '.join(named)}.\n" if named else ""


def python() -> str:
    """Return the page of Python's public names; mkdocstrings shows their signatures and docstrings."""
    parts = ["# Python\n"]
    seen: set[str] = set()
    for module in MODULES:
        new = [name for name in names(module) if _origin(module, name) not in seen]
        seen |= {_origin(module, name) for name in new}
        parts += [f"\n## {module}\n\n{_summary(module)}\n\n", _others(module)]
        parts += [_directive(_origin(module, name), f"{module}.{name}") for name in new]
    return "".join(parts) + "\n## Fixtures of pytest\n" + "".join(map(_fixture, fixtures()))


def fixtures() -> list[str]:
    """Return the fixtures of Opwright's pytest plug-in."""
    plugin = importlib.import_module("opwright.pytest_plugin")
    return [name for name, value in vars(plugin).items() if type(value).__name__ == "FixtureFunctionDefinition"]


def _fixture(name: str) -> str:
    return _directive(f"opwright.pytest_plugin.{name}", name)


def _directive(path: str, heading: str) -> str:
    return f'\n::: {path}\n    options:\n      heading: "{heading}"\n      toc_label: "{heading}"\n'


def _origin(module: str, name: str) -> str:
    """Return the path of a name's definition, since mkdocstrings reads the source without running it."""
    value = getattr(importlib.import_module(module), name)
    if inspect.ismodule(value):  # opwright.check is a package that can be called
        return f"{value.__name__}.{name}"
    return f"{value.__module__}.{value.__qualname__}"


def _summary(module: str) -> str:
    return inspect.cleandoc(importlib.import_module(module).__doc__ or "").partition("\n")[0]


def exceptions() -> str:
    """Return the page of exceptions, each with its base class."""
    rows = ((name, getattr(errors, name)) for name in errors.__all__)
    listed = ((f"`opwright.{name}`", _bases(error), _first(error)) for name, error in rows)
    return f"# Errors\n\n{_shown(errors.__doc__ or '')}\n\n{table(('error', 'is a', 'when'), listed)}"


def _shown(documented: str) -> str:
    """Convert a docstring to Markdown; text after `::` is shown literally, backticks included."""
    text = re.sub(r"^::\n\n", "", inspect.cleandoc(documented), flags=re.MULTILINE)
    return "\n".join(line.replace("``", "") if line.startswith("    ") else line for line in text.splitlines())


def _bases(error: type[Exception]) -> str:
    return ", ".join(f"`{base.__name__}`" for base in error.__bases__)


def checks() -> str:
    """Return the page of the checks of `opwright check`."""
    rows = (
        (f"`{check.name}`", check.group, "by name" if check.on_request else check.level, _first(check.body))
        for check in all_checks().values()
    )
    return (
        "# Checks\n\nWhat `opwright check` tries ([how to use it](../check.md)), in the order in which it does. "
        "The level is the quickest run that a check is part of; one that runs `by name` is only run where it, or its "
        "group, is asked for.\n\n" + table(("check", "group", "level", "what holds"), rows)
    )


def environment() -> str:
    """Return the page of environment variables and log levels."""
    ours = table(("variable", "what it is"), ((f"`{name}`", text) for name, text in OURS.items()))
    others = table(("variable", "what it is"), ((f"`{name}`", text) for name, text in OTHERS.items()))
    levels = ", ".join(f"`{level}`" for level in log.LEVELS)
    return (
        "# Environment variables\n\n[`opwright doctor`](../doctor.md) judges those that are set.\n\n"
        f"## Opwright's own\n\n{ours}\n`OPWRIGHT_LOG` is one of {levels}; [what each has](../logging.md).\n\n"
        f"## Those of others that are heeded\n\n{others}"
    )


def _first(documented: object) -> str:
    return inspect.cleandoc(inspect.getdoc(documented) or "").partition("\n")[0].replace("|", "\\|")


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Return a Markdown table."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def index() -> str:
    """Return the sections of the reference."""
    return (
        "# Reference\n\nAll but the first page are made from the code whenever the documentation is built, "
        f"here from Opwright {opwright.__version__}.\n\n"
        "- [From the signature to C++](../signature_to_cpp.md): what each form of the notation becomes, and how "
        "the kernel gets sizes.\n"
        "- [The notation](notation.md): the grammar of signatures, with examples.\n"
        "- [Headers](headers.md): what a kernel's author includes.\n"
        "- [Python](python.md): what a program imports.\n"
        "- [Commands](commands.md): `opwright` in a shell.\n"
        "- [Checks](checks.md): what `opwright check` tries.\n"
        "- [Errors](errors.md) and [environment variables](environment.md).\n"
    )
