"""Table of the names that PyTorch's C++ interface has removed or deprecated.

The compatibility layer looks up which shim a source needs; ``opwright migrate``, what to write instead. Patterns match
normalized text (`opwright.sources.cpp.normalized`): one space between tokens, literals as ``""``.
"""

from __future__ import annotations

import functools
import re
from typing import Literal

from opwright.record import record


@record
class Name:
    """A name of an older PyTorch.

    Attributes:
        name: the name for messages.
        pattern: a regular expression that matches uses in normalized text.
        status: whether today's PyTorch rejects the name, or only warns.
        today: the replacement.
        shims: our headers that restore the name; empty if today's PyTorch still has it.
        rename: the new identifier, if replacing the identifier is the whole change.
        beside: a pattern that must also match somewhere in the source or its headers.
        without: a pattern that must not match there.
        vague: whether the name isn't specific to PyTorch, so that uses aren't reported.
    """

    name: str
    pattern: str
    status: Literal["removed", "deprecated"]
    today: str
    shims: tuple[str, ...] = ()
    rename: str = ""
    beside: str = ""
    without: str = ""
    vague: bool = False

    @property
    def expression(self) -> re.Pattern[str]:
        """The compiled pattern."""
        return _compiled(self.pattern)

    @property
    def word(self) -> str:
        """The identifier that a source could define itself; empty if the name isn't a single identifier."""
        return self.name if self.name.isidentifier() else ""


@record
class Header:
    """A header that PyTorch no longer has.

    Attributes:
        name: the path in ``#include``.
        today: the header that replaces it; empty if there is none.
    """

    name: str
    today: str


_compiled = functools.cache(re.compile)


def _word(name: str, today: str, *shims: str, rename: str = "") -> Name:
    spaced = name.replace("::", " :: ")
    return Name(name, rf"\b{spaced}\b", "removed", today, shims, rename)


def _same(name: str, today: str, *shims: str) -> Name:
    """Describe an identifier that was renamed without another change."""
    return _word(name, today, *shims, rename=today)


def _call(name: str, today: str, *shims: str) -> Name:
    return Name(name, rf"\b{name} \(", "removed", today, shims)


def _scoped(name: str, today: str, *shims: str) -> Name:
    return Name(f"at::{name}", rf"\b(?:at|torch|c10) :: {name}\b", "removed", today, shims)


def _warned(name: str, pattern: str, today: str, *shims: str, rename: str = "") -> Name:
    return Name(name, pattern, "deprecated", today, shims, rename)


_CHECKS = (
    _same("AT_CHECK", "TORCH_CHECK", "check.h"),
    _same("AT_WARN", "TORCH_WARN", "check.h"),
    _word("AT_INDEX_ERROR", "TORCH_CHECK_INDEX(false, ...)", "check.h"),
    *(
        # glog has macros of the same names.
        Name(
            f"CHECK_{how}",
            rf"\bCHECK_{how} \(",
            "removed",
            new := f"TORCH_CHECK_{how}",
            ("check.h",),
            new,
            without="glog",
        )
        for how in ("EQ", "NE", "LE", "LT", "GE", "GT")
    ),
    _warned("AT_ASSERTM", r"\bAT_ASSERTM\b", "TORCH_CHECK for what users do, TORCH_INTERNAL_ASSERT for the rest"),
    _warned("AT_ASSERT", r"\bAT_ASSERT\b", "TORCH_CHECK for what users do, TORCH_INTERNAL_ASSERT for the rest"),
    _warned("AT_ERROR", r"\bAT_ERROR \(", "TORCH_CHECK(false, ...)"),
)
_DISPATCH = (
    Name(
        "AT_DISPATCH_*(x.type(), ...)",
        r"\bAT_DISPATCH_(?!CASE|SWITCH|INDEX)\w+ \(",
        "removed",
        "x.scalar_type()",
        ("dispatch.h", "deprecated.h"),
        beside=r"(?<!device \( \) )(?:\.|->) type \( \)",
    ),
    _word("AT_DISPATCH_ALL_TYPES_AND_HALF", "AT_DISPATCH_ALL_TYPES_AND(at::kHalf, ...)", "dispatch_macros.h"),
    _word(
        "AT_DISPATCH_ALL_TYPES_AND_HALF_AND_COMPLEX",
        "AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND(at::kHalf, ...)",
        "dispatch_macros.h",
    ),
    _word("AT_PRIVATE_CASE_TYPE", "AT_DISPATCH_CASE", "dispatch_macros.h"),
)
_TENSORS = (
    _warned(".data<T>()", r"(?:\.|->) (?:template )?data <", ".data_ptr<T>()", "deprecated.h"),
    _warned(".type().is_cuda()", r"(?:\.|->) type \( \) \. is_cuda \( \)", ".is_cuda()", "deprecated.h"),
    _warned(".type().is_sparse()", r"(?:\.|->) type \( \) \. is_sparse \( \)", ".is_sparse()", "deprecated.h"),
    _warned(".type().scalarType()", r"(?:\.|->) type \( \) \. scalarType \( \)", ".scalar_type()", "deprecated.h"),
    Name(
        ".type()",
        r"(?<!device \( \) )(?:\.|->) type \( \)"
        r"(?! \. (?:is_cuda|is_sparse|scalarType) \()",
        "deprecated",
        ".options(), .scalar_type() or .device()",
        ("deprecated.h",),
        vague=True,
    ),
    _warned(
        ".packed_accessor<T, N>()",
        r"(?:\.|->) (?:template )?packed_accessor <",
        ".packed_accessor32<T, N>() or .packed_accessor64<T, N>()",
        "deprecated.h",
    ),
    _warned(
        "PackedTensorAccessor",
        r"\b(?:at|torch) :: PackedTensorAccessor\b",
        "PackedTensorAccessor32 or PackedTensorAccessor64",
        "deprecated.h",
    ),
    _warned(".is_variable()", r"(?:\.|->) is_variable \( \)", "true: every tensor is a variable", "deprecated.h"),
    _call("toCByte", ".item<uint8_t>()", "conversions.h"),
    _call("toCInt", ".item<int>()", "conversions.h"),
    _call("toCLong", ".item<int64_t>()", "conversions.h"),
    _call("toCFloat", ".item<float>()", "conversions.h"),
    _call("toCDouble", ".item<double>()", "conversions.h"),
    Name(
        ".toLongTensor()",
        r"(?:\.|->) to(?:Byte|Char|Short|Int|Long|Half|Float|Double)Tensor \( \)",
        "removed",
        ".to(at::kLong)",
        ("conversions.h",),
    ),
    _call("elementSizeInBytes", ".element_size() of the tensor", "type.h", "deprecated.h"),
)
_TYPES = (
    _scoped("Type", "at::TensorOptions or at::ScalarType", "type.h", "deprecated.h"),
    _scoped("getType", "at::TensorOptions", "type.h"),
    _warned("at::CUDA(at::kFloat)", r"\b(?:at|torch) :: CUDA \(", "at::device(at::kCUDA).dtype(at::kFloat)"),
    _warned("at::CPU(at::kFloat)", r"\b(?:at|torch) :: CPU \(", "at::device(at::kCPU).dtype(at::kFloat)"),
    Name(
        "at::zeros(type, sizes)",
        r"\b(?:zeros|ones|empty|rand|randn) \( "
        r"(?:\w+ (?:\.|->) type \( \)|(?:at|torch) :: (?:CUDA|CPU) \( [\w: ]+ \)) ,",
        "removed",
        "sizes first: at::zeros(sizes, options)",
        ("factories.h", "deprecated.h"),
    ),
    _warned("at::IntList", r"\b(?:at|torch|c10) :: IntList\b", "at::IntArrayRef", "deprecated.h", rename="IntArrayRef"),
    _warned("c10::optional", r"\b(?:at|torch|c10) :: optional\b", "std::optional"),
    _warned("c10::nullopt", r"\b(?:at|torch|c10) :: nullopt\b", "std::nullopt"),
    _warned("c10::make_optional", r"\b(?:at|torch|c10) :: make_optional\b", "std::make_optional"),
    _word("c10::guts::make_unique", "std::make_unique", "std_names.h"),
    _word("c10::guts::to_string", "std::to_string", "std_names.h"),
    _word("AutoNoGIL", "pybind11::gil_scoped_release", "gil.h"),
    _word("AutoGIL", "pybind11::gil_scoped_acquire", "gil.h"),
    Name(
        "torch::jit::RegisterOperators",
        r"\btorch :: jit :: RegisterOperators\b",
        "removed",
        "TORCH_LIBRARY, or torch::RegisterOperators",
    ),
    Name(
        "at::globalContext().getCurrentCUDAStream()",
        r"\bglobalContext \( \) \. getCurrentCUDAStream \( \)",
        "removed",
        "at::cuda::getCurrentCUDAStream()",
    ),
    Name(
        "PYBIND11_MODULE after <torch/torch.h>",
        r"\bPYBIND11_MODULE \(",
        "removed",
        "#include <torch/extension.h>",
        ("pybind.h",),
        beside=r"#include [<\"]torch/torch\.h",
        without=r"#include [<\"]torch/(?:extension|python|csrc/utils/pybind)\.h",
    ),
)
_MACROS = (
    _same("CAFFE2_API", "TORCH_API", "macros.h"),
    _same("AT_API", "TORCH_API", "macros.h"),
    _same("AT_CUDA_API", "TORCH_CUDA_CU_API", "macros.h"),
    _same("TORCH_CUDA_API", "TORCH_CUDA_CU_API", "macros.h"),
    _same("AT_HOST_DEVICE", "C10_HOST_DEVICE", "macros.h"),
    _same("AT_DEVICE", "C10_DEVICE", "macros.h"),
    _same("AT_HOST", "C10_HOST", "macros.h"),
    _same("C10_FALLTHROUGH", "[[fallthrough]]", "macros.h"),
)
_TH = (
    Name("TH<T>Blas_*", r"\bTH(?:Float|Double)Blas_\w+ \(", "removed", "at::addmm_out and others", ("th_blas.h",)),
    Name(
        "THError, THArgCheck, THAssert", r"\bTH(?:Error|ArgCheck|Assert)\b", "removed", "TORCH_CHECK", ("th_general.h",)
    ),
    Name("THAlloc, THFree", r"\bTH(?:Alloc|Realloc|Free)\b", "removed", "std::vector, or at::empty", ("th_general.h",)),
    Name("THMin, THMax", r"\bTH(?:Min|Max)\b", "removed", "std::min, std::max", ("th_general.h",)),
    Name("TH_API, THC_API", r"\bTHC?_API\b", "removed", "nothing", ("macros.h",)),
)
_THC = (
    Name("extern THCState *state", r"\bextern THCState \* state\b", "removed", "nothing", ("state_variable.h",)),
    _word("THCState", "nothing: calls of today need no state", "thc_state.h"),
    _call("lazyInitCUDA", "at::globalContext().lazyInitDevice(at::kCUDA), which has no value", "thc_state.h"),
    _call("THCState_getCurrentStream", "at::cuda::getCurrentCUDAStream()", "thc_stream.h"),
    _call("THCState_getCurrentDeviceProperties", "at::cuda::getCurrentDeviceProperties()", "thc_context.h"),
    _call("THCState_getCurrentBlasHandle", "at::cuda::getCurrentCUDABlasHandle()", "thc_context.h"),
    _call("THCState_getCurrentSparseHandle", "at::cuda::getCurrentCUDASparseHandle()", "thc_context.h"),
    _call("THCState_getNumDevices", "c10::cuda::device_count()", "thc_stream.h"),
    _same("THCudaCheck", "C10_CUDA_CHECK", "thc_check.h"),
    _same("THCudaCheckWarn", "C10_CUDA_CHECK_WARN", "thc_check.h"),
    _call("THCudaMalloc", "c10::cuda::CUDACachingAllocator::raw_alloc(bytes)", "thc_memory.h"),
    _call("THCudaFree", "c10::cuda::CUDACachingAllocator::raw_delete(pointer)", "thc_memory.h"),
    _same("THCCeilDiv", "at::ceil_div", "thc_arithmetic.h"),
    _same("THCRoundUp", "at::round_up", "thc_arithmetic.h"),
    _word("THCNumerics", "functions of std and at::numeric_limits", "thc_numerics.h"),
    _word("ScalarConvert", "static_cast", "thc_numerics.h"),
    Name(
        "a copy of THCAtomics.cuh",
        r"# ifndef THC_ATOMICS_INC\b",
        "removed",
        "#include <ATen/cuda/Atomic.cuh>",
        ("thc_atomics.h",),
    ),
    _word("THCThrustAllocator", "at::cuda::ThrustAllocator", "thc_thrust.h"),
    Name("THCudaBlas_*", r"\bTHCudaBlas_\w+ \(", "removed", "at::cuda::blas::gemm<float> and others", ("thc_blas.h",)),
)

NAMES: tuple[Name, ...] = (*_CHECKS, *_DISPATCH, *_TENSORS, *_TYPES, *_MACROS, *_TH, *_THC)

HEADERS: tuple[Header, ...] = (
    Header("ATen/Allocator.h", "c10/core/Allocator.h"),
    Header("ATen/CPUGeneral.h", "ATen/Parallel.h"),
    Header("ATen/CUDAGeneratorImpl.h", "ATen/cuda/CUDAGeneratorImpl.h"),
    Header("ATen/Error.h", "c10/util/Exception.h"),
    Header("ATen/Half.h", "c10/util/Half.h"),
    Header("ATen/Registry.h", "c10/util/Registry.h"),
    Header("ATen/TensorImpl.h", "c10/core/TensorImpl.h"),
    Header("ATen/Type.h", "ATen/core/DeprecatedTypeProperties.h"),
    Header("ATen/core/ArrayRef.h", "c10/util/ArrayRef.h"),
    Header("ATen/core/Error.h", "c10/util/Exception.h"),
    Header("ATen/core/Half.h", "c10/util/Half.h"),
    Header("ATen/core/Macros.h", "c10/macros/Macros.h"),
    Header("ATen/core/optional.h", "c10/util/Optional.h"),
    Header("ATen/cuda/CUDAGuard.h", "c10/cuda/CUDAGuard.h"),
    Header("ATen/cuda/CUDAMultiStreamGuard.h", "c10/cuda/CUDAGuard.h"),
    Header("ATen/cuda/CUDAStream.h", "c10/cuda/CUDAStream.h"),
    Header("ATen/optional.h", "c10/util/Optional.h"),
    Header("TH/TH.h", "torch/types.h"),
    Header("TH/THBlas.h", "torch/types.h"),
    Header("TH/THGeneral.h", "torch/types.h"),
    Header("THC/THC.h", "ATen/cuda/CUDAContext.h"),
    Header("THC/THCAsmUtils.cuh", "ATen/cuda/AsmUtils.cuh"),
    Header("THC/THCAtomics.cuh", "ATen/cuda/Atomic.cuh"),
    Header("THC/THCBlas.h", "ATen/cuda/CUDABlas.h"),
    Header("THC/THCDeviceUtils.cuh", "ATen/cuda/DeviceUtils.cuh"),
    Header("THC/THCGeneral.h", "ATen/cuda/CUDAContext.h"),
    Header("THC/THCGeneral.hpp", "ATen/cuda/CUDAContext.h"),
    Header("THC/THCNumerics.cuh", "ATen/cuda/NumericLimits.cuh"),
    Header("THC/THCScanUtils.cuh", "ATen/cuda/ScanUtils.cuh"),
    Header("THC/THCThrustAllocator.cuh", "ATen/cuda/ThrustAllocator.h"),
    Header("c10/Device.h", "c10/core/Device.h"),
    Header("c10/Half.h", "c10/util/Half.h"),
    Header("c10/Stream.h", "c10/core/Stream.h"),
    Header("c10/util/in_place.h", "utility"),
    Header("c10/util/variant.h", "variant"),
    Header("torch/csrc/WindowsTorchApiMacro.h", "torch/csrc/Export.h"),
    Header("torch/csrc/jit/custom_operator.h", "torch/csrc/jit/runtime/custom_operator.h"),
    Header("torch/csrc/jit/operator.h", "torch/csrc/jit/runtime/operator.h"),
    Header("torch/csrc/utils/auto_gil.h", "torch/csrc/utils/pybind.h"),
    Header("torch/tensor.h", "torch/types.h"),
)


def removed_header(name: str) -> Header | None:
    """Return the description of a removed header by its path in ``#include``, or None."""
    return _by_name().get(name)


@functools.cache
def _by_name() -> dict[str, Header]:
    return {header.name: header for header in HEADERS}
