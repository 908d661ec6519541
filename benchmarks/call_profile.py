"""Where a call's time goes: instructions by stage, counted with valgrind, of an operator's call on 4 elements.

Instructions are no nanoseconds, but they are the same in each run and don't depend on what else the machine does. A
child makes N and then 6 N calls under callgrind; the difference has nothing of the start. Stages are what a function
called by another one costs, with all that it calls. ``python benchmarks/call_profile.py`` needs ``valgrind``.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import torch

import opwright
from opwright.bench.scripts import Result, write_result

HERE = Path(__file__).parent
COUNT = 2000
OURS = r"opw::"
# Stage: (the caller, the callee), as regular expressions over names of functions.
Edges = tuple[tuple[str, str], ...]
CALL: dict[str, Edges] = {
    "whether somebody listens": ((r"attempt", r"opw::way_of"),),
    "releasing the GIL, acquiring it": ((OURS, r"PyEval_(Save|Restore)Thread"),),
    "checks: device, types, shapes": (
        (r"opw::run\(opw::Operator", r"opw::(place|bind|Bound|in_domains|output_sizes|output_type|OnDevice)"),
    ),
    "memory of the result": ((OURS, r"opw::Frame::allocate"),),
    "the kernel's views": ((r"opw::run\(opw::Operator", r"opw::(Frame::(add_inputs|row|folded)|view)"),),
    "the kernel": ((r"opw::Frame::enter", r"opwright_generated|opwright::detail"),),
    "the result's Python object": ((r"attempt", r"THPVariable_Wrap"),),
    "the result's end": ((r"subtype_dealloc|_Py_Dealloc", r"THPVariable_dealloc"),),
}
RECORDED: dict[str, Edges] = {
    "the node: edges to the arguments": ((OURS, r"impl::gradient_edge"),),
    "the node: its memory": ((r"opw::record", r"operator new"),),
    "the node: saved tensors": ((OURS, r"opw::OperatorNode::save_"),),
    "the result's history": ((r"opw::run", r"opw::connect"),),
}
BACKWARD: dict[str, Edges] = {
    "our backward": ((r"Node::operator\(\)", r"opw::OperatorNode::apply"),),
    "the engine, without it": ((r"THPEngine_run_backward", r"Engine::execute|PythonEngine::execute"),),
}
PROFILES = {
    "no gradient": CALL,
    "forward": CALL | RECORDED,
    "step": BACKWARD,
}


def calls() -> dict[str, dict[str, Callable[[], object]]]:
    """Return the calls by situation, ours and PyTorch's."""
    ours = opwright.load(HERE / "peer_sources/call_ops.cpp").product
    x, y, grad = torch.randn(4), torch.randn(4), torch.ones(4)
    a, b = torch.randn(4, requires_grad=True), torch.randn(4, requires_grad=True)

    def step(op: Callable[..., torch.Tensor]) -> Callable[[], None]:
        def call() -> None:
            a.grad = b.grad = None
            op(a, b).backward(grad)

        return call

    return {
        "no gradient": {"opwright": lambda: ours(x, y), "torch.add": lambda: torch.add(x, y)},
        "forward": {"opwright": lambda: ours(a, b), "torch.mul": lambda: torch.mul(a, b)},
        "step": {"opwright": step(ours), "torch.mul": step(torch.mul)},
    }


def child(situation: str, name: str, count: int) -> None:
    """Make `count` calls while callgrind counts."""
    torch.set_num_threads(1)
    call = calls()[situation][name]
    for _ in range(200):
        call()
    gc.disable()
    control = ["callgrind_control", "-i", "on", str(os.getpid())]
    subprocess.run(control, capture_output=True, check=True)
    for _ in range(count):
        call()
    control[2] = "off"
    subprocess.run(control, capture_output=True, check=True)
    os._exit(0)  # what comes at the end isn't counted, but slow


class Profile:
    """What callgrind counted: in all, and what each function called by each other one cost, with all that it calls."""

    def __init__(self, text: str) -> None:
        self.total = 0
        self.edges: Counter[tuple[str, str]] = Counter()
        names: dict[str, str] = {}

        def name_of(reference: str) -> str:
            number, _, name = reference.partition(" ")
            if name:
                names[number] = name
            return names[number]

        caller = callee = ""
        called = False
        for line in text.splitlines():
            key, _, value = line.partition("=")
            if key == "fn":
                caller = name_of(value)
            elif key == "cfn":
                callee = name_of(value)
            elif key == "calls":
                called = True
            elif re.match(r"[+\-*\d]", line):
                cost = int(line.split()[1])
                if called:
                    self.edges[caller, callee] += cost
                else:
                    self.total += cost
                called = False

    def stage(self, edges: Edges) -> int:
        """Return the instructions below these edges."""
        return sum(
            cost
            for (caller, callee), cost in self.edges.items()
            if any(re.search(one, caller) and re.search(other, callee) for one, other in edges)
        )


def counted(situation: str, name: str) -> dict[str, float]:
    """Return the instructions of one call, in all and by stage."""
    profiles = []
    with tempfile.TemporaryDirectory() as folder:
        for count in (COUNT, 6 * COUNT):
            path = Path(folder) / f"{count}.out"
            options = ["--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={path}"]
            words = [sys.executable, str(Path(__file__)), "--child", situation, name, str(count)]
            environment = os.environ | {
                "OPENBLAS_NUM_THREADS": "1",
                "OMP_NUM_THREADS": "1",
            }  # no thread that waits busily
            command = [shutil.which("valgrind") or "valgrind", *options, *words]
            subprocess.run(command, env=environment, capture_output=True, check=True)
            profiles.append(Profile(path.read_text()))
    first, second = profiles
    found = {"in all": (second.total - first.total) / (5 * COUNT)}
    if name == "opwright":
        for stage, edges in PROFILES[situation].items():
            found[stage] = (second.stage(edges) - first.stage(edges)) / (5 * COUNT)
            if not found[stage]:
                raise RuntimeError(
                    f"no function of the stage {stage!r} was seen: it has another name now, or is inlined"
                )
        if situation == "step":
            found["the engine, without it"] -= found["our backward"]
        found["the rest: Python, reading arguments, small things"] = 2 * found["in all"] - sum(found.values())
    return found


def main() -> None:
    """Count, print and save the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--child", nargs=3)
    options = parser.parse_args()
    if options.child:
        situation, name, count = options.child
        child(situation, name, int(count))
    counts = {situation: {name: counted(situation, name) for name in names} for situation, names in calls().items()}
    for situation, each in counts.items():
        for name, stages in each.items():
            for stage, instructions in stages.items():
                print(f"{situation:12} {name:10} {stage:50} {instructions:9.0f} {instructions / stages['in all']:6.1%}")
    path = write_result(Result("call_profile", "Instructions of one call on 4 elements, by stage"), HERE / "results")
    document = json.loads(path.read_text()) | {"instructions": counts}
    path.write_text(json.dumps(document, indent=2) + "\n")
    print(path)


if __name__ == "__main__":
    main()
