"""Running stages, ours and MLIR's, in one pass manager of MLIR's.

Our passes cannot be registered with MLIR by name, but a pass manager takes functions at its root. A pass of
ours is one that goes to its anchors by itself; a pass of MLIR's is followed by one that verifies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple
from weakref import WeakKeyDictionary

from ragged_dialect._mlir import ir, passmanager
from ragged_dialect.asm.diagnostics import Diagnostic
from ragged_dialect.asm.locations import collect, file_position
from ragged_dialect.erasing import kept
from ragged_dialect.errors import PassError, told_at
from ragged_dialect.ir.match import blocks_of
from ragged_dialect.passes.base import FaultAt, RaggedPass
from ragged_dialect.verify import verify_ragged

MODULE, ANY = "builtin.module", "any"
Report = Callable[[Diagnostic], None]


class PassFailed(PassError):
    """A pass failed; `stage` and the diagnostics it left."""

    def __init__(self, stage: Stage, diagnostics: Sequence[Diagnostic]) -> None:
        super().__init__("\n".join([f"{stage} failed", *map(str, diagnostics)]))
        self.stage = stage
        self.diagnostics = tuple(diagnostics)


class Stage(NamedTuple):
    """One pass: ours (`own`), or MLIR's by its text. `anchors` are the ops it is nested in, from
    below the module; `part` is the stage of the named pipeline that it belongs to."""

    name: str
    text: str
    anchors: tuple[str, ...] = ()
    own: RaggedPass | None = None
    part: str = ""

    def __str__(self) -> str:
        nested = self.text
        for anchor in reversed(self.anchors):
            nested = f"{anchor}({nested})"
        return nested

    def targets(self, module: ir.Operation) -> list[ir.Operation]:
        """The ops of a module that the pass runs on."""
        return list(_below(module, self.anchors))


def _below(op: ir.Operation, anchors: Sequence[str]) -> Iterator[ir.Operation]:
    if not anchors:
        yield op
        return
    for block in blocks_of(op):
        for child in list(block.operations):
            if anchors[0] in (child.operation.name, ANY):
                yield from _below(child.operation, anchors[1:])


class Watcher:
    """Is told of every stage of a run; what it raises ends the run."""

    def before(self, stage: Stage, module: ir.Operation) -> None:
        """The stage is about to run."""

    def after(self, stage: Stage, module: ir.Operation) -> None:
        """The stage has run, and what it left verifies."""

    def failed(self, stage: Stage, module: ir.Operation) -> None:
        """The stage failed, or left what does not verify."""


def run_pipeline(
    module: ir.Module | ir.Operation,
    stages: Sequence[Stage],
    verify: bool = True,
    report: Report | None = None,
    watchers: Sequence[Watcher] = (),
    statistics: passmanager.PassDisplayMode | None = None,
) -> None:
    """Run stages in order on a module, or on the function that they were parsed for. PassFailed at the first that
    fails, or leaves IR that does not verify. `report` is given the diagnostics of the stages that did not fail."""
    if stages:
        _Run(module.operation, stages, verify, report, watchers).run(statistics)


class _Run:
    """One run: `done` stages are behind it, and `diagnostics` are those of the next one."""

    def __init__(
        self,
        module: ir.Operation,
        stages: Sequence[Stage],
        verify: bool,
        report: Report | None,
        watchers: Sequence[Watcher],
    ) -> None:
        self.module, self.stages, self.verify = module, stages, verify
        self.report, self.watchers = report, watchers
        self.done = 0
        self.diagnostics: list[Diagnostic] = []
        self.error: BaseException | None = None

    def run(self, statistics: passmanager.PassDisplayMode | None) -> None:
        manager = self._manager(kept=statistics is None)
        if statistics is not None:
            manager.enable_statistics(statistics)
        with collect(self.module.context) as self.diagnostics:
            try:
                self._begin()
                manager.run(self.module)
                return
            except ir.MLIRError:
                pass
        if self.error is not None:
            raise self.error
        stage = self.stages[self.done]
        for watcher in self.watchers:
            watcher.failed(stage, self.module)
        raise PassFailed(stage, self.diagnostics)

    def _manager(self, kept: bool) -> passmanager.PassManager:
        """All stages, and a step of ours after each, which runs those that are ours, and with `kept` those that a
        context has a manager for: MLIR does not count what they do."""
        manager = passmanager.PassManager(self.module.name, self.module.context)
        manager.enable_verifier(False)  # once for every stage is enough: `_end` does it
        for stage in self.stages:
            run, name = None, stage.name
            if stage.own is not None:
                run = partial(self._run_own, stage, stage.own)
            elif kept and stage.name in _KEPT:
                run = partial(self._native, stage)
            else:
                manager.add(str(stage))
                name = "ragged-verify"
            manager.add(self._step(stage, run), name=name, argument=name)
        return manager

    def _step(
        self, stage: Stage, run: Callable[[], bool] | None
    ) -> Callable[[ir.Operation, passmanager.ExternalPass], None]:
        def step(_: ir.Operation, running: passmanager.ExternalPass) -> None:
            try:
                ok = (run is None or run()) and self._end(stage)
            except BaseException as error:  # must not pass through MLIR's frames
                self.error, ok = error, False
            if not ok:
                running.signal_pass_failure()

        return step

    def _native(self, stage: Stage) -> bool:
        try:
            kept_manager(self.module.context, f"{self.module.name}({stage})").run(self.module)
        except ir.MLIRError:
            return False
        return True

    def _run_own(self, stage: Stage, own: RaggedPass) -> bool:
        targets = stage.targets(self.module)
        with kept(self.module, *targets):
            for target in targets:  # no `all(map(…))`: StopIteration of a pass would be its end
                try:
                    if not own.succeeds_on(target):
                        return False
                except KeyboardInterrupt:
                    raise
                except BaseException as error:  # of a plug-in, which may call `sys.exit`
                    if "KeyboardInterrupt" in str(error):  # one in a callback of MLIR's comes out of it as text
                        raise KeyboardInterrupt from None
                    self.diagnostics.append(_fault(stage, target, error))
                    return False
        return True

    def _end(self, stage: Stage) -> bool:
        """What follows a stage, up to the next one; whether its result verifies."""
        if self.verify and not (_verifies(self.module) and verify_ragged(self.module)):
            return False
        if not self.verify and stage.own is not None and stage.own.verified and not _verifies(self.module):
            return False
        if self.report is not None:
            for diagnostic in self.diagnostics:
                self.report(diagnostic)
        self.diagnostics.clear()
        for watcher in self.watchers:
            watcher.after(stage, self.module)
        self.done += 1
        self._begin()
        return True

    def _begin(self) -> None:
        if self.done < len(self.stages):
            for watcher in self.watchers:
                watcher.before(self.stages[self.done], self.module)


_KEPT = frozenset({"canonicalize"})
"""Passes of MLIR's that are run again by the manager that a context has: most of what a canonicalizer does to a small
program is to collect its patterns, which it does once. Others may keep what they made of the module before, as
convert-math-to-funcs does its functions."""

_managers: WeakKeyDictionary[ir.Context, dict[str, passmanager.PassManager]] = WeakKeyDictionary()


def kept_manager(context: ir.Context, text: str) -> passmanager.PassManager:
    """The pass manager that a context has for passes of MLIR's which can be run again. It does not verify."""
    kept = _managers.setdefault(context, {})
    if text not in kept:
        kept[text] = passmanager.PassManager.parse(text, context)
        kept[text].enable_verifier(False)
    return kept[text]


def _fault(stage: Stage, target: ir.Operation, error: BaseException) -> Diagnostic:
    """What a pass raised by mistake, at the op that it was about where that is known."""
    location, about, by = target.location, "", getattr(type(stage.own), "run", None)
    if isinstance(error, FaultAt):
        location, about, by, error = error.location, f" on '{error.name}'", error.by, error.error
    message = f"internal error in {stage.name}{about}: {told_at(error, by=by)}"
    return Diagnostic(message, *file_position(location))


def _verifies(module: ir.Operation) -> bool:
    try:
        return module.verify()
    except ir.MLIRError:
        return False
