"""Whether lowered IR may be bufferized, and translated."""

from __future__ import annotations

from collections.abc import Iterator

from ragged_dialect._mlir import ir
from ragged_dialect.asm.locations import collect
from ragged_dialect.errors import CompileError
from ragged_dialect.ir.walk import find_ops, ops_in
from ragged_dialect.ops import OPS
from ragged_dialect.passes.base import PassFailure
from ragged_dialect.verify import values_of

RESERVED = frozenset(
    "ragged_call ragged_fail ragged_refuse_skew ragged_report ragged_set_threads ragged_share ragged_threads "
    "_mlir_memref_to_llvm_alloc _mlir_memref_to_llvm_free".split()
)
"""Names of functions that lowered programs call or have."""


def require_dense(root: ir.Operation) -> None:
    """PassFailure unless nothing ragged is left in an op, no op and no encoding, and every tensor can become a
    buffer, which bufferization takes for granted. Ops that cannot are named at their place first, types where they
    appear first."""
    seen: set[ir.Type] = set()
    valid = True
    for op in ops_in(root):
        if op.name in OPS:
            texts = ["expected no op of the ragged dialect after the lowering"]
        else:
            new = dict.fromkeys(type_ for type_ in _types(op) if type_ not in seen)
            seen.update(new)
            texts = [text for text in map(_refusal, new) if text is not None]
        for text in texts:
            op.location.emit_error(f"'{op.name}' op {text}")
            valid = False
    if not valid:
        raise PassFailure(root, "expected what can be bufferized, got the above")


def require_own_names(module: ir.Operation) -> None:
    """PassFailure at a function or a global of a name that programs have for themselves, and at functions that no pass
    sees, as they are in a module of their own."""
    for op in [op.operation for op in module.regions[0].blocks[0].operations]:
        name = ir.StringAttr(op.attributes["sym_name"]).value if "sym_name" in op.attributes else ""
        if op.name == "func.func" and name in RESERVED:
            raise PassFailure(op, f"expected another name than '{name}', which programs have for themselves")
        if op.name == "builtin.module" and find_ops(op, "func.func"):
            raise PassFailure(op, "expected functions in one module, got a module with some in it")


def require_valid(module: ir.Module, name: str) -> None:
    """CompileError when a lowered module does not verify: translating it would take the process down."""
    try:
        module.operation.verify()
    except ir.MLIRError as error:
        raise CompileError(f"{name}: expected valid IR after the lowering, got: {error}") from None


def _refusal(type_: ir.Type) -> str | None:
    if "#ragged." in str(type_):
        return f"expected no ragged type after the lowering, got {type_}"
    if isinstance(type_, (ir.RankedTensorType, ir.UnrankedTensorType)) and not _has_buffers(type_.element_type):
        return f"expected elements that memory holds, got {type_}"
    return None


def _has_buffers(element: ir.Type) -> bool:
    if isinstance(element, ir.VectorType) and element.scalable:
        return False  # MLIR takes them, and ends the process where it asks for their size
    with collect(element.context):  # the error of an answer that is asked for
        try:
            ir.UnrankedMemRefType.get(element, None)
        except ir.MLIRError:
            return False
    return True


def _types(op: ir.Operation) -> Iterator[ir.Type]:
    yield from (value.type for value in values_of(op))
    if op.name == "func.func":
        type_ = ir.TypeAttr(op.attributes["function_type"]).value
        yield from (*type_.inputs, *type_.results)
