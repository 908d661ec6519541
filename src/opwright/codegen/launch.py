"""Writes what CUDA texts have besides: host functions that launch kernels as their signatures say, and streams."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from string import Template

from opwright.codegen.by_name import expression
from opwright.errors import SourceError
from opwright.signature import Constant, Launch, Signature
from opwright.signature.model import ELLIPSIS
from opwright.sources import Argument, Kernel, Parameter
from opwright.sources.launches import find_launches
from opwright.sources.lexer import MalformedError, without_dead_lines
from opwright.sources.tokens import Tokens
from opwright.toolchain import line_directive

# On one line, that of OPWRIGHT, which is where messages then point.
_FUNCTION = Template(
    "$line\n${template}static void opwright_launch_$index(const opwright::detail::Arguments &a) { "
    "const $number over[] = {$over}; const int threads[] = {$threads}; "
    "const opwright::detail::Grid grid(over, threads, $count, $shared); if (!grid) return; $arguments$allowance"
    "$kernel<<<grid.size(), dim3($block), size_t(grid.shared), static_cast<cudaStream_t>(a.stream())>>>($words); }\n"
)
_ALLOWANCE = Template(
    "if (grid.shared > opwright::detail::usual_shared) OPWRIGHT_CUDA_CHECK(cudaFuncSetAttribute($kernel, "
    "cudaFuncAttributeMaxDynamicSharedMemorySize, int(grid.shared))); "
)
_NUMEL = Template('opwright::detail::IntegerArgument{$count, "numel"}')
_NUMBER = "opwright::detail::Whole"
_USUAL_SHARED = 48 * 1024
_STREAM = "::opwright::current_stream()"

Render = Callable[[Argument], str]


def launcher(kernel: Kernel, launch: Launch, arguments: Sequence[Argument], index: int, value: Render) -> str:
    """The host function that launches a kernel with the arguments `a` of a call.

    Args:
        kernel: whose function is a ``__global__`` one.
        launch: how.
        arguments: what its parameters are given.
        index: a number of its own within the library.
        value: the expression for an argument.
    """
    template = kernel.function.template
    function = "::" + kernel.function.name + (f"<{', '.join(template)}>" if template else "")
    known = _known(kernel.signature)
    words = [_NUMEL.substitute(count=known[ELLIPSIS]) if a.name == ELLIPSIS else value(a) for a in arguments]
    shared = launch.shared or Constant(0)
    more = bool(shared.axes) or shared.evaluate({}) > _USUAL_SHARED
    return _FUNCTION.substitute(
        line=line_directive(kernel.path.resolve(), kernel.line),
        template=f"template <{', '.join('class ' + name for name in template)}> " if template else "",
        index=index,
        over=", ".join(expression(expr, kernel.signature, known, _NUMBER) for expr in launch.over),
        threads=", ".join(map(str, _block(launch))),
        count=len(launch.over),
        shared=expression(shared, kernel.signature, known, _NUMBER),
        number=_NUMBER,
        arguments="".join(f"{_type(each.parameter)} p{i} = {words[i]}; " for i, each in enumerate(arguments)),
        allowance=_ALLOWANCE.substitute(kernel=function) if more else "",
        kernel=function,
        block=", ".join(map(str, _block(launch))),
        words=", ".join(f"p{i}" for i in range(len(arguments))),
    )


def _block(launch: Launch) -> tuple[int, ...]:
    return launch.threads + (1,) * (len(launch.over) - len(launch.threads))


def _known(signature: Signature) -> dict[str, str]:
    """What in a launch isn't an axis: ints, and the number of elements of ``...``."""
    known = {scalar.name: f"a.call->scalars[{i}].i" for i, scalar in enumerate(signature.scalars)}
    for i, tensor in enumerate(signature.tensors):
        if tensor.has_ellipsis and not tensor.optional:
            known.setdefault(ELLIPSIS, f"opwright::detail::leading(a.call->tensors[{i}], {len(tensor.dims)})")
    return known


def _type(parameter: Parameter) -> str:
    """A parameter's type, of which its text is the declaration; an array is a pointer, as it is for a function."""
    if parameter.view == "pointer" and "[" in parameter.text:
        return f"{'const ' if parameter.const else ''}{parameter.element} *"
    return parameter.text.removesuffix(parameter.name).rstrip()


def with_streams(text: str, path: str) -> str:
    """CUDA text in which launches that name no stream go to the current one: the default stream isn't PyTorch's.

    Raises:
        SourceError: a launch can't be read.
    """
    if "<<<" not in text:
        return text
    blob = text.encode("utf-8", "surrogateescape")
    live = without_dead_lines(blob).decode("utf-8", "surrogateescape")
    pieces, done = [], 0
    try:
        for launch in find_launches(Tokens(live)):
            given = len(launch.configuration)
            added = {2: f", 0, {_STREAM}", 3: f", {_STREAM}"}.get(given, "")
            pieces += [text[done : launch.inside.end], added]
            done = launch.inside.end
    except MalformedError as error:
        line = live.count("\n", 0, error.offset) + 1
        raise SourceError(f"{path}:{line}: this launch can't be read: {error}") from None
    return "".join([*pieces, text[done:]])
