"""What precedes the checks of an operator: can it be built, and does one call of each element type succeed?"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TYPE_CHECKING

from opwright.check.calls.cases import Case
from opwright.check.calls.reproducer import case_reproducer
from opwright.check.calls.target_operator import WrongResultsError
from opwright.check.context import DRAWS_PER_CALL, Context, is_refusal
from opwright.check.registry import Check
from opwright.check.report import Finding
from opwright.codegen import instance_name
from opwright.errors import ToolchainError
from opwright.signature import DType
from opwright.toolchain.build.limits import jobs as compilers_at_once

if TYPE_CHECKING:
    from opwright.check.calls.target_operator import TargetOperator
    from opwright.codegen import KernelSource

_NO_CALL = "no call succeeded: "


def _build(context: Context) -> Iterator[Finding]:
    """Compile the operator's kernels for every element type; the first error is a finding. No kernel is called."""
    operator = context.operator
    device = operator.device.partition(":")[0]
    sources = [s for s in operator.sources if operator.name in {kernel.signature.name for kernel in s.kernels(device)}]
    jobs = [(source, types, device) for source in sources for types in operator.signature.instances()]
    with ThreadPoolExecutor(compilers_at_once()) as pool:
        for message in pool.map(_compiler_error, *zip(*jobs, strict=True)) if jobs else ():
            if message:
                yield Finding("doesnt-compile", message)
                pool.shutdown(cancel_futures=True)
                return


def _compiler_error(source: KernelSource, types: Mapping[str, DType], device: str) -> str:
    """Return the compiler's error for one choice of element types; empty if there is none."""
    try:
        source.library(types, device=device)
    except ToolchainError as error:
        return f"for {instance_name(types)}: {error}" if types else str(error)
    return ""


def _call_each_type(context: Context) -> Iterator[Finding]:
    """Find the first error if no call succeeds; loads the kernels of every element type, so that checks needn't."""
    operator = context.operator
    first: Finding | None = None
    succeeded = False
    for types in operator.signature.instances():
        for case in islice(_draw_cases(operator, types), 1 if first or succeeded else DRAWS_PER_CALL):
            error = _call_error(operator, case)
            succeeded = succeeded or error is None or is_refusal(error)
            if error is None:
                break
            first = first or _failure_finding(operator, case, error)
    if first and not succeeded:
        yield first


def _failure_finding(operator: TargetOperator, case: Case, error: Exception) -> Finding:
    if isinstance(error, WrongResultsError):
        return Finding("wrong-results", str(error), case_reproducer(operator, case))
    return Finding("raises", f"{_NO_CALL}{type(error).__name__}: {error}", case_reproducer(operator, case))


def _call_error(operator: TargetOperator, case: Case) -> Exception | None:
    try:
        operator.call(case.arguments(), case.types)
    except Exception as error:  # noqa: BLE001 - whatever an operator raises
        return error
    return None


def _draw_cases(operator: TargetOperator, types: Mapping[str, DType]) -> Iterator[Case]:
    rng = random.Random(0)  # noqa: S311 - test data
    while True:
        yield Case(operator.sample(rng, types=types, contiguous=True), device=operator.device)


BUILD = Check("build", "", "quick", _build, 0.0, on_request=False, in_child=True)
FIRST_CALLS = Check("first calls", "", "quick", _call_each_type, 0.0, on_request=False, in_child=False)
"""Steps before the checks; they are reported if they fail, and the operator's checks are skipped then."""


def describe_failure(step: Check, finding: Finding) -> str:
    """Describe in one line why the checks after a step that failed are skipped."""
    if step is BUILD:
        return "it can't be built"
    return _NO_CALL + finding.message.partition("\n")[0].removeprefix(_NO_CALL)
