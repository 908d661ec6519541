"""Derived gradients of large inputs of which few elements are read, against PyTorch's own gradients."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck, gradgradcheck

import opwright
from opwright import CompileError, KernelError, Operators

pytestmark = [
    pytest.mark.slow,  # a second or a few to compile each derivative
    pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning"),  # PyTorch's own
]

SOURCE = Path(__file__).parent / "kernels/derived_tables.cpp"
FLOATS = [torch.float64, torch.float32, torch.bfloat16]
TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5, torch.bfloat16: 2e-2}
ROWS, COLUMNS = 40, 70
"""A row begins in the midst of a block, of 64 elements."""


@pytest.fixture(scope="module")
def ops() -> Operators:
    """Kernels whose inputs are all sparse, however small they are."""
    return opwright.load(SOURCE, extra_cflags=["-DOPWRIGHT_SPARSE_FROM=0"])


@pytest.fixture(scope="module")
def usual() -> Operators:
    return opwright.load(SOURCE)


def weighted(table: Tensor, at: Tensor, w: Tensor) -> Tensor:
    return (table[at] * w[:, :, None]).sum(1)


def products(table: Tensor, at: Tensor, q: Tensor) -> Tensor:
    return (table[at] * q[:, None]).sum(2)


def pairs(table: Tensor, at: Tensor, q: Tensor) -> Tensor:
    first = at // 2 * 2
    return torch.stack([(table[first + i] * q).sum(1) for i in range(2)], 1)


Function = Callable[..., Tensor]
WAYS = ["rows", "references", "axpy", "data()", "&x(0, 0)", "&reference", "a row's data()", "&x.flat(i)"]


def by_way(ops: Operators, way: int) -> Function:
    return lambda table, at, w: ops.by_way(table, at, w, way)


def numbers(*shape: int) -> Tensor:
    return torch.randn(shape, dtype=torch.float64)


def arguments(name: str, count: int, rows: int = ROWS, columns: int = COLUMNS) -> list[Tensor]:
    table = numbers(rows, columns)
    at = torch.randint(0, rows, (count, 3) if name != "by_products" else (count,))
    at[count // 2 :] = at[:1] if count else at  # the same again
    return [table, at, numbers(count, 3 if name not in ("by_dots", "by_products") else columns)]


CALLS: dict[str, tuple[Callable[[Operators], Function], Function]] = {
    "bag": (lambda ops: ops.bag, weighted),
    "bag_of_all": (lambda ops: ops.bag_of_all, weighted),
    "of_any_rank": (lambda ops: ops.of_any_rank, weighted),
    "strided": (lambda ops: ops.strided, weighted),
    "by_dots": (lambda ops: ops.by_dots, products),
    "by_products": (lambda ops: ops.by_products, pairs),
    **{f"by_way: {word}": (partial(by_way, way=way), weighted) for way, word in enumerate(WAYS)},
}


def leaves(values: list[Tensor], dtype: torch.dtype = torch.float64) -> list[Tensor]:
    return [v.detach().to(dtype).requires_grad_() if v.is_floating_point() else v for v in values]


def gradients(form: Function, values: list[Tensor]) -> list[Tensor]:
    y = form(*values)
    g = torch.randn(y.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).to(y)
    return list(torch.autograd.grad(y, [a for a in values if a.requires_grad], g))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("count", [0, 1, 37])
@pytest.mark.parametrize(
    ("name", "dtype"),
    [(name, dtype) for name in CALLS for dtype in FLOATS if dtype == torch.float64 or name == "bag"],
)
def test_gradients(name: str, count: int, dtype: torch.dtype, ops: Operators) -> None:
    torch.manual_seed(0)
    kernel, reference = CALLS[name]
    ours = leaves(arguments(name, count), dtype)
    for one, other in zip(gradients(kernel(ops), ours), gradients(reference, leaves(ours)), strict=True):
        assert one.dtype == dtype
        scale = float(other.abs().max()) if other.numel() else 0.0
        torch.testing.assert_close(one.double(), other, rtol=0, atol=8 * TOLERANCE[dtype] * (1 + scale))


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", CALLS)
def test_the_same_bits_as_of_whole_copies_with_any_number_of_threads(
    name: str, ops: Operators, usual: Operators
) -> None:
    torch.manual_seed(0)
    values = leaves(arguments(name, 3000), torch.float32)
    before = torch.get_num_threads()
    found = []
    try:
        for form, threads in [(usual, 1), (ops, 1), (ops, 2), (ops, 4)]:
            torch.set_num_threads(threads)
            found.append(gradients(CALLS[name][0](form), values))
    finally:
        torch.set_num_threads(before)
    for other in found[1:]:
        assert all(torch.equal(a, b) for a, b in zip(found[0], other, strict=True))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["bag", "bag_of_all", "by_dots", "by_way: references"])
def test_of_every_order(name: str, ops: Operators) -> None:
    torch.manual_seed(0)
    values = leaves(arguments(name, 3, rows=6, columns=5))
    assert gradcheck(CALLS[name][0](ops), values, check_forward_ad=True, check_batched_grad=True)
    assert gradgradcheck(CALLS[name][0](ops), values)


@pytest.mark.parametrize("wanted", [0, 2])
@pytest.mark.parametrize("name", CALLS)
def test_each_gradient_alone(name: str, wanted: int, ops: Operators) -> None:
    torch.manual_seed(0)
    kernel, reference = CALLS[name]
    values = arguments(name, 37)
    values[wanted].requires_grad_()
    torch.testing.assert_close(gradients(kernel(ops), values), gradients(reference, values))


@pytest.mark.parametrize("name", ["bag", "bag_of_all", "strided"])
def test_tables_that_do_not_lie_dense(name: str, ops: Operators) -> None:
    torch.manual_seed(0)
    table, at, w = arguments(name, 37)
    table = torch.stack([table.mT, table.mT], -1)[..., 0].mT
    found, expected = (gradients(form, leaves([table, at, w])) for form in (getattr(ops, name), weighted))
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("name", CALLS)
def test_other_rows_in_the_next_call(name: str, ops: Operators) -> None:
    torch.manual_seed(0)
    kernel, reference = CALLS[name]
    values = arguments(name, 37)
    for shift in range(3):
        at = values[1] % 4 + 4 * shift
        others = leaves([values[0] * (shift + 1), at, values[2]])
        torch.testing.assert_close(gradients(kernel(ops), others), gradients(reference, others))


def test_a_table_that_is_rewritten_between_calls(ops: Operators) -> None:
    torch.manual_seed(0)
    table, at, w = leaves(arguments("bag", 37))
    for _ in range(3):
        torch.testing.assert_close(gradients(ops.bag, [table, at, w]), gradients(weighted, [table, at, w]))
        table.data.mul_(2)


def test_the_address_that_no_operator_gives() -> None:
    source = """
    #include <memory>
    OPWRIGHT("f(x: T[N], n: int) -> (y: T[N]) independent N derived")
    template <class T>
    void f(Tensor<const T, 1> x, int64_t n, Tensor<T, 1> y) {
      for (int64_t i = 0; i < x.size(0); ++i) y[i] = *std::addressof(x[i]) * T(n);
    }"""
    x = torch.ones(3, requires_grad=True)
    y = opwright.load_inline("derived_addresses", cpp=source).f(x, 2)
    with pytest.raises(CompileError, match=r"deleted function.*addressof"):
        y.sum().backward()


@pytest.mark.exhaustive
def test_an_error_after_rows_were_read() -> None:
    flags = ["-DOPWRIGHT_SPARSE_FROM=0", "-DOPWRIGHT_TAPE_MIB=1"]
    form = opwright.load(SOURCE, extra_cflags=flags).repeated
    torch.manual_seed(0)
    table, at, times = numbers(ROWS, COLUMNS).requires_grad_(), torch.randint(0, ROWS, (37,)), torch.ones(37).long()

    def reference(table: Tensor, at: Tensor, times: Tensor) -> Tensor:
        return times[:, None] * table[at].square()

    expected = gradients(reference, [table, at, times])
    for place in (0, 20, 36):
        long = times.clone()
        long[place] = 10_000
        with pytest.raises(KernelError, match="the tape is larger than 1 MiB"):
            gradients(form, [table, at, long])
        torch.testing.assert_close(gradients(form, [table, at, times]), expected)


GROWN = """
import ctypes, json, re, sys
from pathlib import Path
import torch, opwright

def resident(what):
    return int(re.search(rf"{what}:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) * 1024

def step(form, table, at, w):
    torch.autograd.grad(form(table, at, w).sum(), [table, w])

libc = ctypes.CDLL(None)
libc.mallopt(-3, 1 << 16)  # M_MMAP_THRESHOLD: what is freed isn't used again unseen
rows, columns, threads = map(int, sys.argv[2:])
torch.set_num_threads(threads)
ops = opwright.load(sys.argv[1])
forms = {"bag": ops.bag, "bag_of_all": ops.bag_of_all}
for way, word in enumerate(["rows", "references", "axpy", "pointer"]):
    forms[word] = lambda *values, way=way: ops.by_way(*values, way)
table, few = (torch.rand(n, columns, requires_grad=True) for n in (rows, 8))
at, w = torch.randint(0, rows, (250, 4)), torch.rand(250, 4, requires_grad=True)
grown = {}
for name, form in forms.items():
    step(form, few, at % 8, w)  # compiled, and loaded
    libc.malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    before = resident("VmRSS")
    step(form, table, at, w)
    grown[name] = (resident("VmHWM") - before) / (4 * rows * columns)
print(json.dumps(grown))
"""


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("threads", [1, 4])
def test_memory_of_a_large_table(threads: int, usual: Operators) -> None:
    """It is the gradient's own; as numbers all elements would take 10 times as much, and in lanes 40 times."""
    command = [sys.executable, "-c", GROWN, str(SOURCE), "200000", "64", str(threads)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    grown = json.loads(done.stdout)
    copied = grown.pop("pointer")
    assert set(grown) == {"bag", "bag_of_all", "rows", "references", "axpy"}
    assert all(times < 1.5 for times in grown.values()), grown
    assert copied > 3  # what a pointer leads to: the measure is one
