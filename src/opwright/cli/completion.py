"""``opwright completion``, and the completions themselves: run at each press of TAB, so PyTorch isn't imported."""

from __future__ import annotations

import os
import re
from pathlib import Path

import click
from click.shell_completion import BashComplete, CompletionItem, add_completion_class, get_completion_class

from opwright.cli import COMPLETE
from opwright.languages import LANGUAGES

BACKENDS = ("nvcc", "nvrtc", "emulate")
_CHECK = re.compile(r'^@(?:register|pytorch_feature)\(\s*"([^"]+)"', re.MULTILINE)
_GROUP = re.compile(r'\bgroup="([^"]+)"')


def files_and_operators(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete files and, after a source file's colon, its operators."""
    file, colon, prefix = incomplete.rpartition(":")
    if not colon or not file.endswith(tuple(LANGUAGES)):
        return [CompletionItem(incomplete, type="file")]
    return [
        CompletionItem(f"{file}:{name}", help=text)
        for name, text in _operators(Path(os.path.expanduser(file)))
        if name.startswith(prefix)
    ]


def backends(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the names of the back ends that compile CUDA."""
    return [CompletionItem(name) for name in BACKENDS if name.startswith(incomplete)]


def checks(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the names of checks and of their groups, read from the sources: an import would bring PyTorch."""
    import opwright

    folder = Path(opwright.__file__).parent / "check"
    texts = [path.read_text("utf-8") for path in sorted(folder.rglob("*.py"))]
    names = dict.fromkeys(name for pattern in (_CHECK, _GROUP) for text in texts for name in pattern.findall(text))
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def _operators(path: Path) -> list[tuple[str, str]]:
    """Return names and signatures; empty if the file can't be read or parsed, since a completion can't show errors."""
    from opwright.errors import OpwrightError
    from opwright.sources import scan

    try:
        signatures = [kernel.signature for kernel in scan(path).kernels]
    except OpwrightError:
        return []
    return [(signature.name, str(signature)) for signature in signatures if not signature.is_backward]


class Bash(BashComplete):
    """Bash's completion. Bash splits ``file.cpp:name`` into three words, and replaces the last one."""

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the complete words and the incomplete one, with the parts around colons joined again."""
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
        """Return the replacement for the last of bash's words."""
        return f"{item.type},{item.value.rpartition(':')[2]}"


add_completion_class(Bash)


SHELLS = ("bash", "zsh", "fish")


@click.command("completion")
@click.argument("shell", required=False, type=click.Choice(SHELLS))
def command(shell: str | None) -> None:
    """Print what makes SHELL (by default $SHELL) complete opwright's commands, options, files and operators.

    \b
    bash   eval "$(opwright completion bash)"      in ~/.bashrc
    zsh    eval "$(opwright completion zsh)"       in ~/.zshrc, after compinit
    fish   opwright completion fish > ~/.config/fish/completions/opwright.fish
    """  # noqa: D301 - \b is click's: these lines stay as they are
    completion = get_completion_class(shell or _current_shell())
    assert completion is not None  # noqa: S101 - it is one of SHELLS
    click.echo(completion(click.Command("opwright"), {}, "opwright", COMPLETE).source())


def _current_shell() -> str:
    name = os.path.basename(os.environ.get("SHELL", ""))
    if name not in SHELLS:
        raise click.UsageError(f"SHELL is {os.environ.get('SHELL', '')!r}; say which one: {', '.join(SHELLS)}")
    return name
