"""DTensor: sharding strategies that follow from the signature, with processes over gloo."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runtime.sharding.processes import assert_right


def test_two_processes(tmp_path: Path) -> None:
    parts = (
        "along_independent_axes",
        "pointwise_and_batched",
        "without_a_word",
        "sizes_of_the_forward",
        "which_results_there_are",
        "results_that_nobody_uses",
        "what_is_overwritten",
        "refused",
    )
    assert_right("tests.runtime.sharding.two", 2, tmp_path / "store", parts)


@pytest.mark.exhaustive
@pytest.mark.parametrize("count", [2, 4])
def test_training(count: int, tmp_path: Path) -> None:
    parts = (
        "data_parallel",
        "fully_sharded",
        "tensor_parallel",
        "both",
        "sequence_parallel",
        "compiled",
        "checkpoints",
    )
    assert_right("tests.runtime.sharding.training", count, tmp_path / "store", parts, timeout=600)


@pytest.mark.exhaustive
def test_four_processes(tmp_path: Path) -> None:
    parts = (
        "several_dimensions_of_a_mesh",
        "what_has_no_word_is_gathered",
        "few_rows_or_none",
        "sizes_of_the_forward",
        "absent_arguments_and_masks",
        "compiled",
        "refused",
    )
    assert_right("tests.runtime.sharding.four", 4, tmp_path / "store", parts)
