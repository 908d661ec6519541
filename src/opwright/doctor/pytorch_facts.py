"""What PyTorch says of itself. Run in a process of its own: an import may fail, crash, or never end."""

from __future__ import annotations

import json
import sys
from typing import Any, NamedTuple

from opwright.doctor.asking import ask_python

SECONDS = 60.0
_MARK = "opwright doctor: "


class TorchFacts(NamedTuple):
    """PyTorch, as it is found.

    Attributes:
        missing: whether there is none.
        problem: why it can't be imported; else empty.
        version: such as ``2.13.0+cpu``.
        file: where it was imported from.
        cuda: the CUDA version that it was built with; None: a build for the CPU.
        hip: the ROCm version.
        cxx11_abi: whether it uses the C++ library's newer strings, as every compiler does by default.
        compiler: what it was built with.
        architectures: the GPUs that it has code for, such as ``sm_90``.
        runtime: the file of Opwright's native runtime for it; None: not built yet.
        runtime_problem: why that one can't be loaded, or looked for.
    """

    missing: bool = False
    problem: str = ""
    version: str = ""
    file: str = ""
    cuda: str | None = None
    hip: str | None = None
    cxx11_abi: bool = True
    compiler: str = ""
    architectures: tuple[str, ...] = ()
    runtime: str | None = None
    runtime_problem: str = ""


def torch_facts() -> TorchFacts:
    """Ask PyTorch."""
    answer = ask_python("from opwright.doctor import pytorch_facts\npytorch_facts.tell()\n", seconds=SECONDS)
    told = [line.removeprefix(_MARK) for line in answer.text.splitlines() if line.startswith(_MARK)]
    if not told:
        return TorchFacts(problem=answer.why)
    known = json.loads(told[-1])
    return TorchFacts(**{**known, "architectures": tuple(known.get("architectures", ()))})


def tell() -> None:
    """Print the facts of the PyTorch in this process, as one line."""
    facts: dict[str, Any] = {}
    try:
        import torch

        facts = _facts(torch)
    except ModuleNotFoundError as error:
        facts = {"missing": True} if error.name == "torch" else {"problem": f"ModuleNotFoundError: {error}"}
    except BaseException as error:  # noqa: BLE001 - a broken installation raises anything
        facts = {"problem": f"{type(error).__name__}: {error}"}
    sys.stdout.write(f"\n{_MARK}{json.dumps(facts)}\n")
    sys.stdout.flush()


def _facts(torch: Any) -> dict[str, Any]:
    built: list[str] = [line.strip(" -") for line in torch.__config__.show().splitlines()[1:2]]
    flags = getattr(torch._C, "_cuda_getArchFlags", str)()  # noqa: SLF001 - the public one asks for a GPU first
    facts = {
        "version": torch.__version__,
        "file": torch.__file__,
        "cuda": torch.version.cuda,
        "hip": torch.version.hip,
        "cxx11_abi": bool(torch._C._GLIBCXX_USE_CXX11_ABI),  # noqa: SLF001 - as runtime/native.py asks
        "compiler": "".join(built),
        "architectures": (flags or "").split(),
    }
    return {**facts, **_runtime()}


def _runtime() -> dict[str, Any]:
    """Opwright's native runtime for this PyTorch: where it is, and whether it can be loaded."""
    from opwright.errors import OpwrightError

    try:
        from opwright.runtime.native import Native, known_native
        from opwright.runtime.prebuilt import find

        path = find() or known_native()
        if path is not None:
            Native(path)
    except (OpwrightError, OSError, AttributeError, ImportError) as error:
        return {"runtime_problem": str(error)}
    return {"runtime": path and str(path)}
