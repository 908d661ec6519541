"""Run by ``opwright run --emulate --check``: what is right passes, the rest is reported, the last uncaught."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.utils.dlpack
from torch.utils.cpp_extension import load

_FOLDER = Path(__file__).parent / "extension"
_cuda: dict[str, Any] = {"device": "cuda"}
m: Any = load("scale", [str(_FOLDER / "scale.cpp"), str(_FOLDER / "scale.cu")])


def say(*lines: str) -> None:
    """Print lines."""
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


def report(call: Callable[[], object]) -> None:
    """Print what the checker says of a call."""
    try:
        call()
    except RuntimeError as error:
        say(str(error), "")
    else:
        say("no report")


def the_right_kernel() -> None:
    """Launch what is right, in streams that wait for each other."""
    x = torch.arange(300.0)
    y, _ = m.scaled(x.cuda(), 2.0)
    torch.testing.assert_close(y.cpu(), x * 2)
    torch.testing.assert_close(m.scaled_in_two_streams(x.cuda(), 2.0, True).cpu(), x * 4)
    gathered = torch.nn.functional.embedding(torch.tensor([2, 0, 1], **_cuda), torch.rand(3, 1, **_cuda))
    torch.testing.assert_close(m.scaled(gathered.flatten(), 3.0)[0], 3 * gathered.flatten())
    waits: tuple[Callable[[Any, Any], object], ...] = (
        lambda first, second: second.wait_stream(first),
        lambda first, second: second.wait_event(first.record_event()),
        lambda first, _: first.query(),
        lambda first, _: first.record_event().query(),
    )
    for wait in waits:
        first, second = torch.cuda.Stream(), torch.cuda.Stream()
        with torch.cuda.stream(first):
            y, _ = m.scaled(x.cuda(), 2.0)
        wait(first, second)
        with torch.cuda.stream(second):
            torch.testing.assert_close(m.scaled(y, 2.0)[0].cpu(), x * 4)


def written() -> Iterator[torch.Tensor]:
    """Make tensors that operators have written in one way or another."""
    empty = torch.empty(2, 6, **_cuda)
    yield empty[0].fill_(1.5)
    yield torch.add(torch.ones(5, **_cuda), 1, out=torch.empty(0, **_cuda))
    rows = torch.empty(4, 6, **_cuda)
    rows[1::2] = 3.0
    rows.t()[2:4].copy_(torch.ones(2, 4))
    yield from (rows[1], rows[3], rows[:, 2], rows[:, 3], rows.clone())
    several = [torch.empty(3, **_cuda) for _ in range(2)]
    torch._foreach_copy_(several, [torch.ones(3, **_cuda)] * 2)
    yield from several
    out = torch.empty(0, **_cuda), torch.empty(0, dtype=torch.int64, **_cuda)
    yield torch.sort(torch.rand(9, **_cuda), out=out)[0]
    yield torch.rand(4, **_cuda)[torch.tensor([True, False, True, True])]
    yield torch.utils.dlpack.from_dlpack(torch.ones(3, **_cuda))
    yield torch.full((3,), -1, dtype=torch.int32, **_cuda).view(torch.float32)  # bytes of 255, as new memory has
    storage: Any = torch.ones(4, **_cuda).untyped_storage().resize_(64)
    yield torch.empty(0, **_cuda).set_(storage)[:4]
    yield torch.ones(4, **_cuda).resize_(2, 3)[0]
    storage = torch.ones(5).untyped_storage().cuda()
    yield torch.empty(0, **_cuda).set_(storage)


def unwritten() -> Iterator[torch.Tensor]:
    """Make tensors of which nothing has written all."""
    empty = torch.empty(8, **_cuda)
    empty[:2] = 1
    yield from (empty, empty[4:], torch.empty(1, **_cuda).resize_(7), torch.ones(3, **_cuda).resize_(9))
    yield torch.empty(0, **_cuda).set_(torch.UntypedStorage(64, device="cuda"))


def streams() -> None:
    """Use tensors in two streams, mostly with nothing between that orders them."""
    first, second = torch.cuda.Stream(), torch.cuda.Stream()
    y = torch.ones(64, **_cuda) * 2
    torch.cuda.synchronize()
    with torch.cuda.stream(first):
        z = m.scaled(y, 2.0)[0]
    with torch.cuda.stream(second):
        _ = y[0].item(), y.add(1), z.view(8, 8).t()  # both only read y, and nobody looks into z
        report(z.sum)
    torch.cuda.synchronize()
    with torch.cuda.stream(first):
        y.mul_(2)
    with torch.cuda.stream(second):
        report(lambda: m.scaled(y, 2.0))
    second.wait_stream(first)
    with torch.cuda.stream(second):
        m.scaled(y, 2.0)
    columns = torch.ones(6, 4, **_cuda)
    torch.cuda.synchronize()
    with torch.cuda.stream(first):
        columns[:, 1] = 2
    with torch.cuda.stream(second):
        columns[:, 2] = 3
        report(columns[1].exp)
    torch.cuda.synchronize()
    report(lambda: m.scaled_in_two_streams(y, 2.0, False))
    torch.cuda.synchronize()


the_right_kernel()
for each in written():
    m.scaled(each.flatten(), 2.0)
say("what is right passed")
for each in unwritten():
    report(partial(m.scaled, each, 2.0))
streams()
m.reversed(torch.ones(64, **_cuda) * torch.arange(64.0).cuda())
