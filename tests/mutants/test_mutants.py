"""Mutants of the examples' kernels: how they are made, that they are found, and that the counts are the results'."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutants import counts, oracle, run
from tests.mutants.backwards import backwards_of
from tests.mutants.changes import mutants
from tests.mutants.examples import EVERY, EXAMPLES
from tests.mutants.survivors import read

ROOT = EXAMPLES.parent
_PATIENT = {"OMP_WAIT_POLICY": "passive"}  # threads that wait leave the processor to others
_TINY = """#include <opwright.h>
OPWRIGHT("less(x: f32[N], y: f32[N]) -> (z: f32[N])")
void less(Tensor<const float, 1> x, Tensor<const float, 1> y, Tensor<float, 1> z) {
  OPWRIGHT_CHECK(x.numel() >= 0, "never");
  for (int64_t i = 0; i < z.numel(); ++i) z[i] = x[i] - y[i];
}
"""
_MADE = {
    "bound: 0 -> 1", "bound: < -> <=", "comparison: < -> >",
    "sign: - -> +", "missing term: x[i] - y[i] -> x[i]", "swapped: x[i] - y[i] -> (y[i]) - (x[i])",
    "sign: x[i] - y[i] -> -(x[i] - y[i])", "factor: x[i] - y[i] -> 2 * (x[i] - y[i])",
    "missing term: z[i] = x[i] - y[i] -> ",
    "swapped: Tensor<const float, 1> x, Tensor<const float, 1> y -> Tensor<const float, 1> y, Tensor<const float, 1> x",
    *(f"index: i -> (i) {sign} 1{again}" for sign in "+-" for again in ("", " #2", " #3")),
}  # fmt: skip
_JUDGED = """
import json, sys
from pathlib import Path
from tests.mutants.changes import mutants
from tests.mutants.examples import Example
from tests.mutants.judge import judge_mutant

example = Example("tiny/less.cpp", references={"less": lambda x, y: x - y}, root=Path(sys.argv[1]))
text = example.path.read_text()
named = {str(mutant): mutant.text for mutant in mutants(text, "cuda")}
found = {}
for name in sys.argv[2:]:
    found[name] = judge_mutant(example, named[name], 1.0)
found["not C++"] = judge_mutant(example, text.replace("z[i] =", "zz[i] ="), 1.0)
print(json.dumps({name: (each.verdict, each.by) for name, each in found.items()}))
"""


def test_every_change_of_a_kernel() -> None:
    made = mutants(_TINY, "cuda")
    assert {str(mutant) for mutant in made} == {f"less: {name}" for name in _MADE}
    assert len({mutant.text for mutant in made}) == len(made)
    assert all(mutant.line == 5 for mutant in made if mutant.kind != "swapped" or "Tensor" not in mutant.change)


@pytest.mark.slow
def test_a_tiny_kernels_mutants_are_found(tmp_path: Path) -> None:
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny" / "less.cpp").write_text(_TINY)
    chosen = ["less: sign: - -> +", "less: missing term: z[i] = x[i] - y[i] -> "]
    path = os.pathsep.join([str(ROOT), *filter(None, sys.path)])
    words = [sys.executable, "-c", _JUDGED, str(tmp_path), *chosen]
    done = subprocess.run(
        words, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": path, **_PATIENT}
    )
    found = json.loads(done.stdout)
    assert found.pop("not C++")[0] == "not compiling"
    assert found == {name: ["caught", "less: agreement: wrong-value"] for name in chosen}


def test_results_are_of_mutants_that_there_are() -> None:
    """What was changed in an example since is judged again: ``python -m tests.mutants.run`` does."""
    rows = run.read(run.RESULTS)
    there = {example.source: {str(mutant) for mutant in run.every(example)} for example in EVERY}
    assert all(row["mutant"] in there[row["source"]] | {oracle.UNCHANGED} for row in rows)
    right = {row["source"] for row in rows if row["mutant"] == oracle.UNCHANGED and row["verdict"] == "survived"}
    assert {row["source"] for row in rows} == right, "a source that isn't right shows nothing"


def test_every_survivor_is_explained() -> None:
    alive = {counts.name(row) for row in run.read(run.RESULTS) if row["verdict"] == "survived"}
    alive -= {f"{example.source}: {oracle.UNCHANGED}" for example in EVERY}
    reasons = read(counts.SURVIVORS)
    assert set(reasons) == alive
    assert all(len(reason.split()) >= 5 for reason in reasons.values())


def test_what_the_oracle_found() -> None:
    """It judges a sample of the mutants of each source that it can judge, and what it doesn't find is explained."""
    rows = run.read(run.ORACLE)
    verdicts = {(row["source"], row["mutant"]): row["verdict"] for row in rows}
    assert len(verdicts) == len(rows), "a mutant was judged twice"
    there: set[tuple[str, str]] = set()
    for example in oracle.JUDGED:
        if not (every := oracle.candidates(example)):
            continue
        unchanged = verdicts[example.source, oracle.UNCHANGED]
        assert unchanged in ("survived", "no oracle"), "a source that isn't right shows nothing"
        there |= {(example.source, name) for name in (oracle.UNCHANGED, *map(str, every))}
        if unchanged == "survived":
            assert {(example.source, str(mutant)) for mutant in oracle.sample(example)} <= verdicts.keys()
    assert verdicts.keys() <= there
    alive = {counts.name(r) for r in rows if r["verdict"] == "survived" and r["mutant"] != oracle.UNCHANGED}
    reasons = read(counts.SEEN_OTHERWISE)
    assert set(reasons) == alive
    assert all(len(reason.split()) >= 5 for reason in reasons.values())


_CALLS = """
#include <opwright.h>
template <class T> T shared(T x) { return 2 * x; }
template <class T> struct Both { T x; Both(T x) : x(x) {} T sum() const { return x + 1; } };
template <class T> __global__ void own(int64_t n, const T *g, T *grad_x) { if (n > 1) grad_x[0] = shared(g[0]); }
template <class T> void twice_own(Tensor<T, 1> x) { x[0] = Both<T>(x[0]).sum() + 1; }
OPWRIGHT("f(x: T[N]) -> (y: T[N])")
template <class T> void f(Tensor<const T, 1> x, Tensor<T, 1> y) { y[0] = shared(x[0]); }
OPWRIGHT("f_backward(grad_y: T[N]) -> (grad_x: T[N])")
template <class T> void f_backward(Tensor<const T, 1> grad_y, Tensor<T, 1> grad_x, cudaStream_t stream) {
  own<T><<<1, 1, 0, stream>>>(1, grad_y.data(), grad_x.data());
}
OPWRIGHT("f_backward_backward(grad_grad_x: T[N]) -> (grad_grad_y: T[N])")
template <class T> void f_backward_backward(Tensor<const T, 1> u, Tensor<T, 1> v, cudaStream_t stream) {
  own<T><<<1, 1, 0, stream>>>(1, u.data(), v.data());
  twice_own(v);
}
"""


def test_which_functions_only_backwards_call(tmp_path: Path) -> None:
    path = tmp_path / "calls.cu"
    path.write_text(_CALLS)
    found = backwards_of(path)
    second = {"f_backward_backward": 2, "twice_own": 2, "Both": 2, "sum": 2}
    assert found.orders == {"f_backward": 1, "own": 1, **second}
    assert set(found.operators.values()) == {frozenset({"f"})}


def test_the_counts_are_those_of_the_results() -> None:
    found = {**counts.count_results(), "oracle": counts.count_oracle()}
    assert json.loads(counts.COUNTS.read_text()) == found, "run python -m tests.mutants.counts"
    assert counts.update_page(counts.PAGE.read_text()) == counts.PAGE.read_text(), "run python -m tests.mutants.counts"


@pytest.mark.exhaustive
def test_they_are_found_again(tmp_path: Path) -> None:
    """All of it, which takes hours."""
    results = tmp_path / "results.jsonl"
    path = os.pathsep.join([str(ROOT), *filter(None, sys.path)])
    words = [sys.executable, "-m", "tests.mutants.run", "--results", str(results)]
    subprocess.run(words, check=True, env={**os.environ, "PYTHONPATH": path, **_PATIENT})
    rows = [row for row in run.read(results) if row["mutant"] != oracle.UNCHANGED]
    alive = {counts.name(row) for row in rows if row["verdict"] == "survived"}
    assert alive <= set(read(counts.SURVIVORS))
    assert {row["source"] for row in rows} == {example.source for example in EVERY}
