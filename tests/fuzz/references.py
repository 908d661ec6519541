"""What every operator that the fuzzer calls computes, written again with PyTorch in float64.

A reference takes the operator's arguments by name (floating tensors as float64, an axis of a backward as ``axis_N``),
those that it names, and returns the results in order, then the mutated arguments' new values; None stands for a result
that it says nothing about. The reference of a second backward is autograd's gradient of the backward's reference.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import torch

from .references_by_source import REFERENCES_BY_SOURCE, Reference, Results, Tensor


def _tensor(value: Any, dtype: torch.dtype = torch.int64) -> Tensor:
    return torch.tensor(value, dtype=dtype)


def _or_zero(t: Tensor | None) -> Tensor | float:
    return 0.0 if t is None else t


# --- examples/lltm: i, o, c, t are the four runs of what is saved


def _cell(gates: Tensor, old_cell: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    i, o, c = gates.chunk(3, dim=1)
    i, o, c = torch.sigmoid(i), torch.sigmoid(o), torch.nn.functional.elu(c)
    cell = old_cell + c * i
    return torch.tanh(cell) * o, cell, torch.cat([i, o, c, torch.tanh(cell)], dim=1)


def _gates(input: Tensor, weights: Tensor, bias: Tensor, old_h: Tensor) -> Tensor:  # noqa: A002 - its name in the signature
    return torch.cat([old_h, input], dim=1) @ weights.T + bias


def lltm(input: Tensor, weights: Tensor, bias: Tensor, old_h: Tensor, old_cell: Tensor) -> Results:  # noqa: A002
    return _cell(_gates(input, weights, bias, old_h), old_cell)[:2]


def lltm_cell(gates: Tensor, old_cell: Tensor) -> Results:
    return _cell(gates, old_cell)[:2]


def lltm_cell_backward(
    grad_new_h: Tensor, grad_new_cell: Tensor, grad_saved: Tensor | None, saved: Tensor
) -> tuple[Tensor, Tensor]:
    i, o, c, t = saved.chunk(4, dim=1)
    more_i, more_o, more_c, more_t = (0, 0, 0, 0) if grad_saved is None else grad_saved.chunk(4, dim=1)
    cell = grad_new_cell + (grad_new_h * o + more_t) * (1 - t * t)
    slope = torch.where(c > 0, torch.ones_like(c), 1 + c)
    grads = (cell * c + more_i) * i * (1 - i), (grad_new_h * t + more_o) * o * (1 - o), (cell * i + more_c) * slope
    return torch.cat(grads, dim=1), cell


def lltm_backward(
    grad_new_h: Tensor,
    grad_new_cell: Tensor,
    grad_gates: Tensor | None,
    input: Tensor,  # noqa: A002
    weights: Tensor,
    old_h: Tensor,
    gates: Tensor,
) -> Results:
    p, grad_cell = lltm_cell_backward(grad_new_h, grad_new_cell, grad_gates, gates)
    both = p @ weights
    S = old_h.shape[1]
    return both[:, S:], p.T @ torch.cat([old_h, input], dim=1), p.sum(0), both[:, :S], grad_cell


# --- the other examples


def dropout(x: Tensor, p: float, rng: torch.Generator) -> Tensor:
    if not 0 <= p <= 1:
        raise ArithmeticError("a check in the kernel ought to have failed")
    seed, blocks = _seed(rng), (x.numel() + 3) // 4
    draws = [(word >> 8) * 2.0**-24 for b in range(blocks) for word in _philox(seed, b)][: x.numel()]
    kept = _tensor(draws, torch.float64).reshape(x.shape) >= p
    return torch.where(kept, x / (1 - p) if p < 1 else 0 * x, 0)


def dropout_backward(grad_y: Tensor, p: float, mask: Tensor) -> Tensor:
    return torch.where(mask, grad_y / (1 - p) if p < 1 else 0 * grad_y, 0)


def _iou(a: list[float], b: list[float]) -> float:
    width, height = max(0.0, min(a[2], b[2]) - max(a[0], b[0])), max(0.0, min(a[3], b[3]) - max(a[1], b[1]))
    areas = [(c[2] - c[0]) * (c[3] - c[1]) for c in (a, b)]
    union = sum(areas) - width * height
    return width * height / union if union else float("nan")


def _kept(boxes: Tensor, scores: Tensor, labels: list[int], threshold: float) -> Tensor:
    left, rows, kept = scores.argsort(descending=True, stable=True).tolist(), boxes.tolist(), []
    while left:
        best, *left = left
        kept.append(best)
        left = [i for i in left if labels[i] != labels[best] or not _iou(rows[best], rows[i]) > threshold]
    return _tensor(kept)


def nms(boxes: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    return _kept(boxes, scores, [0] * len(scores), iou_threshold)


def detect(boxes: Tensor, scores: Tensor, labels: Tensor, iou_threshold: float) -> Results:
    keep = _kept(boxes, scores, labels.tolist(), iou_threshold)
    return boxes[keep], scores[keep], keep


def detect_backward(
    grad_kept_boxes: Tensor | None, grad_kept_scores: Tensor | None, keep: Tensor, axis_N: int
) -> Results:
    boxes, scores = torch.zeros(axis_N, 4, dtype=torch.float64), torch.zeros(axis_N, dtype=torch.float64)
    for k, i in enumerate(keep.tolist()):
        if grad_kept_boxes is not None:
            boxes[i] = grad_kept_boxes[k]
        if grad_kept_scores is not None:
            scores[i] = grad_kept_scores[k]
    return boxes, scores


# --- tests/runtime/kernels/autograd_ops.cpp


def affine(x: Tensor, w: Tensor | None, b: Tensor | None, alpha: float, k: int, negate: bool) -> Results:
    scaled = (-1 if negate else 1) * alpha * k * x * (1.0 if w is None else w)
    return scaled + _or_zero(b), torch.arange(len(x))


def affine_backward(grad_y: Tensor, x: Tensor, w: Tensor | None, alpha: float, k: int, negate: bool) -> Results:
    scale = (-1 if negate else 1) * alpha * k
    return scale * grad_y * (1.0 if w is None else w), scale * grad_y * x, grad_y


def pair_backward(grad_a: Tensor | None, grad_b: Tensor, output_mask: list[bool]) -> Results:
    first = 1000 if grad_a is None else 2 * grad_a
    x, y = (0 if wanted else 10000 for wanted in output_mask)
    return first + 3 * grad_b + y, grad_b + x


def probe(x: Tensor) -> Results:
    return x * x, None  # the second says whether the residual was wanted


def gate_backward(grad_y: Tensor | None, grad_g: Tensor | None, x: Tensor, g: Tensor) -> Tensor:
    return torch.zeros_like(x) + _or_zero(grad_y) * 3 * g + _or_zero(grad_g) * 2 * x


# --- tests/runtime/kernels/call_ops.cpp


def rank(x: Tensor) -> Results:
    sizes = [x.shape[d] if d < x.dim() else -1 for d in range(8)]
    strides = [x.shape[d + 1 :].numel() if d < x.dim() else -1 for d in range(8)]
    return _tensor(sizes), _tensor(strides), _tensor(x.dim())


def scalars(a: float, b: int, c: bool, d: float) -> Tensor:
    return _tensor([float(_tensor(a, torch.float32)), b, c, d], torch.float64)


def cell(old_h: Tensor) -> Tensor:
    return torch.arange(old_h.numel(), dtype=torch.float64).reshape(old_h.shape)


def axes(x: Tensor, y: Tensor, z: Tensor) -> Results:
    b = x.shape[1]
    return _tensor([z.shape[1] + 1, b, len(y) // b if b else 0]), None


def checked(x: Tensor, k: int) -> Tensor:
    if not 0 < k < 3 or x.isnan().any():
        raise ArithmeticError("a check in the kernel ought to have failed")
    return x


# --- tests/fuzz/kernels


def several(x: Tensor, y: Tensor, w: Tensor | None, v: Tensor) -> Results:
    more = torch.full((y.shape[1],), 7, dtype=v.dtype) if w is None else w
    return 2 * x, y.sum(0), torch.cat([v.expand(len(x)), more])


def exchange(x: Tensor, y: Tensor, z: Tensor | None) -> Results:
    return x.sum(), y, x, None if z is None else z + x


def positive(x: Tensor) -> Results:
    return (x > 0).nonzero().flatten(), x[x > 0]


def first(x: Tensor, limit: int) -> Results:
    if limit >= 100:
        raise ArithmeticError("a check in the kernel ought to have failed")
    more = torch.arange(x.shape[1] * limit, dtype=torch.float64).reshape(x.shape[1], limit)
    return x[:limit], more, _tensor(limit)


def _seed(rng: torch.Generator) -> int:
    return int(torch.empty((), dtype=torch.int64).random_(-(2**63), None, generator=rng)) % 2**64


def _philox(seed: int, element: int) -> list[int]:
    """The first four draws of Philox4x32-10 (Salmon et al. 2011), element in the upper half of the counter."""
    word = 0xFFFFFFFF
    c, k = [0, 0, element & word, element >> 32], [seed & word, seed >> 32]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & word, (a >> 32) ^ c[3] ^ k[1], a & word]
        k = [(k[0] + 0x9E3779B9) & word, (k[1] + 0xBB67AE85) & word]
    return c


def fill(x: Tensor) -> Tensor:
    return torch.ones_like(x)


def fill_backward(grad_x: Tensor) -> Tensor:
    return torch.zeros_like(grad_x)


def noise(x: Tensor, rng: torch.Generator, low: float) -> Tensor:
    seed = _seed(rng)
    draws = [(_philox(seed, i)[0] >> 8) * 2.0**-24 for i in range(x.numel())]
    return x + low + _tensor(draws, torch.float64).reshape(x.shape)


def shift(x: Tensor, idx: Tensor | None, n: Tensor) -> Results:
    y = x.clone()
    if idx is not None and idx.numel():
        y[idx.flatten()] = x[0]
    return y, _tensor([2, 0, 1], torch.int16)[n.long()]


def pad(x: Tensor, p: int, q: int) -> Tensor:
    return torch.nn.functional.pad(x, (p, p))[:, None].expand(-1, q)


def pad_backward(grad_y: Tensor | None, p: int, axis_N: int) -> Tensor:
    return torch.zeros(axis_N) if grad_y is None else grad_y.sum(1)[p : p + axis_N]


def ramp(n: int, m: int, step: float, up: bool) -> Results:
    y = torch.arange(2 * n + m, dtype=torch.float64) * float(_tensor(step, torch.float32)) * (1 if up else -1)
    return y, torch.arange(n // 2 * m).reshape(n // 2, m)


def blocks(x: Tensor, y: Tensor | None, k: Tensor) -> Results:
    a, b, c = x.unflatten(-1, (3, x.shape[-1] // 3)).unbind(-2)
    z = a + 2 * b + 4 * c
    if y is not None:
        z[..., : y.shape[-1]] += y
    return z, k.long().sum()


def halve(x: Tensor, y: Tensor, i: Tensor) -> Tensor:
    a, b = x.shape[0], x.shape[1] // 2
    return x[:, ::2].sum(1) + y[torch.arange(a) * b + i]


def halve_backward(grad_z: Tensor, kept: Tensor, i: Tensor) -> Results:
    a, b = kept.shape
    grad_x, grad_y = torch.zeros(a, 2 * b, dtype=torch.float64), torch.zeros(a, b, dtype=torch.float64)
    grad_x[:, ::2] = grad_z[:, None]
    grad_y[torch.arange(a), i] = grad_z
    return grad_x, grad_y.flatten()


def cut(x: Tensor, low: float) -> Results:
    return (~(x >= low)).sum(), torch.where(x >= low, x, low)


def histogram(idx: Tensor, n: int, weight: Tensor | None) -> Tensor:
    return torch.bincount(idx, weight, minlength=n).double()


REFERENCES: dict[str, Reference] = {
    name: value for name, value in list(globals().items()) if inspect.isfunction(value) and not name.startswith("_")
}
REFERENCES |= {
    "my_op": lambda x, y: 3 * x - y,
    "scaled": lambda x: x * x.sum(-1, keepdim=True),
    "scaled_backward": lambda grad_y, x, total: grad_y * total.unsqueeze(-1) + (grad_y * x).sum(-1, keepdim=True),
    "powered": lambda x: x * x,
    "powered_backward": lambda grad_y, x, last: grad_y * last * x,
    "doubled": lambda x: 2 * x,
    "doubled_backward": lambda grad_y: 2 * grad_y,
    "twice": lambda x: 2 * x,
    "twice_backward": lambda grad_y: 2 * grad_y,
    "my_op_backward": lambda grad_z: (3 * grad_z, -grad_z),
    "my_op_backward_backward": lambda grad_grad_x, grad_grad_y: 3 * grad_grad_x - grad_grad_y,
    "round": lambda x: torch.where(torch.isnan(x), 0, (x >= 0.5).to(x.dtype)),
    "round_backward": lambda grad_y: grad_y,
    "round_backward_backward": lambda grad_grad_x: grad_grad_x,
    "gather_rows": lambda x, idx: x[idx.long()],
    "gather_rows_backward": lambda grad_y, idx, axis_M: grad_y.new_zeros(axis_M, grad_y.shape[1]).index_add(
        0, idx, grad_y
    ),
    "gather_rows_backward_backward": lambda grad_grad_x, idx: grad_grad_x[idx.long()],
    "add_rows": lambda y, idx, x: y.index_add(0, idx, x),
    "add_rows_backward": lambda grad_y, idx: (grad_y, grad_y[idx.long()]),
    "logistic": lambda x: 1 / (1 + torch.exp(-x)),
    "mul": lambda x, y: x * y,
    "mul_backward": lambda grad_z, x, y: (grad_z * y, grad_z * x),
    "rowsum": lambda x: x.sum(1),
    "rowsum_backward": lambda grad_s, axis_N: grad_s[:, None].expand(-1, axis_N),
    "rowsum_backward_backward": lambda grad_grad_x: grad_grad_x.sum(1),
    "total": lambda x: x.sum(),
    "total_backward": lambda grad_s, axis_H, axis_ellipsis: grad_s.expand(*axis_ellipsis, 2 * axis_H),
    "probe_backward": lambda grad_y, r: grad_y * r,
    "gate": lambda x: x**3,
    "pair": lambda x, y: (2 * x, 3 * x + y),
    "mixed": lambda x, y: (2 * x, 3 * y),
    "mixed_backward": lambda grad_z, grad_w: (2 * grad_z, 3 * grad_w),
    "outer": lambda b: torch.ones((), dtype=torch.float64),
    "outer_backward": lambda grad_s, axis_A: 7 * grad_s.expand(axis_A),
    "square": lambda x: x * x,
    "cube": lambda x: x**3,
    "cube_backward": lambda grad_y, x: 3 * grad_y * x * x,
    "copy": lambda x: x,
    "copied": lambda x: x,
    "copied_backward": lambda grad_y: grad_y,
    "strided": lambda x: (None, None, x),
    "dense": lambda x: (None, x),
    "swap": lambda x, y: (y, x, x.sum()),
    "scale": lambda x, alpha: x * alpha,
    "add_to": lambda x, y, k: x + y * (k % 2 if k >= 0 else -(-k % 2)),
    "set_one": lambda x: x,
    "take": lambda x, idx: x[idx.long()],
    "cut_backward": lambda grad_x, kept: grad_x * kept,
    "saxpy": lambda alpha, x, y: y + alpha * x,
}
REFERENCES["sigmoid_backward"] = lambda grad_y, y: grad_y * y * (1 - y)
REFERENCES["logistic_backward"] = REFERENCES["sigmoid_backward"]
REFERENCES["sigmoid"] = REFERENCES["logistic"]


REFERENCES |= REFERENCES_BY_SOURCE

_SECOND = "_backward_backward"


def _leaf(value: Any) -> Any:
    real = isinstance(value, Tensor) and value.is_floating_point()
    return value.clone().requires_grad_() if real else value


def compute(name: str, arguments: Mapping[str, Any], results: Mapping[str, torch.Size | None]) -> Results:
    """What the operator returns, and its mutated arguments' new values.

    Args:
        name: the operator, after the namespace and a dot.
        arguments: by name; floating tensors in float64.
        results: the names of the operator's results, each with its shape, None where it isn't wanted.
    """
    if name in REFERENCES:
        return _tuple(_call(REFERENCES[name], arguments))
    name = name.partition(".")[2]
    if name == "unit":
        return (torch.eye(arguments["n"]),)
    if name in REFERENCES:
        return _tuple(_call(REFERENCES[name], arguments))
    return _second(REFERENCES[name.removesuffix("_backward")], arguments, results)


def _tuple(given: Any) -> Results:
    return given if isinstance(given, tuple) else (given,)


def _call(reference: Reference, arguments: Mapping[str, Any]) -> Any:
    wanted = inspect.signature(reference).parameters
    return reference(**{key: value for key, value in arguments.items() if key in wanted})


def _second(backward: Reference, arguments: Mapping[str, Any], results: Mapping[str, torch.Size | None]) -> Results:
    """Gradients of the backward's inputs: `grad_<input>` for each, the gradients of its outputs being `grad_grad_*`.

    A gradient that is asked for but wasn't given itself is taken at zero.
    """
    shapes = {name.removeprefix("grad_"): shape for name, shape in results.items()}
    inputs: dict[str, Any] = {}
    for name in inspect.signature(backward).parameters:
        value, shape = arguments.get(name), shapes.get(name)
        if value is None and shape is not None:
            value = torch.zeros(shape, dtype=torch.float64)
        inputs[name] = _leaf(value)
    with torch.enable_grad():
        outputs = _call(backward, inputs)
        incoming = [v for n, v in arguments.items() if n.startswith("grad_grad_")]
        pairs = zip(outputs if isinstance(outputs, tuple) else (outputs,), incoming, strict=True)
        total = sum(((o * g).sum() for o, g in pairs if g is not None), torch.zeros(()))
    wanted = [name for name, shape in shapes.items() if shape is not None]
    if not total.requires_grad or not wanted:
        found = {name: torch.zeros_like(inputs[name]) for name in wanted}
    else:
        grads = torch.autograd.grad(total, [inputs[n] for n in wanted], allow_unused=True, materialize_grads=True)
        found = dict(zip(wanted, grads, strict=True))
    return tuple(found.get(name) for name in shapes)
