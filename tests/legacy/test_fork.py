"""A process that is forked while its threads are in C code, as a DataLoader forks its workers."""

from __future__ import annotations

import os
import threading
import time
from typing import Any, NoReturn

import pytest
import torch

from tests.legacy.extensions import extension

_CODE = """
void churn(int n) {
  for (int i = 0; i < n; i++) THFloatTensor_free(THFloatTensor_newWithSize1d(4));
}
double cloned_sum(THFloatTensor *t) {
  THFloatTensor *clone = THFloatTensor_newClone(t);
  double sum = THFloatTensor_sumall(clone);
  THFloatTensor_free(clone);
  return sum;
}
"""


def end_of(child: int) -> str:
    """How a child ended."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return f"ended with {os.waitstatus_to_exitcode(status)}"
        time.sleep(0.002)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return "hung"


def in_child(made: Any, x: torch.Tensor) -> NoReturn:
    right = False
    try:
        right = made.cloned_sum(x) == 3
    finally:  # whatever it was that was raised: two processes must not go on as one test
        os._exit(0 if right else 1)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_children_of_a_process_with_threads_in_c() -> None:
    made = extension("void churn(int n); double cloned_sum(THFloatTensor *t);", _CODE)
    made.churn(1)  # what PyTorch and the linker do once, under locks of theirs that no child gets back
    assert made.cloned_sum(torch.ones(3)) == 3
    over = threading.Event()

    def run() -> None:
        while not over.is_set():
            made.churn(2000)

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        x = torch.ones(3)
        for _ in range(60):
            child = os.fork()
            if not child:
                in_child(made, x)
            assert end_of(child) == "ended with 0"
    finally:
        over.set()
        for thread in threads:
            thread.join()
