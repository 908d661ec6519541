"""A launch that never ends: after the time limit it says where it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cuda.programs.conftest import Command

SPINS = """
__global__ void waits(volatile int *flag, int *got) {
  while (*flag == 0) {
  }
  *got = 1;
}
__global__ void locks(int *lock, int *got) {
  while (atomicCAS(lock, 0, 1) != 0) {
  }
  *got = 1;
}
int main(int argc, char **argv) {
  int *memory;
  cudaMalloc(&memory, 8);
  cudaMemset(memory, 0, 8);
  if (atoi(argv[1])) locks<<<1, 64>>>(memory, memory + 1);
  else waits<<<1, 64>>>(memory, memory + 1);
  return 0;
}
"""


@pytest.mark.slow
@pytest.mark.parametrize(("which", "line", "check"), [(0, 3, True), (1, 8, True), (1, 8, False)])
def test_where_it_is(
    files: Callable[..., None],
    command: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    which: int,
    line: int,
    check: bool,
) -> None:
    monkeypatch.setenv("OPWRIGHT_EMULATION_TIMEOUT", "1")
    files(**{"spins.cu": SPINS})
    for _ in range(1 if check else 6):  # unchecked, the line is known while the thread is in the atomic function
        status, _, err = command("emulate", *(["--check"] if check else []), "spins.cu", "--", str(which))
        assert status == 70
        assert "the launch has taken longer than OPWRIGHT_EMULATION_TIMEOUT allows, 1 seconds" in err
        if "\n  it is at " in err:
            break
    assert f"\n  it is at {tmp_path}/spins.cu:{line}\n" in err
    if check and not which:
        assert "    while (*flag == 0) {\n" in err
