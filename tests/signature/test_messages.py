"""The text of every SignatureError, and where its caret stands (written here as a ^ in the signature)."""

from __future__ import annotations

import pytest

from opwright.signature import NotationError, parse
from tests.signature.messages import assert_refused

OVERLOAD_TAKEN = (
    "can't be the name of an overload: overloads are attributes of the operator, which has another one of that name"
)
MESSAGES = [
    # names
    ("^", "expected the name of the operator, found the end", "begin as in: my_op(x: T[N]) -> (y: T[N])"),
    ("^(x: T[N])", "expected the name of the operator, found '('", "begin as in: my_op(x: T[N]) -> (y: T[N])"),
    ("^double(x: T[N])", "'double' can't be the name of the operator: it is a keyword of C++", "double_"),
    ("f(^lambda: T[N])", "'lambda' can't be the name of an input: it is a keyword of Python", "lambda_"),
    ("f(x: T[^int])", "'int' can't be the name of an axis: it is a keyword of C++", "int_"),
    ("f(^__x: T[N])", "'__x' can't be the name of an input: C++ keeps names with '__' in front for itself", "x"),
    ("f(^axis_N: T[N])", "'axis_N' can't be the name of a parameter: Opwright's own schemas use it", "N_axis"),
    (
        "f(^output_mask: T[N])",
        "'output_mask' can't be the name of a parameter: Opwright's own schemas use it",
        "output_mask_in",
    ),
    (
        "f(^grad_z: T[N])",
        "'grad_z': the prefix 'grad_' is reserved for gradients, in operators named '..._backward'",
        "rename it, as d_z",
    ),
    (
        "f(x: T[N]) -> (^grad_: T[N])",
        "'grad_': the prefix 'grad_' is reserved for gradients, in operators named '..._backward'",
        "rename it",
    ),
    ("f(x: T[N], ^x: T[N])", "two parameters have the name 'x'", "rename one"),
    ("f(x: T[N]) -> (^x: T[N])", "two parameters have the name 'x'", "rename one"),
    ("f_backward(grad_z: T[N], ^grad_z: T[N])", "two parameters have the name 'grad_z'", "rename one"),
    ("f_backward(z: T[N]) -> (^z: T[N])", "two parameters have the name 'z'", "rename one"),
    (
        "f_backward(grad_z: T[N]) -> (grad_x: T[N], ^grad_x: T[N])",
        "two parameters have the name 'grad_x'",
        "rename one",
    ),
    (
        "f_backward(grad_z: T[N]) -> (grad_z: T[N], ^grad_z: T[N])",
        "two parameters have the name 'grad_z'",
        "rename one",
    ),
    ("f_backward(x: T[N], ^grad_a: float)", "'grad_a': a gradient is a tensor", "grad_a: T[...]"),
    (
        "f_backward(grad_z: T[N], alpha: float) -> (^grad_alpha: T[])",
        "'grad_alpha': a scalar has no gradient",
        "make 'alpha' a 0-dim tensor: T[]",
    ),
    # punctuation
    ("f^", "expected '(' after the name 'f', found the end", "f(x: T[N]) -> (y: T[N])"),
    ("f(x ^T[N])", "expected ':' after the name 'x', found 'T'", "x: T[N]"),
    ("f(x: T[N]^", "expected ',' or ')' after an input, found the end", None),
    ("f(x: T[N] ^y: T[N])", "expected ',' or ')' after an input, found 'y'", None),
    (
        "f(x: T[N], k: int ^>= 1)",
        "expected ',' or ')' after an input, found '>'",
        "a domain is an interval: k: int in [1, inf)",
    ),
    ("f(x: T[...,^])", "nothing follows the comma", "leave it out"),
    ("f(x: T[N],^)", "nothing follows the comma", "leave it out"),
    ("f(x: T[N]) -> (y: T[N],^; z: T[N])", "nothing follows the comma", "leave it out"),
    ("f(x: T[N]) -> (y: T[N] ^z: T[N])", "expected ',' or ')' after an output, found 'z'", None),
    ("f(x: T[N]) -> (y: T[N]; z: T[N]^; w: T[N])", "expected ',' or ')' after an output, found ';'", None),
    (
        "f(x: T[N]) -> ^y: T[N]",
        "expected '(' after '->', found 'y'",
        "outputs have names and stand in parentheses: -> (y: T[N])",
    ),
    ("f(x: T[N]) -> (T^[N])", "expected ':' after the name 'T', found '['", "x: T[N]"),
    (
        "f(x: T[N]) ^=> (y: T[N])",
        "expected nothing more, found '='",
        (
            "'->' or one of: where T in (f32, f64), M = N//2; batched; derived; independent N; autocast: f32; "
            "flops: 2*N; variants: out, inplace; launch over N, threads 256"
        ),
    ),
    ("f(x: ^#)", "expected the type of 'x', found '#'", "x: T[N]"),
    ("f(x: ^)", "expected the type of 'x', found ')'", "x: T[N]"),
    # element types
    ("f(x: ^float32[N])", "unknown element type 'float32'", "f32"),
    ("f(x: ^double[N])", "unknown element type 'double'", "f64"),
    ("f(x: ^fp8[N])", "unknown element type 'fp8'", "f8e4m3fn"),
    ("f(x: ^float8_e8m0fnu[N])", "unknown element type 'float8_e8m0fnu'", "f8e8m0"),
    (
        "f(x: ^T, y: T) -> (z: T) where T in (f32, f4x2)",
        "'x' may be f4x2, but a pointwise operator computes with one number of each tensor",
        "other types for T, or brackets: x: T[N]",
    ),
    (
        "f(x: ^f4x2[N] in [0, 1])",
        "'x' has a domain, but an element of f4x2 is two numbers",
        "leave it out",
    ),
    (
        "f(x: ^foo[N])",
        "unknown element type 'foo'",
        (
            "a type variable is a capital letter, T; the element types are u8, i8, i16, i32, i64, u16, u32, u64, "
            "f16, bf16, f32, f64, f8e4m3fn, f8e5m2, f8e4m3fnuz, f8e5m2fnuz, f8e8m0, f4x2, c64, c128, bool"
        ),
    ),
    ("f(x: T[N], k: ^flot)", "unknown element type 'flot'", "did you mean float?"),
    ("f(x: ^int[2])", "'x': 'int' is a scalar, without axes", "a list: x: list[int, 2]; or a tensor: x: i64[N]"),
    ("f(x: ^float[N])", "'x': 'float' is a scalar, without axes", "a list: x: list[float, 2]; or a tensor: x: f32[N]"),
    (
        "f(x: ^List[int])",
        "'x': a list is written list[int, 2], or list[int] if it may have any length",
        "x: list[int]",
    ),
    ("f(x: T[N], a: list^)", "expected '[' after 'list', found ')'", "a: list[int, 2]"),
    ("f(x: T[N], a: list[^2])", "'a': a list has elements", "a: list[int], list[float], list[bool] or list[T[each N]]"),
    (
        "f(x: T[N], a: list[int, ^0])",
        "the length of 'a' is a number from 1 to 16, found '0'",
        "a: list[int], which may have any length",
    ),
    (
        "f(x: T[N], a: list[int, ^N])",
        "the length of 'a' is a number from 1 to 16, found 'N'",
        "a: list[int], which may have any length",
    ),
    ("f(x: T[N], a: list[int, 2^)", "expected ']' after the elements of a list, found ')'", "a: list[int]"),
    ("f(x: T[N], a: list[int, 2]^?)", "'a' is a list of numbers and can't be optional", "leave out the mark"),
    ("f(x: T[N], a: list[^str, 2])", "'a': a list has numbers or tensors, not str", "a: list[int]"),
    (
        "f(x: T[N], a: list[int, 2] = ^[1, 2])",
        "the default of 'a' is one number, which stands for all elements",
        "a: list[int, 2] = 1",
    ),
    (
        "f(x: T[N], a: ^tanh-approx | none)",
        "unknown element type 'tanh'",
        "a choice that is no name stands in single quotes: a: 'tanh-...' | other",
    ),
    (
        'f(x: T[N], a: ^"mean" | sum)',
        "expected the type of 'a', found '\"'",
        "words of a choice stand in single quotes: 'a' | 'b'",
    ),
    (
        "f(x: T[N], a: list[int] = ^1)",
        "'a' may have any length, so a number isn't its default",
        "a length: a: list[int, 2]",
    ),
    (
        "f(x: T[N], a: list[int, 2] in [0, 3] = ^4)",
        "the default of 'a', 4, is outside its domain [0, 3]",
        "another default, or another domain for 'a'",
    ),
    ("f(x: T[N], a: list[bool, 2] ^in [0, 1])", "'a' is a bool, which has no domain", "leave it out"),
    (
        "f(x: T[N], a: list[int, 2]) -> (y: T[^a[2]])",
        "'a[2]' is no element of a list of ints: 'a' is a list of 2 ints",
        "one of a[0], a[1]",
    ),
    (
        "f(x: T[N], a: list[float, 2]) -> (y: T[^a[0]])",
        "'a[0]' is no element of a list of ints: 'a' is a list of 2 floats",
        "a list of ints of a fixed length: list[int, 2]",
    ),
    (
        "f(x: T[N]) -> (y: T[^a[0]])",
        "'a[0]' is no element of a list of ints: there is no such list",
        "a list of ints of a fixed length: list[int, 2]",
    ),
    ("f(x: T[N], a: list[int, 2]) -> (y: T[a[^b]])", "expected the place of an element of 'a', found 'b'", "a[0]"),
    (
        "f(x: T[N], a: list[int, 2] in [^-1, 3]) -> (y: T[a[0]])".replace("^", "").replace("a: list", "^a: list"),
        "'a' is the size of an axis, so it is at least 0",
        "a: list[int, 2] in [0, N]",
    ),
    ("f(x: T[N], m: mean | ^mean)", "'m' has the choice mean twice", "leave one out"),
    (
        "f(x: T[N], m: 'a-b' | ^a_b)",
        "the choices 'a-b' and a_b of 'm' have the same name in C++, a_b",
        "rename one",
    ),
    ("f(x: T[N], m: 'mean'^)", "'m' has one choice only", "another one: m: mean | other"),
    (
        "f(x: T[N], m: mean | sum^?)",
        "'m' is one of a few words and can't be optional",
        "a choice for it: m: none | mean",
    ),
    ("f(x: T[N], m: mean | sum^!)", "'m' is one of a few words and can't be mutated", "leave out the mark"),
    ("f(x: T[N], m: mean | sum ^in [0, 1])", "'m' is one of mean, sum, which has no domain", "leave it out"),
    (
        "f(x: T[N], m: mean | ^float)",
        "'float' has a meaning in the notation, so as a choice it stands in single quotes",
        "'float'",
    ),
    ("f(x: T[N], m: mean | ^)", "expected a choice for 'm', found ')'", "m: mean | sum | 'other-word'"),
    ("f(x: T[N], m: mean | ^'')", "expected a choice for 'm', found \"''\"", "m: mean | sum | 'other-word'"),
    (
        "f(x: T[N], m: mean | sum = ^max)",
        "max isn't a default for 'm', which is one of mean, sum",
        "m: mean | sum = mean",
    ),
    ("f(x: T[N], s: str = ^1)", "1 isn't a default for 's', which is a str", "s: str = 'text'"),
    ("f(x: T[N], k: int = ^None)", "None isn't a default for 'k', which is an int", "k: int = 1"),
    ("f(x: ^string)", "'x': a string is written str", "x: str; or, of a few words: x: mean | sum"),
    (
        "f(x: T[N], to: ^dtype)",
        "'to': dtype is said of a type variable",
        "to: dtype(W), and W[...] for what has this type",
    ),
    ("f(x: ^Layout)", "'x': Layout can't be an argument", "name the element type of each tensor: f32[N], or T[N]"),
    ("f(x: ^Tensor)", "'x': a tensor is written by its element type and axes", "x: T[...]"),
    ("f(x: ^complex)", "'x': complex can't be an argument", "x: float, or a tensor: x: T[]"),
    ("f(x: acc(^f32)[N])", "expected a type variable, found 'f32'", "a capital letter: T"),
    ("f(x: acc(T^[N])", "expected ')' after T, found '['", "acc(T)"),
    (
        "f(x: ^acc(T)[N])",
        "'x': no input that is always given has the element type T",
        "x: T[...] among the inputs, or a concrete type",
    ),
    (
        "f(x: T[N]?) -> (y: ^T[])",
        "'y': no input that is always given has the element type T",
        "x: T[...] among the inputs, or a concrete type",
    ),
    (
        "f(x: T[N]) -> (y: ^U[N])",
        "'y': no input that is always given has the element type U",
        "x: U[...] among the inputs, or a concrete type",
    ),
    # axes
    ("f(x: T[...^2])", "expected ',' or ']' after '...', found '2'", None),
    ("f(x: T[N, ^...])", "'...' stands for leading axes", "write it first, and once: [..., N]"),
    ("f(x: T[2 ^S])", "expected ',' or ']' after an axis, found 'S'", "2*S"),
    ("f(x: T[B ^S])", "expected ',' or ']' after an axis, found 'S'", "B, S"),
    ("f(x: T[... ^S])", "expected ',' or ']' after '...', found 'S'", None),
    ("f(x: T[N,^])", "expected an axis, found ']'", "as in T[B, 3*S], or T[...] for any shape"),
    ("f(x: T[N^/2])", "axes have no operator '/'", "//"),
    ("f(x: T[N^%2])", "axes have no operator '%'", "the operators are + - * //"),
    ("f(x: T[N//^0, N])", "division by zero", None),
    ("f(x: T[N//^(1-1), N])", "division by zero", None),
    ("f(x: T[^2.5])", "a size is an integer, not 2.5", None),
    ("f(x: T[^-1])", "an axis can't have the size -1", "1"),
    ("f(x: T[^9223372036854775808])", "this integer is above 2**63 - 1", None),
    ("f(x: T[(N^])", "expected ')' after an expression, found ']'", None),
    ("f(x: T[^?K])", "?K is a length that the kernel decides; an input has its length already", "K"),
    ("f(x: T[^A*B])", "the inputs that are always given can't tell A and B in A*B", "an input with the axis A: T[A]"),
    (
        "f(x: T[^N//2])",
        "the inputs that are always given can't tell N in N//2; '//' is never inverted",
        "an input with the axis N: T[N]",
    ),
    ("f(x: T[^N-N])", "the inputs that are always given can't tell N in N-N", "an input with the axis N: T[N]"),
    (
        "f(x: T[N]?, y: T[^M+N]?, z: T[])",
        "the inputs that are always given can't tell M and N in M+N",
        "an input with the axis M: T[M]",
    ),
    (
        "f(x: T[N]) -> (y: T[^K])",
        "the axis 'K' isn't bound by any input",
        "give an input the axis K; where K = ..., if others tell it; ?K, if the kernel decides",
    ),
    (
        "f(x: T[N]?, z: T[]) -> (y: T[^N])",
        "the axis 'N' is bound by an optional input only",
        "give an input the axis N; where N = ..., if others tell it; ?N, if the kernel decides",
    ),
    (
        "f(x: T[N]) -> (y: T[^?K<=M])",
        "the axis 'M' isn't bound by any input",
        "give an input the axis M; where M = ..., if others tell it; ?M, if the kernel decides",
    ),
    (
        "f(x: T[N]) -> (y: T[^?N])",
        "?N is decided by the kernel, but 'N' also stands without '?'",
        "?N in every output, or another name",
    ),
    ("f(x: T[N] in [^., 1]) -> (y: T[N])", "expected an axis, found '.'", "as in T[B, 3*S], or T[...] for any shape"),
    ("f(x: T[N]) -> (y: T[?K<=N], z: T[^?K])", "?K is ?K<=N in one place and ?K in another", "write the same one"),
    (
        "f(x: T[N], s: int?) -> (y: T[?K], z: T[^?K = s])",
        "?K is ?K in one place and ?K = s in another",
        "write the same one",
    ),
    ("f(x: T[N]) -> (y: T[?S = ^])", "expected the name of an optional int, found ']'", "?S = size, with size: int?"),
    (
        "f(x: T[N]) -> (y: T[^?S = size])",
        "?S is up to 'size', which is no input",
        "among the inputs, size: int? in [0, inf)",
    ),
    ("f(x: T[N], size: int?) -> (y: T[^?S = sise])", "?S is up to 'sise', which is no input", "did you mean size?"),
    (
        "f(x: T[N], size: int) -> (y: T[^?S = size])",
        "?S is up to 'size', which is an int, and always given",
        "size, which is the axis: [size]; or size: int? in [0, inf), if the kernel decides it where there is none",
    ),
    (
        "f(x: T[N]?, w: f32[N]) -> (y: f32[^?S = x])",
        "?S is up to `x: T[N]?`, expected an int that may be None",
        "size: int? in [0, inf)",
    ),
    (
        "f(x: T[N], size: int? in [-1, 3]) -> (y: T[^?S = size])",
        "'size' is the size of an axis, so it is at least 0",
        "size: int? in [0, inf)",
    ),
    (
        "f(at: i64[N] in [0, S - 1), size: int?) -> (y: i64[^?S = size])",
        "?S is decided by 'size', but 'S' also stands without '?'",
        "?S in every output, or another name; as the upper end of a tensor's domain it stands alone: in [0, S)",
    ),
    (
        "f(x: T[N], n: T[^n])",
        "the axis 'n' has the name of a parameter that is no int; sizes come from the axes of inputs",
        "rename the axis, as N",
    ),
    (
        "f(x: T[N], k: float) -> (y: T[^k])",
        "the axis 'k' has the name of a parameter that is no int; sizes come from the axes of inputs",
        "rename the axis, as K",
    ),
    ("f(x: T[^ellipsis])", "no axis can have the name 'ellipsis': Opwright's own schemas use it", "rename it"),
    ("f(x: T[^T])", "the axis 'T' has the name of a type variable", "rename one"),
    ("f(x: T[N]) -> (^y: T[...])", "'y' has '...', but no input that is always given has", "x: T[...]"),
    ("scale.^(x: T[N])", "expected the name of an overload of 'scale', found '('", "scale.number"),
    ("scale.^int(x: T[N])", "'int' can't be the name of an overload of 'scale': it is a keyword of C++", "int_"),
    ("f.^default(x: T[N])", "'default' can't be the name of an overload of 'f': it is a keyword of C++", "default_"),
    (
        "f.^recorded(x: T[N])",
        f"'recorded' {OVERLOAD_TAKEN}",
        "f.recorded_",
    ),
    (
        "f.^_a(x: T[N])",
        f"'_a' {OVERLOAD_TAKEN}",
        "f.a_",
    ),
    ("f.a^.b(x: T[N])", "expected '(' after the name 'f.a', found '.'", "f.a(x: T[N]) -> (y: T[N])"),
    # marks
    ("f(x: T[N]) -> (y: T[N]^!)", "'y' is an output and can't be mutated", "leave out the '!'"),
    ("f(x: T[N]?^?)", "'?' stands twice", "leave one out"),
    ("f(x: T[N] ^= 1)", "'x' is a tensor and can't have a default", "x: T[N]?"),
    # domains
    ("f(x: T[N] in ^{0, N))", "expected '[' or '(' after 'in', found '{'", "x: ... in [0, N)"),
    ("f(x: i64[N] in [0 ^N))", "expected ',' after the lower end of a domain, found 'N'", "x: ... in [0, N)"),
    (
        "f(x: i64[N] in [0, N^, x: T[N])",
        "expected ')' or ']' after the upper end of a domain, found ','",
        "x: ... in [0, N)",
    ),
    (
        "f(x: ^T[N] in [0, 1]) where T in (f32, i64)",
        "'x' has a domain, but its elements are of several kinds",
        "integers, as i64, for indices; floats, as f32, for values",
    ),
    (
        "f(x: ^bool[N] in [0, 1])",
        "'x' has a domain, but its elements are neither integers nor floats",
        "integers, as i64, for indices; floats, as f32, for values",
    ),
    ("f(x: i64[N] ^in [0, 0.5])", "'x' has integers for values, and 0.5 is none", "an integer, as in [0, 10]"),
    ("f(x: i64[N] ^in [0, inf])", "'x' has integers for values, and infinity is none of them", ", inf)"),
    ("f(x: T[N], k: int ^in [-inf, 0])", "'k' has integers for values, and infinity is none of them", "(-inf, "),
    ("f(x: T[N], k: int ^in (0, 1))", "no integer lies in (0, 1)", None),
    ("f(x: T[N], a: float ^in [1, -1e-3])", "no number lies in [1, -0.001]", None),
    ("f(x: T[N], a: float ^in [1, 1))", "no number lies in [1, 1)", None),
    ("f(x: T[N], b: bool ^in [0, 1])", "'b' is a bool, which has no domain", "leave it out"),
    (
        "f(x: T[N], a: float in [0, 1] = ^2)",
        "the default of 'a', 2.0, is outside its domain [0, 1]",
        "another default, or another domain for 'a'",
    ),
    (
        "f(x: T[N], k: int = 1 ^in [0, 1])",
        "the domain of 'k' stands before its default",
        "k: int in [0, 1] = 1",
    ),
    (
        "f(x: T[N], ^k: int in [0, M])",
        "the domain of 'k' has 'M', which no input that is always given binds",
        "an input with the axis M: T[M]",
    ),
    ("f(x: T[N], ^k: int in [0, j], j: int)", "the domain of 'k' has 'j', which stands after it", "write 'j' first"),
    (
        "f(x: T[N], a: float, ^k: int in [0, a])",
        "the domain of 'k' has 'a', which is a float",
        "an int, an axis or a number",
    ),
    (
        "f(x: T[N], ^k: int in [0, k])",
        "the domain of 'k' has 'k' itself in it",
        "an int before it, an axis or a number",
    ),
    (
        "f(x: T[N], ^k: int in [-1, 3]) -> (y: T[k])",
        "'k' is the size of an axis, so it is at least 0",
        "k: int in [0, N]",
    ),
    ("f(^x: i64[N] in [0, M))", "the axis 'M' isn't bound by any input", "give an input the axis M"),
    # scalars
    ("f(x: T[N], a: int^!)", "'a' is a scalar and can't be mutated", "a 0-dim tensor: a: T[]!"),
    ("f(x: T[N], a: int = ^1.5)", "1.5 isn't a default for 'a', which is an int", "a: int = 1"),
    ("f(x: T[N], a: float = ^inf)", "inf isn't a default for 'a', which is a float", "a: float = 1.0"),
    ("f(x: T[N], a: bool = ^1)", "1 isn't a default for 'a', which is a bool", "a: bool = False"),
    ("f(x: T[N], a: bool =^", "the end isn't a default for 'a', which is a bool", "a: bool = False"),
    ("f(x: T[N], a: int = ^9223372036854775808)", "the default of 'a' doesn't fit 64 bits", None),
    ("f(x: T[N], a: float = ^1e-310)", "the default of 'a' is outside the normal range of a double", None),
    (
        "f(x: T[N], a: float = 1.0, ^y: T[N])",
        "'y' has no default but follows 'a', which has one",
        "write 'a' after 'y'",
    ),
    (
        "f(x: T[N], rng: generator^)",
        "expected '(' after 'generator', found ')'",
        "rng: generator(1) for one draw an element",
    ),
    (
        "f(x: T[N], a: generator(1), ^b: generator(1))",
        "an operator takes one generator",
        "raise the number of draws of the first",
    ),
    ("f(x: T[N], ^rng: generator(M))", "the axis 'M' isn't bound by any input", "give an input the axis M"),
    ("^f(a: float)", "no input is a tensor, so there is nothing to work on", "x: T[N]"),
    (
        "^f(n: int) -> (y: T[n], z: U[n])",
        "no input is a tensor, and dtype= can't choose T and U at once",
        "a concrete type: f32",
    ),
    ("f(n: int, ^dtype: int) -> (y: T[n])", "an operator without input tensors has a 'dtype' of its own", "rename it"),
    ("^f(a: float) -> (y: T)", "no input is a tensor, so nothing has a shape to broadcast", "y: T[n], after n: int"),
    (
        "f(x: T[N]) -> (y: T[^n])",
        "the axis 'n' isn't bound by any input",
        "did you mean N? If not, give an input the axis n; where n = ..., if others tell it; ?n, if the kernel decides",
    ),
]


@pytest.mark.parametrize(("marked", "message", "fix"), MESSAGES)
def test_text(marked: str, message: str, fix: str | None) -> None:
    assert_refused(marked, message, fix)


def test_the_line_of_the_fault_is_shown() -> None:
    text = "f(x: T[N],\n\ty: floot[N],\n  z: T[N])"
    with pytest.raises(NotationError) as caught:
        parse(text)
    assert str(caught.value).split("\n")[:3] == ["unknown element type 'floot'", "   y: floot[N],", "      ^"]
    assert text[caught.value.position :].startswith("floot")
