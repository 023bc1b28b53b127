"""Random well-typed programs: chains of structure ops, elementwise ops and reductions as MLIR text,
with arguments on which no check fails.

The generator runs the structure ops of the reference interpreter as it goes: from the value at
hand it knows which ops are legal (`RaggedShape`) and which data makes them valid (offsets that end
where they must, indices inside every component).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from hypothesis import strategies as st
from support.structures import LAYOUTS, Case, Pick, composition, dense, drawn, make, offsets_of, text_of, type_text

from ragged_dialect.errors import LayoutError
from ragged_dialect.layout import RAGGED
from ragged_dialect.reference import structure
from ragged_dialect.reference.making import empty
from ragged_dialect.reference.value import RaggedValue
from ragged_dialect.shape import RaggedShape
from ragged_dialect.sources import Source

MOST_ELEMENTS = 400


@dataclass(frozen=True)
class Program:
    """MLIR text with one function `f`, arguments for it (one per argument, 1:N tuples), and its
    first result."""

    text: str
    args: list[Any]
    result: RaggedValue


@dataclass
class State:
    """A program in the making: its lines, arguments and their types, the value at hand, functions that
    it calls, and values that it returns besides."""

    pick: Pick
    element: str
    types: list[str] = field(default_factory=list)
    args: list[Any] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)
    kept: list[tuple[str, str]] = field(default_factory=list)
    count: int = 0
    name: str = "%a0"
    value: RaggedValue = field(default_factory=lambda: RaggedValue.of(np.zeros(0)))

    def argument(self, type_: str, value: Any) -> str:
        self.types.append(type_)
        self.args.append(value)
        return f"%a{len(self.types) - 1}"

    def emit(self, text: str) -> str:
        self.lines.append(f"%{self.count} = {text}")
        self.count += 1
        return f"%{self.count - 1}"

    @property
    def type(self) -> str:
        return type_text(self.value.shape, self.element)

    def constant(self, number: int) -> str:
        return self.emit(f"arith.constant {number} : index")

    def step(
        self, op: str, operands: list[str], types: list[str], attributes: str, result: RaggedShape, value: Any
    ) -> None:
        """The op `ragged.<op>` on the value at hand and `operands`; its result is at hand then."""
        type_ = type_text(result, self.element)
        given, signature = ", ".join([self.name, *operands]), ", ".join([self.type, *types])
        self.become(self.emit(f"ragged.{op} {given}{attributes} : ({signature}) -> {type_}"), result, value)

    def become(self, name: str, shape: RaggedShape, value: Any) -> None:
        self.name = name
        made = RaggedValue.of(value)
        self.value = RaggedValue(shape, made.values, made.axes)

    def rows(self, dim: int) -> list[int]:
        """Lengths of a ragged dim, or the extent of a dense one per outer index."""
        axis, place = self.value.locate(dim)
        return self.value.axes[axis].lengths(place)


def _index(state: State, value: int) -> tuple[str, str]:
    """A scalar, as a constant or an argument."""
    if state.pick(0, 1):
        return state.constant(value), "index"
    return state.argument("index", value), "index"


def _partition(state: State, dim: int) -> bool:
    shape = state.value.shape
    rank = 1 if shape.layout.locate(dim)[1] == 0 and (dim == 0 or state.pick(0, 1)) else 2
    result = shape.partition(dim, rank, None)
    if rank == 2 and _below_window(shape, dim):
        return False
    rows = [state.value.extent(dim)] if rank == 1 else state.rows(dim)
    if rank == 2 and shape.layout.is_plain(dim):
        rows = [state.value.extent(dim)] * state.value.extent(dim - 1)
    count = state.pick(1, 3)
    as_lengths = bool(state.pick(0, 1))
    parts = [composition(state.pick, n, count) for n in rows]
    data = [p if as_lengths else offsets_of(p).tolist() for p in parts]
    width = count if as_lengths else count + 1
    vector = np.array(data, np.int64).reshape(len(data), width)
    vector, type_ = (vector, "tensor<?x?xi64>") if rank == 2 else (vector[0], "tensor<?xi64>")
    name = state.argument(type_, vector)
    value = structure.partition(state.value, vector, dim, as_lengths)
    state.step("partition", [name], [type_], f" {{dim = {dim}{', lengths' if as_lengths else ''}}}", result, value)
    return True


def _below_window(shape: RaggedShape, dim: int) -> bool:
    """Whether a level is below a window, where components are stored that no index reaches and
    data per component has to cover those too."""
    axis, at = shape.layout.locate(dim)
    return "w" in shape.layout.axes[axis][:at]


def _merge(state: State, dim: int) -> bool:
    result = state.value.shape.merge(dim)
    state.step("merge", [], [], f" {{dim = {dim}}}", result, structure.merge(state.value, dim))
    return True


def _split(state: State, dim: int) -> bool:
    shape, factor = state.value.shape, state.pick(1, 4)
    if shape.layout.is_batch(dim) and state.value.extent(dim) % factor:
        factor = 1
    result = shape.split(dim, factor)
    state.step(
        "split", [], [], f" {{dim = {dim}, factor = {factor}}}", result, structure.split(state.value, dim, factor)
    )
    return True


def _select(state: State, dim: int) -> bool:
    result = state.value.shape.select(dim)
    bound = min(_bounds(state, dim), default=1)
    if bound == 0 or _below_window(state.value.shape, dim):
        return False
    index = state.pick(0, bound - 1)
    name, type_ = _index(state, index)
    state.step("select", [name], [type_], f" {{dim = {dim}}}", result, structure.select(state.value, index, dim))
    return True


def _bounds(state: State, dim: int) -> list[int]:
    dense_dim = state.value.shape.layout.letter(dim) == "d"
    return [state.value.extent(dim)] if dense_dim else state.rows(dim)


def _slice(state: State, dim: int) -> bool:
    result = state.value.shape.slice(dim)
    bounds = _bounds(state, dim)
    if state.value.shape.layout.letter(dim) in RAGGED and state.pick(0, 1):
        if _below_window(state.value.shape, dim):
            return False
        highs = [state.pick(0, n) for n in bounds]
        lows = [state.pick(0, n) for n in highs]
        lo, hi = np.array(lows, np.int64), np.array(highs, np.int64)
        operands = [state.argument("tensor<?xi64>", v) for v in (lo, hi)]
        types = ["tensor<?xi64>"] * 2
    else:
        high = state.pick(0, min(bounds, default=0))
        lo, hi = np.int64(state.pick(0, high)), np.int64(high)
        operands = [_index(state, int(v))[0] for v in (lo, hi)]
        types = ["index"] * 2
    state.step("slice", operands, types, f" {{dim = {dim}}}", result, structure.slice_(state.value, lo, hi, dim))
    return True


def _compact(state: State, dim: int) -> bool:
    state.step("compact", [], [], "", state.value.shape.compact(), structure.compact(state.value))
    return True


def _concat(state: State, dim: int) -> bool:
    result = state.value.shape.concat([state.value.shape], dim)
    value = structure.concat(state.value, state.value, dim=dim)
    state.step("concat", [state.name], [state.type], f" {{dim = {dim}}}", result, value)
    return True


def _elementwise(state: State, dim: int) -> bool:
    floats = state.element.startswith(("f", "b"))
    name = state.pick(0, 2)
    suffix = "f" if floats else "i"
    op = ("add", "sub", "maximum")[name] + suffix if floats or name < 2 else "xori"
    data = state.value.gather()
    made = {"add": data + data, "sub": data - data}.get(op[:3], data if op != "xori" else data ^ data)
    result = state.emit(f"arith.{op} {state.name}, {state.name} : {state.type}")
    state.become(result, state.value.shape, state.value.fresh(made))
    return True


def _reduce(state: State, dim: int) -> bool:
    """Sum over some dims: a fill of what is left, made with `ragged.empty` or `tensor.empty`."""
    shape = state.value.shape
    choices = [
        dims for n in range(1, shape.rank + 1) for dims in combinations(range(shape.rank), n) if reduces(shape, dims)
    ]
    if not choices:
        return False
    dims = choices[state.pick(0, len(choices) - 1)]
    kept = [d for d in range(shape.rank) if d not in dims]
    result = shape.reduce(frozenset(dims))
    init = _filled(state, result, kept)
    type_ = type_text(result, state.element)
    add = "arith.addf" if state.element.startswith(("f", "b")) else "arith.addi"
    reduced = state.emit(
        f"linalg.reduce {{ {add} }} ins({state.name} : {state.type}) outs({init} : {type_}) dimensions = {list(dims)}"
    )
    state.become(reduced, result, _sum(state.value, dims, result))
    return True


def reduces(shape: RaggedShape, dims: tuple[int, ...]) -> bool:
    """Whether dims may be reduced together."""
    try:
        shape.reduce(frozenset(dims))
    except LayoutError:
        return False
    return True


def _filled(state: State, result: RaggedShape, kept: list[int]) -> str:
    sizes: list[str] = []
    for d, extent in zip(kept, result.shape, strict=True):
        if extent is None and result.layout.is_plain(kept.index(d)):
            sizes.append(state.emit(f"tensor.dim {state.name}, {state.constant(d)} : {state.type}"))
    type_ = type_text(result, state.element)
    if result.layout.is_dense:
        empty = state.emit(f"tensor.empty({', '.join(sizes)}) : {type_}")
    else:
        sources = ", ".join("-1" if result.layout.is_plain(k) else f"[0, {d}]" for k, d in enumerate(kept))
        types = ", ".join([state.type, *["index"] * len(sizes)])
        empty = state.emit(
            f"ragged.empty {', '.join([state.name, *sizes])} {{from = [{sources}]}} : ({types}) -> {type_}"
        )
    zero = state.emit(f"arith.constant {'0.0' if state.element.startswith(('f', 'b')) else '0'} : {state.element}")
    return state.emit(f"linalg.fill ins({zero} : {state.element}) outs({empty} : {type_}) -> {type_}")


def _sum(x: RaggedValue, dims: tuple[int, ...], result: RaggedShape) -> Any:
    """The value of the reduction, for its structure."""
    kept = [d for d in range(x.shape.rank) if d not in dims]
    sources = [None if result.layout.is_plain(k) else Source(0, d) for k, d in enumerate(kept)]
    extents = [x.extent(d) for k, d in enumerate(kept) if sources[k] is None]
    out = RaggedValue.of(empty([x], sources, extents, result, x.values.dtype))
    out.values[...] = 0
    for index in x.indices():
        out.values[out.position([index[d] for d in kept])] += x.values[x.position(index)]
    return out


OPS: tuple[Callable[[State, int], bool], ...] = (
    _partition,
    _partition,
    _merge,
    _merge,
    _split,
    _split,
    _select,
    _slice,
    _compact,
    _concat,
    _elementwise,
    _reduce,
)


CHAINS = (_partition, _merge, _merge, _split)
"""Ops that only change the nesting."""


def _try(state: State, op: Callable[[State, int], bool], dim: int) -> None:
    """Apply an op where the layout algebra allows it, and undo what a refused one left behind."""
    before = (len(state.lines), state.count, len(state.types), len(state.functions), len(state.kept))
    try:
        done = op(state, dim)
    except LayoutError:
        done = False
    if not done:
        del state.lines[before[0] :]
        del state.types[before[2] :], state.args[before[2] :]
        state.count = before[1]
        del state.functions[before[3] :], state.kept[before[4] :]


Ops = tuple[Callable[[State, int], bool], ...]


def generate(pick: Pick, layout: str | None = None, element: str = "f32", steps: int = 6, ops: Ops = OPS) -> Program:
    """A random program of `ops` over a tensor of `layout` (drawn, or dense, without)."""
    state = State(pick, element)
    start: Case = dense(pick, (None, 2), element)
    if layout is not None or pick(0, 3):
        start = make(pick, layout or LAYOUTS[pick(0, len(LAYOUTS) - 1)], element)
    ragged = not start.shape.layout.is_dense
    state.argument(start.type, start.parts if ragged else start.parts[0])
    state.value = RaggedValue.from_parts(start.shape, start.parts)
    for _ in range(steps):
        if state.value.shape.rank and state.value.values.size <= MOST_ELEMENTS:
            _try(state, ops[pick(0, len(ops) - 1)], pick(0, state.value.shape.rank - 1))
    results = [(state.name, state.type), *_facts(state), *state.kept]
    text = text_of(state.types, state.lines, results)
    return Program("".join([text, *state.functions]), state.args, state.value)


def _facts(state: State) -> list[tuple[str, str]]:
    """Lengths, offsets and totals of some levels, with their types."""
    found: list[tuple[str, str]] = []
    for dim, letter in enumerate(state.value.shape.layout.letters):
        names = {"r": ("lengths", "offsets", "total"), "w": ("lengths", "total")}.get(letter, ())
        at = state.pick(0, 2 * len(names)) if names else 0
        if at < len(names):
            type_ = "index" if names[at] == "total" else "tensor<?xi64>"
            op = f"ragged.{names[at]} {state.name} {{level = {dim}}} : ({state.type}) -> {type_}"
            found.append((state.emit(op), type_))
    return found


@st.composite
def programs(draw: st.DrawFn, element: str = "f32", steps: int = 6, ops: Ops = OPS) -> Program:
    """Random programs, for hypothesis."""
    return generate(drawn(draw), None, element, steps, ops)
