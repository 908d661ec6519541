"""What follows an argument, a result or a whole signature: conditions, launches."""

from __future__ import annotations
