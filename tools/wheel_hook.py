"""Build hook of Opwright's wheel: adds prebuilt runtimes from the folder OPWRIGHT_PREBUILT, for one platform.

Part of the build backend (hatchling), so it can import nothing else. tools/build_wheels.py makes the folder.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PrebuiltRuntimes(BuildHookInterface):  # type: ignore[misc,type-arg] # hatchling is typed where it is installed
    """Adds the runtimes that tools/build_wheels.py has built."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the files, and set the wheel's tag; does nothing for an editable wheel (`version`)."""
        folder = os.environ.get("OPWRIGHT_PREBUILT", "")
        if not folder or version == "editable":
            return
        found = [path for path in Path(folder).iterdir() if path.is_dir()]
        build_data["force_include"].update(
            {str(path): f"opwright/runtime/native/prebuilt/{path.name}" for path in found}
        )
        build_data["pure_python"] = False
        build_data["tag"] = (Path(folder) / "tag").read_text().strip()
