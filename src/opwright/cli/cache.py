"""``opwright cache``: shows, lists and empties the build cache."""

from __future__ import annotations

import json
import time
from collections import Counter

import click

from opwright.doctor.system import format_bytes
from opwright.toolchain import cache_root
from opwright.toolchain.cache.eviction import Entry, clean, entries, size_limit

_DAY = 24 * 3600.0
_AGES = (("days", _DAY), ("h", 3600.0), ("min", 60.0), ("s", 1.0))


@click.group("cache", invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Show the build cache: where it is, how much it holds, its limit (OPWRIGHT_CACHE_SIZE).

    Needs no compiler and no PyTorch.
    """
    if ctx.invoked_subcommand is None:
        _show()


@command.command("path")
def path_command() -> None:
    """Print where the build cache is, and nothing else."""
    click.echo(click.format_filename(cache_root()))


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON: sizes in bytes, times in seconds since 1970.")
def list_command(as_json: bool) -> None:
    """Show each entry of the build cache: when it was last used, its size, its kind and name; the latest first."""
    root = cache_root()
    cached = entries(root)[::-1]
    if as_json:
        rows = [
            {"kind": e.kind, "name": e.path.name, "path": str(e.path), "size": e.size, "used": e.used} for e in cached
        ]
        click.echo(json.dumps({"path": str(root), "limit": size_limit(), "entries": rows}, indent=2))
        return
    now = time.time()
    for entry in cached:
        click.echo(f"{_age(now - entry.used):>8}  {format_bytes(entry.size):>10}  {entry.kind}/{entry.path.name}")


@command.command("clean")
@click.option(
    "--older-than",
    type=click.FloatRange(min=0),
    default=0.0,
    metavar="DAYS",
    help="Only what has not been used for so long.",
)
def clean_command(older_than: float) -> None:
    """Empty the build cache. What is needed again is built again; what is being built stays."""
    gone, kept = clean(cache_root(), older_than * _DAY)
    click.echo(f"removed {_summary(gone)}" + (f"; {_summary(kept)} in use" if kept else ""))


def _show() -> None:
    root, limit = cache_root(), size_limit()
    cached = entries(root)
    click.echo(f"path     {click.format_filename(root)}")
    click.echo(f"size     {_summary(cached)}")
    for kind, count in sorted(Counter(entry.kind for entry in cached).items()):
        click.echo(f"         {kind}: {count}")
    click.echo(f"limit    {'none' if limit is None else format_bytes(limit)}")


def _age(seconds: float) -> str:
    """Format an age in the largest unit of which there are two or more; as 0 s, if two machines' clocks differ."""
    unit, length = next(((unit, each) for unit, each in _AGES if seconds >= 2 * each), ("s", 1.0))
    return f"{max(int(seconds / length), 0)} {unit}"


def _summary(cached: list[Entry]) -> str:
    count = len(cached)
    return f"{format_bytes(sum(entry.size for entry in cached))} in {count} {'entry' if count == 1 else 'entries'}"
