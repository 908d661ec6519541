"""Time from an edit of LLTM's CUDA extension to its first correct result under ``opwright run --emulate``.

The extension is a C++ file with PyTorch's headers and a CUDA file; the kernel is edited. In turns with it, PyTorch's
loader builds an edited C++ extension of the same cell. Every process gets a source that was never compiled before; the
clock starts after ``import torch``. The emulator and the device are there.
``python benchmarks/emulated_extension.py [--rounds 5]``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from opwright.bench import Result
from opwright.bench.scripts import parse_rounds, summary

HERE = Path(__file__).parent
LLTM = HERE.parent / "examples" / "lltm"
OURS, THEIRS = "opwright, CUDA emulated", "torch, C++"
FILES = {OURS: ("lltm_cuda.cpp", "lltm_cuda_kernel.cu"), THEIRS: ("lltm_aten.cpp",)}
EDITED = {OURS: "new_h[row][column] = t * o", THEIRS: "{squashed * output_gate"}
WORKER = """
import sys, time, torch
factor, device, *files = sys.argv[1:]
started = time.perf_counter()
from torch.utils.cpp_extension import load
module = load("lltm", files)
def tensor(*size, value=1.0):
    return torch.full(size, value, dtype=torch.float64, device=device)
t = tensor(2, 2)
h = module.forward(t, tensor(6, 4, value=0.0), tensor(6), t, t)[0].cpu()
print(time.perf_counter() - started)
gate = 1 / (1 + torch.exp(torch.tensor(-1.0, dtype=torch.float64)))
assert torch.allclose(h, torch.tanh(1 + gate) * gate * float(factor)), h
"""


def run(name: str, number: int, folder: Path) -> float:
    """Return the seconds of one process for a new edit."""
    where = folder / name.split(",", maxsplit=1)[0]
    where.mkdir(exist_ok=True)
    edits = 0
    for file in FILES[name]:
        text = (LLTM / file).read_text()
        edits += EDITED[name] in text
        (where / file).write_text(text.replace(EDITED[name], f"{EDITED[name]} * {number}.0"))
    assert edits == 1
    (where / "worker.py").write_text(WORKER)
    emulate = ("-m", "opwright", "run", "--emulate") if name == OURS else ()
    words = ("worker.py", str(number), "cuda" if name == OURS else "cpu", *FILES[name])
    environment = {**os.environ, "TORCH_EXTENSIONS_DIR": str(folder / "cache")} if name == THEIRS else dict(os.environ)
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # users have cached bytecode
    done = subprocess.run(
        [sys.executable, *emulate, *words], env=environment, cwd=where, check=False, capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)
    return float(done.stdout.split()[-1])


def main() -> None:
    """Measure, print and save the results."""
    rounds = parse_rounds(__doc__, 5, "each is run")
    samples: dict[str, list[float]] = {name: [] for name in FILES}
    with tempfile.TemporaryDirectory() as folder:
        run(OURS, 2, Path(folder))  # builds the emulator and the device, and leaves the object file that isn't edited
        for number in range(3, 3 + rounds):
            for name, seconds in samples.items():
                seconds.append(run(name, number, Path(folder)))
    timings = {name: summary(seconds) for name, seconds in samples.items()}
    result = Result(
        "emulated_extension",
        "An edited LLTM CUDA extension, emulated, to its first right result, after import torch",
        timings,
        ratios={"torch, C++ / opwright, CUDA emulated": timings[THEIRS].median / timings[OURS].median},
    )
    result.finish(HERE / "results")


if __name__ == "__main__":
    main()
