"""`outline-ragged-loops`: loops marked parallel become kernels over ranges [lo, hi)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ragged_dialect._mlir import DYNAMIC, func, ir, memref, scf
from ragged_dialect.lowering import emit
from ragged_dialect.lowering.convert_ragged_forall_to_loops import PARALLEL
from ragged_dialect.lowering.emit import Mixed
from ragged_dialect.passes.base import RaggedPass

KERNEL = "ragged.kernel"
"""Attribute of a function over a range of independent iterations: (lo, hi, work, captures…)."""

_VIEWS = frozenset(
    f"memref.{name}" for name in ("subview", "cast", "reinterpret_cast", "expand_shape", "collapse_shape")
)


@dataclass(frozen=True)
class OutlineRaggedLoops(RaggedPass):
    """Move every loop marked `ragged.parallel` into a function over a range of its iterations.

    ```mlir
    scf.for %b = %c0 to %n step %c1 { … } {ragged.parallel}
    // becomes
    call @f_kernel0(%c0, %n, %work, …) : (index, index, index, …) -> ()
    func.func private @f_kernel0(%lo, %hi, %work, …) attributes {ragged.kernel} {
      scf.for %b = %lo to %hi step %c1 { … }
    }
    ```

    `work` is the number of elements the loop touches, for the decision whether threads pay.
    Precondition: bufferized, deallocation done.
    """

    name: ClassVar[str] = "outline-ragged-loops"

    def run(self, op: Any) -> None:
        """Outline the loops of every function of a module."""
        for function in list(op.regions[0].blocks[0].operations):
            if function.operation.name == "func.func":
                loops: list[Any] = []
                _collect(function.operation, loops)
                for k, loop in enumerate(loops):
                    _outline(op, function.operation, loop, k)


def _collect(op: Any, found: list[Any]) -> None:
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                inner = inner.operation
                if inner.name == "scf.for" and PARALLEL in inner.attributes:
                    found.append(inner)
                else:
                    _collect(inner, found)


def _captures(loop: Any) -> list[Any]:
    """Values used in a loop's body and defined outside, in order of first use."""
    inside: set[Any] = set()
    found: dict[Any, None] = {}

    def visit(op: Any) -> Any:
        for operand in op.operands:
            if operand not in inside:
                found.setdefault(operand)
        inside.update(op.results)
        for region in op.regions:
            for block in region.blocks:
                inside.update(block.arguments)
        return ir.WalkResult.ADVANCE

    body = loop.regions[0].blocks[0]
    inside.update(body.arguments)
    for op in body.operations:
        op.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return list(found)


def _is_constant(value: Any) -> bool:
    owner = value.owner
    return not isinstance(owner, ir.Block) and owner.operation.name == "arith.constant"


def _outline(module: Any, function: Any, loop: Any, number: int) -> None:
    captures = _captures(loop)
    passed = [v for v in captures if not _is_constant(v)]
    name = f"{function.attributes['sym_name'].value}_kernel{number}"
    index = emit.index_type()
    type_ = ir.FunctionType.get([index, index, index, *(v.type for v in passed)], [])
    with ir.InsertionPoint(function), loop.location:
        kernel = func.FuncOp(name, type_, visibility="private")
        kernel.operation.attributes[KERNEL] = ir.UnitAttr.get()
        _mark_noalias(kernel, passed)
    block = kernel.operation.regions[0].blocks.append(*type_.inputs)
    arguments = list(block.arguments)
    mapping: dict[Any, Any] = dict(zip(passed, arguments[3:], strict=True))
    with ir.InsertionPoint(block), loop.location:
        for value in captures:
            if _is_constant(value):
                mapping[value] = value.owner.operation.clone().operation.results[0]
        made = scf.ForOp(arguments[0], arguments[1], emit.value(1))
        func.return_([])
    _move_body(loop, made, mapping)
    with ir.InsertionPoint(loop), loop.location:
        work = _work(passed)
        func.call([], name, [loop.operands[0], loop.operands[1], emit.value(work), *passed])
    loop.erase()


def _move_body(loop: Any, made: Any, mapping: dict[Any, Any]) -> None:
    source = loop.regions[0].blocks[0]
    source.arguments[0].replace_all_uses_with(made.induction_variable)

    def remap(op: Any) -> Any:
        for k, operand in enumerate(op.operands):
            if operand in mapping:
                op.operands[k] = mapping[operand]
        return ir.WalkResult.ADVANCE

    for op in list(source.operations):
        op.operation.walk(remap)
        op.operation.detach_from_parent()
        made.body.append(op)


def _mark_noalias(kernel: Any, passed: list[Any]) -> None:
    """Buffers of different allocations do not alias; LLVM need not check it in every loop."""
    roots = [_root(v) if isinstance(v.type, ir.MemRefType) else None for v in passed]
    buffers = [r for r in roots if r is not None]
    if len(set(buffers)) != len(buffers) or _may_overlap(set(buffers)):
        return
    attrs = [ir.DictAttr.get({})] * 3
    for root in roots:
        attrs.append(ir.DictAttr.get({"llvm.noalias": ir.UnitAttr.get()}) if root is not None else ir.DictAttr.get({}))
    kernel.operation.attributes["arg_attrs"] = ir.ArrayAttr.get(attrs)


def _root(value: Any) -> Any:
    """The buffer a view is of."""
    while not isinstance(value.owner, ir.Block):
        op = value.owner.operation
        if op.name not in (
            "memref.subview",
            "memref.cast",
            "memref.reinterpret_cast",
            "memref.expand_shape",
            "memref.collapse_shape",
        ):
            break
        value = op.operands[0]
    return value


def _is_allocation(value: Any) -> bool:
    return not isinstance(value.owner, ir.Block) and value.owner.operation.name == "memref.alloc"


def _may_overlap(buffers: set[Any]) -> bool:
    """Whether two of the buffers may overlap. Allocations are their own; function arguments may
    overlap one another but are never written; anything else may be anything."""
    return any(not _is_allocation(b) and not isinstance(b.owner, ir.Block) for b in buffers)


def _work(passed: list[Any]) -> Mixed:
    """Elements of the buffers a loop touches."""
    total: Mixed = 0
    for value in passed:
        if isinstance(value.type, ir.MemRefType):
            size: Mixed = 1
            for k, s in enumerate(value.type.shape):
                size = emit.mul(size, memref.dim(value, emit.value(k)) if s == DYNAMIC else s)
            total = emit.add(total, size)
    return total
