"""Random sequences of what changes a tensor's shape and memory, each step done in C and by torch, and compared.

``python -m tests.legacy.sequences [seed] [sequences]`` runs many, under the sanitizers too (test_sanitized.py).
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from typing import Any

import torch

from opwright.legacy.th_library import load_library
from tests.legacy.extensions import TYPES, Extension, everything
from tests.legacy.tensors import DTYPES, assert_same, longs, numbered, typed

Choose = Callable[[int], int]
"""A number below its argument."""

POOL, STEPS, MOST_ELEMENTS, MOST_DIMENSIONS = 3, 12, 200, 5


class World:
    """Some tensors of one type that may share memory, and their twins.

    `raw`: the structs are C's own, made and freed by hand; otherwise each is a tensor of Python's, lent for every call.
    """

    def __init__(self, th: Extension, name: str, choose: Choose, *, raw: bool) -> None:
        self.th, self.name, self.choose, self.raw = th, name, choose, raw
        self.ours: list[Any] = []
        self.twins: list[torch.Tensor] = []
        for _ in range(POOL):
            self.ours.append(None)
            self.twins.append(torch.empty(0))
            self.fresh(len(self.ours) - 1)

    def call(self, function: str, *arguments: Any) -> Any:
        return getattr(self.th, f"TH{self.name}Tensor_{function}")(*arguments)

    def put(self, i: int, made: torch.Tensor) -> None:
        """`made`, which C returned, becomes the tensor at i."""
        self.free(i)
        self.ours[i] = made
        if self.raw:  # a struct of C's own for it
            self.ours[i] = getattr(self.th.lib, f"TH{self.name}Tensor_new")()
            self.call("set", self.ours[i], made)

    def free(self, i: int) -> None:
        if self.raw and self.ours[i] is not None:
            self.call("free", self.ours[i])
        self.ours[i] = None

    def see(self, i: int) -> torch.Tensor:
        seen = self.call("newWithTensor", self.ours[i]) if self.raw else self.ours[i]
        assert isinstance(seen, torch.Tensor)
        return seen

    def check(self) -> None:
        for i, twin in enumerate(self.twins):
            seen = self.see(i)
            assert_same(seen, twin, place=False)
            assert seen.storage_offset() == twin.storage_offset()
            assert not twin.numel() or [s for s, n in zip(seen.stride(), seen.shape, strict=True) if n > 1] == [
                s for s, n in zip(twin.stride(), twin.shape, strict=True) if n > 1
            ]
            for k in range(i):
                shared = twin.untyped_storage().data_ptr() == self.twins[k].untyped_storage().data_ptr()
                if twin.untyped_storage().nbytes():
                    assert (seen.untyped_storage().data_ptr() == self.see(k).untyped_storage().data_ptr()) == shared

    def below(self, limit: int) -> int:
        return self.choose(limit)

    def sizes(self, rank: int) -> list[int]:
        return [(0, 1, 1, 2, 2, 3, 4)[self.below(7)] for _ in range(rank)]

    # each of these is a step on the tensor at i

    def fresh(self, i: int) -> None:
        values = numbered(tuple(self.sizes(self.below(5) + 1)), DTYPES[self.name])
        self.twins[i] = values.clone()
        self.put(i, values)

    def transpose(self, i: int) -> None:
        rank = self.twins[i].dim()
        one, other = self.below(rank), self.below(rank)
        self.call("transpose", self.ours[i], self.th.ffi.NULL, one, other)
        self.twins[i] = self.twins[i].transpose(one, other)

    def narrow(self, i: int) -> None:
        dimension = self.below(self.twins[i].dim())
        size = self.twins[i].shape[dimension]
        if size:
            first = self.below(size)
            length = self.below(size - first) + 1
            self.call("narrow", self.ours[i], self.th.ffi.NULL, dimension, first, length)
            self.twins[i] = self.twins[i].narrow(dimension, first, length)

    def select(self, i: int) -> None:
        dimension = self.below(self.twins[i].dim())
        size = self.twins[i].shape[dimension]
        if size and self.twins[i].dim() > 1:
            index = self.below(size)
            self.put(i, self.call("newSelect", self.ours[i], dimension, index))
            self.twins[i] = self.twins[i].select(dimension, index)

    def unfold(self, i: int) -> None:
        dimension = self.below(self.twins[i].dim())
        size = self.twins[i].shape[dimension]
        if size and self.twins[i].dim() < MOST_DIMENSIONS:
            length, step = self.below(size) + 1, self.below(3) + 1
            self.call("unfold", self.ours[i], self.ours[i], dimension, length, step)
            self.twins[i] = self.twins[i].unfold(dimension, length, step)

    def squeeze(self, i: int) -> None:
        self.call("squeeze", self.ours[i], self.ours[i])
        squeezed = self.twins[i].squeeze()
        self.twins[i] = squeezed if squeezed.dim() else squeezed.view(1)

    def unsqueeze(self, i: int) -> None:
        if self.twins[i].dim() < MOST_DIMENSIONS:
            dimension = self.below(self.twins[i].dim() + 1)
            self.call("unsqueeze1d", self.ours[i], self.th.ffi.NULL, dimension)
            self.twins[i] = self.twins[i].unsqueeze(dimension)

    def expand(self, i: int) -> None:
        sizes = [self.below(2) + 1 if size == 1 else size for size in self.twins[i].shape]
        if len(sizes) < MOST_DIMENSIONS and self.twins[i].numel() < MOST_ELEMENTS:
            sizes = [2, *sizes]
            self.call("expand", self.ours[i], self.ours[i], longs(*sizes))
            self.twins[i] = self.twins[i].expand(sizes)

    def contiguous(self, i: int) -> None:
        self.put(i, self.call("newContiguous", self.ours[i]))
        self.twins[i] = self.twins[i].contiguous()

    def clone(self, i: int) -> None:
        self.put(i, self.call("newClone", self.ours[i]))
        self.twins[i] = self.twins[i].clone(memory_format=torch.contiguous_format)

    def resize(self, i: int) -> None:
        sizes = self.sizes(self.below(5) + 1)
        same = list(self.twins[i].shape) == sizes
        self.call(f"resize{len(sizes)}d", self.ours[i], *sizes)
        # torch's view shares its twin's history; what is resized is this tensor alone
        self.twins[i] = self.twins[i].detach().resize_(sizes)
        if not same:
            for one in (self.see(i), self.twins[i]):  # the memory that came with it is undefined
                one.copy_(numbered(tuple(sizes), one.dtype))

    def set(self, i: int) -> None:
        k = self.below(POOL)
        self.call("set", self.ours[i], self.ours[k])
        self.twins[i] = self.twins[k].detach()

    def set_storage(self, i: int) -> None:
        k = self.below(POOL)
        memory = self.twins[k].untyped_storage()
        count = memory.nbytes() // self.twins[k].element_size()
        if count:
            offset = self.below(count)
            size = self.below(count - offset) + 1
            stride = self.below((count - offset - 1) // (size - 1)) + 1 if size > 1 and count - offset > size else 1
            ours = typed(self.see(k).untyped_storage(), DTYPES[self.name])
            self.call("setStorage1d", self.ours[i], ours, offset, size, stride)
            self.twins[i] = torch.empty(0, dtype=self.twins[k].dtype).set_(memory, offset, (size,), (stride,))

    def write(self, i: int) -> None:
        twin = self.twins[i]
        if 1 <= twin.dim() <= 4 and twin.numel():
            index = [self.below(size) for size in twin.shape]
            self.call(f"set{twin.dim()}d", self.ours[i], *index, 100)
            twin[tuple(index)] = 100
            assert self.call(f"get{twin.dim()}d", self.ours[i], *index) == 100


ANYTIME = (World.fresh, World.resize, World.set, World.set_storage, World.clone)
WITH_DIMENSIONS = (
    *(World.transpose, World.narrow, World.select, World.unfold, World.squeeze, World.unsqueeze, World.expand),
    *(World.contiguous, World.write),
)
"""A tensor of shape (0,) has no dimension in TH."""


def sequence(th: Extension, name: str, choose: Choose, *, raw: bool) -> None:
    """One sequence, from new tensors to free ones."""
    world = World(th, name, choose, raw=raw)
    for _ in range(STEPS):
        i = choose(POOL)
        steps = ANYTIME if world.twins[i].shape == (0,) else ANYTIME + WITH_DIMENSIONS
        steps[choose(len(steps))](world, i)
        world.check()
    for i in range(POOL):
        world.free(i)


def run(th: Extension, seed: int, count: int) -> None:
    """`count` sequences on structs of C's own and as many on Python's tensors; nothing is left of the former."""
    chosen = random.Random(seed)
    for number in range(count):
        sequence(th, TYPES[number % len(TYPES)], chosen.randrange, raw=False)
    before = load_library().alive()
    for number in range(count):
        sequence(th, TYPES[number % len(TYPES)], chosen.randrange, raw=True)
    after = load_library().alive()
    assert after[0] <= before[0] + len(TYPES) * (POOL + 2), (before, after)


if __name__ == "__main__":
    run(everything(), *(int(word) for word in sys.argv[1:3]))
    sys.stdout.write("done\n")
