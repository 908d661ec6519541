"""CUDA kernels under emulation, with every access watched."""

from __future__ import annotations

from collections.abc import Iterator

from opwright.check.context import Context, is_refusal
from opwright.check.files import load_files
from opwright.check.inputs import Arguments, Case, positional
from opwright.check.registry import Skipped, register
from opwright.check.report import Finding
from opwright.errors import KernelError

_KINDS = {
    "race": "race",
    "out of bounds": "out-of-bounds",
    "uninitialised": "uninitialised",
    "barrier": "divergent-barrier",
    "lane": "absent-lanes",
    "misaligned": "misaligned",
    "overflow": "integer-overflow",
    "division": "division-by-zero",
}
_ORDERS = (("forward", 0), ("reverse", 0), ("random", 1))


@register("CUDA kernels", group="sanitizers", share=1.0)
def cuda_kernels(context: Context) -> Iterator[Finding]:
    """CUDA kernels, emulated in three orders of their threads, have no races, and stay within their tensors."""
    from opwright.cuda import emulation

    subject = context.subject
    sources = subject.sources
    if not sources or not all(source.is_emulated for source in sources):
        raise Skipped('no emulated CUDA kernels: check a file with device="emulated"')
    paths = [source.path for source in sources]
    function = getattr(load_files(*paths, backend=emulation.emulate(check=True)), subject.name)
    for kind, seed in _ORDERS:

        def judge(case: Case, arguments: Arguments) -> Finding | None:
            try:
                function(*positional(subject.signature, arguments), **subject.keywords(case.sample.binding.types))
            except KernelError as error:
                if is_refusal(error):
                    raise
                return Finding(_kind(str(error)), str(error))
            return None

        with emulation.order(kind, seed=seed):
            found = context.find(judge, max_numel=1 << 11)
        if found:
            yield found
            return
    context.detail = f"{context.tried} calls, watched"


def _kind(text: str) -> str:
    """What the checker found, by the words with which it says so."""
    first = text.partition("\n")[0]
    return next((kind for words, kind in _KINDS.items() if words in first), "cuda-fault")
