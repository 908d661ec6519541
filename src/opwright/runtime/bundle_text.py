"""The generated part of a bundle: its operators as plain data (csrc/bundle.h)."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from string import Template

import torch

from opwright.signature import Signature

_TEXT = Template("""\
// Written by Opwright: registers the operators of $file
#include "bundle.h"

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

#include "bundle_entry.h"
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
    """A kernel for certain element types on a device: its key and name, and the function that returns its table."""

    key: int
    name: str
    table: str
    device: str = "cpu"


@dataclass(frozen=True)
class Embedded:
    """A kernel library that is within the bundle, byte by byte; and the function that returns its table."""

    table: str
    path: Path


@dataclass(frozen=True)
class KernelEntry:
    """A kernel with its instances: how many sizes and whether the shape of ``...`` are handed to it; is it derived?"""

    signature: Signature
    given: int
    ellipsis: bool
    derived: bool
    instances: Sequence[Instance]


@dataclass(frozen=True)
class OperatorEntry:
    """An operator as the dispatcher of this process has it, with what the native runtime was told of it."""

    op: torch._ops.OpOverload
    kernel: int
    plan: array[int]
    residuals: bool
    node: str
    missing: str
    wiring: tuple[int, int, int] = (-1, -1, -1)
    words: array[int] = field(default_factory=lambda: array("q"))


def bundle_text(
    file: str,
    namespace: str,
    version: tuple[int, int],
    kernels: Sequence[KernelEntry],
    operators: Sequence[OperatorEntry],
    embedded: Sequence[Embedded] = (),
) -> str:
    """The C++ text.

    Args:
        file: what the library is called, for its messages.
        namespace: the operators' namespace.
        version: PyTorch's major and minor version.
        kernels: every kernel; operators name them by their place.
        operators: every operator; its wiring names them by their place.
        embedded: libraries whose tables some instances are in.
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
        kernels="\n".join(map(_kernel, range(len(kernels)), kernels)),
        instances="\n".join(
            f"  {{{i}, {o.key}u, {_string(o.name)}, {_string(o.device)}, &{o.table}}}," for i, o in instances
        ),
        operators="\n".join(map(_operator, range(len(operators)), operators)),
    )


def _embedded(library: Embedded) -> str:
    path = str(library.path).replace("\\", "\\\\").replace('"', '\\"')
    words = _BYTES.substitute(table=library.table, path=path)
    return _EMBEDDED.substitute(table=library.table, words=_string(words))


def _names(index: int, kernel: KernelEntry) -> str:
    names = [_string(tensor.name) for tensor in kernel.signature.tensors]
    return f"const char *const inputs_{index}[] = {{{', '.join([*names, 'nullptr'])}}};"


def _kernel(index: int, kernel: KernelEntry) -> str:
    signature = kernel.signature
    given = kernel.given, kernel.ellipsis, signature.chosen_type is not None, kernel.derived
    names = _string(signature.name), _string(str(signature)), str(len(signature.tensors)), f"inputs_{index}"
    words = *names, *(str(int(number)) for number in given)
    return f"  {{{', '.join(words)}}},"


def _arrays(index: int, entry: OperatorEntry) -> str:
    return "\n".join(
        [
            f"const int32_t tags_{index}[] = {{{_numbers([*sorted(map(int, entry.op.tags)), -1])}}};",
            f"const int64_t plan_{index}[] = {{{_numbers(entry.plan)}}};",
            f"const int64_t wires_{index}[] = {{{_numbers(entry.words)}}};",
        ]
    )


def _operator(index: int, entry: OperatorEntry) -> str:
    op = entry.op
    words = [
        *map(_string, (op._schema.name, op._overloadname, str(op._schema))),  # noqa: SLF001
        *(str(len(op.tags)), f"tags_{index}", str(entry.kernel), str(int(entry.residuals))),
        *(str(len(entry.plan)), f"plan_{index}", *map(str, entry.wiring), str(len(entry.words)), f"wires_{index}"),
        *(_string(entry.node), _string(entry.missing)),
    ]
    return f"  {{{', '.join(words)}}},"


def _numbers(values: Iterable[int]) -> str:
    return ", ".join(map(str, values))


def _string(text: str) -> str:
    """A C string literal of the text's UTF-8."""
    plain = {ord(c) for c in '"\\?'}
    return (
        '"'
        + "".join(
            chr(b) if 32 <= b < 127 and b not in plain else f"\\{b:03o}"
            for b in text.encode("utf-8", "surrogateescape")
        )
        + '"'
    )
