from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import references
import torch
from cases import CASES, MORE, Arguments, Case, Draw
from gallery import SOURCES, load
from torch import Tensor

import opwright
from opwright.pytest_plugin import CudaPlace

EVERY = [*CASES, *MORE]
CHECKED = [case for case in EVERY if case.operator != "top_p"]  # which draws
PLACES = ["forward", "reverse", "random", pytest.param("checked", marks=pytest.mark.exhaustive), "gpu"]
TRAINED = [case for case in EVERY if case.trained]
LAST_DIGITS = {torch.float64: 1e-11, torch.float32: 1e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}


def names(cases: list[Case]) -> dict[str, Any]:
    """Return the arguments of parametrize: every case by its operator, the second of one as ``rotary-2``."""
    return {"argvalues": cases, "ids": [f"{case.operator}-2" if case in MORE else case.operator for case in cases]}


def widened(values: Any) -> Any:
    """Return tensors as float64, which the reference computes in."""
    if isinstance(values, (tuple, list)):
        return type(values)(map(widened, values))
    return values.detach().double() if isinstance(values, Tensor) and values.is_floating_point() else values


def moved(values: Arguments, device: str) -> Arguments:
    return tuple(value.to(device) if isinstance(value, Tensor) else value for value in values)


def results(form: Callable[..., Any], arguments: Arguments) -> list[Tensor]:
    """Return the results of a call, or the arguments that it has overwritten."""
    found = form(*arguments)
    found = arguments[:2] if found is None else found
    return list(found) if isinstance(found, tuple) else [found]


def assert_close(found: Tensor, expected: Tensor, dtype: torch.dtype) -> None:
    tolerance = max(LAST_DIGITS[dtype], LAST_DIGITS.get(found.dtype, 0.0))
    if found.dtype == torch.float8_e4m3fn:  # a sum before the rounding may differ, and so the result by a step
        found, expected, tolerance = found.float(), expected.float(), 0.126
    assert found.shape == expected.shape
    scale = float(expected.detach().abs().max()) if expected.is_floating_point() and expected.numel() else 1.0
    torch.testing.assert_close(
        found.to(expected.dtype), expected, rtol=tolerance, atol=tolerance * max(scale, 1e-3), equal_nan=True
    )


def assert_agrees(ops: opwright.Operators, case: Case, dtype: torch.dtype, device: str = "cpu") -> None:
    """Compare values and gradients with those of the reference in float64."""
    arguments = moved(case.small(Draw(dtype)), device)
    ours, theirs = list(arguments), list(widened(arguments))
    for place in case.trained:
        ours[place], theirs[place] = arguments[place].requires_grad_(), theirs[place].requires_grad_()
    theirs = [value.clone() if isinstance(value, Tensor) else value for value in theirs] if not case.trained else theirs
    found, expected = results(getattr(ops, case.operator), tuple(ours)), results(case.reference, tuple(theirs))
    for one, other in zip(found, expected, strict=True):
        assert_close(one, other, dtype)
    if not case.trained:
        return
    g = torch.randn(found[0].shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).to(device, dtype)
    gradients = torch.autograd.grad(found[0], [ours[place] for place in case.trained], g)
    wanted = torch.autograd.grad(expected[0], [theirs[place] for place in case.trained], g.double())
    if case.operator == "ctc_loss":  # PyTorch's gradient is that of the logits, as if a log_softmax were part of it
        shares = theirs[0].detach().exp()
        gradients = (gradients[0] - shares * gradients[0].sum(2, keepdim=True),)
    for one, other in zip(gradients, wanted, strict=True):
        assert_close(one, other, dtype)


@pytest.mark.parametrize("case", **names(CHECKED))
def test_values_and_gradients(case: Case) -> None:
    assert_agrees(load(case.source), case, torch.float32)


@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("case", **names(CHECKED))
def test_every_element_type(case: Case, dtype: torch.dtype) -> None:
    if dtype in case.dtypes:
        assert_agrees(load(case.source), case, dtype)


@pytest.mark.sampled(3)
@pytest.mark.slow
@pytest.mark.parametrize("cuda_place", PLACES, indirect=True)
@pytest.mark.parametrize("case", **names(CHECKED))
def test_cuda_kernels(cuda_place: CudaPlace, case: Case) -> None:
    backend, device = cuda_place
    assert_agrees(load(case.source, backend), case, torch.float32, device)


@pytest.mark.exhaustive
@pytest.mark.parametrize("case", **names(CHECKED))
def test_cuda_kernels_of_another_type(cuda_place: CudaPlace, case: Case) -> None:
    backend, device = cuda_place
    assert_agrees(load(case.source, backend), case, case.dtypes[-1], device)


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize("case", **names(TRAINED))
def test_gradcheck(case: Case) -> None:
    operator, arguments = getattr(load(case.source), case.operator), list(case.small(Draw(torch.float64)))

    def step(*trained: Tensor) -> Any:
        given = list(arguments)
        for place, value in zip(case.trained, trained, strict=True):
            given[place] = value
        return operator(*given)

    trained = [arguments[place].requires_grad_() for place in case.trained]
    assert torch.autograd.gradcheck(step, trained)
    for i in range(len(trained)):  # each alone
        alone = [value.detach().requires_grad_(i == j) for j, value in enumerate(trained)]
        assert torch.autograd.gradcheck(step, alone)


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize("case", **names(EVERY))
def test_opcheck(case: Case) -> None:
    arguments = list(case.small(Draw(torch.float32)))
    for place in case.trained:
        arguments[place].requires_grad_()
    tests = ["test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic"]
    if case.operator not in {"swiglu_fp8", "top_p"}:  # PyTorch can't compare 8-bit floats, and it calls twice
        tests.append("test_schema")
    operator = getattr(load(case.source), case.operator)
    found = torch.library.opcheck(operator, tuple(arguments), test_utils=tests)
    assert set(found.values()) == {"SUCCESS"}


@pytest.mark.exhaustive
@pytest.mark.parametrize("device", ["cpu", "emulated"])
@pytest.mark.parametrize("name", SOURCES)
def test_check(name: str, device: str) -> None:
    path = SOURCES[name] if device == "cpu" else SOURCES[name].with_suffix(".cu")
    if not path.exists():
        pytest.skip("a pointwise operator")
    if device == "emulated" and name in {"segment", "embedding_bag"}:
        pytest.skip("these kernels trust their offsets, and drawn ones descend")
    report = opwright.check(path, level="quick", device=device)
    assert report.ok, str(report)


# What differs from the others.


def test_top_p_draws_from_the_most_probable_tokens() -> None:
    logits, p, temperature = Draw(torch.float32).normal(1, 20) * 2, 0.8, 0.7
    expected = references.top_p_probabilities(logits, p, temperature)[0]
    count = 20_000
    torch.manual_seed(0)
    drawn = load("top_p").top_p(logits.expand(count, -1), p, temperature).bincount(minlength=20) / count
    assert 2 < (expected > 0).sum() < 20
    assert torch.equal(drawn > 0, expected > 0)
    assert (drawn - expected).abs().max() < 5 * (0.25 / count) ** 0.5


@pytest.mark.slow
def test_top_p_draws_the_same_on_every_device(cuda_place: CudaPlace) -> None:
    backend, device = cuda_place
    # In float64, for the exponential functions of a GPU and of a C library differ in float32's last place.
    arguments = Draw(torch.float64).normal(40, 300) * 2, 0.9, 0.8
    expected = load("top_p").top_p(*arguments, rng=torch.Generator().manual_seed(3))
    generator = torch.Generator(device).manual_seed(3)
    found = load("top_p", backend).top_p(*moved(arguments, device), rng=generator)
    assert torch.equal(found.cpu(), expected)


def test_top_p_without_a_token_to_draw() -> None:
    logits = torch.tensor([[torch.nan, 0.0], [torch.inf, 0.0], [-torch.inf, 1.0]])
    assert load("top_p").top_p(logits).tolist() == [-1, -1, 1]
    assert load("top_p").top_p(torch.zeros(2, 0)).tolist() == [-1, -1]


def test_offsets_that_descend_are_refused() -> None:
    expected = r"segment_sum\(\): offsets\[2\] is 1, expected at least offsets\[1\] = 2"
    with pytest.raises(opwright.KernelError, match=expected):
        load("segment").segment_sum(torch.ones(3, 2), torch.tensor([0, 2, 1]))


def test_of_two_tokens_with_one_slot_the_last_one_stays() -> None:
    keys, values = torch.zeros(1, 2, 1, 1), torch.zeros(1, 2, 1, 1)
    new = torch.tensor([1.0, 2.0, 3.0]).view(3, 1, 1)
    load("kv_cache").kv_cache_write(keys, values, new, -new, torch.tensor([1, 1, -1]))
    assert keys.flatten().tolist() == [0, 2]
    assert values.flatten().tolist() == [0, -2]


def test_a_sequence_that_is_too_short_has_an_infinite_loss_and_no_gradient() -> None:
    log_probs = torch.randn(2, 1, 3).log_softmax(2).requires_grad_()
    targets, lengths = torch.tensor([[1, 1]]), torch.tensor([2])  # between equal labels a blank is needed
    loss = load("ctc_loss").ctc_loss(log_probs, targets, lengths, lengths)
    assert loss.item() == torch.inf
    assert torch.equal(torch.autograd.grad(loss.sum(), log_probs)[0], torch.zeros(2, 1, 3))


def test_a_named_size_is_checked() -> None:
    arguments = list(next(case for case in CASES if case.operator == "deform_conv").small(Draw(torch.float32)))
    arguments[5] = [1, 1]
    with pytest.raises(opwright.ArgumentError, match=r"deform_conv\(\): offset has shape .* OH"):
        load("deform_conv").deform_conv(*arguments)
