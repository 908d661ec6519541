"""The generated C++ source of a bundle: its operators as plain data (csrc/bundle/bundle.h)."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from string import Template

from opwright.runtime.torch_internals import OpOverload, schema_of
from opwright.signature import Signature
from opwright.signature.chosen.kinds import AxisKind, DeviceKind, DtypeKind
from opwright.signature.scalar_kinds.choices import Choice
from opwright.signature.scalar_kinds.lists import AnyList
from opwright.signature.scalars import ScalarKind

_TEXT = Template("""\
// Written by Opwright: registers the operators of $file
#include "bundle/bundle.h"

$tables
namespace {
$arrays
const opw_bundle_kernel kernels[] = {
$kernels
};
const opw_bundle_instance instances[] = {
$instances
};
const opw_bundle_operator operators[] = {
$operators
};
const opw_bundle bundle = {$file, $namespace, $major, $minor, $counts, kernels, instances, operators};
}  // namespace

#include "bundle/bundle_entry.h"
namespace {
const bool loaded = (load(bundle), true);
}
""")


_EMBEDDED = Template("""\
__asm__($words);
extern "C" __attribute__((visibility("hidden"))) const unsigned char ${table}_bytes[], ${table}_end[];
static const opw_library *$table(const opw_host *host) {
  return opw_bundle_open(host, ${table}_bytes, static_cast<size_t>(${table}_end - ${table}_bytes));
}
""")
_BYTES = Template("""\
.pushsection .rodata
.balign 64
${table}_bytes:
.incbin "$path"
${table}_end:
.byte 0
.popsection
""")


@dataclass(frozen=True)
class Instance:
    """A kernel for certain element types on a device: its key, its name, and the function that returns its table."""

    key: int
    name: str
    table: str
    device: str = "cpu"


@dataclass(frozen=True)
class Embedded:
    """A kernel library that is embedded in the bundle as bytes, and the function that returns its table."""

    table: str
    path: Path


@dataclass(frozen=True)
class KernelEntry:
    """A kernel with its instances.

    Attributes:
        signature: the kernel's signature.
        given: how many sizes are passed to it beside its scalars.
        ellipsis: whether the shape of ``...`` is passed to it.
        derived: whether it is a derived kernel.
        instances: its compiled instances.
    """

    signature: Signature
    given: int
    ellipsis: bool
    derived: bool
    instances: Sequence[Instance]


CHOOSER = 3
"""The kind of a variant that isn't one, but chooses between alternatives (csrc/bundle/bundle.h)."""


@dataclass(frozen=True)
class OperatorEntry:
    """An operator, as it is registered in this process, with its data for the native runtime.

    Of a variant these are its kind, the place of the operator that it belongs to, and its name as the node's. Of what
    chooses between alternatives: the kind CHOOSER, its name as the node's, what they take as `missing`, and in `words`
    their number and places, then what decides.
    """

    op: OpOverload
    kernel: int
    plan: array[int]
    residuals: bool
    node: str
    missing: str
    wiring: tuple[int, int, int] = (-1, -1, -1)
    words: array[int] = field(default_factory=lambda: array("q"))
    variant: int = 0


def bundle_text(
    file: str,
    namespace: str,
    version: tuple[int, ...],
    kernels: Sequence[KernelEntry],
    operators: Sequence[OperatorEntry],
    embedded: Sequence[Embedded] = (),
) -> str:
    """Return the C++ source of a bundle.

    Args:
        file: the library's name, for its messages.
        namespace: the operators' namespace.
        version: PyTorch's major and minor version.
        kernels: all kernels; operators refer to them by index.
        operators: all operators; their wiring refers to them by index.
        embedded: libraries in the bundle whose tables contain some of the instances.
    """
    within = {library.table for library in embedded}
    instances = [(i, instance) for i, kernel in enumerate(kernels) for instance in kernel.instances]
    tables = dict.fromkeys(instance.table for _, instance in instances)
    return _TEXT.substitute(
        file=_string(file),
        namespace=_string(namespace),
        major=version[0],
        minor=version[1],
        tables="\n".join(
            [f'extern "C" const opw_library *{table}(const opw_host *);' for table in tables if table not in within]
            + [_embedded(library) for library in embedded]
        ),
        arrays="\n".join([*map(_names, range(len(kernels)), kernels), *map(_arrays, range(len(operators)), operators)]),
        counts=f"{len(kernels)}, {len(instances)}, {len(operators)}",
        kernels="\n".join(map(_kernel_row, range(len(kernels)), kernels)),
        instances="\n".join(
            f"  {{{i}, {o.key}u, {_string(o.name)}, {_string(o.device)}, &{o.table}}}," for i, o in instances
        ),
        operators="\n".join(map(_operator_row, range(len(operators)), operators)),
    )


def _embedded(library: Embedded) -> str:
    path = str(library.path).replace("\\", "\\\\").replace('"', '\\"')
    assembly = _BYTES.substitute(table=library.table, path=path)
    return _EMBEDDED.substitute(table=library.table, words=_string(assembly))


def _names(index: int, kernel: KernelEntry) -> str:
    inputs = [_string(tensor.name) for tensor in kernel.signature.tensors]
    scalars = [_string(scalar.name) for scalar in kernel.signature.scalars]
    return "\n".join(
        f"const char *const {group}_{index}[] = {{{', '.join([*names, 'nullptr'])}}};"
        for group, names in (("inputs", inputs), ("scalars", scalars))
    )


def _kernel_row(index: int, kernel: KernelEntry) -> str:
    signature = kernel.signature
    facts = kernel.given, kernel.ellipsis, signature.chosen_type is not None, kernel.derived
    listed = _string("".join("l" if tensor.listed else "t" for tensor in signature.tensors))
    names = (
        _string(signature.name),
        _string(signature.shown_name),
        _string(str(signature)),
        str(len(signature.tensors)),
        f"inputs_{index}",
        listed,
    )
    kinds = "".join(_letter(scalar.kind) for scalar in signature.scalars)
    scalars = str(len(signature.scalars)), f"scalars_{index}", _string(kinds)
    fields = *names, *scalars, *(str(int(number)) for number in facts)
    return f"  {{{', '.join(fields)}}},"


def _letter(kind: ScalarKind) -> str:
    """Return a scalar kind's letter for csrc/bundle/bundle.h; two characters for a list."""
    if isinstance(kind, AnyList):
        return f"[{_letter(kind.base)}"
    if isinstance(kind, DtypeKind | DeviceKind):
        return "t" if isinstance(kind, DtypeKind) else "d"
    letter = "c" if isinstance(kind, Choice) else "i" if isinstance(kind, AxisKind) else kind.name[0]
    return letter.upper() if kind.is_optional else letter


def _arrays(index: int, entry: OperatorEntry) -> str:
    return "\n".join(
        [
            f"const int32_t tags_{index}[] = {{{_numbers([*sorted(map(int, entry.op.tags)), -1])}}};",
            f"const int64_t plan_{index}[] = {{{_numbers(entry.plan)}}};",
            f"const int64_t wires_{index}[] = {{{_numbers(entry.words)}}};",
        ]
    )


def _operator_row(index: int, entry: OperatorEntry) -> str:
    op = entry.op
    qualified, _, overload = op.name().partition(".")
    fields = [
        *map(_string, (qualified, overload, str(schema_of(op)))),
        *(str(len(op.tags)), f"tags_{index}", str(entry.kernel), str(int(entry.residuals))),
        *(str(len(entry.plan)), f"plan_{index}", *map(str, entry.wiring), str(len(entry.words)), f"wires_{index}"),
        *(_string(entry.node), _string(entry.missing), str(entry.variant)),
    ]
    return f"  {{{', '.join(fields)}}},"


def _numbers(values: Iterable[int]) -> str:
    return ", ".join(map(str, values))


def _string(text: str) -> str:
    """Return a C string literal with the UTF-8 bytes of `text`."""
    plain = {ord(c) for c in '"\\?'}
    return (
        '"'
        + "".join(
            chr(b) if 32 <= b < 127 and b not in plain else f"\\{b:03o}"
            for b in text.encode("utf-8", "surrogateescape")
        )
        + '"'
    )
