"""A function of rows along components, whose states go from step to step, as one op: its derivative reads the states
that a loop would have to store."""

from collections.abc import Sequence

from ragged_dialect._mlir import ir
from ragged_dialect.checking.checker import Checker, Q
from ragged_dialect.errors import LayoutError
from ragged_dialect.layout import Layout
from ragged_dialect.ops.base import Divides, MixedOp, Pure, Region, Results
from ragged_dialect.ops.regions import ended, listed
from ragged_dialect.segments import GROUPS
from ragged_dialect.shape import RaggedShape
from ragged_dialect.traits import check_type, has_unit, tensor_shape
from ragged_dialect.types import dense_type, is_ragged, shape_of, tensor_type


def row_type(type_: ir.RankedTensorType) -> ir.RankedTensorType:
    """The type of rows of a ragged operand or a state."""
    shape = shape_of(type_)
    return dense_type((None, *shape.shape[1 if shape.layout.is_dense else 2 :]), type_.element_type)


def per_step(like: ir.RankedTensorType, rows: ir.Type) -> ir.RankedTensorType:
    """The type of a result that has such rows, with the structure of a ragged operand. LayoutError for no rows."""
    if not isinstance(rows, ir.RankedTensorType) or rows.encoding is not None or not rows.rank or rows.shape[0] >= 0:
        raise LayoutError(f"expected steps that yield dense rows of any number, got {rows}")
    shape, features = shape_of(like), shape_of(rows).shape[1:]
    layout = Layout.of_axes(["dr", *("d" for _ in features)])
    return tensor_type(RaggedShape(layout, (*shape.shape[:2], *features)), rows.element_type)


def result_types(
    like: ir.RankedTensorType, states: Sequence[ir.RankedTensorType], yielded: Sequence[ir.Type]
) -> list[ir.RankedTensorType]:
    """The types of results: what is there per step, with the structure of a ragged operand, and the states in the
    end. LayoutError."""
    return [*(per_step(like, type_) for type_ in yielded), *states]


class StepsOp(MixedOp, name="steps", traits=[Pure]):
    """A function of rows, step by step along the components of dim 1, whose states go from each step to the next one.

    The operands are ragged values of one structure, [batch, steps, ...], and dense states, [batch, ...]. The region
    takes of each the rows of all components that have a step, in any order, and yields their next states, and then rows
    that are results. It treats rows apart from each other, as it may get any of them at once. The results are the
    states before each step and those rows, with the structure of the operands, and the states in the end. With
    `reverse` the last step is the first one. Recurrent networks and dynamic programs along sequences are such;
    `ragged.recurrence` is a linear one.

    ```mlir
    %before, %after, %end = ragged.steps %x, %start ({
    ^bb0(%row: tensor<?x8xf32>, %state: tensor<?x8xf32>):
      %sum = arith.addf %row, %state : tensor<?x8xf32>
      %next = math.tanh %sum : tensor<?x8xf32>
      ragged.yield %next, %next : (tensor<?x8xf32>, tensor<?x8xf32>) -> ()
    }) : (tensor<3x?x8xf32, #ragged.layout<"dr|d">>, tensor<3x8xf32>)
      -> (tensor<3x?x8xf32, #ragged.layout<"dr|d">>, tensor<3x?x8xf32, #ragged.layout<"dr|d">>, tensor<3x8xf32>)
    ```
    """

    __annotations__ = {**{f"r{number}": Results for number in range(GROUPS)}, "body": Region}
    optional = ("reverse",)
    reduces = True

    @property
    def elements(self) -> list[ir.Value]:
        """The ragged operands."""
        return [x for x in self.operation.operands if is_ragged(x.type)]

    @property
    def states(self) -> list[ir.Value]:
        """What each component starts from."""
        return list(self.operation.operands)[len(self.elements) :]

    @property
    def block(self) -> ir.Block:
        """What is done to rows."""
        return self.operation.regions[0].blocks[0]

    @property
    def before(self) -> list[ir.Value]:
        """The states before each step."""
        return list(self.operation.results)[: len(self.states)]

    @property
    def rows(self) -> list[ir.Value]:
        """What is there per step besides."""
        return list(self.operation.results)[len(self.states) : -len(self.states) or None]

    @property
    def end(self) -> list[ir.Value]:
        """The states in the end."""
        return list(self.operation.results)[len(self.yielded) :]

    @property
    def yielded(self) -> list[ir.Value]:
        """The next states, and the rows that are results."""
        return list(ended(self.block, "a function of steps")[-1].operands)

    def verify_invariants(self) -> None:
        for x in self.operation.operands:
            if not isinstance(x.type, ir.RankedTensorType):
                raise LayoutError(f"expected tensors, got {x.type}")
        shapes = [tensor_shape(x) for x in self.operation.operands]
        ragged = [shape for shape in shapes if not shape.layout.is_dense]
        if not ragged:
            raise LayoutError("expected ragged operands, and then states, got no ragged one")
        dense, _ = shapes[len(ragged) :], has_unit(self, "reverse")
        for shape in ragged:
            if shape.layout.axes[0] != "dr" or set(shape.layout.axes[1:]) - {"d"}:
                raise LayoutError(f'expected ragged operands of layout "dr" or "dr|d", got "{shape.layout}"')
        for shape in dense:
            if not shape.layout.is_dense or not shape.rank:
                wanted = "expected ragged operands, and then dense states of rank 1 or more"
                raise LayoutError(f'{wanted}, got layout "{shape.layout}"')
        batch = {extent for shape in shapes if (extent := shape.shape[0]) is not None}
        if len(batch) > 1:
            raise LayoutError(f"expected operands of one batch extent, got {' and '.join(map(str, sorted(batch)))}")
        self._verify_body([row_type(x.type) for x in self.operation.operands], len(ragged), len(dense))

    def _verify_body(self, rows: Sequence[ir.Type], elements: int, states: int) -> None:
        blocks = list(self.operation.regions[0].blocks)
        if len(blocks) != 1:
            raise LayoutError(f"expected steps of one block, got {len(blocks)}")
        found = [x.type for x in self.block.arguments]
        if found != rows:
            raise LayoutError(f"expected steps of ({listed(rows)}), got ({listed(found)})")
        yielded = [x.type for x in self.yielded]
        if yielded[:states] != rows[elements:]:
            raise LayoutError(f"expected steps that yield ({listed(rows[elements:])}) first, got ({listed(yielded)})")
        wanted = result_types(self.operation.operands[0].type, [x.type for x in self.states], yielded)
        results = list(self.operation.results)
        if len(results) != len(wanted):
            raise LayoutError(f"expected {len(wanted)} results, got {len(results)}")
        for result, type_ in zip(results, wanted, strict=True):
            check_type(result.type, shape_of(type_), type_.element_type, "result")

    def divisors(self, known: Divides) -> tuple[int, ...]:
        rank = tensor_shape(self.operation.results[0]).rank
        return (*known.of(self.operation.operands[0])[:2], *[1] * (rank - 2))

    def level_above(self, level: int) -> int | None:
        return level if level < 2 else None

    def checks(self, ask: Checker[Q]) -> None:
        first, *others = self.elements
        for x in others:
            ask.equal(0, ask.extent(x, 0), ask.extent(first, 0))
            ask.conform(first, x, [(0, 0), (1, 1)])
        for x in self.states:
            ask.equal(0, ask.extent(x, 0), ask.extent(first, 0))
