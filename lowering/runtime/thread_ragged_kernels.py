"""`thread-ragged-kernels`: calls of kernels go to the threads of the process.

Runs on the LLVM dialect. The threads are those of `thread_pool.py`. Iterations are handed out in tiles; which thread
runs one does not change its result.
"""

from __future__ import annotations

from ragged_dialect._mlir import ir, llvm
from ragged_dialect.ir.match import enclosing, is_read
from ragged_dialect.ir.walk import append, find_ops, free_symbol, locate
from ragged_dialect.iteration import KERNEL
from ragged_dialect.lowering.attributes import Mapping
from ragged_dialect.lowering.loops.annotations import BRANCHES, settle
from ragged_dialect.lowering.runtime.llvm_text import constants, fields
from ragged_dialect.lowering.runtime.program_runtime import SHARE_DECLARATION
from ragged_dialect.lowering.runtime.runtime_calls import call as call_runtime
from ragged_dialect.lowering.runtime.runtime_calls import declare
from ragged_dialect.lowering.runtime.thread_pool import SHARE
from ragged_dialect.passes.base import PassFailure, RaggedPass

_THREADS = "ragged_threads"
_RUNTIME = f"""
llvm.mlir.global internal @{_THREADS}(1 : i64) : i64
llvm.func @ragged_set_threads(%n: i64) {{
  %p = llvm.mlir.addressof @{_THREADS} : !llvm.ptr
  llvm.store %n, %p : i64, !llvm.ptr
  llvm.return
}}
"""
_DEFINED = (_THREADS, "ragged_set_threads")


class ThreadRaggedKernels(RaggedPass):
    """Run kernels on several threads.

    ```mlir
    llvm.call @f_kernel0(%lo, %n, %work, %a, %b) : …
    // becomes
    llvm.store %a, %captures[0] … ; llvm.call @ragged_share(@f_kernel0_task, %captures, %n, %work, %tile, %threads)
    ```

    What a kernel does not read is not captured. A thread takes as many elements at a time as the kernel's
    `ragged.mapping` says, or (0) as the threads choose.

    Precondition: LLVM dialect, kernels called with a range that starts at 0.
    """

    def run(self, op: ir.Operation) -> None:
        """Rewrite the calls of every kernel of a module."""
        found = find_ops(op, "llvm.call", *BRANCHES)
        settle(branch for branch in found if branch.name in BRANCHES)
        body = op.regions[0].blocks[0]
        kernels = {
            f.operation.attributes["sym_name"].value: f.operation
            for f in body.operations
            if f.operation.name == "llvm.func" and KERNEL in f.operation.attributes
        }
        if not kernels:
            return
        tiles = {name: Mapping.of(kernel).tile or 0 for name, kernel in kernels.items()}
        for kernel in kernels.values():
            _check(kernel)
            del kernel.attributes[KERNEL]  # nothing is left to do for it
            Mapping().give(kernel)
        calls = [op for op in found if "callee" in op.attributes and op.attributes["callee"].value in kernels]
        for kernel in kernels.values():
            kernel.attributes["linkage"] = ir.Attribute.parse("#llvm.linkage<internal>")
            # Its task alone calls it. LLVM would optimise it, inline it there, and optimise the task, too.
            kernel.attributes["always_inline"] = ir.UnitAttr.get()
        tasks = {name: free_symbol(op, f"{name}_task") for name in kernels}
        captured = {name: _captured(kernel) for name, kernel in kernels.items()}
        texts = [_RUNTIME, *(_task(tasks[name], name, _types(k), captured[name]) for name, k in kernels.items())]
        declared = "\n".join(
            f"llvm.func {_symbol(name)}({', '.join(_types(kernel))})\n" for name, kernel in kernels.items()
        )
        made = ir.Module.parse(SHARE_DECLARATION + declared + "\n".join(texts))
        declare(op)
        table, known = ir.SymbolTable(made.operation), ir.SymbolTable(op)
        for name in (*kernels, SHARE, *(name for name in _DEFINED if name in known)):
            table[name].operation.erase()
        locate(made.operation, op.location)
        for name, kernel in kernels.items():
            locate(table[tasks[name]].operation, kernel.location)
        append(body, made.body.operations)
        for call in calls:
            with ir.InsertionPoint(call), call.location:
                name = call.attributes["callee"].value
                _rewrite(call, [call.operands[k] for k in captured[name]], tasks[name], tiles[name])
            call.erase()


def _check(kernel: ir.Operation) -> None:
    """PassFailure for a mark on what is no kernel."""
    type_ = kernel.attributes["function_type"].value
    fits = [str(given) for given in type_.inputs[:3]] == ["i64"] * 3 and str(type_.return_type) == "!llvm.void"
    if not fits or type_.is_var_arg or len(kernel.regions[0].blocks) == 0:
        raise PassFailure(
            kernel, f"expected {KERNEL} on a function with a body of type (i64, i64, i64, …), got {type_}"
        )


def _types(kernel: ir.Operation) -> list[str]:
    """Types of a kernel's arguments."""
    return [str(a.type) for a in kernel.regions[0].blocks[0].arguments]


def _symbol(name: str) -> str:
    """A symbol as MLIR reads it, quoted where it must be."""
    return str(ir.FlatSymbolRefAttr.get(name))


def _struct(types: list[str]) -> str:
    return f"!llvm.struct<({', '.join(types)})>"


def _captured(kernel: ir.Operation) -> list[int]:
    """The arguments behind the range that a kernel reads: of memory it knows most strides and offsets."""
    arguments = kernel.regions[0].blocks[0].arguments
    return [k for k, argument in enumerate(arguments) if k > 2 and is_read(argument)]


def _task(task: str, name: str, types: list[str], captured: list[int]) -> str:
    """A function (captures, lo, hi) that unpacks the captures and calls a kernel of arguments of some types."""
    struct = _struct([types[k] for k in captured])
    lines = [f"llvm.func internal {_symbol(task)}(%captures: !llvm.ptr, %lo: i64, %hi: i64) {{", constants(work=0)]
    values = ["%lo", "%hi", "%work"]
    for k, type_ in enumerate(types[3:], start=3):
        values.append(f"%v{k}")
        if k not in captured:
            lines.append(f"  %v{k} = llvm.mlir.zero : {type_}")
            continue
        place = fields("captures", struct, **{f"p{k}": captured.index(k)})
        lines += [place, f"  %v{k} = llvm.load %p{k} : !llvm.ptr -> {type_}"]
    lines.append(f"  llvm.call {_symbol(name)}({', '.join(values)}) : ({', '.join(types)}) -> ()")
    return "\n".join([*lines, "  llvm.return", "}"])


def _rewrite(call: ir.Operation, captures: list[ir.Value], task: str, tile: int) -> None:
    pointer = ir.Type.parse("!llvm.ptr")
    i64 = ir.IntegerType.get_signless(64)
    _, count, work = list(call.operands)[:3]
    struct = ir.Type.parse(_struct([str(v.type) for v in captures]))
    entry = enclosing(call).regions[0].blocks[0]
    with ir.InsertionPoint.at_block_begin(entry):
        # in the entry block: an alloca in a loop would grow the stack with every iteration
        one = llvm.mlir_constant(ir.IntegerAttr.get(i64, 1))
        storage = llvm.alloca(pointer, one, struct)
    for k, value in enumerate(captures):
        place = llvm.getelementptr(pointer, storage, [], [0, k], struct, None)
        llvm.store(value, place)
    address = llvm.mlir_addressof(pointer, task)
    rows = llvm.mlir_constant(ir.IntegerAttr.get(i64, tile))
    threads = llvm.load(i64, llvm.mlir_addressof(pointer, _THREADS))
    # No function of the program in between: LLVM would inline an only task there, and optimise it twice.
    call_runtime(SHARE, [address, storage, count, work, rows, threads])
