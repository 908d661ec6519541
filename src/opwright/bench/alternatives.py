"""Alternatives to an operator: callables, expressions, source files, git revisions, ``torch.compile`` of them."""

from __future__ import annotations

import ast
import builtins
import hashlib
import io
import itertools
import os
import re
import subprocess
import tarfile
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from opwright.bench.request import RequestError
from opwright.bench.tasks import Candidate, Function
from opwright.check.calls.target_operator import TargetOperator
from opwright.check.calls.tensor_lists import like, over_tensors
from opwright.check.gradients.derived_twin import without_backward
from opwright.check.report import Skipped
from opwright.check.targets import find_operators, is_source, resolve_name
from opwright.errors import SourceError
from opwright.signature.derivatives import without_hash

Against = Mapping[str, Any] | Iterable[Any] | str | Callable[..., Any]
"""Alternatives by name, several, or one; each is a callable or a string (see `Alternatives.candidate`)."""

COMPILE = "compile:"
DERIVED = "derived"
_OBJECT = re.compile(r"[\w./\\-]+:[A-Za-z_][\w.]*")


def named_alternatives(against: Against) -> dict[str, Any]:
    """Return alternatives by name: the string itself, or the callable's name, with a number if the name is taken."""
    if isinstance(against, Mapping):
        return dict(against)
    if isinstance(against, (str, os.PathLike)) or callable(against):
        against = (against,)
    named: dict[str, Any] = {}
    for alternative in against:
        named[unused_name(_name(alternative), named)] = alternative
    return named


def unused_name(name: str, taken: Container[str]) -> str:
    """Return the name, with the lowest free number appended if it is taken."""
    numbered = (f"{name} ({number})" for number in itertools.count(2))
    return name if name not in taken else next(other for other in numbered if other not in taken)


def _name(alternative: Any) -> str:
    if isinstance(alternative, (str, os.PathLike)):
        return os.fspath(alternative)
    return without_hash(str(getattr(alternative, "__name__", type(alternative).__name__)))


@dataclass(frozen=True)
class Alternatives:
    """A factory of candidates for one operator.

    Attributes:
        subject: the operator.
        folder: folder for files that must exist as long as the candidates.
        load_options: of `opwright.load`, for other builds of the operator.
        device: the device that modules are moved to.
    """

    subject: TargetOperator
    folder: Path
    load_options: Mapping[str, Any]
    device: str

    def candidate(self, name: str, alternative: Any) -> Candidate:
        """Return the candidate for a callable or a string.

        A string is a source file (another build of the operator), ``module:name`` or ``file.py:name``, an expression
        over the operator's arguments, ``derived`` (the operator with a derived gradient in place of its handwritten
        one), a revision of the git repository that contains its source, or one of these after ``compile:``.

        Raises:
            SourceError: the string is none of these, or can't be found.
            RequestError: an expression uses an unknown name, or isn't valid Python; no gradient can be derived.
        """
        if isinstance(alternative, str) and alternative.startswith(COMPILE):
            function = self._function(alternative.removeprefix(COMPILE))
            return Candidate(name, function, lambda: _compile(function))
        return Candidate(name, self._function(alternative))

    def _function(self, alternative: Any) -> Function:
        if isinstance(alternative, os.PathLike):
            return self._build(Path(alternative))
        if isinstance(alternative, str):
            is_file = is_source(alternative) and Path(alternative).exists()
            return self._build(Path(alternative)) if is_file else self._parse(alternative)
        if not callable(alternative):
            kind = type(alternative).__name__
            raise RequestError(f"an alternative is a callable or a text, not {kind}: {alternative!r}")
        return self._instantiate(alternative)

    def _parse(self, text: str) -> Function:
        whole = self.subject.with_lists or self.subject
        arguments = [param.name for param in whole.signature.inputs]
        if _OBJECT.fullmatch(text):
            return self._instantiate(resolve_name(text))
        if names_in(text) & {*arguments, "torch"}:
            return over_tensors(function_of(text, arguments, self.folder), self.subject.signature)
        if text == DERIVED:
            return self._derive()
        source = self.subject.sources[0].path if self.subject.sources else None
        if source is not None and is_revision(text, source):
            return self._build(check_out(text, source, self.folder))
        check_syntax(text, arguments)
        raise SourceError(
            f"{text!r} is no alternative to {self.subject.name}()\n"
            f"  expected:     an expression over {', '.join(arguments)}; module:name or file.py:name; a source file; "
            f"{DERIVED}; a git revision of the operator's source; one of these after compile:"
        )

    def _derive(self) -> Function:
        try:
            twin = without_backward(self.subject)
        except Skipped as reason:
            raise RequestError(f"there is no derived gradient of {self.subject.name}() to compare: {reason}") from None
        return like(twin, self.subject.signature).function

    def _build(self, path: Path) -> Function:
        """Return the operator of the same name in another file, or the file's only operator."""
        operators = {each.name: each for each in find_operators(os.fspath(path), load_options=dict(self.load_options))}
        if self.subject.name not in operators and len(operators) != 1:
            listed = ", ".join(operators) or "none"
            raise SourceError(f"{path} has no operator {self.subject.name}; it has: {listed}")
        found = operators.get(self.subject.name) or next(iter(operators.values()))
        return like(found, self.subject.signature).function

    def _instantiate(self, value: Any) -> Function:
        """Instantiate a module's class, and move a module to the arguments' device."""
        if isinstance(value, type):
            value = value.apply if issubclass(value, torch.autograd.Function) else value()
        if isinstance(value, torch.nn.Module) and self.device == "cuda":
            value = value.to("cuda")
        return over_tensors(value, self.subject.signature)


def _compile(function: Function) -> Function:
    """Compile for the next sizes; without the reset, the second sizes would be compiled with dynamic shapes."""
    torch.compiler.reset()
    compiled: Function = torch.compile(function, dynamic=False)
    return compiled


_ABBREVIATIONS = {"F": "import torch.nn.functional as F", "nn": "from torch import nn"}


def names_in(text: str) -> set[str]:
    """Return the free names of an expression; an empty set if the text isn't an expression."""
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError:
        return set()
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    bound = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    parameters = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    return {node.id for node in names if isinstance(node.ctx, ast.Load)} - bound - parameters


def check_syntax(text: str, arguments: Sequence[str]) -> None:
    """Check the syntax of a string that looks like an expression: it contains an argument's name, or ``torch``.

    Raises:
        RequestError: it isn't valid Python.
    """
    if not set(re.findall(r"\w+", text)) & {*arguments, "torch"}:
        return
    try:
        ast.parse(text.strip(), mode="eval")
    except SyntaxError as error:
        line = (error.text or "").rstrip("\n")
        mark = " " * ((error.offset or 1) - 1) + "^"
        raise RequestError(f"{text!r} is no Python expression: {error.msg}\n    {line}\n    {mark}") from None


def function_of(text: str, arguments: Sequence[str], folder: Path) -> Callable[..., Any]:
    """Write a module with an expression as a function of `arguments`, and import it.

    Thus tracebacks and ``torch.compile`` find its source.

    Modules whose names it uses are imported; ``F`` is ``torch.nn.functional`` and ``nn`` is ``torch.nn``.

    Args:
        text: the expression.
        arguments: names of the function's arguments, in order.
        folder: the folder for the module.

    Raises:
        RequestError: a name in it is neither an argument nor a module.
    """
    imports = [_import(name, text, arguments) for name in sorted(names_in(text) - set(arguments) - set(dir(builtins)))]
    head = f"def alternative({', '.join(arguments)}):"
    source = "\n".join([*imports, head, f"    return ({text.strip()}\n    )", ""])
    path = folder / f"expression_{hashlib.sha256(source.encode()).hexdigest()[:12]}.py"
    path.write_text(source)
    function: Callable[..., Any] = resolve_name(f"{path}:alternative")
    return function


def _import(name: str, text: str, arguments: Sequence[str]) -> str:
    if name in _ABBREVIATIONS:
        return _ABBREVIATIONS[name]
    try:
        spec = find_spec(name)
    except (ImportError, ValueError):
        spec = None
    if spec is None and not Path(f"{name}.py").exists():
        raise RequestError(
            f"{text!r}: {name} is neither an argument of the operator nor a module\n"
            f"  arguments:    {', '.join(arguments)}"
        )
    return f"import {name}"


def is_revision(name: str, source: Path) -> bool:
    """Return whether `name` is a commit of the git repository that contains `source`."""
    if name.startswith("-") or not name:
        return False
    try:
        return _git(source.parent, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}").returncode == 0
    except FileNotFoundError:  # no git
        return False


def check_out(revision: str, source: Path, into: Path) -> Path:
    """Extract the repository's files of a revision into a folder below `into`; return the path of `source` in it.

    The repository itself isn't changed: no branch, no worktree, no index.

    Raises:
        SourceError: the file doesn't exist in that revision.
    """
    top = Path(_output(source.parent, "rev-parse", "--show-toplevel").strip())
    inside = source.resolve().relative_to(top.resolve())
    commit = _output(source.parent, "rev-parse", "--short", f"{revision}^{{commit}}").strip()
    folder = into / f"revision_{commit}"
    if not folder.exists():
        archive = _git(top, "archive", "--format=tar", commit)
        with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
            files.extractall(folder, filter="data")
    if not (folder / inside).exists():
        raise SourceError(f"{inside} doesn't exist in revision {revision} ({commit})")
    return folder / inside


def _git(folder: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["git", "-C", str(folder), *words], capture_output=True, check=False)  # noqa: S607


def _output(folder: Path, *words: str) -> str:
    done = _git(folder, *words)
    if done.returncode:
        raise SourceError(f"git {' '.join(words)}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout.decode()
