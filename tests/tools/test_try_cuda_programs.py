"""What the table of other people's CUDA programs says of a run, from its exit status and what it printed."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tools.try_cuda_programs import FAULTY, LATE, Trial, judged, lacking, variants, with_makefile


@pytest.mark.parametrize(
    ("status", "text", "verdict", "cause"),
    [
        (0, "Verification: PASS\n", "passed", ""),
        (0, "took 3 ms\n", "finished", ""),
        (0, "results mismatch at 3\n", "failed", "results mismatch at 3"),
        (1, "Test passed?\n", "failed", "status 1"),
        (LATE, "Verification: PASS\n", "inconclusive", "time"),
        (FAULTY, "opwright: error: /a/b.cu:3: race\n", "faulty", "b.cu:3: race"),
        (3, "oh\n", "inconclusive", "status 3: oh"),
        (-signal.SIGSEGV, "oh\n", "inconclusive", f"signal {int(signal.SIGSEGV)}: oh"),
        (1, "Usage: ./main N\n", "inconclusive", "usage: Usage: ./main N"),
        (0, "Usage: ./main N\nPASS\n", "passed", ""),
        (1, "fail to open a.bin\n", "inconclusive", "data: fail to open a.bin"),
        (0, "Bad file path a.bin: (nil)\n", "inconclusive", "data: Bad file path a.bin: (nil)"),
        (1, "File open fails. Again?\n", "inconclusive", "data: File open fails. Again?"),
        (1, "input images or labels not found\n", "inconclusive", "data: input images or labels not found"),
        (1, "ERROR: training data file not found!\n", "inconclusive", "data: ERROR: training data file not found!"),
        (-signal.SIGABRT, "The file a was not opened\n", "inconclusive", "data: The file a was not opened"),
    ],
)  # fmt: skip
def test_verdicts(status: int, text: str, verdict: str, cause: str) -> None:
    result = judged("k", status, text)
    assert (result.verdict, result.cause, result.built) == (verdict, cause, True)


def test_a_file_that_the_arguments_name(tmp_path: Path) -> None:
    (tmp_path / "here.bin").touch()
    assert lacking(["4", "1.5e-3", "here.bin", "../data/x", "y.txt"], tmp_path) == "../data/x"
    assert lacking(["-i", "y.txt"], tmp_path) == "y.txt"
    assert lacking(["10", "0.5", "-2.5", "here.bin", "-o", "y.txt", "result_out.txt"], tmp_path) == ""
    assert judged("k", 1, "oh\n", "y.txt").cause == "data: y.txt isn't there"
    assert judged("k", 0, "oh\n", "y.txt").verdict == "finished"


def test_variants_are_those_of_the_first_argument() -> None:
    blocks = "switch (block_size) { case 32: break; default: exit(1); }\n"
    chosen = "void run(int kernel) { switch (kernel) { case 1: case 2: f(); break; default: exit(1); } }\n"
    assert variants(f"{blocks}{chosen}int main() {{ kernel = atoi(argv[1]); }}") == ["1", "2"]
    assert variants(f"{blocks}int main() {{ kernel = std::stoi(argv[1]); }}") == ["1"]
    assert variants(blocks) == ["1"]


PROGRAM = """
#include <cstdio>
#include <cstdlib>
#include <unistd.h>
#define SIZE 8192
#ifndef STATUS
#define STATUS 3
#endif
#ifndef REPEAT
#define REPEAT 1
#endif
__global__ void count(int *to) { atomicAdd(to, 1); }
int main(int argc, char **argv) {
  const int given = argc > 1 ? atoi(argv[1]) : 1;
  if (given < LEAST) return STATUS;
  if (given > MOST || SIZE > LARGEST || REPEAT > 2) sleep(100);
  int *to, counted = 0;
  cudaMalloc(&to, sizeof(int));
  cudaMemset(to, 0, sizeof(int));
  count<<<2, 32>>>(to);
  cudaMemcpy(&counted, to, sizeof(int), cudaMemcpyDeviceToHost);
  printf("%s\\n", counted == 64 ? "PASS" : "FAIL");
}
"""


@pytest.mark.sampled(3)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("flags", "first", "verdict", "cause"),
    [
        ("-DLEAST=0 -DMOST=1000000 -DLARGEST=8192", 0, "passed", ""),
        ("-DLEAST=0 -DMOST=80 -DLARGEST=8192", 0, "passed", ""),
        ("-DLEAST=2000 -DMOST=1000000 -DLARGEST=8192", 3, "passed", ""),  # too small at first
        ("-DLEAST=2000 -DMOST=1000000 -DLARGEST=8192 -DSTATUS=70", 3, "passed", ""),
        ("-DLEAST=1000000 -DMOST=1000000 -DLARGEST=8192 -DSTATUS=70", 3, "faulty", "a fault"),
        ("-DLEAST=0 -DMOST=1000000 -DLARGEST=512", 6, "passed", "sizes in its sources / 16"),
        ("-DLEAST=0 -DMOST=1000000 -DLARGEST=8192 -DREPEAT=9", 6, "passed", "repeated less in its sources"),
        ("-DLEAST=0 -DMOST=1000000 -DLARGEST=100", 6, "inconclusive", "time"),
        ("-DLEAST=1000000 -DMOST=1000000 -DLARGEST=8192", 6, "inconclusive", "status 3: "),
    ],
)  # fmt: skip
def test_a_program_with_a_makefile(tmp_path: Path, flags: str, first: int, verdict: str, cause: str) -> None:
    folder = tmp_path / "sized-cuda"
    folder.mkdir()
    (folder / "main.cu").write_text(PROGRAM.replace("\\\\n", "\\n"), "utf-8")
    makefile = f"main: main.cu\n\t$(CC) {flags} main.cu -o main\nrun: main\n\t./main 4096 7\n"
    (folder / "Makefile").write_text(makefile, "utf-8")
    (result,) = with_makefile(folder, Trial(check=False, seconds=6, first=first))
    assert (result.name, result.built, result.verdict, result.cause) == ("sized", True, verdict, cause)
    assert (folder / "Makefile").read_text("utf-8") == makefile
