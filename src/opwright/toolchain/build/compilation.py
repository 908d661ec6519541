"""Running a plan's commands in a temporary folder."""

from __future__ import annotations

import os
import shlex
import shutil
import time
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from opwright.errors import CompileError
from opwright.log import logger
from opwright.toolchain.binary.elf import describe_damage, has_initializers
from opwright.toolchain.binary.own_templates import own_templates
from opwright.toolchain.build import compile_commands
from opwright.toolchain.build.processes import Processes, TimeoutKilledError, in_parallel
from opwright.toolchain.cache.folder import write_atomically
from opwright.toolchain.cache.manifest import UNKNOWN, Inputs, Reader, capture, extend_depfile, read_depfile

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from opwright.toolchain.build.plan import Plan, Rewrite


_BY_HAND = (
    "run the command at the end of the log by hand: it should write library.so; a wrapper of the compiler may be at "
    "fault"
)


class Compilation(NamedTuple):
    """The run of ``plan`` in the temporary folder ``work``; generated code and log are kept in ``folder``."""

    plan: Plan
    folder: Path
    work: Path
    processes: Processes

    def run(self) -> tuple[Path, Path | None]:
        """Compile and link; return the library (in ``work``) and the log, or None if the compiler wrote nothing.

        Raises:
            CompileError: the compiler refused the code, or was killed after the time limit; or the library ends the
                process that loads it.
            ToolchainError: the compiler could not be started.
        """
        self._write_sources()
        for index, part in enumerate(self.plan.parts):
            if part.unit.rewrite:
                self._rewrite(index, part.unit.rewrite)
        output = self.work / "library.so"
        if self.plan.at_once:
            self._step("0", self.plan.compile_and_link(self.folder, self.work, output))
        else:
            compiles = [
                partial(self._step, str(index), self.plan.compile(index, self.folder, self.work))
                for index in range(len(self.plan.parts))
            ]
            in_parallel(compiles, self.processes)
            self._step("link", self.plan.link(self.work, output, self._added()))
        if complaint := describe_damage(output, relocatable="-r" in self.plan.link_flags):
            raise self._failed(f"{self._culprit()} {complaint}\n  likely fix: {_BY_HAND}", [])
        if self.plan.own_templates:
            own_templates(output)
        if has_initializers(output):
            self._require_loadable(output)
        return output, self._keep_log(sorted(self.work.glob("*.log")))

    def preprocess(self, output: Path, flags: list[str]) -> None:
        """Preprocess the first part with the additional `flags` and write the result to `output`.

        Raises:
            CompileError: the preprocessor refused the code.
            ToolchainError: the preprocessor could not be started.
        """
        self._write_sources()
        self._step("0", self.plan.preprocess(self.folder, self.work, output, flags))

    def step(self, name: str, command: list[str]) -> None:
        """Run a command for an `Addition`; its output goes to the log. `name` must be unique within the unit.

        Raises:
            CompileError: the command failed, or exceeded the time limit.
            ToolchainError: the command could not be started.
        """
        self._step(name, command)

    def _require_loadable(self, library: Path) -> None:
        from opwright.toolchain.build.trial_load import end_of_process

        log = self.work / "load.log"
        if ended := end_of_process(library, self.plan, self.processes, log):
            from opwright.toolchain.messages.initializers import explain_end

            raise self._failed(explain_end(self.plan, ended, log), [log])
        log.unlink(missing_ok=True)

    def _added(self) -> list[Path]:
        units = [part.unit for part in self.plan.parts]
        added = (unit.addition(self, index) for index, unit in enumerate(units) if unit.addition)
        return list(dict.fromkeys(path for paths in added for path in paths))

    def _rewrite(self, index: int, rewrite: Rewrite) -> None:
        text = rewrite(self._text(index, []), partial(self._text_again, index))
        write_atomically(self.folder / self.plan.parts[index].compiled, text, self.work)

    def _text(self, index: int, flags: Sequence[str], name: str = "text") -> str:
        output = self.work / f"{index}-{name}.ii"
        self._step(output.stem, self.plan.preprocess(self.folder, self.work, output, list(flags), index))
        return output.read_bytes().decode("utf-8", "surrogateescape")

    def _text_again(self, index: int, flags: Sequence[str]) -> str:
        """Preprocess again with additional `flags`; the headers read by both runs are recorded in the depfile."""
        depfile = self.work / f"{index}.d"
        first = depfile.rename(self.work / f"{index}-first.d") if depfile.exists() else None
        text = self._text(index, flags, "again")
        if first:
            extend_depfile(depfile, first)
        return text

    def inputs(self) -> Inputs:
        """Return the files that the compiler read, by its depfiles, except generated code (which the key covers)."""
        parts = self.plan.parts
        if not all((self.work / f"{index}.d").exists() for index in range(len(parts))):
            return UNKNOWN  # a compiler wrapper that drops some arguments
        read = [path for index in range(len(parts)) for path in read_depfile(self.work / f"{index}.d", os.getcwd())]
        generated = {str(self.folder / part.file) for part in parts}
        system = tuple(dict.fromkeys(folder for part in parts for folder in part.compiler.system_dirs))
        others = [path for path in read if path not in generated]
        return capture(others, self.plan.searched, self.plan.skipped, system, Reader())

    def _write_sources(self) -> None:
        """Write the generated code to the unit's folder, for gdb and messages; the key determines its content."""
        for part in self.plan.parts:
            file = self.folder / part.file
            text = part.unit.text.encode("utf-8", "surrogateescape")
            if file.is_symlink() or not file.is_file() or file.read_bytes() != text:
                write_atomically(file, part.unit.text, self.work)
        compile_commands.write_for(self.plan, self.folder, self.work)

    def _step(self, name: str, command: list[str]) -> None:
        log = self.work / f"{name}.log"
        try:
            status = self._run(command, log)
        except TimeoutKilledError as error:
            text = (
                f"{self.plan.name}: the compiler was stopped after {error}\n"
                f"  likely fix: set OPWRIGHT_COMPILE_TIMEOUT to more seconds if it needs them"
            )
        else:
            if status == 0:
                return
            from opwright.toolchain.messages.explanation import explain

            text = explain(self.plan, command, status, log, self.folder)
        raise self._failed(text, [log], command)

    def _run(self, command: list[str], log: Path) -> int:
        logger.debug("%s: running %s", self.plan.name, shlex.join(command))
        started = time.perf_counter()
        status = self.processes.run(command, log, self.work)
        took = time.perf_counter() - started
        logger.debug("%s: %s ended with status %d after %.2f s", self.plan.name, command[0], status, took)
        return status

    def _failed(self, text: str, logs: list[Path], command: list[str] | None = None) -> CompileError:
        command = command or (
            self.plan.compile_and_link(self.folder, self.work, self.work / "library.so")
            if self.plan.at_once
            else self.plan.link(self.work, self.work / "library.so")
        )
        again = shlex.join(self.plan.repeatable(command, self.work))
        command_log = self.work / "command.log"
        command_log.write_text(f"command: {again}\n", "utf-8", "surrogateescape")
        kept = self._keep_log([*(logs or sorted(self.work.glob("*.log"))), command_log])
        return CompileError(f"{text}\nfull log: {kept}")

    def _culprit(self) -> str:
        source = next((part.unit.source for part in self.plan.parts if part.unit.source), self.plan.name)
        return f"{source}: error: {os.path.basename(self.plan.linker.path)} reported success, but"

    def _keep_log(self, logs: list[Path]) -> Path | None:
        """Move the compiler's output to its final path; return the path, or None if there is no output."""
        logs = [log for log in logs if log.exists() and log.stat().st_size]
        if not logs:
            return None
        with open(logs[0], "ab") as whole:
            for log in logs[1:]:
                with open(log, "rb") as part:
                    shutil.copyfileobj(part, whole)
        kept = self.folder / "build.log"
        os.replace(logs[0], kept)
        return kept
