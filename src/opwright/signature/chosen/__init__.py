"""What a call chooses beside sizes: an axis between two groups of axes, and the axes that a bool decides."""
