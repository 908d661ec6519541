"""Programs of others with smaller numbers, on their command lines and in their sources."""

from __future__ import annotations

from tools.smaller_programs import smaller, with_sizes, with_smaller_constants


def test_other_sizes() -> None:
    text = "int T = 1024;\nconst size_t B = 8, C = 4;  // int T = 1024\nint OC = 768 * 4;\nf(T = 8);\n"
    changed = with_sizes(text, {"T": 64, "B": 2, "OC": 96, "f": 1})
    assert changed == "int T = 64;\nconst size_t B = 2, C = 4;  // int T = 1024\nint OC = 96;\nf(T = 8);\n"


def test_smaller_numbers() -> None:
    given = ["-p=8000", "--seed=7", "4096", "-s", "300", "1.5", "x8000", "100"]
    assert smaller(given, 64, 64, 10) == ["-p=125", "--seed=7", "64", "-s", "64", "1.5", "x8000", "10"]
    assert smaller(["-n=900"], 1, 1, 10) == ["-n=10"]
    assert smaller(["word", "large"], 64, 64, 10) == ["word", "small"]
    assert smaller(["-s", "large"], 1, 1, 10) == ["-s", "large"]


def test_smaller_constants() -> None:
    text = """
#define POINTS 40000
#define IMAGE (8192)  // pixels
#define REPEAT 100
#define MODULUS 1000003
#define THREADS 256
#define MASK 0x7FFFF
#define PASTE(x) x ## 4096
const int blocks = 65536, side = 4096;
static constexpr std::uint64_t n = 1UL << 28;
int iterations = 50;
uint documents = 256*1024;
Params() { size = 3 * 4096; n_reps = 100; kept = 12 * 3; }
for (size_t size = 512; size <= 1<<27; size = size * 512) if (size < 16384) f(size == 65536);
size_t bytes = 65536 * sizeof(float);
"""
    expected = """
#define POINTS 2496
#define IMAGE (512)  // pixels
#define REPEAT 2
#define MODULUS 1000003
#define THREADS 256
#define MASK 0x7FFFF
#define PASTE(x) x ## 4096
const int blocks = 4096, side = 256;
static constexpr std::uint64_t n = 16777216;
int iterations = 2;
uint documents = 16384;
Params() { size = 768; n_reps = 2; kept = 12 * 3; }
for (size_t size = 512; size <= 8388608; size = size * 512) if (size < 16384) f(size == 65536);
size_t bytes = 65536 * sizeof(float);
"""
    assert with_smaller_constants(text) == expected
    flags = "CFLAGS = -DSIZE=4096 -D TILE=16 -DREPEAT=40 -DNAME=a8192"
    assert with_smaller_constants(flags, 1) == "CFLAGS = -DSIZE=4096 -D TILE=16 -DREPEAT=2 -DNAME=a8192"
    assert with_smaller_constants(flags) == "CFLAGS = -DSIZE=256 -D TILE=16 -DREPEAT=2 -DNAME=a8192"
