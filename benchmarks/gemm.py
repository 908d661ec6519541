"""Matrix products of LLTM's sizes: PyTorch's BLAS, the runtime's tiles, and PyTorch's oneDNN.

BLAS and tiles are called directly, with ctypes; ``torch.mm`` and oneDNN through PyTorch, whose overhead is in their
time. Then the header's forms of `gemm`, an epilogue and batches, beside PyTorch's operators.
``python benchmarks/gemm.py [--rounds 31] [--sizes 16x32x128 ...]``.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import torch

import opwright
from opwright.bench import Result, interleaved, ratio
from opwright.runtime.native.runtime import native

HERE = Path(__file__).parent
SIZES = ("16x32x128", "1x32x128", "64x128x256", "64x256x512")
BLAS, AVX2, AVX512 = 1, 3, 4  # csrc/gemm/gemm.h: Multiplier
FLOAT = 6


def parse(text: str) -> tuple[int, int, int]:
    """Parse ``batch x input features x state``."""
    batch, features, state = map(int, text.split("x"))
    return batch, features, state


def products(batch: int, features: int, state: int) -> dict[str, tuple[bool, bool, torch.Tensor, torch.Tensor]]:
    """Return the products of a step by name: transpose A, transpose B, A, B."""
    hx, p = torch.randn(batch, state + features), torch.randn(batch, 3 * state)
    weights = torch.randn(3 * state, state + features)
    return {
        "gates = hx W'": (False, True, hx, weights),
        "dhx = p W": (False, False, p, weights),
        "dW = p' hx": (True, False, p, hx),
    }


def ways(ta: bool, tb: bool, a: torch.Tensor, b: torch.Tensor) -> dict[str, Callable[[], object]]:
    """Return calls that compute the same product, into the same memory if the interface allows it."""
    left, right = a.t() if ta else a, b.t() if tb else b
    (m, k), n = left.shape, right.shape[1]
    expected, c = left @ right, torch.empty(m, n)

    def direct(by: int) -> Callable[[], object]:
        gemm = native().gemm_by
        where = (a.data_ptr(), a.stride(0), b.data_ptr(), b.stride(0), 0.0, c.data_ptr(), c.stride(0))
        return lambda: gemm(by, FLOAT, int(ta), int(tb), m, n, k, 1.0, *where)

    found: dict[str, Callable[[], object]] = {"BLAS": direct(BLAS)}
    for name, by in (("tiles, AVX2", AVX2), ("tiles, AVX-512", AVX512)):
        if direct(by)():
            torch.testing.assert_close(c, expected, rtol=1e-4, atol=1e-3)
            found[name] = direct(by)
    found["torch.mm"] = lambda: torch.mm(left, right, out=c)
    if torch.backends.mkldnn.is_available() and not ta:
        weight = right.t().contiguous()  # oneDNN's linear takes (n, k)
        linear = torch.ops.mkldnn._linear_pointwise  # noqa: SLF001 - what torch.compile calls
        found["oneDNN"] = lambda: linear(a, weight, None, "none", [], "")
    return found


def measure(result: Result, size: str, threads: int, rounds: int) -> None:
    """Measure all products of a size."""
    torch.set_num_threads(threads)
    for name, operands in products(*parse(size)).items():
        label = f"{name}, {size}, {threads} thread{'s' * (threads > 1)}"
        timings = interleaved(ways(*operands), rounds=rounds, seconds=0.005)
        result.timings.update({f"{way}, {label}": timing for way, timing in timings.items()})
        for way in timings:
            if way != "BLAS":
                result.ratios[f"BLAS / {way}, {label}"] = ratio(timings["BLAS"], timings[way])


FORMS = """
OPWRIGHT("linear_relu(x: T[M, K], w: T[N, K], bias: T[N]) -> (y: T[M, N])")
template <class T>
void linear_relu(Tensor<const T, 2> x, Tensor<const T, 2> w, Tensor<const T, 1> bias, Tensor<T, 2> y, int64_t M,
                 int64_t N, int64_t K) {
  gemm<T>(false, true, M, N, K, 1, x.data(), K, w.data(), K, 0, y.data(), N, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      for (int64_t j = 0; j < N; ++j) y(i, j) = max(T(0), y(i, j) + bias[j]);
  });
}
OPWRIGHT("batch(a: T[B, M, K], b: T[B, K, N]) -> (c: T[B, M, N])")
template <class T>
void batch(Tensor<const T, 3> a, Tensor<const T, 3> b, Tensor<T, 3> c, int64_t B, int64_t M, int64_t N, int64_t K) {
  gemm_batched<T>(B, false, false, M, N, K, 1, a.data(), K, M * K, b.data(), N, K * N, 0, c.data(), N, M * N);
}
"""


def measure_forms(result: Result, threads: int, rounds: int) -> None:
    """Measure products with an epilogue, and many small ones, beside PyTorch's operators."""
    torch.set_num_threads(threads)
    ops = opwright.load_inline("gemm_forms", cpp=FORMS)
    cases: dict[str, dict[str, Callable[[], object]]] = {}
    for m, n, k in ((4096, 256, 64), (1024, 1024, 64), (512, 512, 512)):
        x, w, bias = torch.randn(m, k), torch.randn(n, k), torch.randn(n)
        cases[f"relu(x w' + bias), {m}x{n}x{k}"] = {
            "torch": lambda x=x, w=w, bias=bias: torch.relu_(torch.addmm(bias, x, w.t())),  # type: ignore[misc]
            "opwright": lambda x=x, w=w, bias=bias: ops.linear_relu(x, w, bias),  # type: ignore[misc]
        }
    for count, n in ((4000, 3), (1000, 4), (1000, 8), (200, 16), (20, 64)):
        a, b = torch.randn(count, n, n), torch.randn(count, n, n)
        cases[f"{count} products of {n}x{n}"] = {
            "torch": lambda a=a, b=b: torch.bmm(a, b),  # type: ignore[misc]
            "opwright": lambda a=a, b=b: ops.batch(a, b),  # type: ignore[misc]
        }
    for what, calls in cases.items():
        label = f"{what}, {threads} thread{'s' * (threads > 1)}"
        timings = interleaved(calls, rounds=rounds, seconds=0.005)
        result.timings.update({f"{way}, {label}": timing for way, timing in timings.items()})
        result.ratios[f"torch / opwright, {label}"] = ratio(timings["torch"], timings["opwright"])


def main() -> None:
    """Measure, print and save the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--sizes", nargs="+", default=SIZES, help="batch x input features x state")
    options = parser.parse_args()
    result = Result("gemm", "the products of an LLTM step in float32, batch x input features x state")
    with torch.no_grad():
        for size in options.sizes:
            for threads in (1, 2):
                measure(result, size, threads, options.rounds)
        for threads in (1, 2):
            measure_forms(result, threads, options.rounds)
    result.finish(HERE / "results")


if __name__ == "__main__":
    main()
