"""nvidia-smi's answers are those of CUDA's own functions, and scripts find it under `opwright run --emulate`."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from opwright.cuda.programs import nvidia_smi
from tests.cuda.programs.conftest import Command

ASKS = r"""
#include <cstdio>
int main() {
  cudaDeviceProp p;
  size_t left, total;
  int driver;
  cudaGetDeviceProperties(&p, 0), cudaMemGetInfo(&left, &total), cudaDriverGetVersion(&driver);
  printf("%s, %d.%d, %zu MiB, %zu MiB, 0 MiB\n", p.name, p.major, p.minor, p.totalGlobalMem >> 20, left >> 20);
  printf("CUDA Version: %d.%d\n", driver / 1000, driver % 1000 / 10);
}
"""


def test_the_answers_are_the_devices(
    files: Callable[..., None], command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    files(**{"asks.cu": ASKS})
    device, version = command("emulate", "asks.cu").out.splitlines()
    fields = "name,compute_cap,memory.total,memory.free,memory.used"
    assert nvidia_smi.main([f"--query-gpu={fields}", "--format=csv,noheader"]) == 0
    assert capsys.readouterr().out == f"{device}\n"
    assert nvidia_smi.main([]) == 0
    assert version in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "out"),
    [
        ("--query-gpu=compute_cap --format=csv", "compute_cap\n8.0\n"),
        ("-i 0 --query-gpu=memory.total,index --format=csv,nounits", "memory.total [MiB], index\n16384, 0\n"),
        ("--id=0 --query-gpu=utilization.gpu --format=csv,noheader", "0 %\n"),
        ("-L", "GPU 0: Opwright's emulator (UUID: GPU-00000000-0000-0000-0000-000000000000)\n"),
    ],
)
def test_forms(words: str, out: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert nvidia_smi.main(words.split()) == 0
    assert capsys.readouterr().out == out


@pytest.mark.parametrize("words", ["--query-gpu=shoe_size --format=csv", "-q", "--query-gpu=name", "topo -m"])
def test_what_it_doesnt_know(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert nvidia_smi.main(words.split()) == 2
    said = capsys.readouterr()
    assert said.out == 'Field "shoe_size" is not a valid field to query.\n\n' or (
        said.err == f"opwright: the stand-in of nvidia-smi doesn't know {words!r}\n"
        "  expected: --query-gpu=FIELDS --format=csv[,noheader][,nounits], -L, or nothing\n"
    )


def test_a_makefile_finds_it(files: Callable[..., None], command: Command) -> None:
    files(
        Makefile="ARCH = $(shell nvidia-smi --query-gpu=compute_cap --format=csv,noheader | tr -d .)\n"
        "all:\n\t@echo sm_$(ARCH)\n"
    )
    assert command("run", "--emulate", "--", "make", "-s").out == "sm_80\n"
