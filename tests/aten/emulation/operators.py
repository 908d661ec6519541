"""Run by ``opwright run --emulate``: PyTorch's samples of its own operators, on the emulated device and on the CPU."""

import sys
import warnings
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_leaves

warnings.filterwarnings("ignore")

# They take tensors that lie beyond their storage when copied, return memory as it was, need sparse tensors, or round
# differently where PyTorch computes them another way on a GPU.
_LEFT_OUT = {
    *("empty_like", "new_empty", "new_empty_strided", "empty_strided", "empty", "empty_permuted"),
    *("sparse.sampled_addmm", "sparse.mm", "to_sparse", "as_strided", "tensor_split", "nn.functional.layer_norm"),
}


def moved(value: Any) -> Any:
    """Return tensors, alone and in lists, on the device."""
    if isinstance(value, torch.Tensor):
        return value.cuda() if value.layout == torch.strided else value
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(map(moved, value))
    return "cuda" if isinstance(value, torch.device) or value == "cpu" else value


passed, failed, compared = [], {}, set()
for op in op_db:
    name = f"{op.name} {op.variant_test_name}".strip()
    dtype = torch.float32 if torch.float32 in op.dtypes else next(iter(op.dtypes), None)
    if dtype is None or op.name in _LEFT_OUT:
        continue
    try:
        for sample in list(op.sample_inputs("cpu", dtype))[:4]:
            torch.manual_seed(0)
            try:
                expected = op(sample.input, *sample.args, **sample.kwargs)
            except Exception:  # noqa: BLE001, S112 - nothing to compare
                continue
            keywords = {key: moved(value) for key, value in sample.kwargs.items()}
            got = op(moved(sample.input), *moved(tuple(sample.args)), **keywords)
            for one, other in zip(tree_leaves(got), tree_leaves(expected), strict=True):
                if isinstance(other, torch.Tensor) and other.layout == torch.strided:
                    assert one.is_cuda, f"it is on {one.device}"
                    torch.testing.assert_close(one.cpu(), other, equal_nan=True)
                    compared.add(name)
    except Exception as error:  # noqa: BLE001 - told below
        failed[name] = f"{type(error).__name__}: {str(error).splitlines()[0]}"
    else:
        passed += [name] * (name in compared)
sys.stdout.write("".join(f"{name}: {why}\n" for name, why in failed.items()))
sys.stdout.write(f"{len(passed)} passed, {len(failed)} differ\n")
