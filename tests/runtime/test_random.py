"""Random numbers (`rng: generator(k)`)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch.utils.checkpoint import checkpoint

import opwright
from opwright import Operators, UnsupportedError

Leaf = Callable[..., torch.Tensor]


def philox(seed: int, element: int) -> list[int]:
    """The first eight draws of Philox4x32-10, in Python's integers."""
    draws: list[int] = []
    for block in range(2):
        c, k = [block, 0, element & 0xFFFFFFFF, element >> 32], [seed & 0xFFFFFFFF, seed >> 32]
        for _ in range(10):
            a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
            c = [(b >> 32) ^ c[1] ^ k[0], b & 0xFFFFFFFF, (a >> 32) ^ c[3] ^ k[1], a & 0xFFFFFFFF]
            k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
        draws += c
    return draws


def test_the_reference_itself() -> None:
    # The known answers that come with Random123 (kat_vectors), for the counter 0 and the key 0.
    assert philox(0, 0)[:4] == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]


def test_bits_are_those_of_philox(notation: Operators) -> None:
    torch.manual_seed(5)
    bits, uniform, _, small = notation.draws(4)
    torch.manual_seed(5)
    seed = int(torch.empty((), dtype=torch.int64).random_(-(2**63), None).item()) & (
        2**64 - 1
    )  # random64() of the generator
    expected = [philox(seed, i) for i in range(4)]
    assert bits.tolist() == expected
    assert uniform.tolist() == [((e[0] << 32 | e[1]) >> 11) * 2.0**-53 for e in expected]
    assert small.tolist() == [(e[0] >> 8) * 2.0**-24 for e in expected]


@pytest.mark.slow
def test_distributions(notation: Operators) -> None:
    torch.manual_seed(0)
    n = 100_000
    bits, uniform, normal, small = notation.draws(n)
    for u in (uniform, small.double()):
        assert u.min() >= 0
        assert u.max() < 1
        assert abs(u.mean() - 0.5) < 5 * (1 / 12 / n) ** 0.5
    assert abs(normal.mean()) < 5 / n**0.5
    assert abs(normal.var() - 1) < 5 * (2 / n) ** 0.5
    assert abs((normal**4).mean() - 3) < 5 * (96 / n) ** 0.5
    for bit in range(32):
        assert abs((bits >> bit & 1).double().mean() - 0.5) < 5 * 0.5 / (8 * n) ** 0.5


def test_seeds(notation: Operators) -> None:
    x = torch.zeros(1000)
    torch.manual_seed(1)
    first, second = notation.noise(x), notation.noise(x)
    assert not torch.equal(first, second)
    torch.manual_seed(1)
    assert torch.equal(notation.noise(x), first)
    state = torch.get_rng_state()
    assert torch.equal(notation.noise(x), second)
    torch.set_rng_state(state)
    assert torch.equal(notation.noise(x), second)


def test_a_generator_of_ones_own(notation: Operators) -> None:
    x = torch.zeros(5)
    own = torch.Generator().manual_seed(3)
    before = torch.get_rng_state()
    first = notation.noise(x, rng=own)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(notation.noise(x, torch.Generator().manual_seed(3)), first)


def test_threads_make_no_difference(notation: Operators) -> None:
    x, threads = torch.zeros(100_000), torch.get_num_threads()
    try:
        results = []
        for count in (1, 2, 3):
            torch.set_num_threads(count)
            torch.manual_seed(2)
            results.append(notation.noise(x))
    finally:
        torch.set_num_threads(threads)
    assert torch.equal(results[0], results[1])
    assert torch.equal(results[0], results[2])


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_checkpoint_draws_again_the_same(notation: Operators, leaf: Leaf, use_reentrant: bool) -> None:
    x = leaf(50)

    def f(x: torch.Tensor) -> torch.Tensor:
        return torch.as_tensor(notation.noise(x.detach()) * x)

    torch.manual_seed(4)
    y = checkpoint(f, x, use_reentrant=use_reentrant)
    torch.rand(3)
    y.sum().backward()
    torch.testing.assert_close(x.grad, y.detach() / x.detach())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
def test_compiled(notation: Operators) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return torch.as_tensor(notation.noise(x) - notation.noise(x))

    x = torch.zeros(20)
    torch.manual_seed(6)
    expected = f(x)
    torch.manual_seed(6)
    actual = torch.compile(f, fullgraph=True)(x)
    assert torch.equal(actual, expected)
    assert (actual != 0).any(), "the second call is not the first one's result"


def test_deterministic_mode(notation: Operators) -> None:
    torch.use_deterministic_algorithms(mode=True)
    try:
        torch.manual_seed(0)
        first = notation.noise(torch.zeros(9))
        torch.manual_seed(0)
        assert torch.equal(notation.noise(torch.zeros(9)), first)
    finally:
        torch.use_deterministic_algorithms(mode=False)


def test_vmap(notation: Operators) -> None:
    x = torch.zeros(3, 8)
    with pytest.raises(UnsupportedError, match="vmap over a random operator has to be told what to draw"):
        torch.vmap(notation.noise)(x)
    same = torch.vmap(notation.noise, randomness="same")(x)
    assert torch.equal(same[0], same[1])
    different = torch.vmap(notation.noise, randomness="different")(x)
    assert not torch.equal(different[0], different[1])


@pytest.mark.parametrize("randomness", ["different", "same"])
def test_vmap_over_what_is_not_its_argument(notation: Operators, randomness: str) -> None:
    def own(z: torch.Tensor) -> torch.Tensor:
        return torch.as_tensor(notation.noise(torch.zeros(8)) + z)

    def own_again(z: torch.Tensor) -> torch.Tensor:
        return torch.as_tensor(torch.vmap(own, randomness=randomness)(z))

    def theirs(z: torch.Tensor) -> torch.Tensor:
        return torch.rand(8) + z

    def theirs_again(z: torch.Tensor) -> torch.Tensor:
        return torch.as_tensor(torch.vmap(theirs, randomness=randomness)(z))

    z = torch.zeros(3, 2, 8)
    for f, g in ((own, theirs), (own_again, theirs_again)):
        for outer in ("different", "same"):
            ours, expected = (torch.vmap(each, randomness=outer)(z) for each in (f, g))
            assert _who_is_equal(ours) == _who_is_equal(expected)
    assert torch.vmap(own, randomness=randomness)(torch.zeros(0, 8)).shape == (0, 8)


def _who_is_equal(batch: torch.Tensor) -> list[list[bool]]:
    rows = batch.reshape(-1, batch.shape[-1])
    return [[torch.equal(a, b) for b in rows] for a in rows]


def test_vmap_over_a_random_factory(notation: Operators) -> None:
    def draws(z: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(each.double() + z for each in notation.draws(1))

    z = torch.zeros(3)
    different = torch.vmap(draws, randomness="different")(z)
    assert [each.unique().numel() for each in different] == [3 * each[0].numel() for each in different]
    same = torch.vmap(draws, randomness="same")(z)
    assert all(torch.equal(each[0], each[2]) for each in same)
    own = torch.Generator().manual_seed(3)
    expected = notation.noise(torch.zeros(4), rng=torch.Generator().manual_seed(3))
    actual = torch.vmap(lambda x: notation.noise(x, rng=own), randomness="same")(torch.zeros(3, 4))
    assert torch.equal(actual, expected.expand(3, 4))
    with pytest.raises(UnsupportedError, match="vmap over a random operator has to be told what to draw"):
        torch.vmap(draws)(z)
    with pytest.raises(UnsupportedError, match="vmap over a random operator has to be told what to draw"):
        torch.vmap(lambda z: notation.noise(torch.zeros(4)) + z)(z)


@pytest.mark.parametrize("randomness", ["different", "same"])
def test_vmap_and_gradients_of_an_operator_with_residuals(leaf: Leaf, randomness: str) -> None:
    dropout = opwright.load(Path(__file__).parents[2] / "examples" / "dropout" / "dropout.cpp").dropout
    w, scale = leaf(40), leaf(3, 40).detach()

    def f(z: torch.Tensor, w: torch.Tensor = w) -> torch.Tensor:
        return torch.as_tensor(z * dropout(w, 0.5))

    y = torch.vmap(f, randomness=randomness)(scale)
    y.sum().backward()
    torch.testing.assert_close(w.grad, (y / w).sum(0).detach())
    assert torch.equal(y[0] != 0, y[1] != 0) == (randomness == "same")
    one = torch.func.grad(lambda w, z: f(z, w).sum())
    inner = torch.vmap(lambda z: one(w.detach(), z), randomness=randomness)(scale)
    torch.testing.assert_close(inner, torch.where(inner == 0, inner, 2 * scale))
    assert torch.equal(inner[0] != 0, inner[1] != 0) == (randomness == "same")
    outer = torch.func.grad(lambda w: torch.vmap(lambda z: f(z, w), randomness=randomness)(scale).sum())(w.detach())
    subsets = torch.stack([2 * sum((scale[i] for i in range(3) if bits >> i & 1), 0 * w) for bits in range(8)])
    reached = torch.isclose(outer, subsets.detach()).any(0)  # each element is kept in some of the calls
    assert reached.all()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
def test_vmap_compiled(notation: Operators) -> None:
    def f(z: torch.Tensor) -> torch.Tensor:
        return torch.as_tensor(notation.noise(torch.zeros(8)) + z)

    compiled = torch.compile(torch.vmap(f, randomness="different"), fullgraph=True)(torch.zeros(3, 8))
    assert _who_is_equal(compiled) == torch.eye(3, dtype=torch.bool).tolist()


def test_gradcheck_and_opcheck(notation: Operators, leaf: Leaf) -> None:
    def again(x: torch.Tensor) -> torch.Tensor:
        return torch.as_tensor(notation.noise(x, rng=torch.Generator().manual_seed(0)))

    assert torch.autograd.gradcheck(again, leaf(4))
    assert set(torch.library.opcheck(notation.noise, (leaf(4),)).values()) == {"SUCCESS"}
    assert torch.Tag.nondeterministic_seeded in notation.noise.tags
