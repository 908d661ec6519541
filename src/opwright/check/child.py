"""A run in a process of its own, built with sanitizers: ``python -m opwright.check.child FILE OPERATOR SEED COUNT``.

Whatever a sanitizer says, or a crash, ends that process and not the one that checks.
"""

from __future__ import annotations

import json
import sys


def main(file: str, options: str, operator: str, seed: int, count: int) -> None:
    """Call the operator, forward and backward, on drawn calls."""
    import torch

    from opwright.check.context import Context
    from opwright.check.targets import subjects

    found = subjects(file, load_options=json.loads(options))
    subject = next(each for each in found if each.name == operator)
    context = Context(subject, seed=seed, seconds=60.0)
    wanted = [tensor.name for tensor in subject.differentiable] if not subject.mutates else []
    for case in context.examples(count):
        arguments = case.arguments()
        shapes = {name: list(value.shape) for name, value in arguments.items() if isinstance(value, torch.Tensor)}
        sys.stdout.write(json.dumps(shapes) + "\n")
        sys.stdout.flush()  # the last line tells which call it was
        for name in wanted:
            if isinstance(arguments[name], torch.Tensor) and arguments[name].is_floating_point():
                arguments[name].requires_grad_()
        roots = [made for made in subject.call(arguments, case.sample.binding.types) if made.requires_grad]
        if roots:
            torch.autograd.backward(roots, [torch.ones_like(root) for root in roots])


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
