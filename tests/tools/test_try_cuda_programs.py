"""What the table of other people's CUDA programs says of a run, from its exit status and what it printed."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tools.try_cuda_programs import FAULTY, LATE, judged, lacking, variants, with_sizes


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


def test_other_sizes() -> None:
    text = "int T = 1024;\nconst size_t B = 8, C = 4;  // int T = 1024\nint OC = 768 * 4;\nf(T = 8);\n"
    changed = with_sizes(text, {"T": 64, "B": 2, "OC": 96, "f": 1})
    assert changed == "int T = 64;\nconst size_t B = 2, C = 4;  // int T = 1024\nint OC = 96;\nf(T = 8);\n"


def test_variants_are_those_of_the_first_argument() -> None:
    blocks = "switch (block_size) { case 32: break; default: exit(1); }\n"
    chosen = "void run(int kernel) { switch (kernel) { case 1: case 2: f(); break; default: exit(1); } }\n"
    assert variants(f"{blocks}{chosen}int main() {{ kernel = atoi(argv[1]); }}") == ["1", "2"]
    assert variants(f"{blocks}int main() {{ kernel = std::stoi(argv[1]); }}") == ["1"]
    assert variants(blocks) == ["1"]
