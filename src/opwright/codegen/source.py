"""A source file and the libraries that are built from it: one for each choice of element types."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from opwright.codegen.backends import Backend, CudaText, find_backend
from opwright.codegen.by_name import HONEST, caller
from opwright.codegen.instance import Instance, instance_name
from opwright.codegen.launch import with_streams
from opwright.codegen.library import library_text
from opwright.errors import SourceError
from opwright.signature import DType, Signature
from opwright.signature.derive import Derived, with_derived
from opwright.signature.wiring import BACKWARD, inherited
from opwright.sources import Given, Kernel, Source, scan
from opwright.sources.given import GIVEN_TO_LOAD
from opwright.toolchain import Options, Unit, build, line_directive


@dataclass
class KernelSource:
    """One source, and how to compile it.

    Attributes:
        path: the file.
        options: how it is compiled.
        text: its text, where it isn't to be read from the file. What is compiled later is this text, whatever the file
            holds by then.
        given: signatures for functions in it that bear no mark.
        backend: what builds its CUDA kernels; None: the best that there is when they are needed.
    """

    path: Path
    options: Options
    text: str = ""
    given: tuple[Given, ...] = ()
    backend: Backend | None = None
    is_text: bool = field(init=False)
    """Whether the text isn't the file's."""
    source: Source = field(init=False)
    _written: Mapping[str, Signature] = field(init=False)

    masked = False
    """What is written by hand computes whatever the caller wants."""
    ahead: ClassVar[int | None] = 0
    """All of it is compiled where something is asked for before it is called."""

    def __post_init__(self) -> None:
        """Read the file where its text isn't there yet, and find its kernels."""
        self.is_text = bool(self.text)
        self.text = self.text or read_text(self.path)
        self.source = scan(self.path, self.text)
        if self.given:
            from opwright.codegen.unmarked import with_given  # most sources have marks

            self.source = with_given(self)
        if not self.source.kernels:
            raise SourceError(
                f'{self.path}: there is no OPWRIGHT("...") in it\n'
                '  expected one before each kernel: OPWRIGHT("f(x: T[...]) -> (y: T[...])")\n'
                f"  or signatures given from outside: {GIVEN_TO_LOAD}"
            )
        self.relate(kernel.signature.operator for kernel in self.source.kernels)

    def relate(self, signatures: Iterable[Signature]) -> None:
        """Make known what other files hold too: a backward has the element types of its forward."""
        self._written = {signature.name: signature for signature in inherited(signatures)}
        self.__dict__.pop("_family", None)

    @property
    def signatures(self) -> Mapping[str, Signature]:
        """All operators by name, those of other files too: each backward with its forward's types, and derivatives."""
        return self._family[0]

    @property
    def derived(self) -> Mapping[str, Derived]:
        """Those whose kernels are derived."""
        return self._family[1]

    @cached_property
    def _family(self) -> tuple[Mapping[str, Signature], Mapping[str, Derived]]:
        every, derived = with_derived(self._written.values())
        return {signature.name: signature for signature in every}, derived

    @property
    def devices(self) -> tuple[str, ...]:
        """Whose tensors its kernels may take: an emulated CUDA kernel takes the CPU's."""
        return ("cpu",) if self.is_emulated else ("cpu", "cuda")

    @property
    def is_emulated(self) -> bool:
        """Whether CUDA kernels run on the CPU: then there are no others."""
        return self.backend is not None and self.backend.device == "cpu"

    def is_cuda(self, device: str) -> bool:
        """Whether its kernels for a device are built of CUDA text."""
        return self.is_emulated or device == "cuda"

    def kernels(self, device: str) -> tuple[Kernel, ...]:
        """The kernels that it has for a device: of C++, CUDA's are those of pointwise operators."""
        in_cuda = self.source.language == "cuda"
        if not self.is_cuda(device):
            return () if in_cuda else self.source.kernels
        return tuple(kernel for kernel in self.source.kernels if in_cuda or kernel.signature.pointwise)

    def assignments(self, device: str = "cpu") -> list[dict[str, DType]]:
        """Every choice of element types that a kernel of the file allows: each is a library of its own."""
        found: dict[str, dict[str, DType]] = {}
        for kernel in self.kernels(device):
            for types in self._written[kernel.signature.name].instances():
                found.setdefault(instance_name(dict(sorted(types.items()))), types)
        return list(found.values())

    def library(
        self,
        types: Mapping[str, DType],
        wanted: int = 0,  # noqa: ARG002 - for what is derived; this computes whatever the caller wants
        *,
        device: str = "cpu",
        rebuild: bool = False,
    ) -> str:
        """The path of the library with every kernel that takes just these type variables and allows these types.

        Raises:
            CompileError: the compiler refused the file.
            ToolchainError: there is no compiler for that device.
        """
        return self.built([*self._instances(types, device=device)], device, rebuild=rebuild)

    def built(self, instances: Sequence[Instance], device: str, *, rebuild: bool = False) -> str:
        """The path of the library with these instances."""
        if not self.is_cuda(device):
            return str(build(self._unit(instances), self.options, rebuild=rebuild).path)
        backend = find_backend(self.backend)
        return str(backend.build(self._cuda_text(instances, backend.device), self.options, rebuild=rebuild))

    def cuda_text(self, types: Mapping[str, DType], device: str = "cuda") -> CudaText:
        """What a back end makes the library for these types of; its table says that it is for `device`."""
        return self._cuda_text([*self._instances(types, device="cuda")], device)

    def _cuda_text(self, instances: Sequence[Instance], device: str) -> CudaText:
        path = self.path.resolve()
        return CudaText(path.stem, library_text(str(path), self.user_text(cuda=True), instances, device), path)

    def _instances(self, *assignments: Mapping[str, DType], device: str = "cpu") -> Iterator[Instance]:
        for types in assignments:
            for kernel in self.kernels(device):
                if self._fits(kernel, types):
                    yield replace(self._instance(kernel, types), cuda=self.is_cuda(device))

    def unit(
        self, *assignments: Mapping[str, DType], derived: Mapping[str, Iterable[Mapping[str, DType]]] | None = None
    ) -> Unit:
        """What becomes a library for all of these: C++ stands within the generated code, C is compiled beside it.

        Args:
            assignments: element types; each kernel is made for those that it takes.
            derived: derived kernels by name, each with its element types; they compute all their results.
        """
        instances = [*self._instances(*assignments)]
        instances += [self._derived_instance(name, t) for name, each in (derived or {}).items() for t in each]
        return self._unit(instances)

    def instances(
        self, device: str, types: Iterable[Mapping[str, DType]], derived: Mapping[str, Iterable[Mapping[str, DType]]]
    ) -> Iterator[Instance]:
        """For a device, all that is written for these element types, and derived kernels, each with its own."""
        yield from self._instances(*types, device=device)
        for name, each in derived.items():
            for chosen in each:
                yield replace(self._derived_instance(name, chosen), cuda=self.is_cuda(device))

    def kernel_unit(self, name: str, types: Mapping[str, DType]) -> Unit:
        """The same for one kernel alone."""
        kernel = next(kernel for kernel in self.source.kernels if kernel.signature.name == name)
        return self._unit([self._instance(kernel, types)])

    def derivatives(self) -> list[DerivedSource]:
        """The derived kernels that are made of this file's."""
        own = {kernel.signature.name for kernel in self.source.kernels}
        return [DerivedSource(self, name) for name, derived in self.derived.items() if derived.body.name in own]

    def derived_unit(self, name: str, types: Mapping[str, DType], wanted: int) -> Unit:
        """The same for one derived kernel alone."""
        return self._unit([self._derived_instance(name, types, wanted)])

    def built_derived(
        self, name: str, types: Mapping[str, DType], wanted: int, device: str, *, rebuild: bool = False
    ) -> str:
        """The path of the library with one derived kernel alone."""
        instance = replace(self._derived_instance(name, types, wanted), cuda=self.is_cuda(device))
        return self.built([instance], device, rebuild=rebuild)

    def _unit(self, instances: Sequence[Instance]) -> Unit:
        path = self.path.resolve()
        if self.source.language == "c":
            callers = "\n".join(caller(instance.kernel) for instance in instances)
            code = Unit(path.stem, f"{self.user_text()}{HONEST}{callers}", path, language="c", embeds=True)
            return Unit(path.stem, library_text(str(path), "", instances), None, extra=(code,))
        return Unit(path.stem, library_text(str(path), self.user_text(), instances), path, embeds=True)

    def user_text(self, *, cuda: bool = False) -> str:
        """The text as it stands in a unit, with its place; `cuda`: as CUDA text (`_device_text`)."""
        marks = "#define OPWRIGHT(signature)\n" if self.source.language == "c" else ""
        text = self._device_text if cuda else self.text
        return f"{marks}{line_directive(self.path.resolve())}\n{text}\n"

    @cached_property
    def _device_text(self) -> str:
        """Line by line the same: what pointwise kernels use is device code, too, and launches have streams."""
        text = with_streams(self.text, str(self.path)) if self.source.language == "cuda" else self.text
        functions = [kernel.function.name for kernel in self.source.kernels if kernel.signature.pointwise]
        if not functions:
            return text
        from opwright.sources.device_text import device_text  # needs a parser of whole files

        return device_text(text, functions)

    def _derived_instance(self, name: str, types: Mapping[str, DType], wanted: int = 0) -> Instance:
        derived = self.derived[name]
        kernel = next(k for k in self.source.kernels if k.signature.name == derived.body.name)
        return Instance(self._inheriting(kernel), types, derived.signature, derived, wanted)

    def _instance(self, kernel: Kernel, types: Mapping[str, DType]) -> Instance:
        signature = self.signatures[kernel.signature.name]
        chosen = {variable: types[variable] for variable in signature.type_variables}
        return Instance(self._inheriting(kernel), chosen, signature, dual=signature.name + BACKWARD in self.derived)

    def _inheriting(self, kernel: Kernel) -> Kernel:
        """The kernel with the element types that its forward has."""
        signature = self._written[kernel.signature.name].replaced(launch=kernel.signature.launch)
        return Kernel(signature, kernel.function, kernel.line, kernel.path, kernel.language, kernel.given)

    def _fits(self, kernel: Kernel, types: Mapping[str, DType]) -> bool:
        signature = self._written[kernel.signature.name]
        variables = signature.type_variables
        return set(variables) == set(types) and all(types[v] in signature.allowed(v) for v in variables)


def relate(sources: Sequence[KernelSource]) -> None:
    """Make known to each source what the others hold; an operator may have a kernel for each device."""
    held = [kernel for source in sources for device in source.devices for kernel in source.kernels(device)]
    signatures: dict[str, Signature] = {}
    for kernel in held:
        signatures.setdefault(kernel.signature.name, kernel.signature.operator)
    for source in sources:
        source.relate(signatures.values())


def read_text(path: Path) -> str:
    """The file's text; bytes that aren't UTF-8 are kept as surrogates.

    Raises:
        SourceError: it can't be read.
    """
    try:
        return path.read_bytes().decode("utf-8", "surrogateescape")
    except OSError as error:
        raise SourceError(f"{path}: can't be read: {error.strerror or error}") from error


@dataclass(frozen=True)
class DerivedSource:
    """Where the kernels of one derived operator come from."""

    source: KernelSource
    name: str

    @property
    def masked(self) -> bool:
        """Whether it makes an instance for each choice of results."""
        return self.signature.is_backward

    @property
    def signature(self) -> Signature:
        """The derived operator's."""
        return self.source.derived[self.name].signature

    @property
    def ahead(self) -> int | None:
        """The results of the instance that is compiled before it is asked for: all gradients of a first derivative.

        None: of forward mode and of second derivatives, which few need, there is none.
        """
        derived = self.source.derived[self.name]
        first = derived.rules == ("vjp",) and not derived.body.is_backward
        return (1 << len(derived.signature.outputs)) - 1 if first else None

    def unit(self, types: Mapping[str, DType], wanted: int) -> Unit:
        """What becomes a library with the kernel that computes those results for these element types."""
        return self.source.derived_unit(self.name, types, wanted)

    def library(
        self, types: Mapping[str, DType], wanted: int = 0, *, device: str = "cpu", rebuild: bool = False
    ) -> str:
        """The path of the library with the kernel that computes those results for these element types.

        Raises:
            CompileError: the compiler refused it.
            ToolchainError: there is no compiler for that device.
        """
        return self.source.built_derived(self.name, types, wanted, device, rebuild=rebuild)
