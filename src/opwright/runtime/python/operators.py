"""The dispatcher kernels of every operator, except autograd's."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch

from opwright.runtime.arguments import Arguments, CallingConvention, check_values
from opwright.runtime.binding import DTYPES, TORCH_TYPES
from opwright.runtime.interface import KernelState
from opwright.runtime.python.devices import accelerator, keys_below_inplace, keys_of, move_numbers, place, refuse
from opwright.runtime.python.frame import BatchedFrame, Frame, Instance, PointwiseFrame
from opwright.runtime.torch_internals import OpOverload, below_inplace, call_of
from opwright.signature import Signature, TensorParam

Build = Callable[[KernelState, int], None]


class Operator(CallingConvention):
    """One operator of the dispatcher."""

    def __init__(self, kernel: KernelState, op: OpOverload, build: Build, *, residuals: bool, mask: bool) -> None:
        """Read the schema of `op`; `build` builds and publishes missing instances."""
        super().__init__(kernel, op, residuals=residuals, mask=mask)
        self.places = [i for i, param in enumerate(self.signature.inputs) if isinstance(param, TensorParam)]
        self._build = build
        self._frame = PointwiseFrame if self.signature.pointwise else BatchedFrame if self.signature.batched else Frame
        self.missing: str | None = None  # the error of differentiating it, if it has no backward
        # The function that `op(...)` calls. A graph keeps using the backward that it was recorded with, even if the
        # source was reloaded since and calling `op` raises an error.
        self.call: Callable[..., Any] = call_of(op)

    def on_device(self, *given: Any, **named: Any) -> Any:
        """Run the kernel for the tensors' device."""
        values = self.with_defaults(given, named)
        call = self.arguments(values)
        device = place(self.kernel, call)
        if device.type == "cpu":
            return self.pack(self._run(call, device), values)
        with accelerator.on(device):
            move_numbers(call, device)
            return self.pack(self._run(call, device), values)

    def _run(self, call: Arguments, device: torch.device) -> list[torch.Tensor | int | None]:
        signature = self.signature
        binding = call.bind()
        check_values(signature, call, binding, on_cpu=device.type == "cpu")
        if call.mask is not None and not any(call.mask):  # so a kernel with one gradient needn't check the mask
            return [None] * len(self.returned)
        kind = "cpu" if device.type == "cpu" else "cuda"
        instance = self._instance(self.kernel.key(binding.types, self._wanted(call), device=kind))
        return self._frame(signature, call, binding, len(self.returned), device).run(instance)

    def _wanted(self, call: Arguments) -> int:
        """Return a bit mask of the results that the instance computes; 0: all that the caller wants."""
        if not self.kernel.derived or call.mask is None:
            return 0
        return sum(1 << i for i, wanted in enumerate(call.mask) if wanted)

    def elsewhere(self, *given: Any, **named: Any) -> Any:
        """Raise the error for a device without a kernel."""
        refuse(self.kernel, self.arguments(self.with_defaults(given, named)))

    def selecting(self, _keys: Any, *given: Any, **named: Any) -> Any:
        """Call an operator without input tensors on the requested device."""
        device = self.arguments(self.with_defaults(given, named)).device
        return self.op.redispatch(keys_of(device), *given, **named)

    def overwriting(self, keys: Any, *given: Any, **named: Any) -> Any:
        """Call an operator that mutates arguments, and increment their versions."""
        with below_inplace():
            answer = self.op.redispatch(keys_below_inplace(keys), *given, **named)
        for tensor in self.arguments(self.with_defaults(given, named)).mutated:
            if tensor is not None and not tensor.is_inference():
                torch.autograd.graph.increment_version(tensor)
        return answer

    def resolving(self, keys: Any, *given: Any, **named: Any) -> Any:
        """Call an operator that mutates arguments if an argument is lazily negated or conjugated.

        PyTorch's own kernel for such arguments assumes that mutated arguments are returned, and otherwise corrupts
        memory.
        """
        values, back = self.with_defaults(given, named), []
        own = list(values)
        with below_inplace():
            for place in self.places:
                tensor = values[place]
                if tensor is None or not (tensor.is_neg() or tensor.is_conj()):
                    continue
                values[place] = tensor.clone()
                if self.signature.inputs[place] in self.signature.mutated:
                    back.append((tensor, values[place]))
            rest = keys.remove(torch.DispatchKey.Negative).remove(torch.DispatchKey.Conjugate)
            answer = self.op.redispatch(rest, *values)
            for tensor, plain in back:
                tensor.copy_(plain)
        return self.pack(self.unpack(answer), own)

    def _instance(self, key: int) -> Instance:
        instances: dict[int, Instance] = self.kernel.handle
        if key not in instances:
            self._build(self.kernel, key)
        return instances[key]


Given = list[tuple[TensorParam, torch.Tensor]]


def autocast_keys() -> tuple[str, str]:
    """Return the dispatch keys of autocast."""
    return "AutocastCPU", f"Autocast{accelerator.key}"


class Autocast:
    """The kernel that is registered at autocast's keys."""

    def __init__(self, op: Operator) -> None:
        """Store `op`, the operator to call with the cast arguments."""
        self._op = op

    def __call__(self, /, *given: Any, **named: Any) -> Any:
        """Cast the arguments, and call the operator below autocast."""
        op, values = self._op, self._op.with_defaults(given, named)
        pairs = dict(zip(op.places, op.signature.tensors, strict=True))
        floating = [(param, values[i]) for i, param in pairs.items() if _is_cast(values[i])]
        types = _widest(op.signature, floating)
        with _no_autocast():
            for i, param in pairs.items():
                if _is_cast(values[i]) and not param.mutated:
                    values[i] = _cast(values[i], param, types)
            return op.call(*values)


@contextlib.contextmanager
def _no_autocast() -> Iterator[None]:
    """Disable autocast for both devices, as ``torch.autocast(..., enabled=False)`` does, without clearing its cache."""
    enabled = {kind: torch.is_autocast_enabled(kind) for kind in ("cpu", accelerator.kind)}
    for kind in enabled:
        torch.set_autocast_enabled(kind, False)
    try:
        yield
    finally:
        for kind, before in enabled.items():
            torch.set_autocast_enabled(kind, before)


def _is_cast(value: torch.Tensor | None) -> bool:
    """Return whether autocast may cast a tensor; 8-bit floats are left alone: only the caller knows their scale."""
    return value is not None and value.is_floating_point() and not DTYPES[value.dtype].only_converts


def _widest(signature: Signature, floating: Given) -> dict[str, torch.dtype]:
    """Return the element type of each type variable that a floating-point input determines.

    A pointwise operator promotes types itself, so only the autocast type of its signature is needed.
    """
    if signature.pointwise:
        names = {param.type.name for param, _ in floating if param.type.kind == "var"}
        return {n: TORCH_TYPES[a] for n in names if (a := signature.autocast) and a in signature.allowed(n)}
    types: dict[str, torch.dtype] = {}
    fixed: set[str] = set()  # by a mutated tensor, which can't be replaced by a copy
    for param, tensor in floating:
        name = param.type.name
        if param.type.kind != "var" or name in fixed:
            continue
        known = types.get(name)
        types[name] = tensor.dtype if known is None or param.mutated else torch.promote_types(known, tensor.dtype)
        if param.mutated:
            fixed.add(name)
    autocast_type = signature.autocast
    for name in types:
        if autocast_type and name not in fixed and autocast_type in signature.allowed(name):
            types[name] = TORCH_TYPES[autocast_type]
    return {name: dtype for name, dtype in types.items() if DTYPES.get(dtype) in signature.allowed(name)}


def _cast(tensor: torch.Tensor, param: TensorParam, types: dict[str, torch.dtype]) -> torch.Tensor:
    if param.type.kind != "dtype" and param.type.name not in types:
        return tensor
    wanted = param.type.resolve({name: DTYPES[dtype] for name, dtype in types.items()})
    is_cast = wanted.is_floating and not wanted.only_converts
    return tensor.to(TORCH_TYPES[wanted]) if is_cast else tensor
