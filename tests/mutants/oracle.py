"""Judges mutants of handwritten backwards by derived gradients alone: ``python -m tests.mutants.run --oracle``.

A mutant is of a function that only backwards call: of first ones, or of second ones alone; first ones that aren't meant
to be the derivative (straight-through estimates) are excepted. What it is compared with is derived from the unchanged
source, and so compiled once. Of each source a sample is judged, the same in every run; ``--count`` makes it larger,
``--all`` takes all that there are.
"""

from __future__ import annotations

import functools
import itertools
import multiprocessing
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from functools import partial
from typing import Any

from opwright.check.calls.target_operator import TargetOperator
from opwright.check.checks import derived_gradients, select
from opwright.check.context import Context
from opwright.check.gradients.derived_twin import derived_twin
from opwright.check.report import Outcome
from opwright.check.runner import BUDGET, run_check
from opwright.signature.names import backward_of

from .backwards import Backwards, backwards_of
from .changes import Mutant, mutants, shuffled_mutants
from .examples import EVERY, Example
from .gallery import GALLERY
from .judge import NoOracleError, judge_mutant

Row = dict[str, Any]
SAMPLE = 3
"""How many mutants of a source's first backwards are judged, and as many of its second ones."""
SEED = 0
UNCHANGED = "(unchanged)"
_CHECKS = {1: "derived gradients", 2: "derived second gradients"}
_SUFFIXES = (".cpp", ".h", ".cu", ".cuh")
JUDGED = (*(example for example in EVERY if example.path.suffix in _SUFFIXES), *GALLERY)
"""The sources that have handwritten backwards, or headers of such."""


_backwards_of = functools.cache(backwards_of)


def functions_of(example: Example) -> Backwards:
    """The functions that only backwards call."""
    loaded = example.root / (example.loaded or example.source)
    return _backwards_of(loaded) if not example.subjects else Backwards({}, {})


def candidates(example: Example) -> list[Mutant]:
    """Every mutant of these functions, in the order in which they are taken."""
    orders, least = functions_of(example).orders, 2 if "straight_through" in example.settings else 1
    every = shuffled_mutants(mutants(example.path.read_text(), example.language), SEED)
    return [mutant for mutant in every if orders.get(mutant.function, 0) >= least]


def sample(example: Example, count: int = SAMPLE) -> list[Mutant]:
    """The first `count` candidates of first backwards, and of second ones."""
    orders, every = functions_of(example).orders, candidates(example)
    first, second = ([m for m in every if orders[m.function] == order][:count] for order in (1, 2))
    return [mutant for pair in itertools.zip_longest(first, second) for mutant in pair if mutant]


def run(only: str, count: int, jobs: int, known: Iterable[Row], add: Callable[[Row], object]) -> None:
    """Judge what isn't known, the unchanged sources first.

    Args:
        only: sources whose path has this in it.
        count: as `sample` has it.
        jobs: processes at a time.
        known: rows of what has been judged.
        add: called with each new row.
    """
    rows = {(row["source"], row["mutant"]): row for row in known}
    chosen = [i for i, example in enumerate(JUDGED) if only in example.source and candidates(example)]
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("fork")) as pool:

        def judge(waiting: list[tuple[int, Mutant | None, float | None]]) -> None:
            for done in as_completed([pool.submit(_row, *each) for each in waiting]):
                row = done.result()
                rows[row["source"], row["mutant"]] = row
                add(row)

        judge([(i, None, None) for i in chosen if (JUDGED[i].source, UNCHANGED) not in rows])
        waiting: list[tuple[int, Mutant | None, float | None]] = []
        right = [i for i in chosen if rows[JUDGED[i].source, UNCHANGED]["verdict"] == "survived"]
        for each in itertools.zip_longest(*(sample(JUDGED[i], count) for i in right)):  # of each source one
            waiting += [
                (i, mutant, rows[JUDGED[i].source, UNCHANGED]["seconds"])
                for i, mutant in zip(right, each, strict=True)
                if mutant and (JUDGED[i].source, str(mutant)) not in rows
            ]
        judge(waiting)


def _row(index: int, mutant: Mutant | None, baseline: float | None) -> Row:
    example = JUDGED[index]
    text = mutant.text if mutant else example.path.read_text()
    judged = judge_mutant(example, text, baseline, outcomes=partial(_outcomes, mutant=mutant))
    name = str(mutant) if mutant else UNCHANGED
    return {"source": example.source, "mutant": name, **asdict(judged)}


def _outcomes(example: Example, found: list[TargetOperator], *, mutant: Mutant | None) -> Iterator[Outcome]:
    """What the oracle says; an error where it can judge none of the operators."""
    functions, statuses = functions_of(example), list[Outcome]()
    changed = functions.orders[mutant.function] if mutant else 0
    for operator in found:
        if mutant and operator.name not in functions.operators[mutant.function]:
            continue
        types = Context(operator).type_choices(floating=True)[0]
        operator.sources[0].library(types)  # a mutant that doesn't compile ends here
        for order in (1, 2):
            if order < changed or backward_of(operator.name, order) not in (operator.namespace or {}):
                continue
            # A second gradient is derived from the first backward, which may be what is changed.
            _derive_from(found if order > changed > 0 else example.load(example.folder))
            statuses.append(_judged(example, operator, order))
            yield statuses[-1]
    if all(each.status == "skipped" for each in statuses):
        raise NoOracleError("; ".join(dict.fromkeys(each.detail for each in statuses)))


def _judged(example: Example, operator: TargetOperator, order: int) -> Outcome:
    (check,) = select("normal", (_CHECKS[order],))
    options = {**example.settings, "fail_fast": True, "shrink": False}
    return run_check(check, Context(operator, "normal", seconds=BUDGET["normal"] * check.share, options=options))


def _derive_from(operators: list[TargetOperator]) -> None:
    """Derive gradients from other operators than those that are judged, by their names, in this process."""
    named = {operator.name: operator for operator in operators}
    vars(derived_gradients)["derived_twin"] = lambda operator, *others: derived_twin(named[operator.name], *others)
