"""Pipelines of our passes and MLIR's: text -> stages, and running them.

A stage is one pass on its anchor; nested lists become several stages, which gives the same result
because anchors are isolated from each other. Our passes cannot be registered with MLIR by name,
so every stage has its own pass manager.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_type_hints

from ragged_dialect._mlir import ir, passmanager
from ragged_dialect.asm.diagnostics import Diagnostic
from ragged_dialect.asm.locations import collect
from ragged_dialect.errors import PassError
from ragged_dialect.passes import registry
from ragged_dialect.passes.base import RaggedPass
from ragged_dialect.passes.pipeline_text import Element, Option, parse_text, pipeline_error
from ragged_dialect.verify import verify_ragged

MODULE = "builtin.module"
_TRUE = {"true": True, "1": True, "false": False, "0": False}
Report = Callable[[Diagnostic], None]


class PassFailed(PassError):
    """A pass failed; `stage` and the diagnostics it left."""

    def __init__(self, stage: Stage, diagnostics: Sequence[Diagnostic]) -> None:
        super().__init__("\n".join([f"{stage} failed", *map(str, diagnostics)]))
        self.stage = stage
        self.diagnostics = tuple(diagnostics)


@dataclass(frozen=True)
class Stage:
    """One pass: ours (`own`), or MLIR's by its text. `anchors` are the ops it is nested in, from
    below the module."""

    name: str
    text: str
    anchors: tuple[str, ...] = ()
    own: RaggedPass | None = None

    def __str__(self) -> str:
        nested = self.text
        for anchor in reversed(self.anchors):
            nested = f"{anchor}({nested})"
        return nested

    def run(
        self, module: ir.Operation | ir.Operation | ir.Module, verify: bool = True, report: Report | None = None
    ) -> None:
        """Run on a module op; PassFailed when the pass fails, or leaves IR that does not verify.
        `report` is given the diagnostics of a pass that did not fail."""
        with collect(module.context) as diagnostics:
            ok = self._run(module.operation, verify, diagnostics) and (not verify or verify_ragged(module.operation))
        if not ok:
            raise PassFailed(self, diagnostics)
        if report is not None:
            for diagnostic in diagnostics:
                report(diagnostic)

    def _run(self, module: ir.Operation, verify: bool, diagnostics: list[Diagnostic]) -> bool:
        try:
            if self.own is None:
                _manager(passmanager.PassManager.parse(f"{MODULE}({self})", module.context), verify).run(module)
                return True
            anchor = self.anchors[-1] if self.anchors else MODULE
            for op in list(_targets(module, self.anchors)):
                manager = _manager(passmanager.PassManager(anchor, module.context), verify)
                manager.add(self.own, name=self.name, argument=self.name)
                manager.run(op)
        except ir.MLIRError:
            return False
        except Exception as error:
            import traceback

            where = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{Path(where.filename).name}:{where.lineno}"
            diagnostics.append(Diagnostic(f"internal error in {self.name}: {type(error).__name__}: {error} ({place})"))
            return False
        return True


def _manager(manager: passmanager.PassManager, verify: bool) -> passmanager.PassManager:
    manager.enable_verifier(verify)
    return manager


def _targets(op: ir.Operation, anchors: Sequence[str]) -> Iterator[ir.Operation]:
    """The ops a nested pass runs on: children of children, by name."""
    if not anchors:
        yield op
        return
    for region in op.regions:
        for block in region.blocks:
            for child in list(block.operations):
                if child.operation.name == anchors[0]:
                    yield from _targets(child.operation, anchors[1:])


def parse_pipeline(text: str, context: ir.Context) -> tuple[Stage, ...]:
    """The stages of a pipeline. PassError with the column for malformed text, an unknown pass or
    option, a value of the wrong type, or a pass under an op that it does not run on."""
    return tuple(_stages(parse_text(text), (), context))


def _stages(elements: Sequence[Element], anchors: tuple[str, ...], context: ir.Context) -> Iterator[Stage]:
    for element in elements:
        if element.nested is not None:
            yield from _stages(element.nested, (*anchors, element.name), context)
        elif registry.is_registered(element.name):
            yield _own_stage(element, anchors)
        elif registry.is_pipeline(element.name):
            yield from _stages(_expanded(element, anchors), (), context)
        else:
            yield _foreign_stage(element, anchors, context)


def _own_stage(element: Element, anchors: tuple[str, ...]) -> Stage:
    cls = registry.lookup(element.name)
    anchor = anchors[-1] if anchors else MODULE
    if anchor == "any" or cls.anchor not in (anchor, "any"):
        raise pipeline_error(element.column, f"expected '{element.name}' under '{cls.anchor}', got it under '{anchor}'")
    own = make_pass(cls, element.parsed_options())
    return Stage(element.name, element.name + element.options, anchors, own)


def _expanded(element: Element, anchors: tuple[str, ...]) -> tuple[Element, ...]:
    if anchors:
        message = f"expected '{element.name}' under '{MODULE}', got it under '{anchors[-1]}'"
        raise pipeline_error(element.column, message)
    function = registry.pipeline(element.name)
    types = {name: type_ for name, type_ in get_type_hints(function).items() if name != "return"}
    stages = function(**_values(element.name, types, element.parsed_options()))
    return parse_text(",".join(stage.text for stage in stages))


def make_pass(cls: type[RaggedPass], options: Sequence[Option]) -> RaggedPass:
    """A pass with options by their kebab-case names. PassError for an unknown name or a bad value."""
    hints = get_type_hints(cls)
    types = {field.name: hints[field.name] for field in dataclasses.fields(cls)}
    return cls(**_values(cls.name, types, options))


def _values(owner: str, types: Mapping[str, Any], options: Sequence[Option]) -> dict[str, int | str]:
    """Keyword arguments from options: `y-z=2` is y_z, of the type given."""
    values: dict[str, int | str] = {}
    for option in options:
        name = option.name.replace("-", "_")
        if name not in types or "_" in option.name:
            known = ", ".join(types).replace("_", "-") or "none"
            raise pipeline_error(option.column, f"expected an option of '{owner}' ({known}), got '{option.name}'")
        if name in values:
            raise pipeline_error(option.column, f"expected '{option.name}' once")
        values[name] = _value(option, types[name])
    return values


def _value(option: Option, type_: type[int | str]) -> int | str:
    if type_ is bool:
        value = _TRUE.get(option.value or "true")
        if value is None:
            raise pipeline_error(option.column, f"expected true or false for '{option.name}', got '{option.value}'")
        return value
    if option.value is None:
        raise pipeline_error(option.column, f"expected a value for '{option.name}'")
    if type_ is str:
        return option.value
    try:
        return int(option.value)
    except ValueError:
        raise pipeline_error(option.column, f"expected an integer for '{option.name}', got '{option.value}'") from None


def _foreign_stage(element: Element, anchors: tuple[str, ...], context: ir.Context) -> Stage:
    stage = Stage(element.name, element.name + element.options, anchors)
    try:
        passmanager.PassManager.parse(f"{MODULE}({stage})", context)
    except ValueError as error:
        raise pipeline_error(element.column, _foreign_reason(element, str(error))) from None
    return stage


def _foreign_reason(element: Element, message: str) -> str:
    if "does not refer to a registered pass" in message:
        return f"expected a known pass, got '{element.name}'{registry.suggestion(element.name)}"
    lines = [line for line in message.splitlines() if line.strip() and "to inner pipeline" not in line]
    return f"'{element.name}': {'; '.join(lines)}"


def run_pipeline(module: ir.Module, stages: Sequence[Stage], verify: bool = True) -> None:
    """Run stages in order on a module. PassFailed at the first that fails."""
    for stage in stages:
        stage.run(module.operation, verify)
