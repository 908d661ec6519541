"""The values that a library's description may have: each is what it has to be, or an error says what that is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from opwright.errors import PackagingError
from opwright.packaging.spelling import assigned, in_python
from opwright.signature.dtypes import DType
from opwright.sources.given import Ops
from opwright.toolchain.variants import DEFAULT, VARIANTS

BACKENDS = ("nvcc", "nvrtc", "none")


def wrong(place: str, value: object, expected: str, fix: str) -> PackagingError:
    """The error that says what stands there, what was expected, and what to write."""
    return PackagingError(f"{place} is {value!r}, expected {expected}\n  likely fix: {fix}")


def _assigned(place: str, value: str) -> str:
    return assigned(place.rpartition(" ")[2], value, place)


def _words(value: object, place: str) -> tuple[str, ...]:
    """A list of texts."""
    if isinstance(value, str):
        raise wrong(place, value, "a list of texts", _assigned(place, f'["{value}"]'))
    if not isinstance(value, Sequence) or not all(isinstance(word, str) and word for word in value):
        raise wrong(place, value, "a list of texts", _assigned(place, '["..."]'))
    return tuple(value)


def _one_of(known: Sequence[str]) -> Callable[[object, str], str]:
    def read(value: object, place: str) -> str:
        if value not in known:
            raise wrong(place, value, f"one of {', '.join(known)}", _assigned(place, f'"{known[0]}"'))
        return str(value)

    return read


def _dtypes(value: object, place: str) -> tuple[DType, ...]:
    names = {name: dtype for dtype in DType for name in (dtype.value, dtype.torch_name)}
    words = _words(value, place)
    for word in words:
        if word not in names:
            raise wrong(
                place, word, f"one of {', '.join(d.torch_name for d in DType)}", _assigned(place, '["float32"]')
            )
    return tuple(names[word] for word in words)


def _variants(value: object, place: str) -> tuple[str, ...]:
    better = [name for name in VARIANTS if name != DEFAULT]
    if value is False:
        return ()
    if value is True:
        return tuple(better)
    words = _words(value, place)
    for word in words:
        if word not in better:
            raise wrong(place, word, f"some of {', '.join(better)}, or false", _assigned(place, f'["{better[0]}"]'))
    return words


def _flag(value: object, place: str) -> bool:
    if not isinstance(value, bool):
        raise wrong(place, value, "true or false", _assigned(place, "True" if in_python(place) else "true"))
    return value


def _ops(value: object, place: str) -> Ops:
    texts = value.values() if isinstance(value, Mapping) else [value] if isinstance(value, str) else value
    if not isinstance(texts, (Sequence, type({}.values()))) or not all(isinstance(text, str) for text in texts):
        expected = "signatures: a list, or a table of them by function"
        raise wrong(place, value, expected, _assigned(place, '["f(x: f32[N]) -> (y: f32[N])"]'))
    return value  # type: ignore[return-value]


_BY_KEY: dict[str, Callable[[object, str], Any]] = {
    "dtypes": _dtypes,
    "ops": _ops,
    "backend": _one_of(BACKENDS),
    "variants": _variants,
    "libmvec": _flag,
    "rebuild": _flag,
}


def value(key: str, given: object, place: str) -> Any:
    """What a key's value means.

    Raises:
        PackagingError: it is no such value.
    """
    return _BY_KEY.get(key, _words)(given, place)
