"""The contract of a pass.

Valid IR in, valid IR out; never crash on verified IR; an optimisation skips what it does not
understand, a lowering diagnoses it. Verifying, printing and timing between passes belong to the
driver, never to a pass.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar, cast

from ragged_dialect._mlir import Op, ir
from ragged_dialect.errors import PassError, RaggedError, told

Function = TypeVar("Function", bound=Callable[..., object])


def is_erased(op: ir.Operation) -> bool:
    """Whether an op has been erased."""
    try:
        return not op.name
    except RuntimeError:  # of the bindings
        return True


class PassFailure(Exception):
    """Raised inside `run` to fail the pass with a diagnostic at an op."""

    def __init__(self, op: Op, message: str) -> None:
        if not isinstance(cast(object, op), (ir.Operation, ir.OpView)):
            raise TypeError(f"expected an op that a pass fails at, got {type(op).__name__}")
        if is_erased(op.operation):
            raise TypeError("expected an op that a pass fails at, got one that is erased")
        super().__init__(message)
        self.op = op.operation


class FaultAt(Exception):
    """What code of a plug-in about one op raised by mistake: `error`. `name` and `location` are those of the op, which
    may be gone."""

    def __init__(self, error: BaseException, name: str, location: ir.Location) -> None:
        super().__init__(told(error))
        self.error, self.name, self.location = error, name, location


@contextmanager
def faults_at(op: ir.Operation) -> Generator[None]:
    """Say of mistakes in code of plug-ins, which is called while this is entered, that they are about an op."""
    name, location = op.name, op.location
    try:
        yield
    except (PassFailure, RaggedError, FaultAt, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise FaultAt(error, name, location) from error


def at_its_op(function: Function) -> Function:
    """A function of a plug-in whose mistakes are about the op that is its first argument."""

    @functools.wraps(function)
    def called(op: ir.Operation, *more: object) -> object:
        with faults_at(op):
            return function(op, *more)

    return cast(Function, called)


@dataclass(frozen=True)
class RaggedPass:
    """A pass: a frozen dataclass whose fields are its options.

    Subclasses set `name` (kebab-case, also the file's stem with dashes) and define `run`. Instances
    go straight into `PassManager.add`. `anchor` is the op the pass runs on. What a pass leaves that makes most of a
    program anew is `verified` wherever it runs: invalid IR ends the process in a pass of MLIR's.
    """

    name: ClassVar[str]
    verified: ClassVar[bool] = False
    anchor: ClassVar[str] = "builtin.module"

    def run(self, op: ir.Operation) -> None:
        """Transform `op` in place; raise PassFailure to fail."""
        raise NotImplementedError

    def succeeds_on(self, op: ir.Operation) -> bool:
        """Run on an op; failures become diagnostics."""
        try:
            with op.context, op.location:
                found = cast(object, self.run(op.operation))
            if found is not None:  # a generator has done nothing
                raise PassError(f"expected nothing from `run`, got {type(found).__name__}")
        except PassFailure as failure:
            failure.op.location.emit_error(str(failure))
            return False
        except RaggedError as error:
            op.location.emit_error(f"{self.name}: {error}")
            return False
        return True

    def __call__(self, op: ir.Operation, pass_: Any) -> None:
        """The callback of the pass manager."""
        if not self.succeeds_on(op):
            pass_.signal_pass_failure()
