"""Message and the headers' own failures, without the runtime."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import pytest

_TEXT = """
#include <opwright.h>
#include <opwright/library/library.h>
#define EXPORT extern "C" __attribute__((visibility("default")))
EXPORT void message(const char *first, const char *second, char *to) {
  Message text;
  text << first << second;
  __builtin_memcpy(to, text.text(), text.length() + 1);
}
template <class F> void caught(char *to, F body) {
  to[0] = 0;
  try {
    body();
  } catch (const Failure &failure) {
    __builtin_memcpy(to, failure.message.text(), failure.message.length() + 1);
  }
}
EXPORT void as_int(int64_t value, char *to) {
  caught(to, [&] { [](int) {}(detail::IntegerArgument{value, "k"}); });
}
EXPORT void as_size(int64_t value, char *to) {
  caught(to, [&] { [](size_t) {}(detail::IntegerArgument{value, "k"}); });
}
EXPORT void as_float(double value, char *to) {
  caught(to, [&] { [](float) {}(detail::RealArgument{value, "alpha"}); });
}
EXPORT void as_double(double value, char *to) {
  caught(to, [&] { [](double) {}(detail::RealArgument{value, "alpha"}); });
}
EXPORT float to_float(double value) { return detail::RealArgument{value, "alpha"}; }
EXPORT void as_view(int rank, char *to) {
  const int64_t sizes[8] = {};
  opw_tensor tensor{};
  tensor.present = 1, tensor.ndim = rank, tensor.sizes = sizes;
  caught(to, [&] { Tensor<float, 2> view = detail::TensorArgument{tensor}; (void)view; });
}
"""
Compile = Callable[..., ctypes.CDLL]


@pytest.fixture(params=["-O2", "-ffinite-math-only"])
def library(request: pytest.FixtureRequest, compile_text: Compile) -> ctypes.CDLL:
    return compile_text(_TEXT, request.param)


def message(library: ctypes.CDLL, first: bytes, second: bytes = b"") -> bytes:
    to = ctypes.create_string_buffer(1000)
    library.message(first, second, to)
    return to.value


def failure(library: ctypes.CDLL, name: str, value: ctypes._SimpleCData[int] | ctypes._SimpleCData[float]) -> str:
    to = ctypes.create_string_buffer(1000)
    library[name](value, to)
    return to.value.decode()


@pytest.mark.slow
@pytest.mark.parametrize("character", ["é", "€", "😀"])
def test_a_message_is_cut_between_characters(library: ctypes.CDLL, character: str) -> None:
    for before in range(5):
        text = "x" * before + character * 500
        whole = "x" * before + character * ((999 - before) // len(character.encode()))
        assert message(library, text.encode()).decode() == whole
        assert message(library, text.encode(), b"more").decode() == whole  # nothing after the cut


def test_a_message_that_just_fits_is_whole(library: ctypes.CDLL) -> None:
    text = ("x" + "é" * 499).encode()
    assert message(library, text) == text
    assert message(library, text, b"y") == text
    assert message(library, b"x" * 998, "é".encode()) == b"x" * 998


def test_a_message_that_is_no_utf8_is_cut_anywhere(library: ctypes.CDLL) -> None:
    assert message(library, b"\x80" * 2000) == b"\x80" * 999


@pytest.mark.slow
def test_an_integer_that_does_not_fit_is_named(library: ctypes.CDLL) -> None:
    text = "k is 1099511627776, which doesn't fit the kernel's parameter of 4 bytes"
    assert failure(library, "as_int", ctypes.c_int64(2**40)) == text
    text = "k is -1, which doesn't fit the kernel's unsigned parameter of 8 bytes"
    assert failure(library, "as_size", ctypes.c_int64(-1)) == text
    for value in (-(2**31), 0, 2**31 - 1):
        assert not failure(library, "as_int", ctypes.c_int64(value))


@pytest.mark.slow
def test_a_number_that_overflows_float_is_named(library: ctypes.CDLL) -> None:
    for value, text in ((1e300, "1.0000000000000001e+300"), (-1e39, "-9.9999999999999994e+38")):
        expected = f"alpha is {text}, which doesn't fit the kernel's parameter of type float"
        assert failure(library, "as_float", ctypes.c_double(value)) == expected
        assert not failure(library, "as_double", ctypes.c_double(value))
    tie = float.fromhex("0x1.ffffffp127")  # the first that rounds to infinity
    assert failure(library, "as_float", ctypes.c_double(tie))
    below = float.fromhex("0x1.fffffefffffffp127")
    for value in (below, -below, 0.0, 1e-300, float("inf"), float("-inf"), float("nan")):
        assert not failure(library, "as_float", ctypes.c_double(value))
    library.to_float.restype = ctypes.c_float
    assert library.to_float(ctypes.c_double(below)) == float.fromhex("0x1.fffffep127")
    assert library.to_float(ctypes.c_double(0.1)) == pytest.approx(0.1, rel=1e-7)


@pytest.mark.slow
def test_a_rank_that_does_not_fit(library: ctypes.CDLL) -> None:
    assert failure(library, "as_view", ctypes.c_int(3)) == "the kernel takes a tensor of rank 2, got rank 3"
