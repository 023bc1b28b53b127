"""Loops whose bodies are functions of users: what they carry has one structure all along."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from ragged_dialect._mlir import arith, ir
from ragged_dialect.arrays.core.storage import ArrayLike
from ragged_dialect.arrays.core.tree import Static, Tree, flatten, leaf_places, unflatten
from ragged_dialect.arrays.ops.elementwise import resolve, where
from ragged_dialect.arrays.tracing.agreement import equal_structures, same_kind
from ragged_dialect.arrays.tracing.building import as_tensor
from ragged_dialect.arrays.tracing.elements import BOOL, INT64, convert
from ragged_dialect.arrays.tracing.jit import JitFunction
from ragged_dialect.arrays.tracing.regions import Region
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.trace import Trace, traced
from ragged_dialect.arrays.tracing.wrap import contiguous
from ragged_dialect.errors import ArgumentError, kind_of
from ragged_dialect.ir import build, flow, shapes
from ragged_dialect.ir.match import definer

Condition = Callable[[ArrayLike], ArrayLike]
"""Whether the body runs, given what is carried."""

Body = Callable[[ArrayLike], ArrayLike]
"""What is carried next, given what is."""

CountedBody = Callable[[ArrayLike, ArrayLike], ArrayLike]
"""What is carried next, given the number of the iteration and what is."""


def while_loop(condition: Condition, body: Body, init: ArrayLike) -> ArrayLike:
    """`carry = init`, and `carry = body(carry)` as long as `condition(carry)`: what is carried in the end. That is
    `jax.lax.while_loop`: iterations until nothing changes any more, in one program.

    `init` are ragged arrays, dense ones and numbers, alone or in tuples, lists and dicts; `body` gives arrays of the
    same dtypes, extents and lengths, in the same containers. A number of `init` gets the dtype that `body` gives it,
    as a number does beside an array. `condition` gives a bool, such as `(x > 0).any()`. What the two compute of arrays
    that they hold on to, and not of what is carried, is computed once, before the loop. There are no gradients
    (`rg.fori_loop` has them). Calls outside of `rg.jit` compile the loop once for two functions, which are called
    then: define them outside of loops, and pass arrays that change in `init`.

    ```python
    def body(carry):  # the smallest label that a node can be reached from
        labels, _ = carry
        after = np.minimum(labels, rg.take(labels, neighbours).min(axis=1, initial=len(labels)))
        return after, (after != labels).any()

    labels, _ = rg.while_loop(lambda carry: carry[1], body, (np.arange(len(neighbours)), True))
    ```

    ArgumentError for anything but such functions, or for ones that give something else; RuntimeCheckError for lengths
    and extents that differ."""
    trace = _entered("while_loop", body, condition)
    if trace is None:
        functions = Static.of_function("while_loop", condition), Static.of_function("while_loop", body)
        return _compiled(while_loop, *functions)(init)
    with trace.changed(op="while_loop"):
        return _Carried(trace, init).repeated(condition, body)


def fori_loop(lower: ArrayLike, upper: ArrayLike, body: CountedBody, init: ArrayLike) -> ArrayLike:
    """`carry = init`, and `carry = body(i, carry)` for i from `lower` to `upper - 1`: what is carried in the end. That
    is `jax.lax.fori_loop`: a program whose size does not depend on the number of iterations.

    The bounds are integers, traced ones too; i is an int64 number. `init`, and what `body` gives, are as in
    `rg.while_loop`. There are gradients by `init` and all that is read; for them what is carried into each iteration is
    kept.

    ```python
    def body(i, x):  # smoothing, inside components
        return (x + np.roll(x, 1, axis=1) + np.roll(x, -1, axis=1)) / 3

    smooth = rg.fori_loop(0, 10, body, x)
    ```

    Errors as of `rg.while_loop`; ArgumentError for bounds that are no integers."""
    trace = _entered("fori_loop", body)
    if trace is None:
        return _compiled(fori_loop, Static.of_function("fori_loop", body))(lower, upper, init)
    with trace.changed(op="fori_loop"):
        low, high = _bound(as_tensor(trace, lower), "lower"), _bound(as_tensor(trace, upper), "upper")
        return _Carried(trace, init).counted(low, high, body)


def _entered(op: str, *functions: object) -> Trace | None:
    """What is traced. ArgumentError for what is no function."""
    for function in functions:
        if not callable(function):
            raise ArgumentError(f"{op}: expected a function, got {kind_of(function)}")
    return traced()


@lru_cache(maxsize=256)
def _compiled(loop: Callable[..., ArrayLike], *functions: Static) -> JitFunction:
    """A program of a loop of some functions."""

    def of_init(init: ArrayLike) -> ArrayLike:
        return loop(*(function.value for function in functions), init)

    def of_bounds(lower: ArrayLike, upper: ArrayLike, init: ArrayLike) -> ArrayLike:
        return loop(lower, upper, *(function.value for function in functions), init)

    program = of_bounds if loop is fori_loop else of_init
    program.__name__ = loop.__name__
    return JitFunction(program, (), None, None)


def _bound(x: Tensor, name: str) -> ir.Value:
    if x.axes or x.dtype.kind not in "iu":
        raise ArgumentError(f"{x.trace.op}: expected an integer as {name}, got {x.described}")
    return build.to_index(x.scalar)


class _Carried:
    """What a loop carries: dense storage, and numbers. The structures stay outside, they are the same all along."""

    def __init__(self, trace: Trace, init: ArrayLike) -> None:
        self._trace = trace
        leaves, self._tree = flatten(init, computed=True)
        if not leaves:
            raise ArgumentError(f"{trace.op}: expected arrays or numbers as init, got none")
        self._inits = [contiguous(as_tensor(trace, x)) for x in leaves]

    def repeated(self, condition: Condition, body: Body) -> ArrayLike:
        """`scf.while` of two functions."""
        inside, after = self._traced(lambda _, carry: body(carry))
        before, _, carry = self._region()
        found = as_tensor(self._trace, before.called(lambda: condition(carry)))
        if found.axes or found.dtype.kind != "b":
            raise ArgumentError(f"{self._trace.op}: expected a bool of the condition, got {found.described}")
        holds = found.scalar
        before.close()
        made = flow.repeat(
            [_stored(x) for x in self._inits],
            lambda state: before.filled([self._nothing, *state], [holds])[0],
            lambda state: inside.filled([self._nothing, *state], after),
        )
        return self._results(made, before, inside)

    def counted(self, low: ir.Value, high: ir.Value, body: CountedBody) -> ArrayLike:
        """`scf.for` of a function."""
        inside, after = self._traced(body)

        def step(number: ir.Value, state: list[ir.Value]) -> list[ir.Value]:
            return inside.filled([build.to_i64(build.add(low, number)), *state], after)

        # From 0 on, as the difference of bounds that are far from each other does not fit 64 bits.
        count = arith.select(build.at_least(low, high), build.value(0), arith.subi(high, low))
        return self._results(flow.for_loop(count, [_stored(x) for x in self._inits], step), inside)

    @property
    def _nothing(self) -> ir.Value:
        """The number of an iteration that nobody reads."""
        return build.constant(build.i64(), 0)

    def _traced(self, body: CountedBody) -> tuple[Region, list[ir.Value]]:
        """The region of a body, and what it yields. Numbers get the dtypes that it gives them: it is traced again."""
        trace = self._trace
        while True:
            region, number, carry = self._region()
            found: object = region.called(lambda number=number, carry=carry: body(number, carry))
            leaves, tree = flatten(found, computed=True)
            if tree != self._tree:
                wanted, got = _parts(self._tree), _parts(tree)
                raise ArgumentError(f"{trace.op}: expected a carry of the containers of init, {wanted}, got {got}")
            made = [as_tensor(trace, x) for x in leaves]
            wider = [_promoted(old, x) for old, x in zip(self._inits, made, strict=True)]
            if all(a is b for a, b in zip(wider, self._inits, strict=True)):
                named = zip(made, self._inits, leaf_places(tree), strict=True)
                values = [self._next(x, old, f"carry{at}") for x, old, at in named]
                region.close()
                return region, values
            region.drop()
            self._inits = wider

    def _region(self) -> tuple[Region, Tensor, ArrayLike]:
        """A region, and what stands for the number of an iteration and for what is carried into it."""
        region = Region(self._trace, "the carry")
        number = Tensor(self._trace, region.stand_in(self._nothing), INT64, (), weak=True)
        carry = [self._restored(region.stand_in(_stored(x)), x) for x in self._inits]
        return region, number, unflatten(self._tree, carry)

    def _restored(self, stored: ir.Value, init: Tensor) -> Tensor:
        """What is carried, with the structure that it has from the start."""
        if init.weak:
            return Tensor(self._trace, stored, init.dtype, (), weak=True)
        return self._trace.assembled(stored, init.axes, init.dtype)

    def _next(self, x: Tensor, old: Tensor, name: str) -> ir.Value:
        """The storage of what is carried next, which is as before."""
        trace = self._trace
        if x.weak and old.weak:
            return convert(x.value, x.dtype, old.dtype)
        x = where(trace.constant(True, BOOL), x, old) if x.weak else contiguous(x)
        same_kind(x, old, name)
        with trace.about(name):
            equal_structures(old, x)
        return shapes.cast(x.storage, _stored(old).type)

    def _results(self, made: Sequence[ir.Value], *regions: Region) -> ArrayLike:
        """What is carried in the end."""
        trace = self._trace
        loop = definer(made[0])
        for region in regions:
            trace.ending.append(lambda region=region: region.end(loop))
        return unflatten(self._tree, [self._restored(v, x) for v, x in zip(made, self._inits, strict=True)])


def _parts(tree: Tree) -> str:
    """What is in containers, in order."""
    places = [place for place in leaf_places(tree) if place]
    return f"with {', '.join(places)}" if places else "one array" if tree is None else "without arrays"


def _stored(x: Tensor) -> ir.Value:
    return x.value if x.weak else x.storage


def _promoted(init: Tensor, x: Tensor) -> Tensor:
    """A number that a loop starts with, of the dtype that it has together with what the body gives."""
    if not init.weak or x.axes:
        return init
    dtype = resolve("add", [init, x])[1][0]
    if x.weak and dtype == init.dtype:
        return init
    number = Tensor(init.trace, convert(init.value, init.dtype, dtype), dtype, (), weak=True)
    return number if x.weak else number.strong
