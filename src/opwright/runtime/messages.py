"""Messages of the errors that both runtimes raise.

``tools/generate_tables.py`` turns each into a C++ function for the native runtime (``csrc/messages.h``), since a C++
program that calls a bundle has no Python. `argument` is an operator and its argument: ``scale(): x``.
"""

from __future__ import annotations

NO_LIBRARY = "{path} is no Opwright kernel library: it lacks the symbol opwright_library"
OTHER_ABI = "{path} was built for another version of Opwright's ABI; this one is version {version}"

NOT_DENSE = "{argument} is a {layout} tensor, expected a dense one\n  likely fix: {fix}"
STORAGE_FREED = "{argument} has no memory: its storage was freed (untyped_storage().resize_(0))"
TWO_DEVICES = "{argument} is on {device}, {other} on {expected}; all tensors of a call must be on one device"
OTHER_DEVICE = (
    "{argument} is {device}, but {other} is on {expected}: beside tensors it is their device\n"
    '  likely fix: leave out {name}=, or {other}.to("{device}")'
)
NO_KERNEL_FOR_DEVICE = (
    "{argument} is on {device}, but this operator has kernels for {known} only\n"
    '  likely fix: call it with .to("{nearest}")'
)
NO_KERNEL_FOR_FACTORY = (
    "{name}(): {argument} is {device}, but this operator has kernels for {known} only\n"
    '  likely fix: {argument}="{nearest}"'
)
THEN_MOVE_THE_RESULT = ', then .to("{device}")'
OR_EMULATE = ', or run its CUDA kernels on the CPU: load(..., backend="emulate")'
GENERATOR_DEVICE = "Expected a '{expected}' device type for generator but found '{device}'"
OUTPUT_MASK = "{name}(): output_mask has {count} elements, expected one for each of {expected} gradients"

EMPTY_LISTS = (
    "{name}(): all lists are empty and there is no other tensor, so nothing tells the device and the element types\n"
    "  likely fix: don't call it without a tensor"
)

ARRIVED = "{name} is of type {dtype} and has {axes}"
ARRIVED_NONE = "{name} is None"
NO_ALTERNATIVE = "{name}(): {arrived}: none of its {count} alternatives takes that{takes}"

INTERNAL_OVERLAP = (
    "{argument} is overwritten, but several of its elements share one place in memory\n"
    "  likely fix: clone() it before the call"
)
SHARED_MEMORY = (
    "{argument} is overwritten, but it shares memory with {other}\n  likely fix: clone() one of them before the call"
)
OUT_WITH_GRADIENT = (
    "{argument} requires a gradient, and functions with out=... arguments don't support automatic differentiation\n"
    "  likely fix: {name}(), which returns its results; or call it under torch.no_grad()"
)
RESULT_TYPE = (
    "{argument} is {dtype}, and the result, {result}, can't be cast to that\n"
    "  likely fix: a tensor of type {result}, or of a wider one"
)
RESULT_SHAPE = (
    "{argument} has the shape {shape}, and the result, which overwrites it, has {result}\n"
    "  likely fix: {name}(), which returns a tensor of that shape"
)
OUT_RESIZED = (
    "{argument} was resized: it has elements, of shape {shape}, and the result has the shape {result}. PyTorch "
    "deprecates this; give a tensor of that shape, or one without elements: .resize_(0)"
)
OUT_OF_MEMORY = "{name}(): no memory for {tensor} of shape [{shape}]: {gibibytes} GiB\n  PyTorch says: {reason}"
NOT_RESIZED = (
    "{name}(): the kernel ended without calling .resize(...) on its result number {result}, whose length it "
    "decides (0 is a length, too)"
)
NEGATIVE_COUNT = "{name}(): the kernel left {count} in its result number {result}, and a count is at least 0"

OVERWRITTEN_WITHOUT_BATCH = (
    "{name}(): {argument} is overwritten, but it isn't one of what vmap goes over: each call would overwrite the one "
    "before\n  likely fix: give vmap a {argument} with the batch axis, too"
)
NO_FORWARD_MODE = (
    "{name}(): there is no forward-mode derivative (jvp) of this operator; use reverse mode (torch.autograd.grad, "
    "torch.func.vjp)"
)
COMPILED_AUTOGRAD = (
    "{node}: compiled autograd can't trace an operator that overwrites an argument; call backward() without it "
    "(torch._dynamo.config.compiled_autograd = False)"
)
