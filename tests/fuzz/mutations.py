"""Ways to make a call wrong, or odd but right."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from typing import Any

import torch

from .operators import Call

Tensor = torch.Tensor
Change = Callable[[Tensor, random.Random], Any]

ELEMENT_TYPES = [kind for kind in vars(torch).values() if isinstance(kind, torch.dtype)]
HUGE = (2**31 - 1, 2**31, 2**40, 2**62, 2**63 - 1)
INTEGERS = (0, 1, -1, 2**31 - 1, 2**31, -(2**31) - 1, 2**62, 2**63 - 1, -(2**63), 2**63, -(2**63) - 1, 2**70)
FLOATS = (float("nan"), float("inf"), -float("inf"), 1e300, -1e39, 3.5e38, 1e-300, -0.0)


class Subclass(torch.Tensor):
    """A tensor subclass that changes nothing."""


# --- odd, but no reason not to work


def _ones(t: Tensor, shape: list[int]) -> Tensor:
    """Ones of a tensor's type; zeros of 4-bit floats, which PyTorch can't fill."""
    return t.new_zeros(shape) if t.dtype is torch.float4_e2m1fn_x2 else t.new_ones(shape)


def _change_layout(t: Tensor, rng: random.Random) -> Tensor:
    order = rng.sample(range(t.dim()), t.dim())
    back = [order.index(d) for d in range(t.dim())]
    return t.permute(order).contiguous().permute(back)


def _slice(t: Tensor, rng: random.Random) -> Tensor:
    if not t.dim():
        return torch.stack([t, t])[1]
    d = rng.randrange(t.dim())
    pairs: Tensor = torch.stack([t, t], d + 1)
    return pairs.select(d + 1, 1)


def _unalign(t: Tensor, rng: random.Random) -> Tensor:
    """The same values at an address that isn't a multiple of their size, where PyTorch copies no complex ones."""
    if t.is_quantized or t.is_complex() or not 0 < t.numel() < 10**6:
        return t
    memory = bytearray(t.numel() * t.itemsize + 1)
    raw = torch.frombuffer(memory, dtype=t.dtype, offset=1, count=t.numel())
    raw.copy_(t.detach().flatten())
    shaped: Tensor = raw.view(t.shape)
    return shaped


def _negate_lazily(t: Tensor, rng: random.Random) -> Tensor:
    return torch._neg_view(-t) if t.is_floating_point() and t.itemsize > 1 else t


def _inference(t: Tensor, rng: random.Random) -> Tensor:
    with torch.inference_mode():
        return t.clone()


ODD: dict[str, Change] = {
    "layout": _change_layout,
    "sliced": _slice,
    "unaligned": _unalign,
    "negated": _negate_lazily,
    "inference": _inference,
    "lazy clone": lambda t, rng: torch._lazy_clone(t.contiguous()),
    "subclass": lambda t, rng: t.as_subclass(Subclass),
    "parameter": lambda t, rng: torch.nn.Parameter(t, requires_grad=False),
    "offset": lambda t, rng: torch.cat([_ones(t, [3]), t.flatten()])[3:].view(t.shape),
}

# --- perhaps wrong


def _element_type(t: Tensor, rng: random.Random) -> Tensor:
    kind = rng.choice(ELEMENT_TYPES)
    try:
        return t.to(kind)
    except (RuntimeError, TypeError):
        return torch.empty(t.shape, dtype=kind)


def _rank(t: Tensor, rng: random.Random) -> Tensor:
    change = rng.choice(("more", "less", "flat", "many"))
    if change == "many":
        return t.reshape([1] * rng.choice((7, 60)) + list(t.shape))
    if change == "more" or not t.dim():
        return t.unsqueeze(rng.randint(0, t.dim()))
    return t.flatten() if change == "flat" else t.new_zeros(t.shape[1:])


def _size(t: Tensor, rng: random.Random) -> Tensor:
    if not t.dim():
        return t.reshape(1)
    shape, d = list(t.shape), rng.randrange(t.dim())
    shape[d] = rng.choice((0, 1, shape[d] + 1, max(shape[d] - 1, 0), 2 * shape[d], 3 * shape[d]))
    return _ones(t, shape)


def _huge(t: Tensor, rng: random.Random) -> Tensor:
    if not t.dim():
        return t.expand(rng.choice(HUGE))
    shape = list(t.shape)
    for d in rng.sample(range(t.dim()), rng.randint(1, t.dim())):
        shape[d] = rng.choice(HUGE)
    return _ones(t, []).expand(shape)


def _values(t: Tensor, rng: random.Random) -> Tensor:
    t = t.clone()
    if not t.numel() or t.dtype is torch.float4_e2m1fn_x2:
        return t
    where = rng.randrange(t.numel())
    if t.dtype.is_floating_point:
        t.view(-1)[where] = rng.choice(
            (float("nan"), float("inf"), torch.finfo(t.dtype).max, torch.finfo(t.dtype).tiny)
        )
    elif t.dtype.is_complex or t.dtype is torch.bool:
        return t
    else:
        limits = torch.iinfo(t.dtype)
        near = rng.choice((limits.min, limits.max, -1, 0, 17, 18, 100))
        flat = t.contiguous().view(-1)
        flat[where] = min(max(near, limits.min), limits.max, 2**63 - 1)
        return flat.view(t.shape)
    return t


def _free_storage(t: Tensor, rng: random.Random) -> Tensor:
    t = t.clone()
    t.untyped_storage().resize_(0)
    return t


def _quantize(t: Tensor, rng: random.Random) -> Tensor:
    return torch.quantize_per_tensor(torch.zeros(t.shape), 0.1, 0, torch.qint8)


def _self_overlapping(t: Tensor, rng: random.Random) -> Tensor:
    if t.dim() < 1 or not t.numel():
        return t
    storage = _ones(t, [sum(t.shape) + 1])
    return storage.as_strided(t.shape, [rng.choice((0, 1)) for _ in t.shape])


WRONG: dict[str, Change] = {
    "element type": _element_type,
    "meta": lambda t, rng: t.to("meta"),
    "rank": _rank,
    "size": _size,
    "huge": _huge,
    "values": _values,
    "freed": _free_storage,
    "quantized": _quantize,
    "overlapping itself": _self_overlapping,
    "expanded": lambda t, rng: _ones(t, []).expand(t.shape),
    "sparse": lambda t, rng: t.to_sparse(),
    "csr": lambda t, rng: t.to_sparse_csr(),
    "mkldnn": lambda t, rng: t.to_mkldnn(),
    "nested": lambda t, rng: torch.nested.nested_tensor([t, t]),
    "jagged": lambda t, rng: torch.nested.nested_tensor([t, t], layout=torch.jagged),
    "zero tensor": lambda t, rng: torch._efficientzerotensor(t.shape, dtype=t.dtype),
    "conj": lambda t, rng: t.to(torch.complex64).conj(),
    "imaginary": lambda t, rng: t.to(torch.complex64).conj().imag,
    "leaf": lambda t, rng: t.detach().clone().requires_grad_(),
    "grad": lambda t, rng: t.detach().clone().requires_grad_() * 1,
    "view of a leaf": lambda t, rng: t.detach().clone().requires_grad_()[...],
    "None": lambda t, rng: None,
    "number": lambda t, rng: rng.choice((3, 1.5, True, 1j)),
    "list": lambda t, rng: rng.choice(([], [1.0], [t], (t, t), t.shape)),
    "string": lambda t, rng: rng.choice(("x", "", b"x")),
    "object": lambda t, rng: rng.choice((object(), torch.float32, torch.device("cpu"), torch.nn.Linear, ...)),
}


_LARGE = 10**7
_UNREAD = {"huge", "meta", "expanded", "None", "number", "list", "string", "object", "view of a leaf"}
"""The changes that don't read all elements: a huge tensor has one element, as many times as it takes hours to read."""


def _tensors(call: Call) -> list[str]:
    """The tensors among the arguments; PyTorch's own functions crash on one without memory."""
    return [name for name, value in call.arguments.items() if isinstance(value, Tensor) and not _is_freed(value)]


def _is_freed(t: Tensor) -> bool:
    dense = t.layout is torch.strided and t.device.type == "cpu" and not t.is_nested and not torch._is_zerotensor(t)
    return bool(dense and t.numel() and t.untyped_storage().nbytes() == 0)


def _change_tensor(call: Call, rng: random.Random) -> None:
    names = _tensors(call)
    if not names:
        return _change_scalar(call, rng)
    name = rng.choice(names)
    odd = rng.random() < 0.3
    what, change = rng.choice(list((ODD if odd else WRONG).items()))
    # PyTorch itself crashes on one without memory that is given for a number, or shown in an error of its own; and on
    # odd ones that become another class.
    if call.arguments[name].numel() > _LARGE and what not in _UNREAD:
        return None
    is_tensor = name in {tensor.name for tensor in call.target.signature.tensors}
    if (what == "freed" and (call.done or not is_tensor)) or (what == "subclass" and call.done):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = change(call.arguments[name], rng)
    except Exception:  # PyTorch can't make such a tensor, for any reason
        return None
    call.arguments[name] = value
    call.done.append(f"{what} ({name})")
    call.fits &= odd
    call.exact &= what != "values"
    return None


def _change_scalar(call: Call, rng: random.Random) -> None:
    names = [n for n, v in (call.arguments | call.keywords).items() if not isinstance(v, Tensor | list)]
    if not names:
        return
    name = rng.choice(names)
    odd: list[Any] = ["1", None, [1], 1j, torch.tensor(2), torch.tensor(1.5), torch.ones(2), True, 2.5, object()]
    odd += [torch.float32, torch.float8_e5m2, torch.complex64, torch.device("meta"), "cuda", "cpu:3", torch.Generator()]
    value = rng.choice([*INTEGERS, *FLOATS, *odd])
    (call.keywords if name in call.keywords else call.arguments)[name] = value
    call.done.append(f"scalar ({name})")
    call.fits = call.exact = False


def _share(call: Call, rng: random.Random) -> None:
    """One tensor, or another view of its memory, as another argument."""
    names = _tensors(call)
    if len(names) < 2:
        return
    one, other = rng.sample(names, 2)
    t, like = call.arguments[one], call.arguments[other]
    views: list[Callable[[], Any]] = [lambda: t, lambda: t[...], lambda: t.flatten()[: like.numel()].view(like.shape)]
    views += [lambda: t.as_strided(like.shape, like.stride(), 0), lambda: t.as_strided(like.shape, [1] * like.dim(), 0)]
    try:
        call.arguments[other] = rng.choice(views)()
    except Exception:  # as above
        return
    call.done.append(f"shared ({one}, {other})")
    call.fits = call.exact = False


def _change_call(call: Call, rng: random.Random) -> None:
    what = rng.choice(("missing", "extra", "unknown", "twice", "mask", "axis", "order"))
    names = list(call.arguments)
    if what == "missing" and names:
        del call.arguments[rng.choice(names)]
        call.by_keyword |= rng.random() < 0.5
    elif what == "extra":
        call.extra = (rng.choice((1, None, torch.ones(2), [True], "x")),)
        call.by_keyword = False
    elif what == "unknown":
        name = rng.choice(("wrong", "", "out", "dtype", "device", "self", "output_mask"))
        call.keywords[f"{name}_" if name in names else name] = rng.choice((None, 1, "cpu"))
    elif what == "twice" and names:
        call.keywords[names[0]] = call.arguments[names[0]]
        call.by_keyword = False
    elif what == "mask":
        call.arguments["output_mask"] = rng.choice(
            ([], [True], [False] * 5, [False] * 2, True, None, [1, 0], ["x"], 2**70)
        )
    elif what == "axis":
        name = rng.choice([n for n in names if n.startswith("axis_")] or ["axis_N"])
        wrong = [-1, 2**62, 2**63, 0, 1.5, None, [], [-1], [2**40], [2**62, 4], [0, 2**62, 2**62], [None], [1] * 70]
        call.arguments[name] = rng.choice(wrong)
    elif len(names) > 1:
        one, other = rng.sample(names, 2)
        call.arguments[one], call.arguments[other] = call.arguments[other], call.arguments[one]
        call.exact = False
    call.done.append(what)
    call.fits = False


def mutate(call: Call, rng: random.Random) -> None:
    """Change up to three things."""
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
        kinds = [_change_tensor] * 10 + [_change_scalar] * 3 + [_share] * 2 + [_change_call] * 2
        rng.choice(kinds)(call, rng)
        if any(done.startswith("freed") for done in call.done):
            break
    call.context = rng.choice(("", "", "no_grad", "inference"))
