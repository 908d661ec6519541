"""Writes the C++ of one kernel library: the user's file, an entry for each kernel instance, and the table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from string import Template

from opwright.codegen import by_name
from opwright.codegen.instance import Instance
from opwright.codegen.launch import launcher
from opwright.codegen.pointwise import Loop
from opwright.codegen.pointwise_cuda import CudaLoop
from opwright.signature import Signature
from opwright.sources import Argument, Kernel, match, template_variables

_LIBRARY = Template("""\
// Written by Opwright for $source
#include <opwright.h>
#include <opwright/library.h>
#include <opwright/by_name.h>$headers
$user
#include <opwright/thrown.h>$behind
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
    $statement
  });
}
""")
_IN_CUDA = Template("""\
static const char *const names[] = {$names};
    const opwright::detail::Named named(a.call, names, $count);
    const opwright::detail::Entered entered(a.call);
    $statement
    opwright::check_launch($place);""")
_BATCHED = Template("""\
static const unsigned char ranks[] = {$ranks};
    opwright::detail::batched(a.call, ranks, int(sizeof(ranks)), [](const opwright::detail::Arguments &a) {
      $statement
    });""")
_ROW = Template('  {"$name", "$instance", "$device", &opwright_generated_entry_$index, $strided},')


def library_text(source: str, user: str, instances: Sequence[Instance], device: str = "cpu") -> str:
    """The C++ text of a library.

    Args:
        source: the user's file, for the heading.
        user: its text, or nothing for C, which is compiled beside it.
        instances: the kernels to export.
        device: whose tensors they take, as the table says it.
    """
    matched = [match(instance.kernel) for instance in instances]
    honest = by_name.HONEST if any(instance.kernel.by_name for instance in instances) else ""
    declared = [by_name.prototype(i.kernel) for i in instances if i.kernel.language == "c"]
    entries = [_entry(*pair, index) for index, pair in enumerate(zip(instances, matched, strict=True))]
    rows = [_row(*pair, index, device) for index, pair in enumerate(zip(instances, matched, strict=True))]
    headers = dict.fromkeys(header for instance in instances for header in _headers(instance))
    heading = source.encode("unicode_escape").decode("ascii")
    return _LIBRARY.substitute(
        source=heading,
        headers="".join(f"\n#include <opwright/{header}>" for header in headers),
        behind="\n#include <opwright/limits.h>" * ("derivatives.h" in headers),
        user="\n".join([user, honest, *declared]),
        entries="\n".join(entries),
        rows="\n".join(rows),
        count=len(rows),
    )


def _entry(instance: Instance, arguments: Iterable[Argument], index: int) -> str:
    before, statement = _statement(instance, tuple(arguments), index)
    if instance.cuda:
        statement = _in_cuda(instance, statement)
    return before + _ENTRY.substitute(
        signature=str(instance.signature) + (f" with {instance.name}" if instance.types else ""),
        index=index,
        statement=statement,
    )


def _in_cuda(instance: Instance, statement: str) -> str:
    """The statement, with what CUDA's has around it: the tensors' names, the call's stream, what launches came to."""
    kernel, signature = instance.kernel, instance.signature
    names = [f'"{tensor.name}"' for tensor in signature.tensors + signature.results]
    place = f"{_literal(kernel.path.name)}, {kernel.line}"
    return _IN_CUDA.substitute(names=", ".join(names), count=len(names), statement=statement, place=place)


def _literal(text: str) -> str:
    """A C string."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _headers(instance: Instance) -> Iterator[str]:
    """What generated code of that kind needs beyond what every library has; before the author's text."""
    if instance.cuda:
        yield "launch.h"
    if instance.signature.pointwise:
        yield "pointwise_cuda.h" if instance.cuda else "pointwise.h"
        if instance.dual or instance.derived:
            yield "derivatives.h"
    if instance.signature.batched:
        yield "batched.h"


def _statement(instance: Instance, arguments: Sequence[Argument], index: int) -> tuple[str, str]:
    """What stands before the entry, and what the entry does with the call `a`."""
    kernel = instance.kernel
    if instance.signature.pointwise:
        loop = (CudaLoop if instance.cuda else Loop)(**vars(instance), index=index)
        return loop.definitions(), loop.statement(partial(_argument, kernel))
    before = ""
    if launch := kernel.signature.launch:
        before = launcher(kernel, launch, arguments, index, partial(_argument, kernel))
        statement = f"opwright_launch_{index}{_template_arguments(instance)}(a);"
    else:
        statement = _direct(instance, arguments)
    return before, _over_leading(instance.signature, statement) if instance.signature.batched else statement


def _over_leading(signature: Signature, statement: str) -> str:
    """The statement for each place along the leading axes."""
    ranks = ", ".join(str(len(tensor.dims)) for tensor in signature.tensors + signature.results)
    return _BATCHED.substitute(ranks=ranks, statement=statement)


def _direct(instance: Instance, arguments: Sequence[Argument]) -> str:
    kernel = instance.kernel
    if kernel.by_name:
        index, scalar = partial(_tensor_index, kernel), partial(_argument, kernel)
        return by_name.statement(kernel, arguments, index, scalar)
    words = ", ".join(_argument(kernel, argument) for argument in arguments)
    return f"::{kernel.function.name}{_template_arguments(instance)}({words});"


def _template_arguments(instance: Instance) -> str:
    """``<float, int64_t>``, or nothing for a function that is no template."""
    types = [instance.types[variable].ctype for variable in template_variables(instance.kernel)]
    return f"<{', '.join(types)}>" if types else ""


def _argument(kernel: Kernel, argument: Argument) -> str:
    signature = kernel.signature
    if argument.role == "stream":
        return "a.stream()"
    if argument.role == "rng":
        return "a.rng()"
    if argument.role == "axis":
        return f'a.axis({signature.axes.index(argument.name)}, "{argument.name}")'
    if argument.role == "scalar":
        index = next(i for i, s in enumerate(signature.scalars) if s.name == argument.name)
        kind = "real" if signature.scalars[index].kind == "float" else "integer"
        return f'a.{kind}({index}, "{argument.name}")'
    if argument.parameter.view == "Resizable":
        return f'a.resizable({_tensor_index(kernel, argument)}, "{argument.name}")'
    return f"a.tensor({_tensor_index(kernel, argument)})"


def _tensor_index(kernel: Kernel, argument: Argument) -> int:
    """Inputs, then results: an input and a result of a second-order backward may share a name."""
    signature = kernel.signature
    first = 0 if argument.role == "input" else len(signature.tensors)
    among = signature.tensors if argument.role == "input" else signature.results
    return first + next(i for i, t in enumerate(among) if t.name == argument.name)


def _row(instance: Instance, arguments: Iterable[Argument], index: int, device: str) -> str:
    kernel, signature = instance.kernel, instance.signature
    strided = sum(1 << _tensor_index(kernel, a) for a in arguments if a.parameter.view == "Strided")
    if signature.pointwise:
        strided = (1 << len(signature.tensors + signature.results)) - 1
    return _ROW.substitute(
        name=signature.name, instance=instance.name, device=device, index=index, strided=hex(strided)
    )
