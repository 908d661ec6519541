"""``TORCH_CUDA_ARCH_LIST``: which GPUs extensions are compiled for, judged before nvcc refuses them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from opwright.doctor.cuda_facts import Toolkit
from opwright.doctor.gpu import Gpu
from opwright.doctor.model import Finding, note, ok, wrong

VARIABLE = "TORCH_CUDA_ARCH_LIST"

_NAMED = {
    "Kepler+Tesla": "3.7", "Kepler": "3.5+PTX", "Maxwell+Tegra": "5.3", "Maxwell": "5.0;5.2+PTX",
    "Pascal": "6.0;6.1+PTX", "Volta+Tegra": "7.2", "Volta": "7.0+PTX", "Turing": "7.5+PTX", "Ampere+Tegra": "8.7",
    "Ampere": "8.0;8.6+PTX", "Ada": "8.9+PTX", "Hopper": "9.0+PTX", "Blackwell+Tegra": "11.0",
    "Blackwell": "10.0;10.3;12.0;12.1+PTX",
}  # fmt: skip
_ITEM = re.compile(r"(\d{1,2})\.(\d)([af]?)(\+PTX)?")


def examine(toolkit: Toolkit | None, gpus: Sequence[Gpu]) -> Iterator[Finding]:
    """Can it be read, does nvcc know what is in it, and does it serve the GPUs that are here?"""
    given = os.environ.get(VARIABLE, "")
    if not given.strip() or given == "native":
        seen = ", ".join(dict.fromkeys(f"{gpu.major}.{gpu.minor}" for gpu in gpus))
        without = "not set, and no GPU is here: then it is the oldest GPU that nvcc knows, and PTX for newer ones"
        yield (
            ok(VARIABLE, f"not set: the GPUs that are here ({seen})")
            if seen
            else note(VARIABLE, without, f'for a CUDA build, such as {VARIABLE}="{_suggestion(toolkit)}"')
        )
        return
    items, strange = parse(given)
    if strange:
        yield wrong(
            VARIABLE,
            f"{VARIABLE}={given!r}: {', '.join(map(repr, strange))} can't be read",
            f'versions with ";" between them, such as {VARIABLE}="{_suggestion(toolkit)}"',
        )
        return
    yield from _judged(given, items, toolkit, gpus)


def parse(given: str) -> tuple[list[str], list[str]]:
    """The versions in a list such as ``"8.0;9.0a+PTX"`` or ``"Hopper"``, and what is none."""
    items = [part for item in re.split(r"[; ]", given) if item for part in _NAMED.get(item, item).split(";")]
    return [item for item in items if _ITEM.fullmatch(item)], [item for item in items if not _ITEM.fullmatch(item)]


def _judged(given: str, items: Sequence[str], toolkit: Toolkit | None, gpus: Sequence[Gpu]) -> Iterator[Finding]:
    known = toolkit.gpus if toolkit else ()
    unknown = [item for item in items if known and _number(item, plain=True) not in {_plain(gpu) for gpu in known}]
    if unknown and toolkit:
        yield wrong(
            VARIABLE,
            f"{VARIABLE}={given!r}: nvcc {toolkit.version} doesn't compile for {', '.join(unknown)}; it knows "
            f"{', '.join(_dotted(gpu) for gpu in known)}",
            f'leave that out: {VARIABLE}="{";".join(i for i in items if i not in unknown) or _suggestion(toolkit)}"',
        )
        return
    unserved = [gpu for gpu in gpus if not any(_serves(item, gpu) for item in items)]
    if unserved:
        wanted = ", ".join(f"{gpu.name} ({gpu.major}.{gpu.minor})" for gpu in unserved)
        more = ";".join(dict.fromkeys([*items, *(f"{gpu.major}.{gpu.minor}" for gpu in unserved)]))
        yield wrong(
            VARIABLE, f"{VARIABLE}={given!r} leaves out {wanted}: nothing would run there", f'{VARIABLE}="{more}"'
        )
        return
    judged = "" if known else " (there is no nvcc that could say whether it knows them)"
    yield ok(VARIABLE, f"{given}: {', '.join(items)}{judged}")


def _serves(item: str, gpu: Gpu) -> bool:
    """Whether code for `item` runs on a GPU: of its generation and not newer, or as PTX of any older one."""
    found = _ITEM.fullmatch(item)
    if not found:
        return False
    major, minor = int(found[1]), int(found[2])
    if found[3] == "a":
        return (major, minor) == (gpu.major, gpu.minor)
    if major == gpu.major and minor <= gpu.minor:
        return True
    return bool(found[4]) and (major, minor) <= (gpu.major, gpu.minor)


def _suggestion(toolkit: Toolkit | None) -> str:
    usual = ["8.0", "8.6", "9.0"]
    known = {_plain(gpu) for gpu in toolkit.gpus} if toolkit and toolkit.gpus else {"80", "86", "90"}
    return ";".join(item for item in usual if _number(item, plain=True) in known) + "+PTX"


def _number(item: str, *, plain: bool) -> str:
    found = _ITEM.fullmatch(item)
    return "" if not found else found[1] + found[2] + ("" if plain else found[3])


def _plain(gpu: str) -> str:
    return gpu.rstrip("af")


def _dotted(gpu: str) -> str:
    digits = _plain(gpu)
    return f"{digits[:-1]}.{digits[-1]}{gpu[len(digits) :]}"
