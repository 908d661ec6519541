"""``opwright run``: the environment in which old build scripts and training scripts work unmodified."""
