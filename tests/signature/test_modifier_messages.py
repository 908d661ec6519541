"""The texts of errors in what follows the results: forms, modifiers, named sizes, FLOPs, launches."""

from __future__ import annotations

import pytest

from tests.signature.messages import assert_refused

MESSAGES = [
    # forms and modifiers
    (
        "f(x: T[N], ^y: T)",
        "bare element types (a pointwise operator) and brackets don't mix",
        "brackets everywhere (T[] is a 0-dim tensor), or nowhere",
    ),
    ("f(x: T) ^batched", "a pointwise operator broadcasts already", "leave out 'batched'"),
    ("f(x: T[...]) ^batched", "'batched' brings the leading axes itself", "leave out the '...'"),
    ("f(x: T[N]) -> (y: T[?K]) ^batched", "?K could differ along the leading axes", "leave out 'batched'"),
    (
        "f(x: T[..., N]) -> (y: T[..., ^?K])",
        "?K needs a known number of axes, and '...' stands for any number",
        "name the other axes: y: T[B, ?K]",
    ),
    ("f(x: T) -> (y: T) variants ^out", "expected ':' after 'variants', found 'out'", "variants: out, inplace"),
    ("f(x: T) -> (y: T) variants: ^inplaec", "expected a variant, out or inplace, found 'inplaec'", "inplace"),
    (
        "f(x: T) -> (y: T) variants: out,^",
        "expected a variant, out or inplace, found the end",
        "variants: out, inplace",
    ),
    ("f(x: T) -> (y: T) variants: out, ^out", "'out' stands twice", "leave one out"),
    (
        "f_backward(grad_y: T) -> (grad_x: T) ^variants: out",
        "a backward has no variants: autograd calls it, and gives it no results",
        "leave out 'variants'",
    ),
    (
        "f(n: int) -> (y: f32[n]) ^variants: out",
        "an operator without input tensors has no variants",
        "leave out 'variants'",
    ),
    (
        "f(x: T[N]!) -> (y: T[N]) ^variants: out",
        "'x' is overwritten already, so there are no variants",
        "leave out 'variants'",
    ),
    (
        "f(x: T[N]!) ^variants: inplace",
        "'x' is overwritten already, so there are no variants",
        "leave out 'variants'",
    ),
    (
        "f(x: T[N]) -> [y: T[N], z: T[N]] ^variants: out",
        "the results are in a list, and variants write each to a tensor of its own",
        "results in parentheses",
    ),
    (
        "f(x: T[N]) -> (y: T[N], n: int) ^variants: out",
        "'n' is a count, and variants write tensors that are always there",
        "leave out 'variants'",
    ),
    (
        "f(x: T[N], all: bool) -> (y: T[N]? if all) ^variants: inplace",
        "'y' is optional, and variants write tensors that are always there",
        "leave out 'variants'",
    ),
    (
        "f(xs: list[T[each N]]) -> (ys: list[T[each N]]) ^variants: out",
        "'ys' is a list, and variants write tensors that are always there",
        "leave out 'variants'",
    ),
    (
        "f(x: T[N], out: int) -> (y: T[N]) ^variants: out",
        "'out' is an input, and variants: out has an argument of that name",
        "rename the input",
    ),
    (
        "f(x: T[N], out_z: int) -> (y: T[N], z: T[N]) ^variants: out",
        "'out_z' is an input, and variants: out has an argument of that name",
        "rename the input",
    ),
    (
        "f_(x: T[N]) -> (y: T[N]) ^variants: out, inplace",
        "'f_' has the name of an operator that works in place",
        "variants: out",
    ),
    (
        "f(x: T[N]) -> (y: T[N], z: T[N]) ^variants: inplace",
        "there are 2 results, and one input is overwritten in place",
        "leave out 'variants'",
    ),
    (
        "f(k: int, x: T[N]) -> (y: T[N]) ^variants: inplace",
        "'k', the first input, is what is overwritten in place: a tensor that is always there",
        "leave out 'variants'",
    ),
    (
        "f(x: T[N]?, w: T[N]) -> (y: T[N]) ^variants: inplace",
        "'x', the first input, is what is overwritten in place: a tensor that is always there",
        "leave out 'variants'",
    ),
    (
        "f(x: T[N]) -> (y: T[2*N]) ^variants: inplace",
        "y: T[2*N] doesn't fit into x: T[N], the first input, which is overwritten in place",
        "leave out 'variants'",
    ),
    (
        "f(x: T) -> (y: bool) ^variants: inplace, out",
        "y: bool doesn't fit into x: T, the first input, which is overwritten in place",
        "variants: out",
    ),
    ("f(x: T[N]) batched ^batched", "'batched' stands twice", "leave one out"),
    ("f(x: T[N]) autocast ^f32", "expected ':' after 'autocast', found 'f32'", "autocast: f32"),
    ("f(x: T[N]) autocast: ^i32", "autocast concerns floating types, not i32", "autocast: f32"),
    ("f(x: T[N]) autocast: ^float32", "expected the type under autocast, found 'float32'", "f32"),
    ("f(x: T[N]) where ^U in (f32)", "no tensor has the element type U; the type variables are: T", None),
    ("f(x: f32[N]) where ^U in (f32)", "no tensor has the element type U; the type variables are: none", None),
    ("f(x: T[N]) where T in (f32, ^f32)", "f32 is listed twice for T", "leave one out"),
    ("f(x: T[N]) where T in (f32), ^T in (f64)", "the types of T are listed twice", "put them into one list"),
    (
        "f(x: T[N]) where T in ^f32",
        "expected '(' after 'in', found 'f32'",
        "where T in (f32, f64); a size: where T = N//2",
    ),
    ("f(x: T[N]) where T ^f32", "expected 'in' after T, found 'f32'", "where T in (f32, f64); a size: where T = N//2"),
    (
        "f(x: T[N]) where T in (^)",
        "expected an element type for T, found ')'",
        (
            "the element types are u8, i8, i16, i32, i64, u16, u32, u64, f16, bf16, f32, f64, f8e4m3fn, f8e5m2, "
            "f8e4m3fnuz, f8e5m2fnuz, f8e8m0, f4x2, c64, c128, bool"
        ),
    ),
    ("f(x: T[N]) where T in (f32 ^f64)", "expected ',' or ')' after f32, found 'f64'", None),
    ("f(x: T[N]) where T = ^f32", "f32 is an element type, not a size", "where T in (f32)"),
    (
        "f(x: T[N]) where T in (f32) ^where M = N",
        "'where' stands twice",
        "one list: where T in (f32, f64), M = N//2",
    ),
    # named sizes
    (
        "f(x: T[N]) -> (y: T[M]) where ^M = M//2",
        "the size 'M' is computed from itself",
        "axes, ints, and named sizes before it",
    ),
    (
        "f(x: T[N]) -> (y: T[M]) where ^M = 2*L, L = N//2",
        "the size 'M' is computed from 'L', which stands after it",
        "write L first",
    ),
    ("f(x: T[N]) -> (y: T[M]) where ^M = K", "the axis 'K' isn't bound by any input", "give an input the axis K"),
    (
        "f(x: T[Width]) -> (y: T[M]) where ^M = width//2",
        "the axis 'width' isn't bound by any input",
        "did you mean Width? If not, give an input the axis width",
    ),
    ("f(x: T[M]) -> (y: T[M]) where ^M = 2*N", "the axis 'N' isn't bound by any input", "give an input the axis N"),
    (
        "f(x: T[N], w: T[K]?) -> (y: T[M]) where ^M = N - K",
        "the axis 'K' is bound by an optional input only",
        "give an input the axis K",
    ),
    (
        "f(x: T[N], out: T[N]) -> (y: T[Out]) where OUT = N, ^OUT = 2*N",
        "the size 'OUT' is defined twice",
        "leave one out",
    ),
    (
        "f(x: T[N]) -> (y: T[^Ouf]) where Out = N//2",
        "the axis 'Ouf' isn't bound by any input",
        (
            "did you mean Out? If not, give an input the axis Ouf; "
            "where Ouf = ..., if others tell it; ?Ouf, if the kernel decides"
        ),
    ),
    (
        "f(x: T[N]) -> (y: T[^Widht]) where Width = N//2",
        "the axis 'Widht' isn't bound by any input",
        (
            "did you mean Width? If not, give an input the axis Widht; where Widht = ..., if others tell it; "
            "?Widht, if the kernel decides"
        ),
    ),
    ("f(x: T[N], k: int) -> (y: T[k]) where ^k = N", "the size 'k' has the name of a parameter", "rename one"),
    ("f(x: T[N], k: int) where ^x = N", "the size 'x' has the name of a parameter", "rename one"),
    (
        "f(x: T[N], p: float) where ^M = p*N",
        "the axis 'p' has the name of a parameter that is no int; sizes come from the axes of inputs",
        "rename the axis, as P",
    ),
    ("f(x: T[N]) where ^T = N", "the axis 'T' has the name of a type variable", "rename one"),
    ("f(x: T[N]) where M = ^-2", "the size 'M' is negative", "2"),
    ("f(x: T[N]) where M = N//^0", "division by zero", None),
    ("f(x: T) where ^M = 3", "a pointwise operator has no axes, so no sizes to name", "leave out M = 3"),
    (
        "f(x: T[N]) -> (y: T[^?M]) where M = N",
        "?M is decided by the kernel, but 'M' also stands without '?'",
        "?M in every output, or another name",
    ),
    (
        "f(x: T[N], ^k: int in [1, M]) where M = N//k",
        "the domain of 'k' has 'k' (in M = N//k) itself in it",
        "an int before it, an axis or a number",
    ),
    (
        "f(x: T[N], ^k: int in [1, L], j: int) where M = N//j, L = M + 1",
        "the domain of 'k' has 'j' (in L = M+1), which stands after it",
        "write 'j' first",
    ),
    ("f(x: T[N]) where ^t in (f32)", "expected a type variable, found 't'", "a capital letter: T"),
    # independent
    ("f(x: T[N]) independent^", "expected the name of an axis, found the end", "independent N, C"),
    ("f(x: T[N]) independent N,^", "expected the name of an axis, found the end", "independent N, C"),
    ("f(x: T[N, M]) -> (y: T[N, M]) independent N, ^N", "'N' stands twice", "leave one out"),
    ("f(x: T[N]) -> (y: T[N]) independent ^M", "there is no axis 'M'; the axes are: N", "leave out M"),
    ("f(x: T[Rows]) -> (y: T[Rows]) independent ^Row", "there is no axis 'Row'; the axes are: Rows", "Rows"),
    (
        "f(x: T) -> (y: T) ^independent N",
        "a pointwise operator is independent along every axis, without a word",
        "leave out 'independent'",
    ),
    (
        "f(x: T[N], rng: generator(1)) -> (y: T[N]) ^independent N",
        "'rng' draws by position: equal slices would get other numbers",
        "leave out 'independent', or take the random numbers as an input: u: T[N]",
    ),
    (
        "f(x: T[N]) -> (y: T[N, ?K]) ^independent N",
        "the kernel decides ?K for all slices together",
        "leave out 'independent'",
    ),
    (
        "f(x: list[T[N, each M]]) -> (y: list[T[N, each M]]) ^independent N",
        "lists of tensors and 'independent' don't mix",
        "leave out 'independent'",
    ),
    (
        "f(x: T[*A, D, *B], dim: axis(D) = -1) -> (y: T[*A, D, *B]) ^independent A",
        "groups of axes ('*A') and 'independent' don't mix: which axes they are, a call decides",
        "leave out 'independent'",
    ),
    (
        "f(x: T[B, 3*S]) -> (y: T[B, S]) independent B, ^S",
        "'S' stands in arithmetic, x: T[B, 3*S]: a part of 3*S is no slice",
        "an axis of its own: x: T[B, 3, S]",
    ),
    (
        "f(x: T[L], w: T[K]) -> (y: T[L-K+1]) independent ^L",
        "'L' stands in arithmetic, y: T[L-K+1]: a part of L-K+1 is no slice",
        "leave out L",
    ),
    (
        "f(x: T[N]) -> (y: T[M]) where M = N//2 independent ^M",
        "M is computed, so a part of it is no slice: M = N//2",
        "leave out M",
    ),
    (
        "f(x: T[N]) -> (y: T[M]) where M = N//2 independent ^N",
        "M = N//2 depends on 'N', so a part of M is no slice",
        "leave out N",
    ),
    (
        "f(x: T[n], n: int) -> (y: T[n]) independent ^n",
        "'n' is an argument, which a part of the slices would need another value of",
        "leave out n",
    ),
    (
        "f(x: T[N], at: i64[M] in [0, N)) -> (y: T[M]) independent M, ^N",
        "'N' bounds the values of at, which count all slices",
        "leave out N",
    ),
    (
        "f(x: T[N], k: int in [1, N]) -> (y: T[N]) independent ^N",
        "'N' bounds the values of k, which count all slices",
        "leave out N",
    ),
    (
        "f(x: T[N, N]) -> (y: T[N]) independent ^N",
        "'N' is several axes of x: T[N, N], so a part of it is no slice",
        "another name for one of them",
    ),
    (
        "f(x: T[N], total: T[]!) -> (y: T[N]) independent ^N",
        "'total' is overwritten and lacks the axis 'N': slices would overwrite each other",
        "give it the axis: total: T[N]",
    ),
    (
        "f(x: T[N, C]) -> (y: T[N, C], any: bool[C]) independent C, ^N",
        "'any' lacks the axis 'N', so it is the sum over the slices, and bool can't be added",
        "give it the axis: any: bool[N, C]",
    ),
    # flops
    ("f(x: T[N]) flops ^2*N", "expected ':' after 'flops', found '2'", "flops: 2*M*N*K"),
    ("f(x: T[N]) flops:^", "expected an axis, found the end", "as in 2*M*N"),
    ("f(x: T[N]) flops: 2 ^flops: 3", "'flops' stands twice", "leave one out"),
    ("f(x: T[N], a: float, k: int) flops: ^a*M", "flops can't count a: the axes and ints are: N, k", None),
    ("f(x: T[N]) flops: ^...", "flops can't count ...: the axes and ints are: N", None),
    ("f(x: T[N], w: T[M]?) -> (y: T[N]) flops: ^M", "flops can't count M: the axes and ints are: N", None),
    ("f(x: T[N]) -> (y: T[?K]) flops: ^K", "flops can't count K: the axes and ints are: N", None),
    # launches
    (
        "f(x: T) -> (y: T) ^launch over 1, threads 1",
        "a pointwise operator is launched by Opwright",
        "leave out the launch",
    ),
    (
        "f(x: T[N]) -> (y: T[?K]) ^launch over N, threads 8",
        "a kernel on the device can't decide ?K: it asks the host for memory",
        "write the function that launches the kernel, and put the signature before that",
    ),
]
LAUNCHES: list[tuple[str, str, str | None]] = [
    ("launch ^N", "expected 'over' after 'launch', found 'N'", "launch over N, threads 256"),
    ("launch over N^", "expected 'threads' after what a launch is over, found the end", "launch over N, threads 256"),
    ("launch over N, threads^", "expected a number of threads, found the end", "launch over N, threads 256"),
    ("launch over N, threads ^N", "expected a number of threads, found 'N'", "launch over N, threads 256"),
    (
        "launch over N, threads ^0",
        "a block has at most 1024 threads, and at least 1; found 0",
        "launch over N, threads 256",
    ),
    (
        "launch over N, N, threads ^64, 32",
        "a block has at most 1024 threads, and at least 1; found 64 * 32",
        "launch over N, threads 256",
    ),
    (
        "launch over N, N, N, threads ^1, 1, 128",
        "a block has at most 1024 threads, 64 of them along z; found 128",
        None,
    ),
    ("launch over N, threads ^8, 8", "threads are given for 2 axes, and the launch is over 1", None),
    (
        "launch over N, N, N, ^N, threads 8",
        "a grid has 3 axes at most, not 4",
        "multiply some of them: launch over B*S, N",
    ),
    ("launch over ^K, threads 8", "a launch can't be over K: the axes and ints are: N, k", None),
    ("launch over ^a, threads 8", "a launch can't be over a: the axes and ints are: N, k", None),
    ("launch over ^..., threads 8", "a launch can't be over ...: the axes and ints are: N, k", None),
    ("launch over N, threads 8 ^launch over N, threads 8", "'launch' stands twice", "leave one out"),
]
MESSAGES += [(f"f(x: T[N], a: float, k: int) -> (y: T[N]) {launch}", text, fix) for launch, text, fix in LAUNCHES]


@pytest.mark.parametrize(("marked", "message", "fix"), MESSAGES)
def test_text(marked: str, message: str, fix: str | None) -> None:
    assert_refused(marked, message, fix)
