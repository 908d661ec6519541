"""What a shell offers behind TAB. It asks at each key press, so nothing here imports PyTorch."""

from __future__ import annotations

import os
from pathlib import Path

import click
from click.shell_completion import BashComplete, CompletionItem, add_completion_class

SOURCES = (".c", ".cpp", ".cc", ".cxx", ".C", ".c++", ".cu", ".cuh")
BACKENDS = ("nvcc", "nvrtc", "emulate")


def files_and_operators(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Files; behind a source file's colon, its operators."""
    file, colon, begun = incomplete.rpartition(":")
    if not colon or not file.endswith(SOURCES):
        return [CompletionItem(incomplete, type="file")]
    return [
        CompletionItem(f"{file}:{name}", help=text)
        for name, text in _operators(Path(os.path.expanduser(file)))
        if name.startswith(begun)
    ]


def backends(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """What compiles CUDA."""
    return [CompletionItem(name) for name in BACKENDS if name.startswith(incomplete)]


def _operators(path: Path) -> list[tuple[str, str]]:
    """Each with its signature; none where the file can't be read or understood: nobody reads an error there."""
    from opwright.errors import OpwrightError
    from opwright.sources import scan

    try:
        signatures = [kernel.signature for kernel in scan(path).kernels]
    except OpwrightError:
        return []
    return [(signature.name, str(signature)) for signature in signatures if not signature.is_backward]


class Bash(BashComplete):
    """Bash takes ``file.cpp:name`` for three words and replaces the last one; zsh and fish take it for one."""

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before the one that is begun, and that one, put together again."""
        if ":" not in os.environ.get("COMP_WORDBREAKS", ":"):
            return super().get_completion_args()
        words: list[str] = []
        for word in [*(super().get_completion_args()[0]), super().get_completion_args()[1]]:
            if words and (word.startswith(":") or words[-1].endswith(":")):
                words[-1] += word
            else:
                words.append(word)
        return words[:-1], words[-1]

    def format_completion(self, item: CompletionItem) -> str:
        """What stands in place of the last of bash's words."""
        return f"{item.type},{item.value.rpartition(':')[2]}"


add_completion_class(Bash)
