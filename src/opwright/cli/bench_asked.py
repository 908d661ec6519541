"""What ``opwright bench`` was asked for, in words: what is wrong with it is said before anything is measured."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from pathlib import Path

import click
from click.core import ParameterSource

# No Python expression begins with words and a single equals sign.
_LABEL = re.compile(r"\s*([A-Za-z][\w+ ,.-]*?)\s*=(?!=)\s*(.+)", re.DOTALL)


def understood(check: Callable[[], None], profile: Path | None, limit: str | None) -> float | None:
    """The limit; what may be wrong with a command is said before anything is measured."""
    from opwright.bench.limit import percentage

    check()
    if profile and not profile.absolute().parent.is_dir():
        raise click.FileError(str(profile), "its folder doesn't exist")
    try:
        return None if limit is None else percentage(limit)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--fail-if-slower") from error


def refuse_idle(why: str, *used: str) -> None:
    """Refuse options that would do nothing.

    Args:
        why: what makes them do nothing.
        used: the names of the parameters that do something.

    Raises:
        click.UsageError: others were given.
    """
    context = click.get_current_context()
    given = [each for each in context.command.params if _is_given(context, each) and each.name not in used]
    if given:
        names = (each.opts[0] if isinstance(each, click.Option) else repr(context.params["target"]) for each in given)
        raise click.UsageError(f"{why}: {', '.join(names)} would do nothing")


def _is_given(context: click.Context, each: click.Parameter) -> bool:
    source = context.get_parameter_source(each.name or "")
    return source is ParameterSource.COMMANDLINE and context.params.get(each.name or "") is not None


def sizes(texts: Collection[str]) -> dict[str, tuple[float, ...]]:
    """Axes and their sizes."""
    from opwright.bench.axes import parse_axis

    found: dict[str, tuple[float, ...]] = {}
    for text in texts:
        try:
            name, given = parse_axis(text)
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint="--axis") from error
        if name in found:
            raise click.UsageError(f"--axis {name} is there twice; several sizes are written {name}=16,32")
        found[name] = given
    return found


def labelled(against: Collection[str]) -> dict[str, str]:
    """Alternatives by what tables call them."""
    found: dict[str, str] = {}
    for text in against:
        match = _LABEL.fullmatch(text)
        label, what = (match[1], match[2]) if match else (text, text)
        if label in found:
            raise click.UsageError(f"two alternatives are called {label!r}; a label goes before: LABEL=WHAT")
        found[label] = what
    return found
