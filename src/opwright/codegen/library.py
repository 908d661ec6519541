"""Kernel libraries: their instances, and their generated C++ (the user's source, an entry per instance, the table)."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from string import Template

from opwright.codegen import calls
from opwright.codegen.calls import launcher
from opwright.codegen.choices import conversions, converted, specializations
from opwright.codegen.pointwise import Loop
from opwright.codegen.pointwise_cuda import CudaLoop
from opwright.codegen.taped import Taped, keep_statements
from opwright.signature import DType, ScalarParam, Signature
from opwright.signature.derivatives import Derived
from opwright.signature.model import OLD
from opwright.signature.names import overload_of
from opwright.signature.scalar_kinds.choices import Choice
from opwright.sources import Argument, Kernel
from opwright.sources.cpp.tokens import without_comments
from opwright.sources.matching import match
from opwright.sources.matching.by_position import variables_by_parameter

_LIBRARY = Template("""\
// Written by Opwright for $source
$defined#include <opwright.h>
#include <opwright/library/library.h>
#include <opwright/library/by_name.h>$headers
$user
#include <opwright/library/thrown.h>$behind
namespace {
$entries
const opw_kernel opwright_generated_table[] = {
$rows
};
const opw_library opwright_generated_library = {
  sizeof(opw_library), OPWRIGHT_ABI_VERSION, $count, opwright_generated_table};
}  // namespace

extern "C" __attribute__((visibility("default"))) const opw_library *opwright_library(const opw_host *host) {
  return opwright::detail::open(host, opwright_generated_library);
}
""")
_ENTRY = Template("""\
// $signature
int32_t opwright_generated_entry_$index(const opw_call *call) {
  return opwright::detail::guarded(call, [](const opwright::detail::Arguments &a) {
    $provided$statement
  });
}
""")
_IN_CUDA = Template("""\
static const char *const names[] = {$names};
    static const unsigned char uses[] = {$uses};  // emulation::Use
    const opwright::detail::Named named(a.call, names, uses, $count);
    const opwright::detail::Entered entered(a.call);
    $statement
    opwright::check_launch($place);""")
_BATCHED = Template("""\
static const unsigned char ranks[] = {$ranks};
    opwright::detail::batched(a.call, ranks, int(sizeof(ranks)), [](const opwright::detail::Arguments &a) {
      $statement
    });""")
_ROW = Template('  {"$name", "$instance", "$device", &opwright_generated_entry_$index, $strided},')


@dataclass(frozen=True)
class Instance:
    """A kernel for certain element types.

    Attributes:
        kernel: the author's function.
        types: the element type of each type variable.
        signature: the operator's signature, which can differ from the kernel's: with old values, or a derivative's.
        derived: the derivative of the function that it computes, if any.
        wanted: bit mask of the results that it computes, for a derivative; 0: all.
        dual: whether the pointwise function has derived derivatives.
        cuda: whether it is part of a CUDA source.
    """

    kernel: Kernel
    types: Mapping[str, DType]
    signature: Signature
    derived: Derived | None = None
    wanted: int = 0
    dual: bool = False
    cuda: bool = False

    @property
    def taped(self) -> bool:
        """Whether it is a derivative of a kernel over views."""
        return self.derived is not None and not self.derived.body.pointwise

    @property
    def sliced(self) -> bool:
        """Whether the derivative is computed slice by slice; CUDA kernels are taped whole, as they are launched."""
        return self.taped and bool(self.kernel.signature.independent) and not self.cuda

    @property
    def name(self) -> str:
        """The instance's name in the table."""
        return instance_name(self.types, self.wanted)


def instance_name(types: Mapping[str, DType], wanted: int = 0) -> str:
    """Return an instance's name in the table: ``T=f32,U=i64``; with a bit mask if it computes some results."""
    names = [f"{variable}={dtype.value}" for variable, dtype in types.items()]
    return ",".join(names + [f"wanted={wanted:x}"] * (wanted != 0))


def library_text(source: str, user: str, instances: Sequence[Instance], device: str = "cpu", defined: str = "") -> str:
    """Return the C++ source of a library.

    Args:
        source: the path of the user's file, for the heading.
        user: the file's content; empty for C, which is compiled separately.
        instances: the kernels to export.
        device: the device of their tensors, for the table.
        defined: lines in front of all headers.
    """
    matched = [match(instance.kernel) for instance in instances]
    honest = calls.HONEST if any(instance.kernel.by_name for instance in instances) else ""
    declared = [calls.prototype(i.kernel) for i in instances if i.kernel.language == "c"]
    entries = [_entry(*pair, index) for index, pair in enumerate(zip(instances, matched, strict=True))]
    rows = [_row(*pair, index, device) for index, pair in enumerate(zip(instances, matched, strict=True))]
    headers = dict.fromkeys(header for instance in instances for header in _headers(instance))
    heading = source.encode("unicode_escape").decode("ascii")
    return _LIBRARY.substitute(
        source=heading,
        defined=defined + "#define OPWRIGHT_TAPES\n" * any(instance.taped for instance in instances),
        headers="".join(f"\n#include <opwright/{header}>" for header in headers),
        behind="\n#include <opwright/dual/limits.h>" * any(instance.dual or instance.derived for instance in instances),
        user="\n".join([user, honest, *declared]),
        entries="\n".join(entries),
        rows="\n".join(rows),
        count=len(rows),
    )


_DECLARES_HALF = re.compile(
    r"(?:cuda_(?:bf16|fp(?:16|8|6|4))|mma|cooperative_groups|curand_kernel|cublas\w*|cusparse\w*"
    r"|cusolver(?:Dn|Mg|Sp\w*))\.h(?:pp)?|(?:cub|thrust|cute|cutlass|cooperative_groups)/.*|cuda/(?:std/)?\w+"
)
"""CUDA's header of ``__half``, and those that include it in CUDA 13, by nvcc or by NVRTC."""


def half_of_cuda(included: Iterable[str]) -> str:
    """Return the line that makes ``half`` CUDA's, if one of the headers declares that; else "".

    Two types of that name would be ambiguous in every line that uses it.
    """
    return "#define OPWRIGHT_CUDA_HALF\n" if any(map(_DECLARES_HALF.fullmatch, included)) else ""


_SPECIALISED = re.compile(
    r"\btemplate\s*<\s*>(?P<function>[^;{}]*?\b(?!__)\w+\s*(?:<[^<>]*>\s*)?\([^;{}]*)[;{]"
    r"|\btemplate\s*<[^;{}]*?>\s*(?:struct|class)\s+(?P<type>[\w:]+\s*<[^;{}]*>)"
)
_ITS_NAME = re.compile(r"\b(?!__)(\w+)\s*(?:<[^<>]*>\s*)?\(|^[\w:]*?(\w+)\s*<")


def missed_by_float16(text: str) -> list[str]:
    """Return the templates that a source specialises for CUDA's ``half`` and not for ``float16``, which `T` is."""
    names: dict[bool, list[str]] = {True: [], False: []}
    for found in _SPECIALISED.finditer(without_comments(text)):
        head = found["function"] or found["type"]
        if (name := _ITS_NAME.search(head)) and (kind := re.search(r"\b(?:(float16)|half|__half)\b", head)):
            names[bool(kind[1])].append(name[1] or name[2])
    return [name for name in dict.fromkeys(names[False]) if name not in names[True]]


def _entry(instance: Instance, arguments: Iterable[Argument], index: int) -> str:
    arguments = tuple(arguments)
    before, statement = _statement(instance, arguments, index)
    if instance.cuda:
        statement = _in_cuda(instance, statement)
    untested = _bits(instance.kernel, untested_results(instance.kernel, arguments, taped=instance.taped))
    return before + _ENTRY.substitute(
        signature=str(instance.signature) + (f" with {instance.name}" if instance.types else ""),
        index=index,
        provided=f"opwright::detail::provide(a.call, {hex(untested)});\n    " if untested else "",
        statement=statement,
    )


def untested_results(kernel: Kernel, arguments: Iterable[Argument], *, taped: bool = False) -> list[Argument]:
    """Return the arguments for results that a call may not want, and that the function writes without a test."""
    if kernel.signature.pointwise or taped:
        return []
    names = {(role, t.name) for role in ("output", "residual") for t in kernel.signature.skippable}
    tested = {"", *kernel.function.tested}
    return [a for a in arguments if (a.role, a.name) in names and a.parameter.name not in tested]


def _bits(kernel: Kernel, arguments: Iterable[Argument]) -> int:
    return sum(1 << _tensor_index(kernel, argument) for argument in arguments)


def _in_cuda(instance: Instance, statement: str) -> str:
    """Return the statement with the set-up of a CUDA call around it: tensor names, stream, check of launches."""
    kernel, signature = instance.kernel, instance.signature
    names = [f'"{tensor.name}"' for tensor in signature.tensors + signature.results]
    uses = [str(int(tensor.mutated)) for tensor in signature.tensors] + ["2"] * len(signature.results)
    place = f"{_literal(kernel.path.name)}, {kernel.line}"
    listed = {"names": ", ".join(names), "uses": ", ".join(uses), "count": len(names)}
    return _IN_CUDA.substitute(listed, statement=statement, place=place)


def _literal(text: str) -> str:
    """Return a C string literal."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _headers(instance: Instance) -> Iterator[str]:
    """Yield the headers that an instance needs in addition to those of every library."""
    if instance.taped:
        yield "tape/taped_slices.h" if instance.sliced else "tape/taped.h"
        yield "dual/losses.h"
    if instance.cuda:
        yield "library/launch.h"
    if instance.signature.pointwise:
        yield "library/pointwise_cuda.h" if instance.cuda else "library/pointwise.h"
        if instance.dual or instance.derived:
            yield "dual/derivatives.h"
    if instance.signature.batched:
        yield "library/batched.h"


def _statement(instance: Instance, arguments: Sequence[Argument], index: int) -> tuple[str, str]:
    """Return the definitions to put before the entry, and the entry's statement, in which the call is named `a`."""
    kernel = instance.kernel
    before = conversions(kernel)
    if instance.signature.pointwise:
        loop = (CudaLoop if instance.cuda else Loop)(instance, index)
        return before + loop.definitions(), loop.statement(partial(_argument, kernel))
    if instance.taped:
        taped = Taped(instance, index)
        if launch := kernel.signature.launch:
            before += launcher(kernel, launch, arguments, index, partial(_argument, kernel), larger=taped.larger)
        return before + taped.definitions(arguments, partial(_typed, instance, traced=taped.traced)), taped.statement()
    if launch := kernel.signature.launch:
        before += launcher(kernel, launch, arguments, index, partial(_argument, kernel))
        statement = _specialized(instance, lambda types: f"opwright_launch_{index}{types}(a);")
    else:
        statement = _direct(instance, arguments)
    if instance.signature.batched:
        statement = _over_leading(instance.signature, statement)
    return before, "\n    ".join([*_kept(instance), statement])


def _kept(instance: Instance) -> Iterator[str]:
    """Yield statements that keep what the call changes and a derived gradient needs (``with_old_values``)."""
    signature, own = instance.signature, instance.kernel.signature
    if signature.residuals == own.residuals:
        return
    yield from keep_statements(signature, lambda tensor: tensor.type.resolve(instance.types).ctype)
    if rng := signature.generator:
        place = next(i for i, result in enumerate(signature.results) if result.name == OLD + rng.name)
        yield f"opwright::detail::keep_random(a.call, {len(signature.tensors) + place});"


def _over_leading(signature: Signature, statement: str) -> str:
    """Return a loop over the leading axes that runs the statement."""
    ranks = ", ".join(str(len(tensor.dims)) for tensor in signature.tensors + signature.results)
    return _BATCHED.substitute(ranks=ranks, statement=statement)


def _direct(instance: Instance, arguments: Sequence[Argument]) -> str:
    kernel = instance.kernel
    if kernel.by_name:
        index, scalar = partial(_tensor_index, kernel), partial(_argument, kernel)
        return calls.statement(kernel, arguments, index, scalar)
    values = ", ".join(_typed(instance, argument) for argument in arguments)
    return _specialized(instance, lambda types: f"::{kernel.function.name}{types}({values});")


def _typed(instance: Instance, argument: Argument, traced: Collection[str] = ()) -> str:
    """Return an argument; of an overload, as the view that the parameter is: functions can share a name.

    `traced`: the type variables in whose place is the type `T`, which notes what it is made of.
    """
    kernel, parameter = instance.kernel, argument.parameter
    value = _argument(kernel, argument)
    if not overload_of(kernel.signature.name) or parameter.rank is None or parameter.view not in _VIEWS:
        return value
    among = kernel.signature.tensors if argument.role == "input" else kernel.signature.results
    tensor = next(tensor for tensor in among if tensor.name == argument.name)
    if tensor.type.name in traced:
        element = "T" if tensor.type.kind == "var" else "opwright::acc<T>"
        return (
            f"static_cast<opwright::{parameter.view}<{'const ' * parameter.const}{element}, {parameter.rank}>>({value})"
        )
    if tensor.type.kind != "dtype" and tensor.type.name not in instance.types:
        return value
    dtype = tensor.type.resolve(instance.types)
    synonyms = [name for names in dtype.synonyms.values() for name in names]
    element = parameter.element if parameter.element in synonyms else dtype.ctype
    return f"static_cast<opwright::{parameter.view}<{'const ' * parameter.const}{element}, {parameter.rank}>>({value})"


_VIEWS = ("Tensor", "Strided", "List", "StridedList")


def _specialized(instance: Instance, call: Callable[[str], str]) -> str:
    """Return the call of a template, chosen by the values of the scalars over which it is one.

    `call`: returns the statement for template arguments, such as ``<float, true>``, or an empty string.
    """
    kernel = instance.kernel
    types = {name: instance.types[variable].ctype for name, variable in variables_by_parameter(kernel).items()}
    statements = []
    for condition, values in specializations(kernel, partial(_number, kernel)):
        words = [{**types, **values}[parameter] for parameter in kernel.function.template]
        statement = call(f"<{', '.join(words)}>" if words else "")
        statements.append(f"if ({condition}) {statement}" if condition else statement)
    return "\n    ".join(statements)


def _number(kernel: Kernel, scalar: ScalarParam) -> str:
    return f"a.call->scalars[{kernel.signature.slot(scalar.name)}].i"


def _argument(kernel: Kernel, argument: Argument) -> str:
    signature = kernel.signature
    if argument.role == "stream":
        return "a.stream()"
    if argument.role == "rng":
        return "a.rng()"
    if argument.role == "axis":
        return f'a.axis({signature.axes.index(argument.name)}, "{argument.name}")'
    if argument.role == "scalar":
        scalar = next(scalar for scalar in signature.scalars if scalar.name == argument.name)
        kind = scalar.kind
        if isinstance(kind, Choice) and not kernel.by_name:
            return converted(kind, _number(kernel, scalar))
        return f'a.{kind.reader}({signature.slot(argument.name)}, "{argument.name}")'
    if argument.parameter.view == "Resizable":
        return f'a.resizable({_tensor_index(kernel, argument)}, "{argument.name}")'
    if any(count.name == argument.name for count in signature.counts) and argument.role == "output":
        return f"a.count({_tensor_index(kernel, argument)})"
    return f"a.tensor({_tensor_index(kernel, argument)})"


def _tensor_index(kernel: Kernel, argument: Argument) -> int:
    """Return a tensor's index in the call, in which results follow inputs; an input and a result can share a name."""
    signature = kernel.signature
    first = 0 if argument.role == "input" else len(signature.tensors)
    among = signature.tensors if argument.role == "input" else signature.results
    return first + next(i for i, t in enumerate(among) if t.name == argument.name)


def _row(instance: Instance, arguments: Iterable[Argument], index: int, device: str) -> str:
    kernel, signature = instance.kernel, instance.signature
    strided = (
        0 if instance.taped else _bits(kernel, (a for a in arguments if a.parameter.view in ("Strided", "StridedList")))
    )
    if signature.pointwise:
        strided = (1 << len(signature.tensors + signature.results)) - 1
    return _ROW.substitute(
        name=signature.name, instance=instance.name, device=device, index=index, strided=hex(strided)
    )
