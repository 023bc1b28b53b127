"""`outline-ragged-loops`: loops marked parallel become kernels over ranges [lo, hi)."""

from __future__ import annotations

from math import prod
from typing import Any

from ragged_dialect._mlir import DYNAMIC, func, ir, memref, scf
from ragged_dialect.checks import HIGHEST
from ragged_dialect.ir import build
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.clone import remap
from ragged_dialect.ir.functions import functions_of
from ragged_dialect.ir.match import definer
from ragged_dialect.ir.walk import append, captures, free_symbol, ops_in
from ragged_dialect.iteration import KERNEL, PARALLEL
from ragged_dialect.lowering.attributes import Mapping
from ragged_dialect.lowering.buffers.subviews import is_buffer, is_constant, may_overlap, only_read, root
from ragged_dialect.passes.base import RaggedPass


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

    `work` is the number of elements the loop touches, for the decision whether threads pay. Loops that do the same, as
    those of equal layers, are calls of one kernel.
    Precondition: bufferized, deallocation done.
    """

    def run(self, op: ir.Operation) -> None:
        """Outline the loops of every function of a module."""
        kernels: dict[str, str] = {}
        for function in functions_of(op).values():
            loops = [loop for loop in ops_in(function, _is_parallel) if _is_parallel(loop)]
            for k, loop in enumerate(loops):
                _outline(op, function, loop, k, kernels)


def _is_parallel(op: ir.Operation) -> bool:
    return op.name == "scf.for" and PARALLEL in op.attributes


def _outline(
    module: ir.Operation, function: ir.Operation, loop: ir.Operation, number: int, kernels: dict[str, str]
) -> None:
    """Outline a loop of a function; `kernels` has the names of those that there are, by their text."""
    body = loop.regions[0].blocks[0]
    captured = captures(body.operations, body.arguments)
    passed = [v for v in captured if not is_constant(v)]
    name = free_symbol(module, f"{function.attributes['sym_name'].value}_kernel{number}")
    index = build.index_type()
    type_ = ir.FunctionType.get([index, index, index, *(v.type for v in passed)], [])
    with ir.InsertionPoint(function), loop.location:
        kernel = func.FuncOp(name, type_, visibility="private")
        kernel.operation.attributes[KERNEL] = ir.UnitAttr.get()
        Mapping.of(loop).give(kernel.operation)
        block = kernel.operation.regions[0].blocks.append(*type_.inputs)
    arguments = list(block.arguments)
    mapping: dict[ir.Value, ir.Value] = dict(zip(passed, arguments[3:], strict=True))
    with ir.InsertionPoint(block), loop.location:
        for value in captured:
            if is_constant(value):
                mapping[value] = definer(value).clone().operation.results[0]
        made = scf.ForOp(arguments[0], arguments[1], build.value(1))
        func.return_([])
    _move_body(loop, made, mapping)
    _mark_noalias(kernel, passed)
    text = kernel.operation.get_asm(use_local_scope=True, assume_verified=True)
    same = kernels.setdefault(text.replace(name, "", 1), name)
    if same != name:
        kernel.operation.erase()
    with ir.InsertionPoint(loop), loop.location:
        work = _work(passed)
        func.call([], same, [loop.operands[0], loop.operands[1], build.value(work), *passed])
    loop.erase()


def _move_body(loop: ir.Operation, made: Any, mapping: dict[ir.Value, ir.Value]) -> None:
    source = loop.regions[0].blocks[0]
    source.arguments[0].replace_all_uses_with(made.induction_variable)

    for op in source.operations:
        remap(op, mapping)
    append(made.body, source.operations)


def _mark_noalias(kernel: ir.OpView, passed: list[ir.Value]) -> None:
    """Buffers of different allocations do not alias, and neither do views of one that are only read; LLVM need not
    check it in every loop."""
    arguments = list(kernel.operation.regions[0].blocks[0].arguments)[3:]
    views: dict[ir.Value, list[ir.Value]] = {}
    for value, argument in zip(passed, arguments, strict=True):
        if is_buffer(value):
            views.setdefault(root(value), []).append(argument)
    if may_overlap(views):
        return
    own = {x for some in views.values() if len(some) == 1 or all(map(only_read, some)) for x in some}
    noalias, none = ir.DictAttr.get({"llvm.noalias": ir.UnitAttr.get()}), ir.DictAttr.get({})
    kernel.operation.attributes["arg_attrs"] = ir.ArrayAttr.get(
        [none] * 3 + [noalias if x in own else none for x in arguments]
    )


def _work(passed: list[ir.Value]) -> Mixed:
    """Elements of the buffers a loop touches."""
    total: Mixed = 0
    for value in passed:
        if is_buffer(value):
            shape = list(value.type.shape)
            static = min(prod(s for s in shape if s != DYNAMIC), HIGHEST)
            dims = (memref.dim(value, build.value(k)) for k, s in enumerate(shape) if s == DYNAMIC)
            total = build.add(total, build.product([static, *dims]))
            total = min(total, HIGHEST) if isinstance(total, int) else total
    return total
