"""From what a caller names to the operators that are meant."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch._ops import OpOverload, OpOverloadPacket

from opwright.check.assigned import assigned
from opwright.check.files import load_files
from opwright.check.modules import module, own
from opwright.check.registered import of_namespace, ours
from opwright.check.reproducer import spoken
from opwright.check.subject import Reference, Subject
from opwright.errors import SignatureError, SourceError
from opwright.signature import parse

Target = Any
"""See :func:`subjects`."""

SOURCES = {".c", ".cpp", ".cc", ".cxx", ".c++", ".C", ".cu"}


def subjects(
    target: Target,
    *,
    signature: str | Sequence[str] | None = None,
    reference: Reference | str | None = None,
    load_options: dict[str, Any] | None = None,
) -> list[Subject]:
    """The operators that `target` stands for; backwards go with their forwards.

    Args:
        target: a source file, or one of its operators as ``"file.cpp:name"``; ``"module:name"`` or
            ``"file.py:name"``; the `Operators` that ``load`` gave; an
            ``OpOverload`` (or its packet); a subclass of ``torch.autograd.Function``; a pair of callables, forward and
            backward; any callable.
        signature: the operator's, where Opwright didn't build it; two for a pair of callables.
        reference: a function that is known to be right, of the same arguments, or ``"module:name"``,
            ``"file.py:name"``, ``"file.cpp:name"``; of several operators, it is that one's whose name it has.
        load_options: for a source file, arguments of `opwright.load`.

    Raises:
        SignatureError: a signature is missing.
        SourceError: the target can't be found; or it has several operators, and none has the reference's name.
    """
    from opwright.runtime import Operators

    known = resolved(reference) if isinstance(reference, str) else reference
    called = "" if known is None else reference.rpartition(":")[2] if isinstance(reference, str) else _name(known)
    if isinstance(target, (str, os.PathLike)):
        found = _named(os.fspath(target), signature, known, load_options or {})
        return assigned(found, known, called, os.fspath(target))
    if isinstance(target, Operators):
        return assigned(of_namespace(target), known, called, "it")
    if isinstance(target, OpOverloadPacket):
        target = getattr(target, target.overloads()[0])
    if isinstance(target, OpOverload) and (mine := ours(target)):
        return [replace(mine, reference=known)]
    return [_foreign(target, signature, known)]


def is_source(target: Target) -> bool:
    """Whether it is the path of a source file."""
    return isinstance(target, (str, os.PathLike)) and Path(target).suffix in SOURCES


def resolved(name: str) -> Any:
    """The object that ``module:name``, ``file.py:name`` or ``file.cpp:name`` stands for.

    Raises:
        SourceError: there is none.
    """
    where, _, attribute = name.rpartition(":")
    if is_source(where):
        return subjects(name)[0].function
    if not where and name.endswith(".py"):
        listed = ", ".join(f"{name}:{each}" for each in own(module(name))) or "no function"
        raise SourceError(f"{name} is a file, expected one of its functions as file.py:name; it has: {listed}")
    if not where:
        raise SourceError(f"{name!r} names no object; expected module:name, file.py:name or file.cpp:name")
    home = module(where)
    found: Any = home
    for part in attribute.split("."):
        if not hasattr(found, part):
            listed = ", ".join(sorted(each for each in vars(home) if not each.startswith("_")))
            raise SourceError(f"{where} has no {attribute!r}; it has: {listed}")
        found = getattr(found, part)
    return found


def _named(
    name: str, signature: str | Sequence[str] | None, reference: Reference | None, options: dict[str, Any]
) -> list[Subject]:
    if signature and (is_source(name) or is_source(name.rpartition(":")[0])):
        raise SignatureError(
            f"{name} is a source file, whose operators' signatures stand in it: there is none to be given\n"
            "  likely fix: leave signature= (--signature) out, or write it into the file"
        )
    if is_source(name):
        return of_namespace(load_files(name, **options), _loading(name, options))
    where, _, attribute = name.rpartition(":")
    if is_source(where):
        return [_of_file(where, attribute, subjects(where, load_options=options))]
    target = resolved(name)
    found = subjects(target, signature=signature, reference=reference)
    if where.endswith(".py"):
        folder, where = str(Path(where).absolute().parent), Path(where).stem
        imports: tuple[str, ...] = ("import sys", f"sys.path.insert(0, {folder!r})", f"import {where}")
    else:
        imports = (f"import {where}",)
    one = f"{where}.{attribute}.apply" if _is_function(target) else f"{where}.{attribute}"
    return [replace(s, imports=imports, expression=one if len(found) == 1 else f"{one}.{s.name}") for s in found]


def _of_file(path: str, name: str, found: Sequence[Subject]) -> Subject:
    """One of a file's operators."""
    for subject in found:
        if subject.name == name:
            return subject
    listed = ", ".join(subject.name for subject in found) or "none"
    raise SourceError(f"{path} has no operator {name!r}; it has: {listed}")


def _loading(name: str, options: dict[str, Any]) -> tuple[str, ...]:
    words = "".join(f", {key}={value!r}" for key, value in options.items())
    return ("import opwright", f"ops = opwright.load({str(Path(name).absolute())!r}{words})")


def _foreign(target: Any, signature: str | Sequence[str] | None, reference: Reference | None) -> Subject:
    """What somebody else built."""
    texts = [signature] if isinstance(signature, str) else list(signature or ())
    name = _name(target)
    if not texts:
        raise SignatureError(
            f"{name} wasn't built by Opwright, so its signature has to be given\n"
            f'  likely fix: signature="{name}(x: T[...]) -> (y: T[...])"'
        )
    if isinstance(target, (tuple, list)):
        return _pair(target, texts, reference)
    parsed = parse(texts[0])
    function: Callable[..., Any] = target.apply if _is_function(target) else target
    op = target if isinstance(target, OpOverload) else None
    if op is not None:
        return Subject(parsed.name, parsed, function, op, reference, expression=f"torch.ops.{op}")
    called, where = spoken(target, name, {param.name for param in parsed.inputs})
    called = f"{called}.apply" if _is_function(target) else called
    return Subject(parsed.name, parsed, function, None, reference, imports=(where,), expression=called)


def _pair(target: Sequence[Callable[..., Any]], texts: Sequence[str], reference: Reference | None) -> Subject:
    from opwright.aten.differentiable import differentiable

    if len(target) != len(texts) or len(target) not in (2, 3):
        raise SignatureError(
            f"got {len(target)} callables and {len(texts)} signatures, expected a forward and a backward (and perhaps "
            "that one's backward) with a signature each"
        )
    op = differentiable(*target, signature=texts, namespace=f"checked_{parse(texts[0]).name}")
    found = ours(op)
    assert found is not None  # noqa: S101 - it was made just now
    return replace(found, reference=reference)


def _is_function(target: Any) -> bool:
    return isinstance(target, type) and issubclass(target, torch.autograd.Function)


def _name(target: Any) -> str:
    if isinstance(target, (tuple, list)) and target:
        target = target[0]
    if isinstance(target, OpOverload):
        return target._opname  # noqa: SLF001
    return getattr(target, "__name__", type(target).__name__)
