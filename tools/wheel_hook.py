"""Opwright's own wheel: with prebuilt runtimes, which make it a platform's, where OPWRIGHT_PREBUILT names their folder.

Part of the build backend (hatchling), so it can count on nothing else. tools/build_wheels.py makes the folder.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PrebuiltRuntimes(BuildHookInterface):  # type: ignore[misc,type-arg] # hatchling is typed where it is installed
    """Adds what tools/build_wheels.py built."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Say what goes into the wheel, and what its tag is; an editable one (`version`) has nothing of it."""
        folder = os.environ.get("OPWRIGHT_PREBUILT", "")
        if not folder or version == "editable":
            return
        found = [path for path in Path(folder).iterdir() if path.is_dir()]
        build_data["force_include"].update({str(path): f"opwright/runtime/prebuilt/{path.name}" for path in found})
        build_data["pure_python"] = False
        build_data["tag"] = (Path(folder) / "tag").read_text().strip()
