from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opwright.errors import ArgumentError
from opwright.signature import Binding, DType, Signature, TensorInfo, bind, parse

LLTM = parse(
    "lltm(input: T[B, I], weights: T[3*S, I+S], bias: T[3*S], old_h: T[B, S], old_cell: T[B, S])"
    " -> (h: T[B, S], c: T[B, S]; gates: T[B, 3*S])"
)
F32, F64, I64, F16 = DType.F32, DType.F64, DType.I64, DType.F16


def info(*shape: int, dtype: DType = F32) -> TensorInfo:
    return TensorInfo(shape, dtype)


def lltm(**changes: TensorInfo | None) -> dict[str, TensorInfo | None]:
    given: dict[str, TensorInfo | None] = {
        "input": info(16, 32),
        "weights": info(384, 160),
        "bias": info(384),
        "old_h": info(16, 128),
        "old_cell": info(16, 128),
    }
    return given | changes


def refusal(text: str, arguments: dict[str, TensorInfo | None], **known: Any) -> str:
    with pytest.raises(ArgumentError) as caught:
        bind(parse(text), arguments, **known)
    return str(caught.value)


def test_binding() -> None:
    assert bind(LLTM, lltm()) == Binding({"B": 16, "I": 32, "S": 128}, None, {"T": F32})


@pytest.mark.parametrize(
    ("text", "shapes", "axes", "ellipsis"),
    [
        ("f(a: T[M+N], b: T[N])", [(7,), (3,)], {"N": 3, "M": 4}, None),
        ("f(a: T[K*N], b: T[K])", [(6,), (3,)], {"K": 3, "N": 2}, None),
        ("f(a: T[2*N-1])", [(5,)], {"N": 3}, None),
        ("f(a: T[5-N])", [(5,)], {"N": 0}, None),
        ("f(a: T[(N+1)//2], b: T[N])", [(2,), (3,)], {"N": 3}, None),
        ("f(a: T[M+N+K], b: T[N+K], c: T[K])", [(9,), (5,), (2,)], {"K": 2, "N": 3, "M": 4}, None),
        ("f(a: T[..., N], b: T[...])", [(2, 3, 4), (2, 3)], {"N": 4}, (2, 3)),
        ("f(a: T[...])", [()], {}, ()),
        ("f(a: T[N, 2])", [(0, 2)], {"N": 0}, None),
        ("f(a: T[])", [()], {}, None),
        ("f(a: T[K*N], b: T[K], c: T[N])", [(0,), (0,), (4,)], {"K": 0, "N": 4}, None),
        ("f(a: T[K*N], b: T[K], c: T[2*N])", [(0,), (0,), (4,)], {"K": 0, "N": 2}, None),
        ("f(a: T[M*(N+1)], b: T[M])", [(6,), (2,)], {"M": 2, "N": 2}, None),
    ],
)
def test_equations(text: str, shapes: list[tuple[int, ...]], axes: dict[str, int], ellipsis: Any) -> None:
    arguments: dict[str, TensorInfo | None] = {n: info(*shape) for n, shape in zip("abc", shapes, strict=False)}
    assert bind(parse(text), arguments) == Binding(axes, ellipsis, {"T": F32})


def test_optional_tensors_may_be_absent() -> None:
    signature = parse("f(x: T[N], y: T[N, M]?) -> (z: T[N])")
    assert bind(signature, {"x": info(3)}).axes == {"N": 3}
    assert bind(signature, {"x": info(3), "y": None}).axes == {"N": 3}
    assert bind(signature, {"x": info(3), "y": info(3, 4)}).axes == {"N": 3, "M": 4}


def test_a_backward_knows_what_its_forward_bound() -> None:
    signature = parse("f_backward(grad_z: T[M*N]) -> (grad_x: T[..., M], grad_y: U[N])")
    known = {"M": 2, "N": 3}
    bound = bind(signature, {"grad_z": info(6)}, axes=known, ellipsis=(7,), types={"U": F64})
    assert bound == Binding(known, (7,), {"T": F32, "U": F64})
    assert refusal(str(signature), {"grad_z": info(7)}, axes=known, ellipsis=(7,)) == (
        "f_backward(): grad_z has shape (7,), expected [M*N] = (6,)\n"
        "  bound so far: ...=(7,) (forward), M=2 (forward), N=3 (forward)\n"
        "  signature:    f_backward(grad_z: T[M*N]) -> (grad_x: T[..., M], grad_y: U[N])"
    )
    assert refusal("f_backward(grad_z: T[N], x: T[N])", {"grad_z": info(1), "x": info(1)}, types={"T": F64}) == (
        "f_backward(): grad_z has element type float32, expected T = float64 (forward)\n"
        "  signature:    f_backward(grad_z: T[N], x: T[N])\n"
        "  likely fix:   grad_z.to(torch.float64)"
    )


SIGNATURE = f"\n  signature:    {LLTM}"


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (
            {"weights": info(384, 161)},
            "lltm(): weights has shape (384, 161), expected [3*S, I+S] = (384, 160)\n"
            "  bound so far: B=16 (input), I=32 (input), S=128 (old_h)" + SIGNATURE,
        ),
        (
            {"old_cell": info(16, 127)},
            "lltm(): old_cell has shape (16, 127), expected [B, S] = (16, 128)\n"
            "  bound so far: B=16 (input), I=32 (input), S=128 (old_h)" + SIGNATURE,
        ),
        ({"old_h": info(16)}, "lltm(): old_h has shape (16,), expected [B, S]: 2 axes, not 1" + SIGNATURE),
        ({"bias": info()}, "lltm(): bias has shape (), expected [3*S]: 1 axis, not 0" + SIGNATURE),
        ({"bias": None}, "lltm(): bias is missing, expected T[3*S]" + SIGNATURE),
        (
            {"gates": info(1)},
            "lltm(): no tensor is named 'gates', expected input, weights, bias, old_h, old_cell" + SIGNATURE,
        ),
        (
            {"bias": info(384, dtype=F64)},
            "lltm(): bias has element type float64, expected T = float32 (input)"
            + SIGNATURE
            + "\n  likely fix:   bias.to(torch.float32)",
        ),
        (
            {"input": info(16, 32, dtype=I64)},
            "lltm(): input has element type int64, expected T in (float32, float64, float16, bfloat16)"
            + SIGNATURE
            + "\n  likely fix:   input.to(torch.float32), or in the signature: where T in (f32, f64, f16, bf16, i64)",
        ),
    ],
)
def test_texts(changes: dict[str, TensorInfo | None], text: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        bind(LLTM, lltm(**changes))
    assert str(caught.value) == text


@pytest.mark.parametrize(
    ("text", "arguments", "message", "bound"),
    [
        ("f(a: T[3*S])", {"a": info(5)}, "a has shape (5,), expected [3*S]: no S gives 3*S = 5", ""),
        ("f(a: T[N+4])", {"a": info(3)}, "a has shape (3,), expected [N+4]: no N gives N+4 = 3", ""),
        ("f(a: T[5-N])", {"a": info(6)}, "a has shape (6,), expected [5-N]: no N gives 5-N = 6", ""),
        (
            "f(a: T[..., C], b: T[...])",
            {"a": info(2, 3, 4), "b": info(2, 5)},
            "b has shape (2, 5), expected [...] = (2, 3)",
            "...=(2, 3) (a), C=4 (a)",
        ),
        (
            "f(a: T[..., C], b: T[...])",
            {"a": info(2, 3, 4), "b": info(2)},
            "b has shape (2,), expected [...] = (2, 3)",
            "...=(2, 3) (a), C=4 (a)",
        ),
        ("f(a: T[..., C])", {"a": info()}, "a has shape (), expected [..., C]: at least 1 axis, not 0", ""),
        (
            "f(a: T[K*N], b: T[K])",
            {"a": info(0), "b": info(0)},
            "a has shape (0,), expected [K*N], and no argument tells N",
            "K=0 (b)",
        ),
        (
            "f(a: T[N//K], b: T[K], c: T[N])",
            {"a": info(0), "b": info(0), "c": info(4)},
            "a has shape (0,), expected [N//K]: division by zero in N//K",
            "K=0 (b), N=4 (c)",
        ),
        ("f(a: T[N, 2])", {"a": info(5, 3)}, "a has shape (5, 3), expected [N, 2] = (5, 2)", "N=5 (a)"),
        ("f(a: T[2, 3*S])", {"a": info(1, 3)}, "a has shape (1, 3), expected [2, 3*S] = (2, ?)", ""),
        ("f(a: T[N-3, N])", {"a": info(0, 1)}, "a has shape (0, 1), expected [N-3, N] = (-2, 1)", "N=1 (a)"),
    ],
)
def test_shape_texts(text: str, arguments: dict[str, TensorInfo | None], message: str, bound: str) -> None:
    known = f"\n  bound so far: {bound}" if bound else ""
    assert refusal(text, arguments) == f"f(): {message}{known}\n  signature:    {text}"


@pytest.mark.parametrize(
    ("text", "arguments", "message", "fix"),
    [
        (
            "f(a: i64[N])",
            {"a": info(1, dtype=DType.I32)},
            "a has element type int32, expected i64 = int64",
            "a.to(torch.int64)",
        ),
        (
            "f(a: T[N], b: acc(T)[N])",
            {"a": info(1, dtype=F16), "b": info(1, dtype=F16)},
            "b has element type float16, expected acc(T) = float32 (a)",
            "b.to(torch.float32)",
        ),
        (
            "f(a: T[N]) where T in (i32, i64)",
            {"a": info(1)},
            "a has element type float32, expected T in (int32, int64)",
            "a.to(torch.int32), or in the signature: where T in (i32, i64, f32)",
        ),
    ],
)
def test_type_texts(text: str, arguments: dict[str, TensorInfo | None], message: str, fix: str) -> None:
    assert refusal(text, arguments) == f"f(): {message}\n  signature:    {text}\n  likely fix:   {fix}"


def test_a_type_that_nothing_tells() -> None:
    assert refusal("f_backward(grad_z: acc(T)[N])", {"grad_z": info(1)}) == (
        "f_backward(): grad_z has element type acc(T), but no argument tells T\n"
        "  signature:    f_backward(grad_z: acc(T)[N])"
    )


# ---- leading axes that broadcast -----------------------------------------------------------------------------------

ADD = "f(x: T, y: T, w: T?) -> (z: T)"
DOT = "f(x: T[N], y: T[N, M]) -> (z: T[M]) batched"
RULE = "sizes, counted from the last, are equal or 1"
INTO = "f(x: T!, y: T, i: i64) -> ()"


def test_shapes_broadcast_as_in_torch() -> None:
    torch = pytest.importorskip("torch")
    rng = random.Random(3)
    refused = 0
    for _ in range(500):
        shapes = [[rng.choice((0, 1, 1, 2, 3)) for _ in range(rng.randint(0, 3))] for _ in range(3)]
        arguments: dict[str, TensorInfo | None] = {n: info(*s) for n, s in zip("xyw", shapes, strict=True)}
        try:
            expected = tuple(torch.broadcast_shapes(*shapes))
        except RuntimeError:
            assert "doesn't broadcast with" in refusal(ADD, arguments)
            refused += 1
        else:
            assert bind(parse(ADD), arguments) == Binding({}, expected, {"T": F32})
    assert 50 < refused < 450


def test_only_leading_axes_broadcast() -> None:
    bound = bind(parse(DOT), {"x": info(7, 1, 3), "y": info(5, 3, 2)})
    assert bound == Binding({"N": 3, "M": 2}, (7, 5), {"T": F32})
    assert bind(parse(DOT), {"x": info(3), "y": info(3, 2)}).ellipsis == ()
    assert refusal(DOT, {"x": info(7, 1), "y": info(3, 2)}) == (
        "f(): y has shape (3, 2), expected [N, M] = (..., 1, 2)\n"
        f"  bound so far: ...=(7,) (x, y), N=1 (x), M=2 (y)\n  signature:    {DOT}"
    )


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        (
            ADD,
            {"x": info(2, 3), "y": info(4), "w": None},
            (f"y has shape (4,), which doesn't broadcast with (2, 3): {RULE}\n  bound so far: ...=(2, 3) (x)"),
        ),
        (
            ADD,
            {"x": info(2, 1), "y": info(4), "w": info(3, 4)},
            (f"w has shape (3, 4), which doesn't broadcast with (2, 4): {RULE}\n  bound so far: ...=(2, 4) (x, y)"),
        ),
        (
            DOT,
            {"x": info(2, 3), "y": info(4, 3, 2)},
            (
                f"y has shape (4, 3, 2), which doesn't broadcast with (2,): {RULE}\n"
                "  bound so far: ...=(2,) (x), N=3 (x)"
            ),
        ),
        (DOT, {"x": info(3), "y": info(3)}, "y has shape (3,), expected [N, M] batched: at least 2 axes, not 1"),
        (
            INTO,
            {"x": info(1, 3), "y": info(2, 3), "i": info(dtype=I64)},
            (
                "x has shape (1, 3) and is overwritten, but the arguments broadcast to (2, 3)\n"
                "  bound so far: ...=(2, 3) (x, y, i)"
            ),
        ),
        (
            INTO,
            {"x": info(3), "y": info(3), "i": info(1, 1, dtype=I64)},
            (
                "x has shape (3,) and is overwritten, but the arguments broadcast to (1, 3)\n"
                "  bound so far: ...=(1, 3) (x, y, i)"
            ),
        ),
    ],
)
def test_texts_of_broadcasting(text: str, arguments: dict[str, TensorInfo | None], message: str) -> None:
    assert refusal(text, arguments) == f"f(): {message}\n  signature:    {parse(text)}"


def test_a_shape_of_leading_axes_that_is_known() -> None:
    """With symbolic sizes only PyTorch can tell it; what is overwritten has to have it."""
    assert bind(parse(ADD), {"x": info(3), "y": info(1)}, ellipsis=(3,)).ellipsis == (3,)
    text = refusal(INTO, {"x": info(1), "y": info(3), "i": info(dtype=I64)}, ellipsis=(3,))
    assert text.startswith("f(): x has shape (1,) and is overwritten, but the arguments broadcast to (3,)\n")


# ---- promotion -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("default", [F32, F64])
def test_types_promote_as_in_torch(default: DType) -> None:
    torch = pytest.importorskip("torch")
    text = "f(x: T, y: T) -> (z: T) where T in (f32, f64, f16, bf16, i64, i8, u8, bool)"  # u8 and i8 make an i16
    signature = parse(text)
    for (x, y), ranks in itertools.product(
        itertools.product(signature.allowed("T"), repeat=2), ((1, 1), (0, 1), (1, 0))
    ):
        tensors = [torch.ones([1] * r, dtype=getattr(torch, t.torch_name)) for t, r in zip((x, y), ranks, strict=True)]
        given: dict[str, TensorInfo | None] = {"x": TensorInfo((1,) * ranks[0], x), "y": TensorInfo((1,) * ranks[1], y)}
        expected = torch.result_type(*tensors)
        allowed = [getattr(torch, t.torch_name) for t in signature.allowed("T")]
        if expected in allowed:
            assert getattr(torch, bind(signature, given, default=default).types["T"].torch_name) == expected
        else:
            assert f"expected T in ({', '.join(t.torch_name for t in signature.allowed('T'))})" in refusal(text, given)


@pytest.mark.parametrize("default", [F32, F64])
def test_integers_are_computed_in_the_default_type(default: DType) -> None:
    """As in torch.sin(integers): where a variable has no integer types."""
    x, y = info(2, dtype=I64), info(dtype=DType.BOOL)
    assert bind(parse(ADD), {"x": x, "y": y}, default=default).types == {"T": default}
    assert bind(parse(ADD), {"x": x, "y": info(dtype=F16)}, default=default).types == {"T": F16}
    some = "f(x: T) -> (y: T) where T in (f32, f64, i32)"
    assert "x has element type int64, expected T in (float32, float64, int32)" in refusal(some, {"x": x})


def test_variables_promote_apart_and_concrete_types_never() -> None:
    signature = parse("f(x: T, y: T, u: U, i: i64) -> (z: U)")
    arguments = {"x": info(2, dtype=F16), "y": info(dtype=F32), "u": info(dtype=F64), "i": info(dtype=I64)}
    assert bind(signature, arguments).types == {"T": F16, "U": F64}
    assert refusal(str(signature), {**arguments, "i": info(dtype=DType.I32)}) == (
        "f(): i has element type int32, expected i64 = int64\n"
        f"  signature:    {signature}\n  likely fix:   i.to(torch.int64)"
    )


def test_batched_operators_never_promote() -> None:
    assert refusal(DOT, {"x": info(3), "y": info(3, 2, dtype=F64)}).startswith(
        "f(): y has element type float64, expected T = float32 (x)\n"
    )


@pytest.mark.parametrize(
    ("text", "arguments", "message", "fix"),
    [
        (
            "f(x: T, y: T) where T in (f32, i32)",
            {"x": info(2), "y": info(2, dtype=F64)},
            "the element types x float32, y float64 promote to float64, expected T in (float32, int32)",
            "y.to(torch.float32)",
        ),
        (
            "f(x: T, y: T)",
            {"x": info(2, dtype=DType.U32), "y": info(2, dtype=I64)},
            (
                "the element types x uint32, y int64 have no type in common, expected T in (float32, float64, float16, "
                "bfloat16)"
            ),
            "y.to(torch.float32)",
        ),
        (
            "f(x: T) where T in (f64)",
            {"x": info(2)},
            "x has element type float32, expected T in (float64)",
            "x.to(torch.float64)",
        ),
        (
            "f(x: T!, y: T)",
            {"x": info(2, dtype=I64), "y": info(2)},
            "x has element type int64 and is overwritten, but the result is float32, which can't be cast to it",
            "x.to(torch.float32)",
        ),
    ],
)
def test_texts_of_promotion(text: str, arguments: dict[str, TensorInfo | None], message: str, fix: str) -> None:
    assert refusal(text, arguments) == f"f(): {message}\n  signature:    {parse(text)}\n  likely fix:   {fix}"


def test_what_is_overwritten_may_be_rounded() -> None:
    bound = bind(parse("f(x: T!, y: T)"), {"x": info(2, dtype=F16), "y": info(2, dtype=F64)})
    assert bound.types == {"T": F64}


# ---- against brute force ------------------------------------------------------------------------------------------

_DIMS = st.sampled_from(
    ["A", "B", "C", "2*A", "A+B", "A*B", "3*C-1", "B//2", "A-B", "4-C", "(A+1)*C", "2", "A+B+C", "C//A"]
)
_LIMIT = 15


def _solutions(signature: Signature, shapes: dict[str, tuple[int, ...]]) -> Iterator[tuple[dict[str, int], Any]]:
    """Every way to read the shapes, found by trying all sizes; knows nothing of how bind solves."""
    leads: set[tuple[int, ...]] = set()
    equations: list[str] = []
    for tensor in signature.tensors:
        shape, dims = shapes[tensor.name], tensor.dims
        lead = shape[: len(shape) - len(dims)]
        if tensor.has_ellipsis:
            leads.add(lead)
        if len(shape) < len(dims) or (lead and not tensor.has_ellipsis):
            return
        equations += [f"({dim}) == {size}" for dim, size in zip(dims, shape[len(lead) :], strict=True)]
    if len(leads) > 1:
        return
    condition = compile(" and ".join(equations) or "True", "<equations>", "eval")
    for sizes in itertools.product(range(_LIMIT), repeat=len(signature.axes)):
        axes = dict(zip(signature.axes, sizes, strict=True))
        if _holds(condition, axes):
            yield axes, next(iter(leads), None)


def _holds(condition: CodeType, axes: dict[str, int]) -> bool:
    try:
        return bool(eval(condition, {}, axes))  # noqa: S307 - our own text
    except ZeroDivisionError:
        return False


@settings(max_examples=300)
@given(data=st.data())
def test_against_brute_force(data: st.DataObject) -> None:
    tensors = []
    for name in "abc"[: data.draw(st.integers(1, 3))]:
        dims = (["..."] if data.draw(st.booleans()) else []) + data.draw(st.lists(_DIMS, max_size=3))
        tensors.append(f"{name}: T[{', '.join(dims)}]")
    signature = parse(f"f_backward({', '.join(tensors)})")  # a backward's axes needn't be determined
    truth = {axis: data.draw(st.integers(0, 3)) for axis in signature.axes}
    lead = tuple(data.draw(st.lists(st.integers(0, 3), max_size=2)))
    shapes = {t.name: _shape(t, truth, lead, data) for t in signature.tensors}
    expected = list(itertools.islice(_solutions(signature, shapes), 2))
    try:
        bound = bind(signature, {name: info(*shape) for name, shape in shapes.items()})
    except ArgumentError as error:
        refused_rightly(str(error), signature, solvable=bool(expected))
    else:
        assert expected == [(bound.axes, bound.ellipsis)]


def refused_rightly(text: str, signature: Signature, *, solvable: bool) -> None:
    """Nothing fits; or two unknowns stand everywhere, which no one-unknown solver tells, or 0 is a coefficient."""
    undetermined = "and no argument tells" in text
    assert undetermined or not solvable
    assert not undetermined or signature.bound_axes != signature.axes or "=0 (" in text


def _shape(tensor: Any, truth: dict[str, int], lead: tuple[int, ...], data: st.DataObject) -> tuple[int, ...]:
    sizes = [*lead] if tensor.has_ellipsis else []
    sizes += [
        max(0, dim.evaluate(truth | {"A": truth["A"] or 1} if "//A" in str(dim) else truth)) for dim in tensor.dims
    ]
    if sizes and data.draw(st.sampled_from([False, False, True])):
        sizes[data.draw(st.integers(0, len(sizes) - 1))] = data.draw(st.integers(0, 4))
    return tuple(sizes)


@settings(max_examples=200)
@given(axes=st.fixed_dictionaries({axis: st.integers(1, 3) for axis in "ABC"}), order=st.permutations(range(4)))
def test_any_order_of_arguments_is_solved(axes: dict[str, int], order: list[int]) -> None:
    texts = ["a: T[A*B, C]", "b: T[A+B+C]", "c: T[2*A-1]", "d: T[B//2, C//A]"]
    signature = parse(f"f({', '.join(texts[i] for i in order)})")
    shapes = {t.name: tuple(max(0, eval(str(d), {}, axes)) for d in t.dims) for t in signature.tensors}  # noqa: S307
    assert bind(signature, {name: info(*shape) for name, shape in shapes.items()}).axes == axes


# ---- symbolic sizes -----------------------------------------------------------------------------------------------


class Symbol:
    """Stands for a SymInt: records what it is, and can't be asked whether it is true."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise AssertionError(f"branched on {self.text}")


def _operation(name: str, mark: str, *, swapped: bool = False) -> Callable[[Symbol, object], Symbol]:
    def operate(self: Symbol, other: object) -> Symbol:
        return Symbol(f"({other} {mark} {self})" if swapped else f"({self} {mark} {other})")

    operate.__name__ = name
    return operate


for _name, _mark in {"add": "+", "sub": "-", "mul": "*", "floordiv": "//", "mod": "%"}.items():
    setattr(Symbol, f"__{_name}__", _operation(_name, _mark))
    setattr(Symbol, f"__r{_name}__", _operation(_name, _mark, swapped=True))
for _name, _mark in {"eq": "==", "ne": "!=", "ge": ">="}.items():
    setattr(Symbol, f"__{_name}__", _operation(_name, _mark))


def test_symbolic_sizes_are_never_branched_on() -> None:
    signature = parse("f(a: T[..., 3*S, I+S], b: T[...], k: T[K], c: T[K*M], d: T[(I+1)//K])")
    s: Any = [Symbol(f"s{i}") for i in range(8)]
    checks: list[tuple[str, str]] = []
    bound = bind(
        signature,
        {
            "a": TensorInfo((s[0], s[1], s[2]), F32),
            "b": TensorInfo((s[3],), F32),
            "k": TensorInfo((s[4],), F32),
            "c": TensorInfo((s[5],), F32),
            "d": TensorInfo((s[6],), F32),
        },
        check=lambda condition, message: checks.append((str(condition), message().split("\n")[0])),
    )
    assert {name: evaluate(str(size)) for name, size in bound.axes.items()} == {"K": 2, "S": 4, "I": 5, "M": 3}
    assert bound.ellipsis == (s[0],)
    assert ("(s3 == s0)", "f(): b has shape (s3,), expected [...] = (s0,)") in checks
    conditions = [condition for condition, _ in checks]
    assert "(s4 != 0)" in conditions  # the divisor K, and the coefficient of M
    assert all(evaluate(condition) for condition in conditions)
    assert len(conditions) >= 8


def evaluate(text: str) -> Any:
    """What a symbol's text comes to for S=4, I=5, K=2, M=3."""
    values = {"s0": 7, "s1": 12, "s2": 9, "s3": 7, "s4": 2, "s5": 6, "s6": 3}
    return eval(text, {}, values)  # noqa: S307 - our own text


def test_torch_symbols_with_torch_check() -> None:
    torch = pytest.importorskip("torch")
    shapes = pytest.importorskip("torch.fx.experimental.symbolic_shapes")
    env = shapes.ShapeEnv()
    s = [env.create_unbacked_symint() for _ in range(8)]
    infos = {
        "input": (s[0], s[1]),
        "weights": (s[2], s[3]),
        "bias": (s[4],),
        "old_h": (s[5], s[6]),
        "old_cell": (s[7], 128),
    }
    arguments = {name: TensorInfo(shape, F32) for name, shape in infos.items()}
    bound = bind(LLTM, arguments, check=torch._check)
    assert bound.axes.keys() == {"B", "I", "S"}
    fixed = lltm(weights=info(384, 161))
    with pytest.raises(RuntimeError, match=r"weights has shape \(384, 161\), expected \[3\*S, I\+S\] = \(384, 160\)"):
        bind(LLTM, fixed, check=torch._check)
