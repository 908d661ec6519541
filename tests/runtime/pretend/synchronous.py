"""Calls an operator on the pretended device that has broken, and says what came of it."""

from __future__ import annotations

import sys

import torch

from conftest import KIND, begin, operators  # type: ignore[attr-defined]
from opwright.errors import KernelError

pretended = begin()
ops = operators()
x = torch.ones(3).to(KIND)
ops.twice(x)
before = pretended.waits()
ops.twice(x)
sys.stdout.write(f"waited {pretended.waits() - before}\n")
with pretended.state(broken=True):
    try:
        ops.twice(x)
        sys.stdout.write("nothing\n")
    except KernelError as error:
        sys.stdout.write(str(error).partition("\n")[0] + "\n")
with pretended.state(captured=True):
    before = pretended.waits()
    ops.twice(x)
    sys.stdout.write(f"captured: waited {pretended.waits() - before}\n")
