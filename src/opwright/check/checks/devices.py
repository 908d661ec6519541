"""Checks of kernels for other devices: against the CPU kernels, and CUDA kernels under emulation that finds faults."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from opwright.check.calls.cases import Arguments, Case, positional
from opwright.check.calls.target_operator import TargetOperator
from opwright.check.context import Context, is_refusal
from opwright.check.gradients.point import point_of_case
from opwright.check.gradients.vjp import Forward
from opwright.check.registry import register
from opwright.check.report import Finding, Skipped
from opwright.check.targets import find_operators, load_files
from opwright.check.values.comparison import compare_with_excuses, contiguous_call, reordered_sum_ulp
from opwright.check.values.ulp import ULP, worst_difference
from opwright.errors import KernelError

_SIZES = (2, 1, 3, 0, 5, 17, 257)
_LARGE = (1031, 8209, 33)
_SLACK = 4
"""Tolerance of gradients relative to results: gradients are computed from rounded values."""
_KINDS = {
    "race": "race",
    "out of bounds": "out-of-bounds",
    "uninitialised": "uninitialised",
    "barrier": "divergent-barrier",
    "lane": "absent-lanes",
    "misaligned": "misaligned",
    "overflow": "integer-overflow",
    "division": "division-by-zero",
}
_ORDERS = (("forward", 0), ("reverse", 0), ("random", 1))


@register("devices", group="values")
def devices(context: Context) -> Iterator[Finding]:
    """Compare the results and gradients of GPU kernels, or of emulated CUDA kernels, with those of the CPU kernels."""
    context.require_deterministic()
    plain = replace(context, operator=_cpu_operator(context))

    def judge(case: Case, arguments: Arguments) -> Finding | None:
        """Compare one call on the device with the same call on the CPU."""
        there, here = replace(case, device=context.device), replace(case, device="cpu")
        expected = plain.operator.call_all(here.arguments(), here.types)
        got = [result.cpu() for result in context.operator.call_all(arguments, there.types)]
        finding = compare_with_excuses(
            plain,
            got,
            expected,
            "what the CPU's kernel gives",
            here.arguments(),
            contiguous_call(plain, here),
            reordered_sum_ulp(arguments),
        )
        return finding or _gradients(context, plain, there, here)

    for types in context.level_types():
        finding = context.find(judge, types=types, sizes=_SIZES, values=("uniform", "wide"))
        if finding := finding or context.find(judge, types=types, sizes=_LARGE, max_numel=1 << 15, examples=3):
            kind = "raises" if finding.kind == "raises" else "differs-between-devices"
            yield Finding(kind, finding.message, finding.reproducer)
            return
    context.detail = f"{context.tried} calls, results and gradients, against the kernels of the CPU"


def _cpu_operator(context: Context) -> TargetOperator:
    """Return the same operator with its CPU kernel.

    Raises:
        Skipped: it has no CPU kernel, or no other device was requested.
    """
    operator = context.operator
    here = replace(operator, device="cpu")
    if operator.sources and all(source.is_emulated for source in operator.sources):
        ops = load_files(*(source.path for source in operator.sources))
        here = next(candidate for candidate in find_operators(ops) if candidate.name == operator.name)
    elif context.device == "cpu":
        raise Skipped('it is called on the CPU: device="cuda", or "emulated", compares CUDA kernels with that')
    if here.ours and "cpu" not in here.devices:
        raise Skipped(f'it has no kernel for the CPU; reference="FILE.cpp:{operator.name}" names another file\'s')
    return here


def _gradients(context: Context, plain: Context, there: Case, here: Case) -> Finding | None:
    """Compare the gradients of the same call."""
    if not context.operator.differentiable:
        return None
    cases = ((context, there), (plain, here))
    points = [point_of_case(each.operator, case, case.arguments(), each.seed) for each, case in cases]
    if points[0] is None or points[1] is None:
        return None
    got, expected = (forward.backward(forward.draw(here.seed)) for forward in (Forward(points[0]), Forward(points[1])))
    for name, grad in got.items():
        allowed = _SLACK * ULP.get(grad.dtype, 64.0)
        if difference := worst_difference(grad.cpu(), expected[name], allowed):
            return Finding("wrong-gradient", f"grad_{name} differs from what the CPU's kernel gives: {difference}")
    return None


@register("CUDA kernels", group="sanitizers", share=1.0)
def cuda_kernels(context: Context) -> Iterator[Finding]:
    """Emulate CUDA kernels in three orders of their threads, to find races and accesses outside of their tensors."""
    from opwright.cuda import emulation

    operator = context.operator
    sources = operator.sources
    if not sources or not all(source.is_emulated for source in sources):
        raise Skipped('no emulated CUDA kernels: check a file with device="emulated"')
    paths = [source.path for source in sources]
    function = getattr(load_files(*paths, backend=emulation.emulate(check=True)), operator.name)
    for kind, seed in _ORDERS:

        def judge(case: Case, arguments: Arguments) -> Finding | None:
            try:
                function(*positional(operator.signature, arguments), **operator.keywords(case.types))
            except KernelError as error:
                if is_refusal(error):
                    raise
                return Finding(_fault_kind(str(error)), str(error))
            return None

        with emulation.order(kind, seed=seed):
            finding = context.find(judge, max_numel=1 << 11)
        if finding:
            yield finding
            return
    context.detail = f"{context.tried} calls, watched"


def _fault_kind(text: str) -> str:
    """Return the kind of the fault that the emulation reports, from its message."""
    first = text.partition("\n")[0]
    return next((kind for phrase, kind in _KINDS.items() if phrase in first), "cuda-fault")
