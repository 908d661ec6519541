"""What an operator is compared with: from what a caller names to functions of its arguments."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from opwright.bench.calls import Candidate, Function
from opwright.bench.expression import check_syntax, function_of, names_in
from opwright.bench.refusal import RequestError
from opwright.bench.revision import checked_out, is_revision
from opwright.check.subject import Subject
from opwright.check.targets import is_source, resolved, subjects
from opwright.errors import SourceError

Against = Mapping[str, Any] | Iterable[Any] | str | Callable[..., Any]
"""Alternatives by name, or several, or one; each is a callable or a text (see `Alternatives.of`)."""

COMPILE = "compile:"
_OBJECT = re.compile(r"[\w./\\-]+:[A-Za-z_][\w.]*")


def named(against: Against) -> dict[str, Any]:
    """Every alternative by its name: the text itself, or the callable's own name, with a number where that is taken."""
    if isinstance(against, Mapping):
        return dict(against)
    if isinstance(against, (str, os.PathLike)) or callable(against):
        against = (against,)
    found: dict[str, Any] = {}
    for each in against:
        found[free(each if isinstance(each, str) else _name(each), found)] = each
    return found


def free(name: str, taken: Container[str]) -> str:
    """The name, or the same with the first number that makes it another one than those."""
    numbered = (f"{name} ({number})" for number in itertools.count(2))
    return name if name not in taken else next(each for each in numbered if each not in taken)


def _name(given: Any) -> str:
    if isinstance(given, os.PathLike):
        return str(os.fspath(given))
    return str(getattr(given, "__name__", type(given).__name__))


@dataclass(frozen=True)
class Alternatives:
    """Makes candidates for one operator.

    Attributes:
        subject: the operator.
        folder: for files that are needed as long as the candidates are.
        load_options: of `opwright.load`, for other builds of the operator.
        device: what modules are moved to.
    """

    subject: Subject
    folder: Path
    load_options: Mapping[str, Any]
    device: str

    def of(self, name: str, given: Any) -> Candidate:
        """The candidate that a callable stands for, or a text.

        A text is a source file (another build of the operator), ``module:name`` or ``file.py:name``, an expression over
        the operator's arguments, a revision of the repository in which its source lies, or one of these after
        ``compile:``.

        Raises:
            SourceError: nothing of the kind is found.
            RequestError: an expression uses what it can't, or Python can't read it.
        """
        if isinstance(given, str) and given.startswith(COMPILE):
            plain = self._function(given.removeprefix(COMPILE))
            return Candidate(name, plain, lambda: _compiled(plain))
        return Candidate(name, self._function(given))

    def _function(self, given: Any) -> Function:
        if isinstance(given, os.PathLike) or (isinstance(given, str) and is_source(given) and Path(given).exists()):
            return self._build(Path(given))
        if isinstance(given, str):
            return self._called(given)
        if not callable(given):
            raise RequestError(f"an alternative is a callable or a text, not {type(given).__name__}: {given!r}")
        return self._ready(given)

    def _called(self, text: str) -> Function:
        arguments = [param.name for param in self.subject.signature.inputs]
        if _OBJECT.fullmatch(text):
            return self._ready(resolved(text))
        if names_in(text) & {*arguments, "torch"}:
            return function_of(text, arguments, self.folder)
        source = self.subject.sources[0].path if self.subject.sources else None
        if source is not None and is_revision(text, source):
            return self._build(checked_out(text, source, self.folder))
        check_syntax(text, arguments)
        raise SourceError(
            f"{text!r} is no alternative to {self.subject.name}()\n"
            f"  expected:     an expression over {', '.join(arguments)}; module:name or file.py:name; a source file; "
            "a git revision of the operator's source; one of these after compile:"
        )

    def _build(self, path: Path) -> Function:
        """The operator of the same name in another file, or the only one there."""
        found = {each.name: each for each in subjects(os.fspath(path), load_options=dict(self.load_options))}
        if self.subject.name not in found and len(found) != 1:
            listed = ", ".join(found) or "none"
            raise SourceError(f"{path} has no operator {self.subject.name}; it has: {listed}")
        other = found.get(self.subject.name) or next(iter(found.values()))
        return other.function

    def _ready(self, given: Any) -> Function:
        """A module's class made, a module moved to where the arguments are."""
        if isinstance(given, type) and issubclass(given, torch.autograd.Function):
            function: Function = given.apply
            return function
        made = given() if isinstance(given, type) else given
        if isinstance(made, torch.nn.Module) and self.device == "cuda":
            made = made.to("cuda")
        ready: Function = made
        return ready


def _compiled(function: Function) -> Function:
    """Compiled for the sizes that come; without the reset, the second ones would be compiled for all that there are."""
    torch.compiler.reset()
    compiled: Function = torch.compile(function, dynamic=False)
    return compiled
