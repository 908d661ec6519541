"""Source files, and the libraries that are built from them.

A library contains the kernels of a file for one choice of element types. ``round.cpp`` and ``round.cu`` together make
one operator, with kernels for two devices.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from opwright.codegen.backends import Backend, CudaText, FindBackend, no_backend
from opwright.codegen.calls import HONEST, caller, with_streams
from opwright.codegen.library import Instance, half_of_cuda, instance_name, library_text, missed_by_float16
from opwright.codegen.taped import check_derivable
from opwright.errors import SourceError
from opwright.signature import DType, Signature
from opwright.signature.derivatives import Derived, with_derived
from opwright.signature.names import backward_of
from opwright.signature.wiring import inherited
from opwright.sources import ExternalSignature, Kernel, Source, scan
from opwright.sources.alternatives import with_alternatives
from opwright.sources.cpp.directives import every_include
from opwright.sources.ops import LOAD_ARGUMENT
from opwright.sources.scan import read_text
from opwright.toolchain import Built, Options, Unit, build, line_directive
from opwright.toolchain.build.builder import look_up


@dataclass
class KernelSource:
    """One source, and how to compile it.

    Attributes:
        path: the file.
        options: the compiler's options.
        text: its content, if it shouldn't be read from the file. Later compilations use this text, even if the file has
            changed by then.
        given: signatures for functions in it without an ``OPWRIGHT`` mark.
        backend: the back end that builds its CUDA kernels; None: call `find_backend` when they are needed.
        find_backend: returns the best available back end.
        constants: for `opwright check`, which compares a handwritten gradient with a derived one: gradients of emulated
            CUDA kernels are derived as well, and these inputs of a fixed floating-point type are constants, as the
            handwritten gradient has it. None: not for it.
    """

    path: Path
    options: Options
    text: str = ""
    given: tuple[ExternalSignature, ...] = ()
    backend: Backend | None = None
    find_backend: FindBackend = no_backend
    constants: frozenset[str] | None = None
    is_text: bool = field(init=False)
    """Whether the text was passed in, not read from the file."""
    source: Source = field(init=False)  # in which alternatives have names of their own
    marked: Source = field(init=False)  # the same as its author wrote it
    _written: Mapping[str, Signature] = field(init=False)

    def __post_init__(self) -> None:
        """Read the file, unless its text was passed in, and find its kernels."""
        self.is_text = bool(self.text)
        self.text = self.text or read_text(self.path)
        self.source = scan(self.path, self.text)
        if self.given:
            from opwright.codegen.unmarked import with_given  # most sources have marks

            self.source = with_given(self)
        self.marked = self.source
        (self.source,) = with_alternatives([self.marked])
        if not self.source.kernels:
            raise SourceError(
                f'{self.path}: there is no OPWRIGHT("...") in it\n'
                '  expected one before each kernel: OPWRIGHT("f(x: T[...]) -> (y: T[...])")\n'
                f"  or signatures given from outside: {LOAD_ARGUMENT}"
            )
        self.relate(kernel.signature.operator for kernel in self.source.kernels)

    def relate(self, signatures: Iterable[Signature]) -> None:
        """Set the signatures of all files, which the source needs since a backward takes over its forward's types."""
        self._written = {signature.name: signature for signature in inherited(signatures)}
        self.__dict__.pop("_family", None)
        for kernel in self.source.kernels:
            signature = self._written.get(kernel.signature.name)
            if signature:  # none: its kernel is for no device of the source's
                check_derivable(kernel, signature, self._written, self.constants)

    @property
    def signatures(self) -> Mapping[str, Signature]:
        """The signatures of all operators by name, including those of other files and of derivatives.

        Each backward has taken over its forward's element types.
        """
        return self._family[0]

    @property
    def derived(self) -> Mapping[str, Derived]:
        """The operators whose kernels are derived, by name."""
        return self._family[1]

    @cached_property
    def _family(self) -> tuple[Mapping[str, Signature], Mapping[str, Derived]]:
        every, derived = with_derived(self._written.values(), self.constants or ())
        return {signature.name: signature for signature in every}, derived

    @property
    def devices(self) -> tuple[str, ...]:
        """The devices that its kernels can support: the CPU alone if CUDA is emulated."""
        return ("cpu",) if self.is_emulated else ("cpu", "cuda")

    @property
    def is_emulated(self) -> bool:
        """Whether CUDA kernels are emulated on the CPU; then there are no other kernels."""
        return self.backend is not None and self.backend.device == "cpu"

    def is_cuda(self, device: str) -> bool:
        """Return whether its kernels for a device are built from CUDA source."""
        return self.is_emulated or device == "cuda"

    def kernels(self, device: str) -> tuple[Kernel, ...]:
        """Return the kernels for a device; of a C++ source, only pointwise kernels support CUDA."""
        in_cuda = self.source.language == "cuda"
        if not self.is_cuda(device):
            return () if in_cuda else self.source.kernels
        return tuple(kernel for kernel in self.source.kernels if in_cuda or kernel.signature.pointwise)

    def assignments(self, device: str = "cpu", names: Collection[str] | None = None) -> list[dict[str, DType]]:
        """Return every choice of element types that a kernel of the file allows; each becomes a separate library.

        `names`: PyTorch's names of the element types to choose from; None: all.
        """
        choices: dict[str, dict[str, DType]] = {}
        for kernel in self.kernels(device):
            signature = self._written[kernel.signature.name]
            for types in signature.instances():
                if names is not None and not signature.selects(types, names):
                    continue
                choices.setdefault(instance_name(dict(sorted(types.items()))), types)
        return list(choices.values())

    def library(
        self,
        types: Mapping[str, DType],
        wanted: int = 0,
        *,
        derived: str = "",
        device: str = "cpu",
        rebuild: bool = False,
    ) -> str:
        """Return the path of a library; build it if necessary.

        The library contains every handwritten kernel that has exactly these type variables and allows these types. If
        `derived` is a name, it contains only that derived kernel, for the results in the bit mask `wanted`. One that
        computes whichever results a call wants is taken where that costs nothing: a tape's always, that of a pointwise
        kernel if it is in the cache (`opwright build` puts it there) and the other one isn't.

        Raises:
            CompileError: the compiler reported errors.
            ToolchainError: there is no compiler for that device.
        """
        if wanted and not rebuild and self._present(types, wanted, derived, device) is None:
            general = self._present(types, 0, derived, device)
            if general is not None:
                return str(general)
        return str(self.compiled(types, wanted, derived=derived, device=device, rebuild=rebuild).path)

    def compiled(
        self,
        types: Mapping[str, DType],
        wanted: int = 0,
        *,
        derived: str = "",
        device: str = "cpu",
        rebuild: bool = False,
    ) -> Built:
        """Return the library for exactly these arguments of `library`, from the cache or newly built."""
        return self.built(self._chosen(types, wanted, derived, device), device, rebuild=rebuild)

    def _present(self, types: Mapping[str, DType], wanted: int, derived: str, device: str) -> Path | None:
        """Return the library for exactly these arguments of `library` if it is in the cache."""
        instances = self._chosen(types, wanted, derived, device)
        if self.is_cuda(device):
            backend = self.backend or self.find_backend()
            return backend.look_up(self._cuda_text(instances, backend.device), self._options(instances))
        return look_up(self._unit(instances), self._options(instances))

    def _chosen(self, types: Mapping[str, DType], wanted: int, derived: str, device: str) -> list[Instance]:
        if not derived:
            return [*self._instances(types, device=device)]
        instance = self._derived_instance(derived, types, wanted)
        return [replace(instance, wanted=0 if instance.taped else wanted, cuda=self.is_cuda(device))]

    def built(self, instances: Sequence[Instance], device: str, *, rebuild: bool = False) -> Built:
        """Return the library with these instances; build it if necessary."""
        if not self.is_cuda(device):
            return build(self._unit(instances), self._options(instances), rebuild=rebuild)
        backend = self.backend or self.find_backend()
        text, started = self._cuda_text(instances, backend.device), time.perf_counter()
        options = self._options(instances)
        known = None if rebuild else backend.look_up(text, options)
        path = known or backend.build(text, options, rebuild=rebuild)
        return Built(path, time.perf_counter() - started, cached=known is not None)

    def _options(self, instances: Sequence[Instance]) -> Options:
        """Return the options that a library is compiled with."""
        if self.options.debug or not all(instance.taped for instance in instances):
            return self.options
        return replace(self.options, extra_cflags=("-O2", *self.options.extra_cflags))

    def cuda_text(self, types: Mapping[str, DType], device: str = "cuda") -> CudaText:
        """Return the CUDA source of the library for these types, whose table names the `device`."""
        return self._cuda_text([*self._instances(types, device="cuda")], device)

    def _cuda_text(self, instances: Sequence[Instance], device: str) -> CudaText:
        path = self.path.resolve()
        half = half_of_cuda(every_include(self.text, path, [*map(Path, self.options.include_dirs)]))
        if half and any(DType.F16 in instance.types.values() for instance in instances):
            self._warn_of_halves()
        text = library_text(str(path), self.user_text(cuda=True), instances, device, half)
        return CudaText(path.stem, text, path, self.source.kernels)

    def _warn_of_halves(self) -> None:
        """Warn of specialisations for CUDA's half, which calls with a type variable silently pass by."""
        if names := missed_by_float16(self.text):
            import warnings

            warnings.warn(
                f"{self.path}: {', '.join(names)} is specialised for CUDA's half and not for float16: a type variable "
                "such as T is Opwright's float16 for f16, for which the general template is used\n  likely fix: "
                f"specialise it for float16, too, as `template <> ... {names[0]}<float16>`",
                stacklevel=2,
            )

    def _instances(self, *assignments: Mapping[str, DType], device: str = "cpu") -> Iterator[Instance]:
        for types in assignments:
            for kernel in self.kernels(device):
                if self._fits(kernel, types):
                    yield replace(self._instance(kernel, types), cuda=self.is_cuda(device))

    def unit(
        self, *assignments: Mapping[str, DType], derived: Mapping[str, Iterable[Mapping[str, DType]]] | None = None
    ) -> Unit:
        """Return the unit of a library: C++ is part of the generated code, C is compiled separately.

        Args:
            assignments: choices of element types; each kernel is instantiated for the choices that it supports.
            derived: derived kernels by name, each with its choices of types; they compute all their results.
        """
        instances = [*self._instances(*assignments)]
        instances += [self._derived_instance(name, t) for name, each in (derived or {}).items() for t in each]
        return self._unit(instances)

    def instances(
        self, device: str, types: Iterable[Mapping[str, DType]], derived: Mapping[str, Iterable[Mapping[str, DType]]]
    ) -> Iterator[Instance]:
        """Yield instances for a device: of handwritten kernels for `types`, of `derived` kernels for their types."""
        yield from self._instances(*types, device=device)
        for name, each in derived.items():
            for chosen in each:
                yield replace(self._derived_instance(name, chosen), cuda=self.is_cuda(device))

    def kernel_unit(self, name: str, types: Mapping[str, DType]) -> Unit:
        """Return a unit with a single handwritten kernel."""
        kernel = next(kernel for kernel in self.source.kernels if kernel.signature.name == name)
        return self._unit([self._instance(kernel, types)])

    def derivatives(self) -> dict[str, Derived]:
        """Return the kernels that are derived from this file's kernels, by name."""
        own = {kernel.signature.name for kernel in self.source.kernels}
        return {name: derived for name, derived in self.derived.items() if derived.body.name in own}

    def derived_unit(self, name: str, types: Mapping[str, DType], wanted: int) -> Unit:
        """Return a unit with a single derived kernel."""
        return self._unit([self._derived_instance(name, types, wanted)])

    def _unit(self, instances: Sequence[Instance]) -> Unit:
        path = self.path.resolve()
        if self.source.language == "c":
            callers = "\n".join(caller(instance.kernel) for instance in instances)
            text = f"{self.user_text()}{HONEST}{callers}"
            code = Unit(path.stem, text, path, language="c", embeds=True, kernels=self.source.kernels)
            return Unit(path.stem, library_text(str(path), "", instances), None, extra=(code,))
        text = library_text(str(path), self.user_text(), instances)
        return Unit(path.stem, text, path, embeds=True, kernels=self.source.kernels)

    def user_text(self, *, cuda: bool = False) -> str:
        """Return the user's source for a unit, after a line directive; for CUDA with device code, if `cuda` is set."""
        marks = "#define OPWRIGHT(signature)\n" if self.source.language == "c" else ""
        text = self._device_text if cuda else self.text
        return f"{marks}{line_directive(self.path.resolve())}\n{text}\n"

    @cached_property
    def _device_text(self) -> str:
        """The source for CUDA: pointwise kernels are marked as device code, launches get streams; lines are kept."""
        text = with_streams(self.text, str(self.path)) if self.source.language == "cuda" else self.text
        functions = [kernel.function.name for kernel in self.source.kernels if kernel.signature.pointwise]
        if not functions:
            return text
        from opwright.sources.device_marks import mark_for_device

        return mark_for_device(text, functions)

    def _derived_instance(self, name: str, types: Mapping[str, DType], wanted: int = 0) -> Instance:
        derived = self.derived[name]
        kernel = next(k for k in self.source.kernels if k.signature.name == derived.body.name)
        return Instance(self._inheriting(kernel), types, derived.signature, derived, wanted)

    def _instance(self, kernel: Kernel, types: Mapping[str, DType]) -> Instance:
        signature = self.signatures[kernel.signature.name]
        chosen = {variable: types[variable] for variable in signature.type_variables}
        dual = signature.pointwise and backward_of(signature.name) in self.derived
        return Instance(self._inheriting(kernel), chosen, signature, dual=dual)

    def _inheriting(self, kernel: Kernel) -> Kernel:
        """Return the kernel with the element types of its forward."""
        signature = self._written[kernel.signature.name].replaced(launch=kernel.signature.launch)
        return Kernel(signature, kernel.function, kernel.line, kernel.path, kernel.language, kernel.given)

    def _fits(self, kernel: Kernel, types: Mapping[str, DType]) -> bool:
        signature = self._written[kernel.signature.name]
        return set(signature.type_variables) == set(types) and signature.exists(types)


def relate(sources: Sequence[KernelSource]) -> None:
    """Pass the signatures of all sources to each source; an operator can have a kernel for each device."""
    for source, named in zip(sources, with_alternatives([source.marked for source in sources]), strict=True):
        source.source = named
    held = [kernel for source in sources for device in source.devices for kernel in source.kernels(device)]
    signatures: dict[str, Signature] = {}
    for kernel in held:
        signatures.setdefault(kernel.signature.name, kernel.signature.operator)
    for source in sources:
        source.relate(signatures.values())
