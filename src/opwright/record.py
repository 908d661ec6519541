"""Base of immutable value classes that are faster to define than dataclasses.

``dataclasses`` takes 8 ms to import and 0.5 ms for each class, but every process that loads an operator imports this
package, which should take only a few milliseconds. Type checkers see :func:`record` as a frozen dataclass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

_Class = TypeVar("_Class", bound=type)


def _init(self: Any, *args: Any, **kwargs: Any) -> None:
    fields, defaults = self._fields, self._defaults
    values = {**defaults, **dict(zip(fields, args, strict=False)), **kwargs}
    twice = kwargs.keys() & fields[: len(args)]
    if twice or len(args) > len(fields) or values.keys() ^ fields:
        raise TypeError(f"{type(self).__name__}() takes ({', '.join(fields)}), got {args} and {kwargs}")
    self.__dict__.update(values)


def _key(self: Any) -> tuple[Any, ...]:
    values = self.__dict__
    return tuple([values[name] for name in self._fields])


def _eq(self: Any, other: object) -> Any:
    return _key(self) == _key(other) if type(self) is type(other) else NotImplemented


def _hash(self: Any) -> int:
    return hash((type(self).__name__, _key(self)))


def _repr(self: Any) -> str:
    return f"{type(self).__name__}({', '.join(f'{name}={self.__dict__[name]!r}' for name in self._fields)})"


def _frozen(self: Any, name: str, *_: Any) -> NoReturn:
    raise AttributeError(f"{type(self).__name__} is immutable; {name!r} can't be changed")


if TYPE_CHECKING:
    from typing_extensions import dataclass_transform

    @dataclass_transform(frozen_default=True)
    def record(cls: _Class) -> _Class:
        """Make a class a frozen dataclass."""
        return cls

else:

    def record(cls: type) -> type:
        """Add an initializer, equality, hash and repr over the annotated fields to a class, and make it immutable."""
        cls._fields = tuple(cls.__annotations__)
        cls._defaults = {name: cls.__dict__[name] for name in cls._fields if name in cls.__dict__}
        cls.__init__, cls.__eq__, cls.__hash__ = _init, _eq, _hash
        cls.__setattr__ = cls.__delattr__ = _frozen
        if "__repr__" not in cls.__dict__:
            cls.__repr__ = _repr
        return cls
