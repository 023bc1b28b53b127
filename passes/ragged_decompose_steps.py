"""`ragged-decompose-steps`: functions of rows along components as loops over steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from ragged_dialect import builders
from ragged_dialect._mlir import arith, ir, tensor
from ragged_dialect.checks import CHECKED
from ragged_dialect.generic import along, generated, without, without_body
from ragged_dialect.ir import build, flow, shapes, vectors
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.clone import ValueMap, clone, inlined
from ragged_dialect.ir.match import body_ops, is_read, terminator, view_of
from ragged_dialect.ir.walk import find_ops, replace
from ragged_dialect.iteration import BACKWARDS
from ragged_dialect.ops.checks import AssertValidOp
from ragged_dialect.ops.steps import StepsOp
from ragged_dialect.passes.analysis.numbers import NoNumbersError, Numbers
from ragged_dialect.passes.analysis.rows import CHECKS, Rows, rows_of
from ragged_dialect.passes.base import PassFailure, RaggedPass
from ragged_dialect.passes.differentiate.values import empty_like, empty_without
from ragged_dialect.passes.differentiate.views import storage_of, without_gaps
from ragged_dialect.traits import has_unit, string_attr
from ragged_dialect.types import shape_of


class RaggedDecomposeSteps(RaggedPass):
    """Replace `ragged.steps` by a loop over steps, each for all components that have one.

    ```mlir
    %before, %after = ragged.steps %x, %start ({ … }) : …
    // becomes, with components from the longest to the shortest, and rows of one step beside each other
    %loop:3 = scf.for %t = %c0 to %longest step %c1 iter_args(%states = %sorted, %b = %e0, %a = %e1) {
      %row = tensor.extract_slice %packed[%first, 0] [%count, 8] [1, 1] …   // %count components are longer than %t
      %state = tensor.extract_slice %states[0, 0] [%count, 8] [1, 1] …
      …
    }
    ```

    Where each state is a number, and a step makes numbers of numbers by arithmetic and lookups, it is one loop along
    each component instead, as `expand-ragged-scans` makes of scans.

    Rows are gathered before the loop, and back behind it, but for what other steps take. With `reverse` the loop begins
    at the ends of the longest components, and others join it at theirs. Results that nobody reads are not made.
    """

    anchor = "any"

    def run(self, op: ir.Operation) -> None:
        """Replace the ops of a module."""
        decompose_steps(op)


def decompose_steps(root: ir.Operation) -> None:
    """Replace the ops inside another one. PassFailure for steps that do not treat rows apart."""
    packed: _Packed = {}
    for op in sorted(find_ops(root, StepsOp.OPERATION_NAME), key=_depth, reverse=True):  # those inside others first
        if CHECKED not in op.attributes:
            _check(view_of(op, StepsOp).block)
        with ir.InsertionPoint(op), op.location:
            made = _along_components(op)
            made = _decomposed(op, packed) if made is None else made
        replace(op, *made)


def _depth(op: ir.Operation) -> int:
    """How many steps an op is inside of."""
    around = op.parent
    return 0 if around is None else _depth(around.operation) + (around.name == StepsOp.OPERATION_NAME)


def _check(block: ir.Block) -> None:
    """PassFailure for steps that do not treat rows apart from each other, or yield none."""
    rows, end = rows_of(block), terminator(block)
    if any(rows.dim(x) != 0 for x in end.operands):
        raise PassFailure(end, "expected steps that yield rows, got values that have none")


def _along_components(op: ir.Operation) -> list[ir.Value | None] | None:
    """What takes the place of results, made number by number along each component; None for steps that are not made so,
    or where nothing has an element for each."""
    steps = view_of(op, StepsOp)
    kept = [k for k, result in enumerate([*steps.before, *steps.rows]) if is_read(result)]
    numbers = [*(x.type.shape for x in steps.states), *(op.results[k].type.shape[1:] for k in kept)]
    if any(len(shape) > 1 for shape in numbers) or not (kept or any(len(x.type.shape) == 2 for x in steps.elements)):
        return None
    try:
        return _numbered(steps, kept, rows_of(steps.block, strict=False))
    except NoNumbersError:
        return None


def _numbered(steps: StepsOp, kept: list[int], rows: Rows) -> list[ir.Value | None]:
    """The same. Checks that are alike in each step come before the loop, those of places behind it: what they refuse is
    read at other places until then. A component whose steps have done so has no places of its own from there on.
    NoNumbersError."""
    before, after = _checks(steps.block, rows)
    numbers = Numbers(steps.operation, rows, checked=bool(after))
    repeated: list[tuple[ir.Operation, ValueMap]] = [(op, {x: numbers.number(x) for x in op.operands}) for op in before]
    bounds = [[numbers.number(x) for x in op.operands[1:]] for op in after]
    elements, states, block = [without_gaps(x) for x in steps.elements], list(steps.states), steps.block
    count = len(states)
    states += [_all_true(shapes.dims(states[0]))] if after and states else []  # else no step follows from another
    flat = [k for k, x in enumerate(elements) if len(x.type.shape) == 2]
    looked = [op.operands[0] for op in after]
    features = frozenset(range(2, len(elements[0].type.shape)))
    types = [*(steps.operation.results[k].type for k in kept), *(x.type for x in looked)]
    ins, outs = [elements[k] for k in flat], [empty_without(elements[0], features, t.element_type) for t in types]
    whole, start = ir.AffineMap.get_identity(2), without(2, 1)

    maps = [*(whole for _ in ins), *(start for _ in states), *(whole for _ in outs)]
    loop = without_body(ins, [*states, *outs], maps, along(2, 1))
    given = list(loop.regions[0].blocks.append(*(x.type.element_type for x in (*ins, *states, *outs))).arguments)
    carried, own = given[len(ins) : len(ins) + len(states)], dict(zip(flat, given, strict=False))
    numbers.give((x, own.get(k, elements[k])) for k, x in enumerate(block.arguments[: len(elements)]))
    numbers.give(zip(block.arguments[len(elements) :], carried, strict=False))
    try:
        with ir.InsertionPoint(loop.regions[0].blocks[0]):
            made = list(map(numbers.element, steps.yielded))
            per_step, fine = [*carried[:count], *made[count:]], carried[count:]
            places = list(map(numbers.element, looked))
            if fine:
                places = [arith.select(*fine, x, build.constant(x.type, 0)) for x in places]
            if numbers.are_inside is not None:
                fine = [arith.andi(x, numbers.are_inside) for x in fine]
            made = [*made[:count], *fine, *(per_step[k] for k in kept), *places]
            ir.Operation.create("linalg.yield", operands=made)
    except NoNumbersError:
        loop.erase()
        raise
    with ir.InsertionPoint(loop):
        _repeated(repeated, builders.max_length(elements[0], 1))
    if has_unit(steps.operation, "reverse"):
        loop.attributes[BACKWARDS] = ir.IntegerAttr.get(build.i64(), 1)
    ends, made = list(loop.results)[:count], list(loop.results)[len(states) :]
    for op, places, others in zip(after, made[len(kept) :], bounds, strict=True):
        clone(op, dict(zip(op.operands, [builders.values(places), *others], strict=True)))
    found: list[ir.Value | None] = [None] * len(steps.yielded)
    for k, x in zip(kept, made, strict=False):
        found[k] = shapes.cast(x, steps.operation.results[k].type)
    return [*found, *ends]


def _all_true(sizes: Sequence[Mixed]) -> ir.Value:
    i1 = ir.IntegerType.get_signless(1)
    return shapes.fill(build.constant(i1, 1), shapes.empty(sizes, i1))


def _checks(block: ir.Block, rows: Rows) -> tuple[list[ir.Operation], list[ir.Operation]]:
    """The checks of steps that are alike in each, and those of a place for each row. NoNumbersError for others."""
    before, after = list[ir.Operation](), list[ir.Operation]()
    for op in (x for x in body_ops(block) if x.name in CHECKS):
        first, *others = op.operands
        if all(rows.is_count(x) for x in op.operands):  # how many rows there are
            continue
        if any(rows.is_count(x) or rows.dim(x) is not None for x in others) or rows.is_count(first):
            raise NoNumbersError
        if rows.dim(first) is None:
            before.append(op)
        elif op.name == AssertValidOp.OPERATION_NAME and string_attr(op, "kind") in ("index", "position"):
            after.append(op)
        else:
            raise NoNumbersError
    return before, after


def _repeated(checks: Sequence[tuple[ir.Operation, ValueMap]], steps: ir.Value) -> None:
    """Checks of what is alike in each step, where there is one."""

    def body(step: ir.Value, carried: list[ir.Value]) -> None:
        for op, known in checks:
            clone(op, known)

    if checks:
        flow.for_loop(build.minimum(steps, 1), [], body)


class _Packing:
    """Rows by their place in components: those of one place follow one another, from the longest component to the
    shortest."""

    def __init__(self, x: ir.Value) -> None:
        self.block = ir.InsertionPoint.current.block
        self._like, self._offsets = x, builders.offsets(x, 1)
        lengths, self.longest = builders.lengths(x, 1), builders.max_length(x, 1)
        batch = shapes.dim(lengths, 0)
        shorter = vectors.generate(batch, lambda b: build.sub(self.longest, shapes.load(lengths, b)))
        groups = builders.group_by(shorter, build.value(build.add(self.longest, 1)))
        self._order, ends = builders.values(groups), builders.offsets(groups, 1)
        self._place = builders.values(builders.group_by(self._order, build.value(batch)))
        # Looked up once for each component: of each row that is two loads in place of one, which are not vectors.
        self._starts = vectors.generate(batch, lambda j: shapes.load(self._offsets, shapes.load(self._order, j)))
        self.firsts = vectors.running(
            self.longest, lambda t: build.to_i64(shapes.load(ends, build.sub(self.longest, t)))
        )

    def packed(self, x: ir.Value) -> ir.Value:
        """The rows of a ragged value by their places."""
        storage = storage_of(x)
        features = shapes.dims(storage)[1:]
        layout = shape_of(without_gaps(x).type).layout
        out = shapes.empty([vectors.last(self.firsts), *features], x.type.element_type)
        like = builders.assemble([out, self.firsts], layout, (None, None, *shapes.static(features)))

        def row(indices: list[ir.Value]) -> list[Mixed]:
            return [build.add(shapes.load(self._starts, indices[1]), indices[0]), *indices[2:]]

        return builders.values(_gathered(storage, like, row))

    def sorted(self, state: ir.Value) -> ir.Value:
        """The rows of a dense value from the longest component to the shortest."""
        return _gathered(state, empty_like(state), lambda at: [shapes.load(self._order, at[0]), *at[1:]])

    def resorted(self, state: ir.Value) -> ir.Value:
        """The rows of such a value in the order of the components."""
        return _gathered(state, empty_like(state), lambda at: [shapes.load(self._place, at[0]), *at[1:]])

    def unpacked(self, rows: ir.Value, type_: ir.RankedTensorType) -> ir.Value:
        """A ragged value of rows by their places."""
        own = frozenset(range(2, len(self._like.type.shape)))
        out = empty_without(self._like, own, type_.element_type, shapes.dims(rows)[1:])

        def row(indices: list[ir.Value]) -> list[Mixed]:
            first = shapes.load(self.firsts, indices[1])
            return [build.add(first, shapes.load(self._place, indices[0])), *indices[2:]]

        return shapes.cast(_gathered(rows, out, row), type_)


_Packed: TypeAlias = "dict[ir.Value, tuple[_Packing, ir.Value]]"
"""Values that were made of rows by their places, and these: other steps take them as they are."""


def _gathered(x: ir.Value, out: ir.Value, row: Callable[[list[ir.Value]], list[Mixed]]) -> ir.Value:
    """For each element of a value one of a dense tensor."""
    return generated(out, lambda indices: tensor.extract(x, list(map(build.value, row(indices))))).result


def _decomposed(op: ir.Operation, packed: _Packed) -> list[ir.Value | None]:
    """What takes the place of results, None for those that nobody reads."""
    steps = view_of(op, StepsOp)
    known = {x: packed[x] for x in steps.elements if x in packed and packed[x][0].block == op.block}
    packing = next(iter(known.values()))[0] if known else _Packing(without_gaps(steps.elements[0]))
    elements = [known[x][1] if x in known and known[x][0] is packing else packing.packed(x) for x in steps.elements]
    states = [packing.sorted(x) for x in steps.states]
    kept = [k for k, result in enumerate([*steps.before, *steps.rows]) if list(result.uses)]
    sizes = _sizes(steps, elements, states)
    total = vectors.last(packing.firsts)
    outs = [shapes.empty([total, *sizes[k]], op.results[k].type.element_type) for k in kept]

    def body(step: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
        place = build.sub(build.sub(packing.longest, 1), step) if has_unit(op, "reverse") else step
        first = shapes.load(packing.firsts, place)
        count = build.sub(shapes.load(packing.firsts, build.add(place, 1)), first)
        before = [_rows(x, 0, count) for x in carried[: len(states)]]
        made = inlined(steps.block, [*(_rows(x, first, count) for x in elements), *before])
        for x in made:
            builders.assert_valid([build.value(shapes.dim(x, 0)), build.value(count)], "equal", op.name, 0)
        per_step = [*before, *made[len(states) :]]
        after = [_put(new, x, 0, count) for new, x in zip(made, carried[: len(states)], strict=False)]
        return [
            *after,
            *(_put(per_step[k], x, first, count) for k, x in zip(kept, carried[len(states) :], strict=True)),
        ]

    made = flow.for_loop(packing.longest, [*states, *outs], body)
    found: list[ir.Value | None] = [None] * len(op.results)
    for k, x in zip(kept, made[len(states) :], strict=True):
        whole = found[k] = packing.unpacked(x, op.results[k].type)
        packed[whole] = packing, x
    ends = [packing.resorted(x) for x in made[: len(states)]]
    return [*found[: len(found) - len(ends)], *ends]


def _sizes(steps: StepsOp, elements: Sequence[ir.Value], states: Sequence[ir.Value]) -> list[list[Mixed]]:
    """The extents of the rows of each result, of dynamic ones as the function makes them of no rows."""
    types = [r.type for r in (*steps.before, *steps.rows)]
    if all(size >= 0 for type_ in types for size in type_.shape[2:]):
        return [list(type_.shape[2:]) for type_ in types]
    none = build.value(0)
    before = [_rows(x, 0, none) for x in states]
    made = inlined(steps.block, [*(_rows(x, 0, none) for x in elements), *before])
    return [shapes.dims(x)[1:] for x in (*before, *made[len(states) :])]


def _rows(x: ir.Value, first: Mixed, count: Mixed) -> ir.Value:
    sizes = shapes.dims(x)[1:]
    return shapes.extract_slice(x, [first, *(0 for _ in sizes)], [count, *sizes], [True] * (1 + len(sizes)))


def _put(rows: ir.Value, into: ir.Value, first: Mixed, count: Mixed) -> ir.Value:
    sizes = shapes.dims(rows)[1:]
    return shapes.insert_slice(rows, into, [first, *(0 for _ in sizes)], [count, *sizes])
