"""The zoo: operators that are broken in one way each, what `opwright check` has to say of them, and right twins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import opwright
from opwright.check import Report

HERE = Path(__file__).parent
_POINT = "(x: T[...]) -> (y: T[...]) where T in (f32, f64)"
_ROWS = "(x: T[B, N]) -> (y: T[B, N]) where T in (f32, f64)"


# Forward mode is silently zero for whatever torch.library.register_autograd makes differentiable: a finding, for right
# ones too, which they can do nothing about.
_LIBRARY = {"skip": ("forward mode",)}


@dataclass(frozen=True)
class Member:
    """A broken operator and its twin.

    Attributes:
        name: its name; of a kernel also the source file's.
        kind: the finding that has to be among those of the broken one.
        checks: the checks, or groups, of which one finds it.
        broken: what is checked: a file, or ``file.py:name``; nothing: the kernel of that name.
        right: the same of its twin.
        signature: where Opwright didn't build it.
        reference: a function of references.py, where only what the result should be shows the fault.
        options: further arguments of `opwright.check`.
    """

    name: str
    kind: str
    checks: tuple[str, ...]
    broken: str = ""
    right: str = ""
    signature: str | tuple[str, ...] | None = None
    reference: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)

    def check(self, *, twin: bool, **options: Any) -> Report:
        """The report of the broken one, or of its twin."""
        reference = f"{HERE / 'references.py'}:{self.reference}" if self.reference else None
        given = {"reference": reference, "signature": self.signature, **self.options, **options}
        return opwright.check(self._target(twin=twin), **given)

    def _target(self, *, twin: bool) -> str:
        if named := self.right if twin else self.broken:
            return str(HERE / named)
        suffix = ".cu" if self.options.get("device") == "emulated" else ".cpp"
        return str(HERE / "kernels" / f"{self.name}{'.right' if twin else ''}{suffix}")


def _kernel(name: str, kind: str, *checks: str, reference: str = "", **options: Any) -> Member:
    return Member(name, kind, checks, reference=reference, options=options)


def _python(name: str, kind: str, check: str, pair: str, signature: str | tuple[str, ...]) -> Member:
    """`pair`: ``"file: broken right"``."""
    file, _, both = pair.partition(": ")
    broken, right = (f"{file}.py:{each}" for each in both.split())
    return Member(name, kind, (check,), broken, right, signature, options=_LIBRARY if file == "library" else {})


MEMBERS = (
    _kernel("wrong_sign", "wrong-sign", "gradcheck"),
    _kernel("constant_factor", "constant-factor", "gradcheck"),
    _kernel("missing_size", "missing-factor", "gradcheck"),
    _kernel("transposed_gradient", "transposed-gradient", "gradcheck"),
    _kernel("saved_wrong_tensor", "wrong-saved-tensor", "gradcheck"),
    _kernel("missing_term", "missing-term", "gradcheck"),
    _kernel("swapped_gradients", "swapped-gradients", "gradcheck"),
    _kernel("not_accumulated", "missing-term", "gradcheck"),
    _kernel("uninitialised_gradient", "uninitialised-gradient", "gradcheck"),
    _kernel("mutates_saved", "mutated-saved", "gradcheck"),
    _kernel("mutates_gradient", "mutates-gradient", "gradcheck"),
    _kernel("unwanted_gradient", "writes-unwanted-gradient", "single gradients"),
    _kernel("double_backward_zero", "double-backward-zero", "gradgradcheck"),
    _kernel("wrong_double_backward", "wrong-double-backward", "gradgradcheck"),
    _kernel("wrong_in_the_tenth_digit", "wrong-gradient", "derived gradients"),
    _kernel("second_in_the_tenth_digit", "wrong-gradient", "derived second gradients"),
    _kernel("mutates_input", "mutates-input", "inputs untouched"),
    _kernel("uninitialised", "uninitialised", "written outputs"),
    _kernel("reads_beyond", "out-of-bounds", "sanitizers"),
    _kernel("writes_beyond", "out-of-bounds", "sanitizers"),
    _kernel("integer_overflow", "integer-overflow", "sanitizers"),
    _kernel("race", "data-race", "data races", sanitize=("address", "undefined", "thread")),
    _kernel("depends_on_threads", "depends-on-threads", "threads"),
    _kernel("nondeterministic", "nondeterministic", "determinism"),
    _kernel("keeps_state", "keeps-state", "history"),
    _kernel("leak", "leaks", "leaks"),
    _kernel("not_independent", "not-independent", "independence"),
    _kernel("wrong_when_strided", "wrong-when-strided", "layouts"),
    _kernel("index_overflow", "index-overflow", "far elements"),
    _kernel("fails_when_empty", "fails-when-empty", "sizes"),
    _kernel("wrong_when_empty", "wrong-when-empty", "agreement", reference="row_products"),
    _kernel("wrong_single", "wrong-for-size-1", "agreement", reference="softmax"),
    _kernel("wrong_in_tail", "wrong-in-tail", "agreement", reference="affine"),
    _kernel("wrong_when_large", "wrong-when-large", "agreement", reference="total"),
    _kernel("wrong_float64", "wrong-element-type", "agreement", reference="logistic"),
    _kernel("wrong_halves", "wrong-element-type", "element types"),
    _kernel("scaled_float8", "wrong-value", "agreement", reference="quantised"),
    _kernel("nan_lost", "nan-lost", "agreement", reference="rectified"),
    _kernel("nan_lost_in_maximum", "nan-lost", "agreement", reference="row_maxima"),
    _kernel("inf_lost", "inf-lost", "agreement", reference="doubled"),
    _kernel("overflow", "not-finite", "agreement", reference="softplus"),
    _kernel("negative_zero", "negative-zero", "agreement", reference="negated", signed_zero=True),
    _kernel("cuda_race", "race", "CUDA kernels", device="emulated"),
    _kernel("cuda_out_of_bounds", "out-of-bounds", "CUDA kernels", device="emulated"),
    _kernel("cuda_divergent_barrier", "divergent-barrier", "CUDA kernels", device="emulated"),
    _python("detached", "detached", "gradcheck", "functions: detaches attached",
            "f(x: T[N], scale: T[N]) -> (y: T[N]) where T in (f32, f64)"),
    _python("no_gradient", "detached", "gradcheck", "library: one_gradient one_gradient_right",
            "f(x: T[N], w: T[N]) -> (y: T[N]) where T in (f32, f64)"),
    _python("wrong_pair", "missing-factor", "gradcheck", "functions: wrong_pair right_pair",
            ("zoo_cube(x: T[...]) -> (y: T[...]) where T in (f32, f64)",
             "zoo_cube_backward(grad_y: T[...], x: T[...]) -> (grad_x: T[...]) where T in (f32, f64)")),
    _python("nonlinear", "nonlinear-backward", "gradcheck", "functions: NotLinear Linear", f"f{_POINT}"),
    _python("absent_gradient", "absent-gradient", "gradcheck", "functions: OneGradientAbsent EitherGradient",
            "f(x: T[N]) -> (s: T[N], c: T[N]) where T in (f32, f64)"),
    _python("strided_gradient", "wrong-when-strided", "gradcheck", "functions: AssumesDenseGradient AnyGradient",
            f"f{_POINT}"),
    _python("second_derivative", "double-backward-zero", "gradgradcheck",
            "functions: SecondDerivativeLost SecondDerivative", f"f{_POINT}"),
    _python("tangent", "forward-mode-zero", "forward mode", "functions: TangentLost Tangent", f"f{_POINT}"),
    _python("tensor_leak", "leaks", "leaks", "functions: KeepsTensors KeepsNothing", f"f{_POINT}"),
    _python("aliases", "aliases-input", "inputs untouched", "functions: returns_argument returns_copy",
            "f(x: T[N]) -> (y: T[N]) where T in (f32, f64)"),
    _python("compiled", "differs-from-eager", "compile", "functions: other_when_compiled same_when_compiled",
            f"f{_POINT}"),
    _python("fake_shape", "fake-disagrees", "fake kernel", "library: fake_shape fake_shape_right",
            "f(x: T[2*N]) -> (y: T[N]) where T in (f32, f64)"),
    _python("fake_dtype", "fake-disagrees", "fake kernel", "library: fake_dtype fake_dtype_right",
            "f(x: T[...]) -> (y: bool[...]) where T in (f32, f64)"),
    _python("fake_strides", "fake-disagrees", "fake kernel", "library: fake_strides fake_strides_right", f"f{_ROWS}"),
    _python("schema_lies", "schema-disagrees", "opcheck", "library: schema_lies schema_lies_right",
            "f(x: T[B, N]) -> (y: T[B]) where T in (f32, f64)"),
    _python("wrong_vmap", "wrong-under-vmap", "vmap", "library: wrong_vmap wrong_vmap_right",
            "f(x: T[N]) -> (y: T[N]) where T in (f32, f64)"),
)  # fmt: skip
