"""Operators handed to another process: by their sources' texts, and how they are compiled."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

    from opwright.codegen import KernelSource
    from opwright.runtime import Operators


def handed(sources: Sequence[KernelSource]) -> str:
    """What `taken` needs, as JSON."""
    kept = [
        {
            "path": str(source.path),
            "text": source.text if source.is_text else "",
            "given": [[str(each.signature), each.function, each.call] for each in source.given],
        }
        for source in sources
    ]
    return json.dumps({"sources": kept, "options": asdict(sources[0].options)}, default=str)


def taken(text: str, dtypes: Iterable[torch.dtype] = ()) -> Operators:
    """The operators of the same sources, in a namespace that is called after the first file.

    Args:
        text: what `handed` gave.
        dtypes: element types for which kernels are compiled at once.

    Raises:
        SourceError: a file isn't there any more, or holds something else now.
    """
    from opwright.codegen import KernelSource
    from opwright.runtime.loading import load_sources
    from opwright.signature import parse
    from opwright.sources import Given
    from opwright.toolchain import Options

    told: dict[str, Any] = json.loads(text)
    options = Options(**{name: _tuple(value) for name, value in told["options"].items()})
    found = [
        KernelSource(
            Path(kept["path"]),
            options,
            kept["text"],
            tuple(Given(parse(signature), function, _tuple(call)) for signature, function, call in kept["given"]),
        )
        for kept in told["sources"]
    ]
    return load_sources(found, found[0].path.stem, tuple(dtypes))


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
