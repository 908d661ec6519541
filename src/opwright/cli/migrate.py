"""``opwright migrate``: finds uses of removed PyTorch features in old extensions, and rewrites them."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from opwright.errors import SourceError
from opwright.migrate import Examined, Finding, examine, first_generation, source_files, write_file

_LEFT, _FAILED = 1, 2
_REPORTED = ("line", "name", "status", "today", "by_hand", "note")
"""What ``--json`` prints of a finding."""


@click.command("migrate")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--write", "rewrite", is_flag=True, help="Rewrite the files.")
@click.option("--diff", is_flag=True, help="Show what --write changes.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: for each file its findings.")
def command(paths: tuple[Path, ...], rewrite: bool, diff: bool, as_json: bool) -> None:
    """Report what extensions in PATHS use that PyTorch has removed or deprecated, with what to write instead.

    C, C++, CUDA, Python, Makefiles, and scripts of shells and CMake; of either generation, torch.utils.ffi or
    torch.utils.cpp_extension. What is fully understood is rewritten by --write; nothing else is touched. Needs no
    PyTorch and no compiler.

    The status is 0 when nothing is left to do, 1 when something is, 2 when a file could not be read or written.
    """
    examined, errors = _examine_all(paths)
    if rewrite:
        errors += [error for file in examined if (error := _write(file))]
    if as_json:
        click.echo(json.dumps(_to_json(examined, errors, rewritten=rewrite), indent=2))
    else:
        _show(examined, rewritten=rewrite, diff=diff)
    for error in errors:
        click.echo(f"opwright: error: {error}", err=True)
    raise click.exceptions.Exit(_status(examined, errors, rewritten=rewrite))


def _examine_all(paths: Sequence[Path]) -> tuple[list[Examined], list[str]]:
    """Examine every file once; return the results, and errors for unreadable files."""
    examined, errors, seen = [], [], set()
    for path in paths:
        try:
            files = list(source_files(path))
            older = first_generation(files if path.is_dir() else source_files(path.parent))
        except OSError as error:
            errors.append(f"{error.filename}: can't be read: {error.strerror}")
            continue
        for file in files:
            place = file.resolve()
            if place in seen:
                continue
            seen.add(place)
            try:
                examined.append(examine(file, first_generation=file in older))
            except SourceError as error:
                errors.append(str(error))
    return examined, errors


def _write(file: Examined) -> str:
    """Write a changed file; return the error message, or an empty string."""
    if file.after == file.before:
        return ""
    try:
        write_file(file.path, file.before, file.after)
    except OSError as error:
        return f"{file.path}: can't be written: {error.strerror or error}"
    return ""


def _show(examined: Sequence[Examined], *, rewritten: bool, diff: bool) -> None:
    for file in examined:
        for finding in file.findings:
            click.echo(f"{file.path}:{finding.line}: {_describe_finding(finding, rewritten=rewritten)}")
    if diff:
        for file in examined:
            click.echo("".join(_diff(file)).encode("utf-8", "surrogateescape"), nl=False)
    click.echo(_summary(examined, rewritten=rewritten))


def _describe_finding(finding: Finding, *, rewritten: bool) -> str:
    done = "by hand" if finding.by_hand else "rewritten" if rewritten else "--write does it"
    note = f" ({finding.note})" if finding.note else ""
    return f"{finding.name}: {finding.status}; today {finding.today} [{done}]{note}"


def _diff(file: Examined) -> Iterator[str]:
    """Yield a patch with unchanged line endings and bytes; marks a missing newline at the end, as diff does."""
    sides = [text.decode("utf-8", "surrogateescape").split("\n") for text in (file.before, file.after)]
    lines = [[*(f"{line}\n" for line in side[:-1]), *side[-1:]] for side in sides]
    old, new = ([line for line in side if line] for side in lines)
    for line in difflib.unified_diff(old, new, f"a/{file.path}", f"b/{file.path}"):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _summary(examined: Sequence[Examined], *, rewritten: bool) -> str:
    findings = [finding for file in examined for finding in file.findings]
    if not findings:
        return f"nothing found in {_count(len(examined), 'file')}"
    left = sum(finding.by_hand for finding in findings)
    files = sum(bool(file.findings) for file in examined)
    verb = "rewritten" if rewritten else "that --write rewrites"
    return (
        f"{_count(len(findings), 'use')} in {_count(files, 'file')}: {len(findings) - left} {verb}, "
        f"{left} to be done by hand"
    )


def _count(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def _to_json(examined: Sequence[Examined], errors: Sequence[str], *, rewritten: bool) -> dict[str, object]:
    return {
        "files": [
            {
                "path": str(file.path),
                "rewritten": rewritten and file.after != file.before,
                "findings": [{key: getattr(finding, key) for key in _REPORTED} for finding in file.findings],
            }
            for file in examined
            if file.findings
        ],
        "errors": list(errors),
    }


def _status(examined: Sequence[Examined], errors: Sequence[str], *, rewritten: bool) -> int:
    if errors:
        return _FAILED
    left = any(finding.by_hand or not rewritten for file in examined for finding in file.findings)
    return _LEFT if left else 0
