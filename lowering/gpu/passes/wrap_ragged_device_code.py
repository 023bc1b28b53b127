"""`wrap-ragged-device-code`: everything that touches the contents of buffers moves into foralls."""

from __future__ import annotations

from ragged_dialect._mlir import ir
from ragged_dialect.ir.functions import defined_functions, functions_of
from ragged_dialect.ir.walk import find_ops, ops_in
from ragged_dialect.lowering.attention.call import is_score
from ragged_dialect.lowering.buffers.subviews import is_buffer, layout_strides, require_buffers
from ragged_dialect.lowering.checks.convert_ragged_checks_to_calls import REPORT
from ragged_dialect.lowering.gpu.kernel.status import record_type
from ragged_dialect.lowering.gpu.passes.device_regions import Regions, is_report
from ragged_dialect.passes.base import PassFailure, RaggedPass
from ragged_dialect.verify import values_of


class WrapRaggedDeviceCode(RaggedPass):
    """Separate a bufferized program into host code and device code.

    ```mlir
    %0 = memref.load %offsets[%c0]
    %1 = arith.addi %0, %c1
    linalg.generic … outs(%b : memref<?xf32>)
    // becomes
    %slot = memref.alloc() : memref<i64>
    scf.forall (%i) in (1) { %0 = memref.load %offsets[%c0] … memref.store %1, %slot[] }
    linalg.generic … outs(%b : memref<?xf32>)
    ```

    Afterwards host code is index arithmetic over extents and scalar arguments, allocations, loops and
    branches over them, foralls and flat linalg ops; a `memref.load` left on the host reads one scalar
    back, and what follows from such a scalar by arithmetic on integers is computed by the host, once an earlier kernel
    has it. Scalars that the device computes go through memory. Calls of `@ragged_report` become stores
    into a status argument that the entry gets last. Preconditions: bufferized, one function with a body (others
    were inlined).
    """

    def run(self, op: ir.Operation) -> None:
        """Wrap the device code of every function of a module."""
        require_buffers(op)
        _require_ranks(op)
        _require_inlined(op)
        for function in defined_functions(op).values():
            if not is_score(function):
                _wrap(function, "ragged.checks" in op.attributes and "sym_visibility" not in function.attributes)
        if REPORT in functions_of(op):
            functions_of(op)[REPORT].erase()


def _wrap(function: ir.Operation, is_checked: bool) -> None:
    """Wrap the device code of a function, which has a status when it is checked, though no check may be left."""
    if len(function.regions[0].blocks) != 1:
        raise PassFailure(function, "expected a function of one block, got several")
    status = _status_argument(function) if is_checked or any(map(is_report, find_ops(function, "func.call"))) else None
    Regions(status).run(function.regions[0].blocks[0])


def _status_argument(function: ir.Operation) -> ir.Value:
    """The new last argument that holds the status record."""
    type_ = ir.TypeAttr(function.attributes["function_type"]).value
    status = record_type()
    function.attributes["function_type"] = ir.TypeAttr.get(
        ir.FunctionType.get([*type_.inputs, status], list(type_.results))
    )
    if "arg_attrs" in function.attributes:
        attrs = [*function.attributes["arg_attrs"], ir.DictAttr.get({})]
        function.attributes["arg_attrs"] = ir.ArrayAttr.get(attrs)
    return function.regions[0].blocks[0].add_argument(status, function.location)


def _require_inlined(module: ir.Operation) -> None:
    """PassFailure at the first call of a function with a body."""
    defined = {name for name, function in defined_functions(module).items() if not is_score(function)}
    for call in find_ops(module, "func.call"):
        name = call.attributes["callee"].value
        if name in defined:
            wanted = "expected functions with a body to be inlined, which those that call themselves are not"
            raise PassFailure(call, f"{wanted}, got a call of '{name}'")


def _require_ranks(module: ir.Operation) -> None:
    """PassFailure at the first op on a buffer whose rank is not known, or that has no strides."""
    for op in ops_in(module):
        for value in values_of(op):
            if isinstance(value.type, ir.UnrankedMemRefType):
                raise PassFailure(op, f"expected buffers of a rank, got {value.type}")
            if is_buffer(value) and layout_strides(value.type) is None:
                raise PassFailure(op, f"expected buffers with strides, got {value.type}")
