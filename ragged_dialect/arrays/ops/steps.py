"""Functions of users that go along components, step by step, with states: they become the region of one op.

A function is traced with rows that stand for those of a step. What it makes of these moves into the op; what it makes
of anything else is computed once, before it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

from ragged_dialect import builders
from ragged_dialect._mlir import ir
from ragged_dialect.arrays.core.arguments import flag
from ragged_dialect.arrays.core.storage import ArrayLike
from ragged_dialect.arrays.core.tree import Static, Tree, flatten, leaf_places, unflatten
from ragged_dialect.arrays.ops.elementwise import astype, resolve, where
from ragged_dialect.arrays.tracing.agreement import batch_extent, same_kind
from ragged_dialect.arrays.tracing.axes import PlainAxis, batch_axis
from ragged_dialect.arrays.tracing.building import as_tensor
from ragged_dialect.arrays.tracing.elements import BOOL, INT64
from ragged_dialect.arrays.tracing.jit import JitFunction
from ragged_dialect.arrays.tracing.operation import OPERATIONS
from ragged_dialect.arrays.tracing.regions import Region
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.trace import Trace, element_type, traced
from ragged_dialect.arrays.tracing.wrap import contiguous, in_components, out_of_components
from ragged_dialect.errors import ArgumentError, LayoutError, kind_of
from ragged_dialect.ir import shapes
from ragged_dialect.ir.match import terminator
from ragged_dialect.narrowing import is_tuple
from ragged_dialect.ops.steps import row_type
from ragged_dialect.passes.analysis.rows import rows_of
from ragged_dialect.passes.base import PassFailure

Step = Callable[[ArrayLike, ArrayLike], "tuple[ArrayLike, ArrayLike]"]
"""Makes the next carry, and rows that are results, of a carry and rows of elements."""


def scan(function: Step, init: ArrayLike, xs: ArrayLike, *, reverse: bool = False) -> tuple[ArrayLike, ArrayLike]:
    """`carry, y = function(carry, x)` for the elements along dim 1 of each component, one after the other, from the
    last one on with `reverse`; the carry of each component in the end, and the results y with the lengths of `xs`. That
    is `jax.lax.scan` of each component: recurrent networks, filters, dynamic programs.

    `xs` are arrays of [B, L, ...], ragged ones of one structure or dense ones, alone or in tuples, lists and dicts;
    `init` are arrays of [B, ...], of [1, ...] for all components or numbers, in the dtype that NumPy gives them beside
    the elements. The function works on all components that have an element there at once: `x` is [n, ...] and the carry
    [n, ...], with one row for each, in an order of its own, so that `carry @ w` is a product. It treats rows apart from
    each other, gives a carry of the same dtypes and shapes, and rows y, or None. The carry of an empty component is
    `init`. There are gradients by all that is read; they read the carries, which are kept. Calls outside of `rg.jit`
    compile it once for a function, which is called once then: define it outside of loops, and pass arrays that change
    in `init`.

    ```python
    def step(h, x):
        h = np.tanh(x + h @ w)
        return h, h

    last, states = rg.scan(step, np.zeros((len(x), 16), np.float32), x)
    ```

    ArgumentError for anything but such a function, or for one that gives another carry; LayoutError for elements of
    other layouts; RuntimeCheckError for lengths and extents that differ."""
    if not callable(function):
        raise ArgumentError(f"scan: expected a function, got {type(function).__name__}")
    trace, backwards = traced(), flag("scan", "reverse", reverse)
    if trace is None:
        return _compiled(Static.of_function("scan", function), backwards)(init, xs)
    with trace.changed(op="scan"):
        return _Steps(trace, init, xs).made(function, backwards)


@lru_cache(maxsize=256)
def _compiled(function: Static, reverse: bool) -> JitFunction:
    """A program for a function."""
    step: Step = function.value  # pyright: ignore[reportAssignmentType]

    def program(init: ArrayLike, xs: ArrayLike) -> tuple[ArrayLike, ArrayLike]:
        return scan(step, init, xs, reverse=reverse)

    program.__name__ = "scan"
    return JitFunction(program, (), None, None)


class _Steps:
    """Elements and states, and what stands for rows of theirs."""

    def __init__(self, trace: Trace, init: ArrayLike, xs: ArrayLike) -> None:
        self._trace = trace
        elements, self._tree = flatten(xs)
        if not elements:
            raise ArgumentError("scan: expected arrays as xs, got none")
        given = [as_tensor(trace, x) for x in elements]
        self._dense = given[0] if all(x.is_dense for x in given) else None
        self._elements = [self._element(x) for x in given]
        first = self._elements[0]
        self._axis = first.nested_axis()
        for x in self._elements[1:]:
            trace.conform(self._axis, x.nested_axis())
        states, self._state_tree = flatten(init, computed=True)
        self._states = [self._state(as_tensor(trace, x), first) for x in states]
        self._region = Region(trace, "rows")
        self._given = [self._rows(x) for x in (*self._elements, *self._states)]

    def _element(self, x: Tensor) -> Tensor:
        x = in_components(x) if x.is_dense and x.ndim > 1 else contiguous(x)
        if x.layout.axes[:1] != ("dr",) or set(x.layout.axes[1:]) - {"d"}:
            raise LayoutError(f'scan: expected xs of layout "dr" or "dr|d", got "{x.layout}"')
        return x

    def _state(self, x: Tensor, first: Tensor) -> Tensor:
        batch = Tensor(self._trace, builders.lengths(first.value, 1), INT64, (batch_axis(self._axis, 0),))
        if not x.axes:
            dtype = resolve("add", [x, first])[1][0] if x.weak else x.dtype
            return where(self._trace.constant(True, BOOL), astype(x, dtype=dtype), astype(batch, dtype=dtype))
        if not x.is_dense:
            raise LayoutError(f'scan: expected a dense init, got layout "{x.layout}"')
        if x.static_shape[0] == 1:
            return OPERATIONS["take"](x, OPERATIONS["multiply"](batch, 0), axis=0)
        batch_extent((x, 0), (first, 0), 0)
        return x

    def _rows(self, x: Tensor) -> Tensor:
        """What stands for rows of elements or of a state."""
        made = self._region.stand_in(x.value, row_type(x.value.type))
        return Tensor(self._trace, made, x.dtype, (PlainAxis(None), *x.axes[1:]))

    def made(self, function: Step, reverse: bool) -> tuple[ArrayLike, ArrayLike]:
        """The carry in the end, and the results."""
        after, rows, tree = self._called(function)
        trace, region, names = self._trace, self._region, dict[ir.Value, str]()
        region.close()

        def body(elements: list[ir.Value], states: list[ir.Value]) -> tuple[list[ir.Value], list[ir.Value]]:
            made = region.filled((*elements, *states), [x.value for x in (*after.values(), *rows.values())])
            names.update(zip(made, (*after, *rows), strict=True))
            return made[: len(after)], made[len(after) :]

        found = self._steps(body, reverse)
        _check_rows(found.op, names)
        trace.ending.append(lambda: region.end(found.op))
        ends = [Tensor(trace, v, x.dtype, x.axes) for v, x in zip(found.end, self._states, strict=True)]
        axis, by_row = self._axis, zip(found.rows, rows.values(), strict=True)
        results = [Tensor(trace, v, x.dtype, (axis, *x.axes[1:])) for v, x in by_row]
        if self._dense is not None:
            results = [out_of_components(y, self._dense) for y in results]
        return unflatten(self._state_tree, ends), unflatten(tree, results)

    def _steps(self, body: builders.Step, reverse: bool) -> builders.Steps:
        try:
            return builders.steps([x.value for x in self._elements], [x.value for x in self._states], body, reverse)
        except LayoutError as error:
            raise ArgumentError(f"scan: {error} (concatenate some of those that have one dtype)") from None

    def _called(self, function: Step) -> tuple[dict[str, Tensor], dict[str, Tensor], Tree]:
        """The next states and the rows that a function makes, by their names in errors."""
        trace, count = self._trace, len(self._elements)
        elements, states = self._given[:count], self._given[count:]
        given = unflatten(self._state_tree, states), unflatten(self._tree, elements)
        with trace.changed(rows_apart=True):
            found: object = self._region.called(lambda: function(*given))
        if not is_tuple(found) or len(found) != 2:
            raise ArgumentError(f"scan: expected a carry and rows from the function, got {kind_of(found)}")
        after, tree = flatten(found[0], computed=True)
        if tree != self._state_tree:
            raise ArgumentError("scan: expected a carry of the containers of init from the function, got others")
        named = zip(leaf_places(tree), after, states, strict=True)
        carry = {f"carry{at}": self._next(as_tensor(trace, x), old, f"carry{at}") for at, x, old in named}
        rows, tree = flatten(found[1], computed=True)
        names = [f"y{place}" for place in leaf_places(tree)]
        return carry, {name: self._row(as_tensor(trace, x), name) for x, name in zip(rows, names, strict=True)}, tree

    def _next(self, x: Tensor, old: Tensor, name: str) -> Tensor:
        """A state as the one before it."""
        if not x.axes:
            x = where(self._trace.constant(True, BOOL), x, old)
            x = astype(x, dtype=old.dtype) if x.dtype != old.dtype and x.weak else x
        same_kind(x, old, name)
        if any(
            a is not None and b is not None and a != b for a, b in zip(x.static_shape, old.static_shape, strict=True)
        ):
            raise ArgumentError(f"scan: expected a {name} of shape {_text(old)}, got {_text(x)}")
        return Tensor(self._trace, shapes.cast(x.value, old.value.type), x.dtype, old.axes)

    def _row(self, x: Tensor, name: str) -> Tensor:
        """Rows that are results; of a number one for each."""
        if not x.axes:
            dtype = element_type(x.dtype)
            nothing = shapes.empty([shapes.dim(self._given[0].value, 0)], dtype)
            rows = Tensor(self._trace, nothing, x.dtype, (PlainAxis(None),))
            x = where(self._trace.constant(True, BOOL), x, rows)
        if not x.is_dense:
            raise ArgumentError(f"scan: expected rows as {name}, got {x.described}")
        if x.static_shape[0] is not None:
            raise _same_for_all(name)
        return x


def _check_rows(op: ir.Operation, names: Mapping[ir.Value, str]) -> None:
    """ArgumentError for a function that does not treat rows apart, or gives none."""
    block = op.regions[0].blocks[0]
    try:
        rows = rows_of(block)
    except PassFailure as failure:
        hint = "what there is of each component goes into init or xs; w[0], not w[:1], is one row for all; "
        hint += "np.take_along_axis(x, i[:, None], 1) takes one element of each row"
        raise ArgumentError(f"scan: {failure} ({hint})") from None
    for x in terminator(block).operands:
        if rows.dim(x) != 0:
            raise _same_for_all(names[x])


def _same_for_all(name: str) -> ArgumentError:
    return ArgumentError(f"scan: expected rows as {name}, got the same for all (np.zeros_like(x) has rows)")


def _text(x: Tensor) -> str:
    return f"({', '.join('n' if not k else str(e or '?') for k, e in enumerate(x.static_shape))})"
