"""The contract of a pass.

Valid IR in, valid IR out; never crash on verified IR; an optimisation skips what it does not
understand, a lowering diagnoses it. Verifying, printing and timing between passes belong to the
driver, never to a pass.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar, cast

from ragged_dialect._mlir import Op, ir
from ragged_dialect.erasing import foreign, grave, is_erased
from ragged_dialect.errors import PassError, RaggedError, is_own, kind_of, place_of, told

Function = TypeVar("Function", bound=Callable[..., object])


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
    """What code of a plug-in about one op raised by mistake, or gave: `error`. `name` and `location` are those of the
    op, which may be gone, `by` is the function, if it is known."""

    def __init__(self, error: BaseException, name: str, location: ir.Location, by: object) -> None:
        super().__init__(told(error))
        self.error, self.name, self.location, self.by = error, name, location, by


@contextmanager
def faults_at(op: ir.Operation, by: object, erases: bool = False) -> Generator[None]:
    """Say of mistakes in a function `by` of a plug-in, which is called while this is entered, that they are about an
    op. It leaves that where it is, unless it `erases` it, and what it is in."""
    name, location = op.name, op.location
    try:
        with foreign(op.parent):
            yield
            if not erases and is_erased(op):
                raise TypeError(f"expected '{name}' to be left where it is, got it erased")
    except (PassFailure, FaultAt, KeyboardInterrupt):
        raise
    except RaggedError as error:
        if by is None or is_own(by):
            raise
        raise FaultAt(error, name, location, by) from error
    except BaseException as error:
        raise FaultAt(error, name, location, by) from error


def at_its_op(function: Function, by: object, erases: bool = False) -> Function:
    """A function that checks what `by` of a plug-in does. Its mistakes are about the op that is its first argument."""

    @functools.wraps(function)
    def called(op: ir.Operation, *more: object) -> object:
        with faults_at(op, by, erases):
            return function(op, *more)

    return cast(Function, called)


@dataclass(frozen=True)
class RaggedPass:
    """A pass: a frozen dataclass whose fields are its options; without any it needs no decorator.

    Subclasses define `run`. Their `name` is that of the class in kebab-case, also the file's stem with dashes; those of
    plug-ins set it. Instances go straight into `PassManager.add`. `anchor` is the op the pass runs on. What a pass
    leaves that makes most of a program anew is `verified` wherever it runs: invalid IR ends the process in a pass of
    MLIR's.
    """

    name: ClassVar[str]
    verified: ClassVar[bool] = False
    anchor: ClassVar[str] = "builtin.module"

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if is_own(cls):
            cls.name = re.sub(r"(?<!^)(?=[A-Z])", "-", cls.__name__).lower()

    def run(self, op: ir.Operation) -> None:
        """Transform `op` in place; raise PassFailure to fail."""
        raise NotImplementedError(f"expected a method `run` of '{self.name}', got none")

    def succeeds_on(self, op: ir.Operation) -> bool:
        """Run on an op; failures become diagnostics."""
        try:
            with op.context, op.location, grave(), nullcontext() if is_own(type(self)) else foreign():
                found = cast(object, self.run(op.operation))
            if found is not None:  # a generator has done nothing
                raise PassError(f"expected nothing from `run`, got {kind_of(found)}")
        except PassFailure as failure:
            failure.op.location.emit_error(str(failure))
            return False
        except RaggedError as error:
            place = "" if is_own(type(self)) else place_of(error, own=False)
            op.location.emit_error(f"{self.name}: {error}{place}")
            return False
        return True

    def __call__(self, op: ir.Operation, pass_: Any) -> None:
        """The callback of the pass manager."""
        if not self.succeeds_on(op):
            pass_.signal_pass_failure()
