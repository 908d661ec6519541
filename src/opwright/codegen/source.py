"""Source files, the libraries that are built from them, and the source of each operator's kernels.

A library contains the kernels of a file for one choice of element types. ``round.cpp`` and ``round.cu`` together make
one operator, with kernels for two devices.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from opwright.codegen.backends import Backend, CudaText, FindBackend, no_backend
from opwright.codegen.calls import HONEST, caller, with_streams
from opwright.codegen.library import Instance, half_of_cuda, instance_name, library_text
from opwright.codegen.taped import check_derivable
from opwright.errors import SourceError, UnsupportedError
from opwright.signature import DType, Signature
from opwright.signature.derivatives import Derived, with_derived
from opwright.signature.names import backward_of
from opwright.signature.wiring import inherited
from opwright.sources import ExternalSignature, Kernel, Source, scan
from opwright.sources.alternatives import with_alternatives
from opwright.sources.cpp.directives import every_include
from opwright.sources.ops import LOAD_ARGUMENT
from opwright.sources.scan import read_text
from opwright.toolchain import Options, Unit, build, line_directive


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
    """

    path: Path
    options: Options
    text: str = ""
    given: tuple[ExternalSignature, ...] = ()
    backend: Backend | None = None
    find_backend: FindBackend = no_backend
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
                check_derivable(kernel, signature, self._written)

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
        every, derived = with_derived(self._written.values())
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
        `derived` is a name, it contains only that derived kernel, which computes the results in the bit mask `wanted`.

        Raises:
            CompileError: the compiler reported errors.
            ToolchainError: there is no compiler for that device.
        """
        if derived:
            instances = [replace(self._derived_instance(derived, types, wanted), cuda=self.is_cuda(device))]
        else:
            instances = [*self._instances(types, device=device)]
        return self.built(instances, device, rebuild=rebuild)

    def built(self, instances: Sequence[Instance], device: str, *, rebuild: bool = False) -> str:
        """Return the path of the library with these instances; build it if necessary."""
        if not self.is_cuda(device):
            options = self.options
            if all(instance.taped for instance in instances) and not options.debug:
                options = replace(options, extra_cflags=("-O2", *options.extra_cflags))
            return str(build(self._unit(instances), options, rebuild=rebuild).path)
        backend = self.backend or self.find_backend()
        return str(backend.build(self._cuda_text(instances, backend.device), self.options, rebuild=rebuild))

    def cuda_text(self, types: Mapping[str, DType], device: str = "cuda") -> CudaText:
        """Return the CUDA source of the library for these types, whose table names the `device`."""
        return self._cuda_text([*self._instances(types, device="cuda")], device)

    def _cuda_text(self, instances: Sequence[Instance], device: str) -> CudaText:
        path = self.path.resolve()
        half = half_of_cuda(every_include(self.text, path, [*map(Path, self.options.include_dirs)]))
        text = library_text(str(path), self.user_text(cuda=True), instances, device, half)
        return CudaText(path.stem, text, path, self.source.kernels)

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


def compiled_ahead(derived: Derived) -> int | None:
    """Return the bit mask of results of the instance to compile ahead of time: all gradients of a first derivative.

    None for forward mode and second derivatives: few programs need them, so nothing is compiled ahead.
    """
    first = derived.rules == ("vjp",) and not derived.body.is_backward
    if not first:
        return None
    return (1 << len(derived.signature.outputs)) - 1 if derived.masked else 0


@dataclass(frozen=True, eq=False)
class SourceProvider:
    """The provider of an operator's kernels: handwritten kernels of sources, or one derived from such kernels.

    Attributes:
        sources: the source for each device.
        derived: the derived kernel's name; empty for handwritten kernels.
    """

    sources: Mapping[str, KernelSource]
    derived: str = ""

    @property
    def devices(self) -> frozenset[str]:
        """The devices that have kernels."""
        return frozenset(self.sources)

    @property
    def masked(self) -> bool:
        """Whether there is an instance for each subset of results; a handwritten kernel has one for all subsets."""
        return bool(self.derived) and self._first.derived[self.derived].masked

    @property
    def ahead(self) -> int | None:
        """The bit mask of results of the instance to compile ahead of time; None if there is none."""
        return compiled_ahead(self._first.derived[self.derived]) if self.derived else 0

    @property
    def _first(self) -> KernelSource:
        return next(iter(self.sources.values()))

    def library(
        self, types: Mapping[str, DType], wanted: int = 0, *, device: str = "cpu", rebuild: bool = False
    ) -> str:
        """Return the path of a library with the operator's kernel for these element types on that device.

        Raises:
            CompileError: the compiler reported errors.
            ToolchainError: there is no compiler for that device.
            UnsupportedError: there is no source for that device.
        """
        if device not in self.sources:
            raise self._missing(device)
        return self.sources[device].library(types, wanted, derived=self.derived, device=device, rebuild=rebuild)

    def _missing(self, device: str) -> UnsupportedError:
        path = self._first.path
        wanted = f"{path.stem}.{'cu' if device == 'cuda' else 'cpp'}"
        emulated = '; or run its CUDA kernel on the CPU: load(..., backend="emulate")' if device == "cpu" else ""
        return UnsupportedError(
            f"{path.name} has kernels for {' and '.join(self.sources)}, and none for {device}\n"
            f"  likely fix: write one for {device} into {wanted}: load({path.name!r}, {wanted!r}){emulated}"
        )


def providers(sources: Sequence[KernelSource]) -> dict[str, SourceProvider]:
    """Return the provider of each operator's kernels, by name, for handwritten and for derived kernels."""
    sources_by_operator: dict[str, dict[str, KernelSource]] = {}
    for device, source, kernel in _served(sources):
        sources_by_operator.setdefault(kernel.signature.name, {})[device] = source
    shared: dict[tuple[tuple[str, int], ...], SourceProvider] = {}  # kernels of one library have one provider
    handwritten = {
        name: shared.setdefault(tuple((device, id(source)) for device, source in each.items()), SourceProvider(each))
        for name, each in sources_by_operator.items()
    }
    derived = {
        name: SourceProvider(_differentiating(each, sources_by_operator[each.body.name]), name)
        for name, each in sources[0].derived.items()
    }
    return handwritten | derived


def _differentiating(derived: Derived, by_device: Mapping[str, KernelSource]) -> Mapping[str, KernelSource]:
    """Return the source for each device that has the derived kernel: a tape is the CPU's."""
    if derived.body.pointwise:
        return by_device
    return {device: source for device, source in by_device.items() if not source.is_cuda(device)}


def kernels(sources: Sequence[KernelSource]) -> list[Kernel]:
    """Return all kernels of the operators; an operator for two devices can have two kernels.

    Raises:
        SourceError: there is no kernel; an operator has two kernels for one device, or two with different signatures.
    """
    chosen = {id(kernel): kernel for _, _, kernel in _served(sources)}
    if not chosen:
        listed = ", ".join(str(source.path) for source in sources)
        raise SourceError(
            f"{listed}: there is no CUDA kernel in it to emulate, and no pointwise one\n"
            "  likely fix: leave backend= out: what it has are kernels for the CPU"
        )
    by_name: dict[str, list[Kernel]] = {}
    for kernel in chosen.values():
        by_name.setdefault(kernel.signature.name, []).append(kernel)
    for name, each in by_name.items():
        _check_alone(name, each)
        _check_same(each)
    return [kernel for source in sources for kernel in source.source.kernels if id(kernel) in chosen]


def _served(sources: Sequence[KernelSource]) -> Iterator[tuple[str, KernelSource, Kernel]]:
    """Yield each kernel with its device; kernels of CUDA files come last, to replace kernels from C++ for CUDA."""
    for source in sorted(sources, key=lambda source: source.source.language == "cuda"):
        for device in source.devices:
            for kernel in source.kernels(device):
                yield device, source, kernel


def _check_alone(name: str, found: Sequence[Kernel]) -> None:
    for in_cuda in (False, True):
        kernels = [kernel for kernel in found if (kernel.language == "cuda") == in_cuda]
        where = ", ".join(f"{kernel.path}:{kernel.line}" for kernel in kernels)
        if len(kernels) > 1:
            raise SourceError(f"{name} is defined more than once: {where}{_marked_and_given(kernels)}")


def _marked_and_given(kernels: Sequence[Kernel]) -> str:
    marked = [f"{kernel.path}:{kernel.line}" for kernel in kernels if not kernel.given]
    if not marked or len(marked) == len(kernels):
        return ""
    return f"\n  likely fix: its signature stands in the file, {marked[0]}: don't give another"


def _check_same(found: Sequence[Kernel]) -> None:
    for kernel in found[1:]:
        first = found[0]
        if kernel.signature.operator != first.signature.operator:
            raise SourceError(
                f"{kernel.path}:{kernel.line}: {kernel.signature.name}: its signature isn't that of the kernel in "
                f"{first.path.name}; one operator has one signature on every device\n"
                f"  signature:  {kernel.signature}  ({kernel.path}:{kernel.line})\n"
                f"  expected:   {first.signature.operator}  ({first.path}:{first.line})\n"
                "  likely fix: write the same signature for both, or give one of the operators another name"
            )
