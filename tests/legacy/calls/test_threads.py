"""Calls in several threads, and what functions look like."""

from __future__ import annotations

import copy
import pickle
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
import torch

from tests.legacy.extensions import Extension, FatalError

pytestmark = pytest.mark.native


def in_threads(count: int, body: Callable[[int], None]) -> None:
    problems: list[BaseException] = []

    def run(number: int) -> None:
        try:
            body(number)
        except BaseException as error:  # noqa: BLE001 - raised again by the test
            problems.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:
        raise problems[0]


def test_threads(probe: Extension) -> None:
    shared = torch.ones(8)

    def body(number: int) -> None:
        for turn in range(300):
            a, out = torch.full((number + 1, turn % 5 + 1), float(turn)), torch.empty(0)
            probe.add_forward(a, a, out)
            assert torch.equal(out, 2 * a)
            assert probe.mean(shared) == 1
            with pytest.raises(FatalError, match=f"of {number}/{turn}"):
                probe.error(f"of {number}/{turn}".encode())

    in_threads(8, body)


def test_the_gil_is_released(probe: Extension) -> None:
    started = time.monotonic()
    in_threads(4, lambda _: probe.sleep_ms(300))
    assert time.monotonic() - started < 0.9


def test_functions_look_like_functions(probe: Extension, monkeypatch: pytest.MonkeyPatch) -> None:
    function = probe.add_forward
    assert function.__name__ == "add_forward"
    assert "add_forward(" in str(function.__doc__)
    assert "add_forward" in repr(function)
    assert function.__module__ == "tests.legacy.extensions"
    assert callable(function)
    assert copy.deepcopy(function) is function

    class Module(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.call = function

    assert copy.deepcopy(Module()).call is function
    kind: Any = type(function)
    with pytest.raises(TypeError, match="cannot create"):
        kind()
    module = sys.modules["tests.legacy.extensions"]
    monkeypatch.setattr(module, "add_forward", function, raising=False)
    assert pickle.loads(pickle.dumps(function)) is function  # noqa: S301 - our own
