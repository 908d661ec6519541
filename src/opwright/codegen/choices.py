"""C++ for scalars with few values: enums, and functions that are templates over them."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable, Iterator, Mapping
from string import Template

from opwright.signature import ScalarParam
from opwright.signature.scalar_kinds.choices import Choice
from opwright.sources import Kernel
from opwright.sources.matching.scalars import template_scalars
from opwright.toolchain import header_dir, line_directive

# On one line, that of the author's function: there the compiler reports an enumerator that the enum lacks.
_CONVERSION = Template("""\
#ifndef $name
#define $name $name
$line
struct $name { int64_t index; template <class E> OPWRIGHT_HOST_DEVICE constexpr operator E() const { return $value; } };
$after
#endif
""")
GENERATED = header_dir() / "opwright" / "generated"
"""The file name in ``#line`` directives for generated code after the author's lines; no such file exists."""


def conversions(kernel: Kernel) -> str:
    """Return the C++ classes that become the author's enums, for the choices of a kernel's signature."""
    kinds = dict.fromkeys(scalar.kind for scalar in kernel.signature.scalars if isinstance(scalar.kind, Choice))
    return "".join(
        _CONVERSION.substitute(
            name=_class_name(kind),
            value=_value(kind),
            line=line_directive(kernel.function.path or kernel.path, kernel.function.line),
            after=line_directive(GENERATED),
        )
        for kind in kinds
    )


def _class_name(kind: Choice) -> str:
    return f"opwright_choice_{zlib.crc32(kind.name.encode()):08x}"


def _value(kind: Choice) -> str:
    *others, last = kind.enumerators
    tests = "".join(f"index == {index} ? E::{name} : " for index, name in enumerate(others))
    return f"{tests}E::{last}"


def converted(kind: Choice, index: str) -> str:
    """Return the expression that becomes the author's enum; `index`: the number of the choice, in C++."""
    return f"{_class_name(kind)}{{{index}}}"


def specializations(kernel: Kernel, value: Callable[[ScalarParam], str]) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield the combinations of values over which the kernel's function is a template.

    Each is a C++ condition, empty if there is one combination only, and the template arguments by parameter.

    Args:
        kernel: the kernel.
        value: returns the C++ expression of a scalar's number in a call.
    """
    scalars = template_scalars(kernel)
    for places in itertools.product(*(range(len(scalar.kind.choices)) for scalar in scalars.values())):
        pairs = list(zip(scalars.items(), places, strict=True))
        conditions = (f"{value(scalar)} == {place}" for (_, scalar), place in pairs)
        yield " && ".join(conditions), {text: _constant(scalar, place) for (text, scalar), place in pairs}


def _constant(scalar: ScalarParam, place: int) -> str:
    if isinstance(scalar.kind, Choice):
        return f"({converted(scalar.kind, str(place))})"
    return "true" if scalar.kind.choices[place] else "false"
