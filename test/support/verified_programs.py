"""Programs of arrays are built op by op and not verified again before they are lowered; in tests they are."""

from __future__ import annotations

from ragged_dialect._mlir import ir
from ragged_dialect.asm.locations import collect
from ragged_dialect.compiler.frontend import Program
from ragged_dialect.lowering.stage import Stage
from ragged_dialect.runtime.signature import Signature
from ragged_dialect.verify import verify_ragged


def check(module: ir.Module) -> None:
    """AssertionError, with the diagnostics, for a module that does not verify."""
    with collect(module.context) as diagnostics:
        try:
            valid = module.operation.verify() and verify_ragged(module.operation)
        except ir.MLIRError as error:
            raise AssertionError(str(error)) from None
    assert valid, [str(d) for d in diagnostics]


def verify_programs() -> None:
    """From now on a program is verified before it is lowered."""
    lower = Program.lower

    def verified(self: Program, layouts: Stage, *stages: Stage) -> Signature:
        check(self.module)
        return lower(self, layouts, *stages)

    Program.lower = verified
