"""Count what became of the mutants: ``python -m tests.mutants.counts`` writes counts.json and docs/measured.md."""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from pathlib import Path
from typing import Any

from .oracle import JUDGED, UNCHANGED, candidates, functions_of
from .run import HERE, ORACLE, RESULTS, read
from .survivors import read as explained

COUNTS = HERE / "counts.json"
SURVIVORS = HERE / "survivors.txt"
SEEN_OTHERWISE = HERE / "oracle_survivors.txt"
"""Mutants of backwards that the derived gradient doesn't tell from the source, and why."""
_KINDS = ("C++ backwards", "CUDA backwards", "second C++ backwards", "second CUDA backwards")
"""What mutants are of, in the order of `_place`."""
PAGE = HERE.parents[1] / "docs/measured.md"
BEGIN, END = "<!-- mutants: begin (python -m tests.mutants.counts) -->", "<!-- mutants: end -->"


def count_results(results: Path = RESULTS, listed: Path = SURVIVORS) -> dict[str, Any]:
    """How many were made, and what became of them."""
    rows = [row for row in read(results) if row["mutant"] != UNCHANGED]
    reasons, verdicts = explained(listed), Counter(row["verdict"] for row in rows)
    alive = [name(row) for row in rows if row["verdict"] == "survived"]
    return {
        "sources": len({row["source"] for row in rows}),
        "made": len(rows),
        "not compiling": verdicts["not compiling"],
        "checked": len(rows) - verdicts["not compiling"],
        "caught": verdicts["caught"],
        "equivalent": sum(each in reasons and not _is_undetectable(reasons[each]) for each in alive),
        "beyond": sum(_is_undetectable(reasons.get(each, "")) for each in alive),
        "unexplained": sum(each not in reasons for each in alive),
        "kinds": dict(sorted(Counter(row["mutant"].split(": ")[1] for row in rows).items())),
        "caught by": dict(Counter(_detected_by(row) for row in rows if row["verdict"] == "caught").most_common()),
    }


def count_oracle(results: Path = ORACLE) -> dict[str, dict[str, int]]:
    """How many mutants of backwards there are, were compared with derived gradients, and were found, by their kind."""
    rows = {(row["source"], row["mutant"]): row for row in read(results)}
    counts = {kind: Counter[str]() for kind in _KINDS}
    for example in JUDGED:
        compared = set()
        for mutant in candidates(example):
            kind = _KINDS[_place(example.source, functions_of(example).orders[mutant.function])]
            row = rows.get((example.source, str(mutant)), {"verdict": "not judged", "by": ""})
            counts[kind]["there are"] += 1
            if row["verdict"] in ("caught", "survived"):
                compared.add(kind)
                counts[kind]["compared"] += 1
                counts[kind]["caught"] += row["verdict"] == "caught"
                counts[kind]["ended the process"] += row["verdict"] == "caught" and row["by"].count(": ") != 2
        for kind in compared:
            counts[kind]["sources"] += 1
    return {kind: dict(found) for kind, found in counts.items()}


def oracle_sentence(counts: dict[str, dict[str, int]]) -> str:
    """Return the same as a sentence, for docs/measured.md."""
    parts = [
        f"{found['caught']} of {found['compared']} mutants of {kind} in {found['sources']} sources "
        f"(there are {found['there are']})"
        for kind, found in counts.items()
    ]
    ended = sum(found["ended the process"] for found in counts.values())
    reasons = explained(SEEN_OTHERWISE).values()
    beyond = sum(map(_is_undetectable, reasons))
    return (
        f"The derived gradients alone find {', '.join(parts[:-1])} and {parts[-1]}; {ended} of them end the process. "
        f"Of the others, {len(reasons) - beyond} change no gradient where all are asked for, and {beyond} shows in "
        "other checks alone (tests/mutants/oracle_survivors.txt)"
    )


def _place(source: str, order: int) -> int:
    return 2 * (order - 1) + source.endswith((".cu", ".cuh"))


def sentence(counts: dict[str, Any]) -> str:
    """Return the same as a sentence, for docs/measured.md."""
    text = (
        f"Of {counts['checked']} mutants, made by machine of {counts['sources']} of the examples' sources, it catches "
        f"{counts['caught']}; {counts['equivalent']} are equivalent to the source, and {counts['beyond']} only differ "
        "in calls that it doesn't make"
    )
    return f"{text}, {counts['unexplained']} are unexplained" if counts["unexplained"] else text


def name(row: dict[str, Any]) -> str:
    """As survivors.txt has it."""
    return f"{row['source']}: {row['mutant']}"


def _is_undetectable(reason: str) -> bool:
    """Whether it is a fault, in something that check doesn't try."""
    return reason.startswith("beyond: ")


def _detected_by(row: dict[str, Any]) -> str:
    """The check that found it, or what ended its process."""
    words = row["by"].split(": ")
    return str(words[1] if len(words) == 3 else words[0])


def update_page(page: str) -> str:
    """Return the page with the sentence in its place."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    text = f"{sentence(count_results())}. {oracle_sentence(count_oracle())}."
    lines = textwrap.wrap(text, 120)
    return "\n".join([f"{before}{BEGIN}", *lines, f"{END}{after}"])


def main() -> None:
    """Write the file, and what docs/measured.md says."""
    COUNTS.write_text(json.dumps({**count_results(), "oracle": count_oracle()}, indent=2) + "\n")
    PAGE.write_text(update_page(PAGE.read_text()))


if __name__ == "__main__":
    main()
