"""Resolution of targets: finds the operators of a caller's file, name, function or operator."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from opwright.check.calls.reproducer import callable_expression
from opwright.check.calls.target_operator import Reference, TargetOperator, backward_signature
from opwright.check.calls.tensor_lists import of_tensors, with_reference
from opwright.errors import SignatureError, SourceError
from opwright.languages import LANGUAGES
from opwright.runtime.torch_internals import OpOverload, OpOverloadPacket
from opwright.signature import Signature, parse
from opwright.signature.names import forward_of, identifier_of
from opwright.sources.ops import EXAMPLE, LOAD_ARGUMENT

if TYPE_CHECKING:
    from opwright.runtime import Operators

_modules: dict[Path, tuple[int, Any]] = {}
"""Files that were run, with their modification times: a file's registrations with PyTorch can't be repeated."""
Target = Any
"""See :func:`find_operators`."""


def own_callables(module: Any) -> list[str]:
    """Return the names of the callables that a file defines (those that it only imports are left out)."""
    public = {name: thing for name, thing in vars(module).items() if not name.startswith("_")}
    return sorted(n for n, thing in public.items() if callable(thing) and _home(thing) in ("", module.__name__))


def _home(thing: Any) -> str:
    return str(getattr(thing, "__module__", "") or "")


def load_module(name: str) -> Any:
    """Import a module by its dotted name, or a .py file, which is run again only after a change.

    Raises:
        SourceError: there is no such module or file.
    """
    return _run(Path(name).absolute(), name) if name.endswith(".py") else _imported(name)


def _imported(name: str) -> Any:
    sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and not name.startswith(error.name):
            raise
        text = f"there is no module {name!r}\n  likely fix: write a file as path/to/file.py:name"
        raise SourceError(text) from None
    finally:
        sys.path.pop(0)


def _run(path: Path, as_written: str) -> Any:
    if not path.exists():
        raise SourceError(f"{as_written}: there is no such file")
    changed = path.stat().st_mtime_ns
    known = _modules.get(path)
    if known and known[0] == changed:
        return known[1]
    name = f"{path.stem}_{hashlib.sha256(os.fsencode(path)).hexdigest()[:12]}"  # random.py isn't the module `random`
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None  # noqa: S101, PT018 - a .py file always has one
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    _modules[path] = changed, module
    return module


def load_files(*paths: str | os.PathLike[str], **options: Any) -> Operators:
    """Load source files into a private namespace.

    This makes the result independent of other files in the process: a file's own namespace may be shared by several
    files, or belong to another file of the same name. A second call returns the same operators.

    Args:
        paths: the files.
        options: of `opwright.load`.

    Raises:
        SourceError: a file can't be read, or its functions have no signatures.
    """
    from opwright.frontends import load
    from opwright.runtime import Operators

    files = [Path(path).absolute() for path in paths]
    ops: object = load(*files, namespace=_namespace(files, options.get("ops")), **options)
    if not isinstance(ops, Operators):
        file = files[0]
        raise SourceError(
            f"{file} is an extension with PyTorch's headers, whose functions have no signatures\n"
            f"  likely fix: build it, and check what it makes: "
            f'opwright.check("my_package:{file.stem}", signature="{file.stem}(x: T[...]) -> (y: T[...])")'
        )
    return ops


def _namespace(files: Sequence[Path], ops: object) -> str:
    """Return a namespace that is unique to these files and the signatures that are given for them."""
    joined_paths = b"\0".join(os.fsencode(file) for file in files)
    return f"checked_{files[0].stem}_{hashlib.sha256(joined_paths + repr(ops).encode()).hexdigest()[:12]}"


def registered_operators(ops: Any, imports: tuple[str, ...] = ()) -> list[TargetOperator]:
    """Return all operators except those derived from others, such as backwards."""
    registered = ops.__loaded__.registered
    signatures = {name: registration.kernel.signature for name, registration in registered.items()}
    derived = ops.__loaded__.derived
    sources = ops.__loaded__.sources
    overloads = {name: registration.op for name, registration in registered.items()}
    paths = ", ".join(repr(str(source.path)) for source in sources)
    imports = imports or ("import opwright", f"ops = opwright.load({paths})")
    return [
        of_tensors(
            TargetOperator(
                name,
                signature.as_written,
                overloads[name],
                overloads[name],
                backward=backward_signature(name, signatures),
                ours=True,
                sources=tuple(sources),
                imports=imports,
                expression=f"ops.{name}",
                namespace=overloads,
                devices=registered[name].kernel.devices,
            )
        )
        for name, signature in signatures.items()
        if name not in derived and not _is_backward(name, signatures)
    ]


def _is_backward(name: str, signatures: dict[str, Signature]) -> bool:
    return forward_of(name) in signatures


def registered_operator(op: OpOverload) -> TargetOperator | None:
    """Return the target of an operator that Opwright registered."""
    from opwright.aten.differentiable import defined
    from opwright.runtime.load.loading import everything_loaded

    for loaded in everything_loaded():
        for operator in registered_operators(loaded.operators):
            if operator.op is op:
                return operator
    for registered in defined():
        if registered[0].op is op:
            signatures = {
                registration.kernel.signature.name: registration.kernel.signature for registration in registered
            }
            name = registered[0].kernel.signature.name
            return TargetOperator(
                name, signatures[name].as_written, op, op, backward=backward_signature(name, signatures), ours=True,
                imports=("# the operator must be defined first",), expression=f"torch.ops.{op.namespace}.{name}",
            )  # fmt: skip
    return None


def _registered(op: OpOverload) -> list[TargetOperator]:
    """Return the target of an operator that Opwright registered; of one that chooses, those of its alternatives."""
    from opwright.runtime.load.loading import everything_loaded

    choosers = [chooser for loaded in everything_loaded() for chooser in loaded.current.choosers.values()]
    ops = next((chooser.ops for chooser in choosers if chooser.op is op), (op,))
    return [operator for each in ops if (operator := registered_operator(each))]


def assign_reference(
    operators: Sequence[TargetOperator], reference: Reference | None, reference_name: str, place: str
) -> list[TargetOperator]:
    """Assign the reference to one of the operators: the only one, or the one that has the reference's name.

    Args:
        operators: the candidates.
        reference: a function that is known to be right.
        reference_name: its name, which may be dotted.
        place: where the operators were found.

    Raises:
        SourceError: there are several operators, and none has the reference's name.
    """
    if reference is None:
        return list(operators)
    name = reference_name.rpartition(".")[2]
    own_callables = (
        [o.name for o in operators if name in (identifier_of(o.name), identifier_of(o.signature.shown_name))]
        if len(operators) > 1
        else [s.name for s in operators]
    )
    if operators and not own_callables:
        listed = ", ".join(operator.name for operator in operators)
        raise SourceError(
            f"{place} has {len(operators)} operators, {listed}; the reference {name!r} has the name of none of them\n"
            f"  likely fix: check one of them, {place}:{operators[0].name}, or give the reference its operator's name"
        )
    return [
        with_reference(operator, reference) if operator.name in own_callables else operator for operator in operators
    ]


def find_operators(
    target: Target,
    *,
    signature: str | Sequence[str] | None = None,
    reference: Reference | str | None = None,
    load_options: dict[str, Any] | None = None,
) -> list[TargetOperator]:
    """Find the operators that `target` refers to; a backward belongs to its forward's target.

    The arguments are those of `opwright.check.check`; of several operators, the one that has the reference's name gets
    the reference. `load_options`: for a source file, arguments of `opwright.load`.

    Raises:
        SignatureError: a signature is missing.
        SourceError: the target can't be found; or it has several operators, and none has the reference's name.
    """
    from opwright.runtime import Operators

    known = resolve_name(reference) if isinstance(reference, str) else reference
    reference_name = (
        "" if known is None else reference.rpartition(":")[2] if isinstance(reference, str) else _callable_name(known)
    )
    if isinstance(target, (str, os.PathLike)):
        operators = _named_operators(os.fspath(target), signature, known, load_options or {})
        return assign_reference(operators, known, reference_name, os.fspath(target))
    if isinstance(target, Operators):
        return assign_reference(registered_operators(target), known, reference_name, "it")
    if isinstance(target, OpOverloadPacket):
        names = target.overloads()
        own = [operator for name in names for operator in _registered(getattr(target, name))]
        if len(names) > 1 and own:
            return assign_reference(own, known, reference_name, "it")
        target = getattr(target, names[0])
    if isinstance(target, OpOverload) and (own := _registered(target)):
        return [with_reference(operator, known) for operator in own]
    return [of_tensors(_unregistered(target, signature, known))]


def is_source(target: Target) -> bool:
    """Return whether the target is the path of a source file."""
    return isinstance(target, (str, os.PathLike)) and Path(target).suffix in LANGUAGES


def resolve_name(name: str) -> Any:
    """Return the object that ``module:name``, ``file.py:name`` or ``file.cpp:name`` refers to.

    Raises:
        SourceError: there is none.
    """
    where, _, attribute = name.rpartition(":")
    if is_source(where):
        return find_operators(name)[0].function
    if not where and name.endswith(".py"):
        listed = ", ".join(f"{name}:{function}" for function in own_callables(load_module(name))) or "no function"
        raise SourceError(f"{name} is a file, expected one of its functions as file.py:name; it has: {listed}")
    if not where:
        raise SourceError(f"{name!r} names no object; expected module:name, file.py:name or file.cpp:name")
    module = load_module(where)
    value: Any = module
    for part in attribute.split("."):
        if not hasattr(value, part):
            listed = ", ".join(sorted(function for function in vars(module) if not function.startswith("_")))
            raise SourceError(f"{where} has no {attribute!r}; it has: {listed}")
        value = getattr(value, part)
    return value


def _named_operators(
    name: str, signature: str | Sequence[str] | None, reference: Reference | None, options: dict[str, Any]
) -> list[TargetOperator]:
    where, _, attribute = name.rpartition(":")
    if signature and (is_source(name) or is_source(where)):
        options = {**options, "ops": signature}  # of functions without a mark
    if is_source(name):
        return registered_operators(_load_file(name, options), _load_statements(name, options))
    if is_source(where):
        return _operators_of_file(where, attribute, find_operators(where, load_options=options))
    target = resolve_name(name)
    operators = find_operators(target, signature=signature, reference=reference)
    if where.endswith(".py"):
        folder, where = str(Path(where).absolute().parent), Path(where).stem
        imports: tuple[str, ...] = ("import sys", f"sys.path.insert(0, {folder!r})", f"import {where}")
    else:
        imports = (f"import {where}",)
    one = f"{where}.{attribute}.apply" if _is_function(target) else f"{where}.{attribute}"
    return [
        replace(s, imports=imports, expression=one if len(operators) == 1 else f"{one}.{s.name}") for s in operators
    ]


def _load_file(name: str, options: dict[str, Any]) -> Operators:
    try:
        return load_files(name, **options)
    except SourceError as error:
        given = f'signature="{EXAMPLE}" (--signature "{EXAMPLE}")'
        raise SourceError(str(error).replace(LOAD_ARGUMENT, given)) from error


def _operators_of_file(path: str, name: str, operators: Sequence[TargetOperator]) -> list[TargetOperator]:
    """Return the operator of that name in a file, or its alternatives."""
    if found := [operator for operator in operators if name in (operator.name, operator.signature.shown_name)]:
        return found
    listed = ", ".join(operator.name for operator in operators) or "none"
    raise SourceError(f"{path} has no operator {name!r}; it has: {listed}")


def _load_statements(name: str, options: dict[str, Any]) -> tuple[str, ...]:
    arguments = "".join(f", {key}={value!r}" for key, value in options.items())
    return ("import opwright", f"ops = opwright.load({str(Path(name).absolute())!r}{arguments})")


def _unregistered(target: Any, signature: str | Sequence[str] | None, reference: Reference | None) -> TargetOperator:
    """Return the target of a callable that Opwright didn't build."""
    texts = [signature] if isinstance(signature, str) else list(signature or ())
    name = _callable_name(target)
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
        return TargetOperator(parsed.name, parsed, function, op, reference, expression=f"torch.ops.{op}")
    identifier, comment = callable_expression(target, name, {param.name for param in parsed.inputs})
    identifier = f"{identifier}.apply" if _is_function(target) else identifier
    return TargetOperator(parsed.name, parsed, function, None, reference, imports=(comment,), expression=identifier)


def _pair(target: Sequence[Callable[..., Any]], texts: Sequence[str], reference: Reference | None) -> TargetOperator:
    from opwright.aten.differentiable import differentiable

    if len(target) != len(texts) or len(target) not in (2, 3):
        raise SignatureError(
            f"got {len(target)} callables and {len(texts)} signatures, expected a forward and a backward (and perhaps "
            "that one's backward) with a signature each"
        )
    op = differentiable(*target, signature=texts, namespace=f"checked_{parse(texts[0]).name}")
    operator = registered_operator(op)
    assert operator is not None  # noqa: S101 - it was made just now
    return with_reference(operator, reference)


def _is_function(target: Any) -> bool:
    return isinstance(target, type) and issubclass(target, torch.autograd.Function)


def _callable_name(target: Any) -> str:
    if isinstance(target, (tuple, list)) and target:
        target = target[0]
    if isinstance(target, OpOverload):
        return str(target.name()).rpartition("::")[2].partition(".")[0]
    return getattr(target, "__name__", type(target).__name__)
