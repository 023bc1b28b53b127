"""`gather-ragged-products`: products of matrices on the host, with what is done to each element, in foralls."""

from __future__ import annotations

from ragged_dialect._mlir import ir
from ragged_dialect.device_model import DEVICE
from ragged_dialect.generic import filled
from ragged_dialect.ir import build
from ragged_dialect.ir.match import filled_with, loop_of, terminator
from ragged_dialect.lowering.buffers.subviews import extent, is_address, root, subview
from ragged_dialect.lowering.gpu.contract.match import RESULT, follows, roles_of
from ragged_dialect.lowering.gpu.kernel.combiner import combiner_of
from ragged_dialect.lowering.gpu.kernel.generic_op import GenericOp
from ragged_dialect.lowering.gpu.passes.host_code import host_blocks, host_functions
from ragged_dialect.lowering.nests.forall_bounds import forall_over, inside_forall
from ragged_dialect.lowering.nests.partial_reductions import allocated, combine, part
from ragged_dialect.passes.base import RaggedPass


class GatherRaggedProducts(RaggedPass):
    """Put a product of matrices of f16, bf16 or f32, the fill before it and the elementwise ops after it into a forall.

    ```mlir
    linalg.generic … outs(%y)                  // a fill
    linalg.generic … ins(%x, %w) outs(%y)      // y += x * w, sums in f32
    linalg.generic … ins(%y, %b) outs(%z)      // z = f(y, b)
    // becomes
    scf.forall (%i) in (1) { linalg.generic … linalg.generic … linalg.generic … } {mapping = [#gpu.block<x>]}
    ```

    The schedule `contract` takes it as a whole. A sum of any length with a result of few tiles, as the gradient of
    weights that all rows share, has too few blocks: it is made in parts, one an iteration, which are added after it.
    Precondition: a bufferized module, before `collapse-ragged-loops`.
    """

    def run(self, op: ir.Operation) -> None:
        """Gather the products of every function of a module."""
        for function in host_functions(op):
            for block in host_blocks(function):
                for run in _runs(block):
                    product = run[0] if filled_with(run[0].op) is None else run[1]
                    count = _parts(product)
                    if count > 1:
                        _split(product, count)
                    else:
                        _gather(run)


def _runs(block: ir.Block) -> list[list[GenericOp]]:
    """The ops of a block that go into a forall together."""
    runs: list[list[GenericOp]] = []
    last: GenericOp | None = None
    open_ = False
    for op in [o.operation for o in block.operations]:
        if op.name == "linalg.generic":
            generic = GenericOp(op)
            if roles_of(generic) is not None:
                fills = last is not None and filled_with(last.op) is not None and last.outs == generic.outs
                runs.append([last, generic] if fills and last is not None else [generic])
                open_ = True
            elif open_ := open_ and _joins(runs[-1], generic):
                runs[-1].append(generic)
            last = generic
        elif not is_address(op):
            last, open_ = None, False
    return runs


def _joins(run: list[GenericOp], generic: GenericOp) -> bool:
    """Whether an op computes, of each element of a product, and of nothing else that the run writes."""
    earlier = [op for op in run if filled_with(op.op) is None]
    return follows(generic, earlier, {root(out) for op in [*earlier, generic] for out in op.outs})


def _gather(run: list[GenericOp]) -> None:
    last = run[-1].op
    with ir.InsertionPoint(last), last.location:
        forall = forall_over(1, stays=True)
    for generic in run:
        generic.op.move_before(terminator(forall.regions[0].blocks[0]))


def _parts(product: GenericOp) -> int:
    """In how many parts a sum is worth to be made, at most: as many as fill the device with their tiles."""
    roles = roles_of(product)
    assert roles is not None
    rows, columns, summed = (product.static_extent(loop) for loop in (roles.m, roles.n, roles.k))
    if rows is None or columns is None:
        return 1
    tiles = max(1, rows * columns // DEVICE.contract_rows**2)
    longest = DEVICE.multiprocessors if summed is None else summed // DEVICE.contract_part
    return min(longest, DEVICE.multiprocessors // tiles)


def _split(product: GenericOp, most: int) -> None:
    """Replace a product by a forall that makes parts of its sums, and an op that adds them."""
    (k,), (out,) = product.reductions, product.outs
    with ir.InsertionPoint(product.op), product.op.location:
        summed = product.extent(k)
        count = build.maximum(1, build.minimum(most, build.ceildiv(summed, DEVICE.contract_part)))
        steps = build.ceildiv(summed, DEVICE.contract_step)
        size = build.mul(build.divide(build.add(steps, build.sub(count, 1)), count), DEVICE.contract_step)
        parts = allocated(count, out)
        with inside_forall(count, stays=True) as (forall, number):
            low = build.minimum(build.mul(number, size), summed)
            size = build.minimum(size, build.sub(summed, low))
            target = part(parts, number)
            filled(build.constant(out.type.element_type, 0.0), target)
            for place, x in enumerate(product.inputs):
                along = [loop_of(expr) == k for expr in product.maps[place].results]
                sizes = [size if own else extent(x, dim) for dim, own in enumerate(along)]
                product.op.operands[place] = subview(x, [low if own else 0 for own in along], sizes)
            product.op.operands[RESULT] = target
        combiner = combiner_of(product, 0)
        assert combiner is not None
        combine(combiner, parts, out)
    product.op.move_before(terminator(forall.regions[0].blocks[0]))
