"""The native runtime: built once for each PyTorch with the toolchain, loaded with ctypes, not linked to Python.

Everything that depends on PyTorch's C++ interfaces is in ``csrc/``; the interface between Python and it is plain C
(``csrc/api.cpp``), with integers and addresses.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from opwright import errors
from opwright._version import format_minor
from opwright.errors import CompileError, OpwrightError
from opwright.log import notice
from opwright.runtime.abi import LibraryTable
from opwright.runtime.binding import bind_call
from opwright.runtime.interface import BY_CODE, Explain, ForwardMode, KernelState, RowKey, row_key
from opwright.runtime.native.compatibility import is_refusal, refusal, remember, remembered
from opwright.runtime.native.direct import ChooserAddress, DirectPath
from opwright.runtime.native.plan import encode, encode_choice, encode_node, encode_tangents, variant_code
from opwright.runtime.native.prebuilt import find, python_errors_fit
from opwright.runtime.native.shared import find_shared, share
from opwright.runtime.torch_internals import OpOverload, OpOverloadPacket, schema_of
from opwright.signature import Signature, TensorInfo, chosen_type, index_error, output_shapes
from opwright.signature.binding import require_types, too_large, unnamed_type
from opwright.signature.scalars import FLOAT
from opwright.signature.tensor_lists.calls import elements, lengths_of
from opwright.signature.wiring import Derivative, node_plan
from opwright.toolchain import Built, Options, Unit, build, include_line
from opwright.toolchain.build.builder import load_built, look_up

if TYPE_CHECKING:
    from opwright.signature.alternatives import Alternatives

CSRC = Path(__file__).parent / "csrc"
_BUILD = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_uint64, ctypes.POINTER(ctypes.c_int32))
_EXPLAIN = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64))


class _Callbacks(ctypes.Structure):
    _fields_ = (("build", _BUILD), ("explain", _EXPLAIN))


# The exceptions that pass through C++ unchanged: the constructor of each takes a message only.
_PASSED = (*(getattr(errors, name) for name in errors.__all__), KeyboardInterrupt, SystemExit, MemoryError)

_PROTOTYPES: dict[str, tuple[Any, list[Any]]] = {
    "opw_initialize": (None, [_Callbacks, *[ctypes.py_object] * 4]),
    "opw_set_error": (None, [ctypes.py_object, ctypes.c_char_p]),
    "opw_last_error": (ctypes.c_char_p, []),
    "opw_namespace_in_use": (ctypes.c_int32, [ctypes.c_char_p]),
    "opw_kernel_new": (ctypes.c_void_p, [ctypes.c_int64, ctypes.c_char_p]),
    "opw_kernel_serve": (None, [ctypes.c_void_p, ctypes.c_int32, ctypes.c_int32]),
    "opw_kernel_publish": (None, [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p]),
    "opw_library_open": (ctypes.POINTER(LibraryTable), [ctypes.c_char_p]),
    "opw_operator_new": (
        ctypes.c_void_p,
        [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32],
    ),
    "opw_variant_register": (ctypes.c_int32, [ctypes.c_void_p, ctypes.c_int32, *[ctypes.c_char_p] * 3]),
    "opw_chooser_new": (ctypes.c_void_p, [*[ctypes.c_char_p] * 2, ctypes.c_void_p, ctypes.c_int64]),
    "opw_chooser_add": (ctypes.c_int32, [ctypes.c_void_p, ctypes.c_void_p, *[ctypes.c_char_p] * 2]),
    "opw_chooser_register": (ctypes.c_int32, [ctypes.c_void_p, *[ctypes.c_char_p] * 2]),
    "opw_set_accelerator": (None, [ctypes.c_int32]),
    "opw_operator_maps": (ctypes.c_int32, [ctypes.c_void_p]),
    "opw_operator_bind": (None, [ctypes.c_void_p]),
    "opw_direct_start": (ctypes.c_char_p, [ctypes.py_object, ctypes.c_void_p, *[ctypes.py_object] * 2]),
    "opw_direct_type": (ctypes.py_object, [ctypes.c_int32, ctypes.c_char_p, *[ctypes.py_object] * 2]),
    "opw_direct_set": (ctypes.c_int32, [ctypes.py_object, ctypes.c_void_p]),
    "opw_direct_choose": (ctypes.c_int32, [ctypes.py_object, ctypes.c_void_p]),
    "opw_operator_register": (
        ctypes.c_int32,
        [*[ctypes.c_void_p] * 5, ctypes.c_int64, ctypes.c_char_p, ctypes.c_char_p],
    ),
    "opw_gemm_by": (
        ctypes.c_int32,
        [
            *[ctypes.c_int32] * 4,
            *[ctypes.c_int64] * 3,
            ctypes.c_double,
            *[ctypes.c_void_p, ctypes.c_int64] * 2,
            ctypes.c_double,
            ctypes.c_void_p,
            ctypes.c_int64,
        ],
    ),
}


class Native:
    """The loaded library of the native runtime."""

    def __init__(self, path: Path) -> None:
        # PyDLL keeps the GIL: releasing and taking it again would cost more than these short calls.
        self._library = ctypes.PyDLL(str(path))
        for name, (result, arguments) in _PROTOTYPES.items():
            function = getattr(self._library, name)
            function.restype, function.argtypes = result, arguments

    def __getattr__(self, name: str) -> Any:
        """Return the C function ``opw_<name>``."""
        return getattr(self._library, f"opw_{name}")

    def checked(self, result: Any) -> Any:
        """Return `result`; if it is null, raise the error that the C function set."""
        if result:
            return result
        text = self.last_error()
        raise OpwrightError((text or b"the native runtime failed without saying why").decode("utf-8", "replace"))

    def start(self, build: Callable[[int, int], None], explain: Callable[[int, list[int]], None]) -> None:
        """Pass callbacks to the native side: `build` builds a kernel, `explain` raises the error of a wrong call."""

        def on_build(kernel: int, types: int, done: Any) -> None:
            done[0] = self._guarded(lambda: build(kernel, types))

        def on_explain(kernel: int, count: int, words: Any) -> None:
            self._guarded(lambda: explain(kernel, words[:count]))

        self._kept = _Callbacks(_BUILD(on_build), _EXPLAIN(on_explain))  # ctypes doesn't keep callbacks alive
        self.initialize(
            self._kept, errors.ArgumentError, errors.KernelError, errors.UnsupportedError, errors.OpwrightError
        )

    def _guarded(self, body: Callable[[], None]) -> int:
        try:
            body()
        except BaseException as error:  # noqa: BLE001 - C++, the caller, raises this again, KeyboardInterrupt too
            self.set_error(*_carried(error))
            return 0
        return 1


def _carried(error: BaseException) -> tuple[type[BaseException], bytes]:
    """Return the class of the exception that C++ raises for `error`, and its message."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - a user's __str__ can raise anything
        text = "(its text can't be had)"
    for passed in type(error).__mro__:
        if passed in _PASSED:
            break
    else:
        passed, text = OpwrightError, f"{type(error).__name__}: {text}"
    return passed, text.replace("\0", "\ufffd").encode("utf-8", "replace")


@functools.cache
def native() -> Native:
    """Return the runtime for the PyTorch in this process: a prebuilt one, one in the cache, or one that is built.

    Raises:
        ToolchainError: the runtime can't be built or loaded.
    """
    for known in filter(None, (find(), find_shared())):
        with contextlib.suppress(OSError, AttributeError):  # for another build of that PyTorch: build one
            return Native(known)
    what = f"Opwright's runtime for PyTorch {torch.__version__}"
    return load_built(what, lambda rebuild: _built(rebuild=rebuild).path, Native)


def library() -> Path:
    """Return the path of the runtime for this PyTorch: a known one, or one that is built now.

    Raises:
        ToolchainError: it can't be built.
    """
    return known_native() or _built(rebuild=False).path


def _built(*, rebuild: bool) -> Built:
    """Build the runtime, unless the same build is known to fail."""
    unit, options = build_inputs()
    if (reason := remembered(unit, options, CSRC)) is not None:
        raise refusal(reason)
    try:
        built = build_native(rebuild=rebuild)
    except CompileError as error:
        if not is_refusal(error):
            raise
        remember(unit, options, CSRC, error)
        raise refusal(str(error)) from None
    share(built.path)
    return built


def build_native(
    on_progress: Callable[[str], None] | None = None, *, rebuild: bool = False, for_bundles: bool = False
) -> Built:
    """Build the runtime, or find it in the cache.

    Args:
        on_progress: called with progress messages.
        rebuild: build it even if it is in the cache.
        for_bundles: build an object file without any dependence on Python.
    """
    say = on_progress or partial(_say, for_bundles=for_bundles)
    return build(_unit(), _options(for_bundles=for_bundles), on_progress=say, rebuild=rebuild)


def known_native() -> Path | None:
    """Return the runtime for this PyTorch, if there is one: prebuilt, or in the cache.

    Raises:
        ToolchainError: there is no usable compiler (the build's key depends on it), or no usable cache.
    """
    return find() or find_shared() or look_up(*build_inputs())


def build_inputs() -> tuple[Unit, Options]:
    """Return what the runtime is built from, and the compiler's options."""
    return _unit(), _options(for_bundles=False)


def _unit() -> Unit:
    """Return one translation unit for all files: PyTorch's headers, the slow part, are read once; calls are inlined."""
    files = sorted(CSRC.rglob("*.cpp"))
    return Unit(
        f"opwright-runtime-torch{format_minor(torch.__version__)}",
        "".join(f"{include_line(f)}\n" for f in files),
        files[0],
    )


def _say(line: str, *, for_bundles: bool) -> None:
    if line.startswith("compiling"):
        what, when = ("another variant of the runtime, for bundles,", "") if for_bundles else ("the runtime", "once, ")
        line = f"building {what} for PyTorch {torch.__version__} ({when}half a minute to a minute) ..."
    notice(line)


def _options(*, for_bundles: bool) -> Options:
    root = Path(torch.__file__).parent
    own = ("OPW_BUNDLE", "OPW_PYTORCH_ERROR=0") if for_bundles else (f"OPW_PYTORCH_ERROR={int(python_errors_fit())}",)
    abi = int(torch.compiled_with_cxx11_abi())
    return Options(
        native=False,
        std="c++20",
        define=(f"_GLIBCXX_USE_CXX11_ABI={abi}", *own),
        relocatable=for_bundles,
        include_dirs=(CSRC,),
        system_include_dirs=(root / "include", CSRC / "without_json"),
        extra_cflags=("-O2",),
        extra_ldflags=(f"-L{root / 'lib'}", "-ltorch_cpu", "-lc10"),
        identity=f"torch {torch.__version__} {torch.version.git_version}",
    )


class NativeRuntime:
    """The implementation of `opwright.runtime.interface.Runtime` in C++ (``csrc/``)."""

    name = "native"

    def __init__(self) -> None:
        """Build and load the library; raise ToolchainError if that fails."""
        self._library = native()
        self._kernels: list[KernelState] = []  # C++ refers to them by index
        self.direct = DirectPath(self._library)

    def start(self, build: Callable[[KernelState, int], None]) -> None:
        """See the interface."""
        self._library.start(
            lambda number, key: build(self._kernels[number], key),
            lambda number, words: _explain(self._kernels[number], words),
        )

    def namespace_in_use(self, namespace: str) -> bool:
        """See the interface."""
        return bool(self._library.namespace_in_use(namespace.encode()))

    def add(self, kernel: KernelState) -> None:
        """See the interface."""
        kernel.handle = self._library.kernel_new(len(self._kernels), kernel.signature.shown_name.encode())
        self._kernels.append(kernel)
        self.update_devices(kernel)

    def update_devices(self, kernel: KernelState) -> None:
        """See the interface."""
        self._library.kernel_serve(kernel.handle, int("cpu" in kernel.devices), int("cuda" in kernel.devices))

    def open(self, path: str) -> Mapping[RowKey, int]:
        """See the interface; a row is an address."""
        table = self._library.checked(self._library.library_open(os.fsencode(path))).contents
        step, first = ctypes.sizeof(table.kernels.contents), ctypes.addressof(table.kernels.contents)
        rows = (table.kernels[i] for i in range(table.count))
        return {row_key(row): first + i * step for i, row in enumerate(rows)}

    def publish(self, kernel: KernelState, key: int, row: int) -> None:
        """See the interface."""
        self._library.kernel_publish(kernel.handle, key, row)

    def define(self, kernel: KernelState, op: OpOverload, *, residuals: bool, mask: bool) -> int:
        """See the interface; an operator is an address."""
        plan = encode(kernel.signature, kernel.axes, ellipsis=kernel.ellipsis, mask=mask, derived=kernel.derived)
        address, count = plan.buffer_info()
        created = self._library.operator_new(kernel.handle, *_parts(op), address, count, int(residuals))
        operator = int(self._library.checked(created))
        if kernel.is_python:
            self._library.operator_bind(operator)
        return operator

    def maps(self, op: int) -> bool:
        """See the interface."""
        return bool(self._library.operator_maps(op))

    def connect(
        self,
        kernel: KernelState,
        op: int,
        forward: int,
        backward: int | None,
        wiring: Derivative | None,
        *,
        jvp: ForwardMode | None,
        node: str,
        missing: str,
    ) -> None:
        """See the interface."""
        words = encode_node(node_plan(kernel.signature, wiring)) + encode_tangents(kernel.signature if jvp else None)
        address, count = words.buffer_info()
        self._library.checked(
            self._library.operator_register(
                op, forward, backward, jvp and jvp.operator, address, count, node.encode(), missing.encode()
            )
        )

    def add_variant(self, op: int, variant: OpOverload, signature: Signature) -> None:
        """See the interface."""
        name, code = signature.shown_name.encode(), variant_code(signature)
        self._library.checked(self._library.variant_register(op, code, *_parts(variant), name))

    def add_chooser(
        self, op: OpOverload, choice: Alternatives, ops: Sequence[tuple[OpOverload, int | None]]
    ) -> ChooserAddress:
        """See the interface; the operator is an address of another kind."""
        words = encode_choice(choice, [argument.name for argument in schema_of(op).arguments])
        address, count = words.buffer_info()
        name, takes = choice.name.encode(), choice.takes().encode()
        made = self._library.checked(self._library.chooser_new(name, takes, address, count))
        for each, operator in ops:
            self._library.checked(self._library.chooser_add(made, operator, *_parts(each)))
        self._library.checked(self._library.chooser_register(made, *_parts(op)))
        return ChooserAddress(made)

    def callable_type(self, kind: type, explain: Explain) -> Any:
        """See the interface."""
        return self.direct.type_of(kind, explain)

    def call_directly(self, target: OpOverload | OpOverloadPacket, op: int | None) -> None:
        """See the interface."""
        self.direct.set(target, op)


def _parts(op: OpOverload) -> tuple[bytes, bytes]:
    """Return an operator's qualified name and its overload's."""
    qualified, _, overload = op.name().encode().partition(b".")
    return qualified, overload


def _explain(state: KernelState, words: Sequence[int]) -> None:
    """Raise the ArgumentError of a call that the native side refused (format of `words`: csrc/call/call.cpp)."""
    signature, numbers = state.signature, iter(words)
    if signature.lists:
        signature, numbers = _elements(signature, numbers)
    arguments = {tensor.name: _tensor(signature, tensor.name, numbers) for tensor in signature.tensors}
    scalars = {scalar.name: scalar.kind.unpack(numbers) for scalar in signature.scalars}
    axes = {axis: next(numbers) for axis in state.axes}
    ellipsis = [next(numbers) for _ in range(next(numbers))] if state.ellipsis else None
    types = chosen_type(signature, BY_CODE.get(next(numbers))) if signature.chosen_type else {}
    binding = bind_call(signature, arguments, axes=axes, ellipsis=ellipsis, types=types, scalars=scalars)
    output_shapes(signature, binding, with_residuals=True)
    wrong = tuple(numbers)
    if wrong:
        number, position, value = wrong
        tensor = signature.tensors[number]
        element = FLOAT.unpack(iter((value,))) if tensor.type.resolve(binding.types).is_floating else value
        raise index_error(signature, binding, tensor, arguments, position, element)
    require_types(signature, binding)
    raise too_large(signature)


def _elements(signature: Signature, numbers: Iterator[int]) -> tuple[Signature, Iterator[int]]:
    """Return the signature of a call with lists, and its words without the lists' lengths; raise for wrong lengths."""
    counts = {tensor.name: next(numbers) for tensor in signature.tensors if tensor.listed}
    words = list(numbers)
    rest, values = iter(words), dict[str, Any]()
    for tensor in signature.tensors:
        read = [_tensor(signature, f"{tensor.name}[{i}]", rest) for i in range(counts.get(tensor.name, 1))]
        values[tensor.name] = read if tensor.listed else None
    return elements(signature, lengths_of(signature, [values.get(p.name) for p in signature.inputs])), iter(words)


def _tensor(signature: Signature, name: str, numbers: Any) -> TensorInfo | None:
    if not next(numbers):
        return None
    code, rank = next(numbers), next(numbers)
    if code not in BY_CODE:
        raise unnamed_type(signature, name)
    return TensorInfo(tuple(next(numbers) for _ in range(rank)), BY_CODE[code])
