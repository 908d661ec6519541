"""The address of a repository file in the documentation's site, and its content there."""

from __future__ import annotations

import os
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = "docs/"
# Pages from outside docs/.
PAGES = {
    "README.md": "overview.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "RELEASING.md": "releasing.md",
    "SECURITY.md": "security_policy.md",
}
# What stands in the reference: in the repository a link leads to the code that the page is made of.
REFERENCE = {
    "src/opwright": "reference/index.md",
    "src/opwright/cli": "reference/commands.md",
    "src/opwright/doctor/environment.py": "reference/environment.md",
    "src/opwright/signature/notation.lark": "reference/notation.md",
}
LANGUAGES = {".c": "c", ".cpp": "cpp", ".cu": "cuda", ".cuh": "cuda", ".h": "cpp", ".py": "python", ".toml": "toml"}
# Code isn't rewritten: `[&](int64_t i)` isn't a link.
LINK = re.compile(
    r"(?P<code>^(?P<fence>```+).*?^(?P=fence)[ ]*$|`[^`\n]+`)|\]\((?P<path>[^()\s#:]+)(?P<anchor>#[^()\s]*)?\)",
    re.MULTILINE | re.DOTALL,
)


def page_of(path: str) -> str:
    """Return the page that shows a file or folder of the repository."""
    if page := PAGES.get(path) or REFERENCE.get(path):
        return page
    if path.startswith(DOCS):
        return path.removeprefix(DOCS)
    folder = path.removesuffix("/README.md")
    return f"{folder}/index.md" if (ROOT / folder / "README.md").is_file() else f"files/{path}.md"


def pages(texts: dict[str, str]) -> dict[str, str]:
    """Return the text of the pages outside docs/ to which ``texts`` (Markdown by path) link directly or indirectly."""
    found: dict[str, str] = {}
    new = set(PAGES).union(*(_linked(text, path) for path, text in texts.items()))
    while new:
        sources = {path: _source(path) for path in new}
        for path, (text, base) in sources.items():
            found[page_of(path)] = rewrite(text, base, page_of(path))
        linked: set[str] = set().union(*(_linked(text, base) for text, base in sources.values()))
        new = {path for path in linked if page_of(path) not in found}
    return found


def rewrite(text: str, path: str, page: str) -> str:
    """Return the text of the Markdown file ``path`` with its links relative to ``page``."""
    return LINK.sub(lambda match: match[0] if match["code"] else _link(match, path, page), text)


def _link(match: re.Match[str], path: str, page: str) -> str:
    target = _resolve(match["path"], path)
    if (path.startswith(DOCS) and target.startswith(DOCS)) or not (ROOT / target).exists():
        return match[0]  # mkdocs will report broken links
    relative = os.path.relpath(page_of(target), os.path.dirname(page) or ".")
    return f"]({relative}{match['anchor'] or ''})"


def _linked(text: str, path: str) -> set[str]:
    targets = {_resolve(match["path"], path) for match in LINK.finditer(text) if match["path"]}
    shown = {target for target in targets if not target.startswith((DOCS, "..")) and (ROOT / target).exists()}
    return shown - REFERENCE.keys()


def _resolve(link: str, path: str) -> str:
    return os.path.normpath(os.path.join(os.path.dirname(path), link))


def _source(path: str) -> tuple[str, str]:
    """Return the Markdown that shows a file or folder, and the path that its links are relative to."""
    if (ROOT / path).is_dir():
        readme = f"{path}/README.md"
        return (_read(readme) if (ROOT / readme).is_file() else _listing(path)), readme
    return (_read(path) if path.endswith(".md") else _shown(path)), path


def _listing(path: str) -> str:
    children = [child for child in sorted((ROOT / path).iterdir()) if child.is_dir() or child.suffix in LANGUAGES]
    names = [child.name for child in children if not child.name.startswith((".", "__pycache__"))]
    return _title(path) + "".join(f"- [{name}]({name})\n" for name in names)


def _shown(path: str) -> str:
    return f"{_title(path)}````{LANGUAGES.get(Path(path).suffix, 'text')}\n{_read(path)}````\n"


def _title(path: str) -> str:
    return f"---\nsearch:\n  exclude: true\n---\n\n# {path}\n\n"


def _read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")
