"""Random programs with control flow, calls, rows and several results, and data that fails checks."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
from support.programs import OPS, Ops, Program, State, generate, reduces
from support.structures import LAYOUTS, elements, seeded, type_text

from ragged_dialect.layout import Layout
from ragged_dialect.reference import making
from ragged_dialect.shape import RaggedShape

ELEMENT = "i32"
KINDS = ("sum", "prod", "max", "min")


def _body(state: State, name: str, other: str, out: str) -> str:
    """An op with a check of its own: of two values of the type at hand."""
    return f"{out} = arith.addi {name}, {other} : {state.type}"


def _double(state: State, times: int) -> Any:
    """The value at hand after it was added to itself so often."""
    return state.value.fresh(state.value.gather() * np.int32(times + 1))


def _for(state: State, dim: int) -> bool:
    """A loop that adds what is outside of it; often one that does not run."""
    type_, count, number = state.type, state.pick(0, 2), state.count
    low, step, high = state.constant(0), state.constant(1), state.argument("index", count)
    body = _body(state, f"%c{number}", state.name, f"%s{number}")
    made = state.emit(
        f"scf.for %i{number} = {low} to {high} step {step} iter_args(%c{number} = {state.name}) -> ({type_}) {{\n"
        f"    {body}\n    scf.yield %s{number} : {type_}\n  }}"
    )
    state.become(made, state.value.shape, _double(state, count))
    return True


def _while(state: State, dim: int) -> bool:
    """The same as a while loop."""
    type_, count, number = state.type, state.pick(0, 2), state.count
    low, step, high = state.constant(0), state.constant(1), state.argument("index", count)
    body = _body(state, f"%c{number}", state.name, f"%s{number}")
    types = f"({type_}, index) -> ({type_}, index)"
    text = (
        f"%w{number}:2 = scf.while (%b{number} = {state.name}, %i{number} = {low}) : {types} {{\n"
        f"    %t{number} = arith.cmpi slt, %i{number}, {high} : index\n"
        f"    scf.condition(%t{number}) %b{number}, %i{number} : {type_}, index\n  }} do {{\n"
        f"  ^bb0(%c{number}: {type_}, %j{number}: index):\n    {body}\n"
        f"    %k{number} = arith.addi %j{number}, {step} : index\n"
        f"    scf.yield %s{number}, %k{number} : {type_}, index\n  }}"
    )
    state.lines.append(text)
    state.become(f"%w{number}#0", state.value.shape, _double(state, count))
    return True


def _if(state: State, dim: int) -> bool:
    """A choice, one side of which has a check."""
    type_, taken, number = state.type, state.pick(0, 1), state.count
    condition = state.argument("i1", bool(taken))
    body = _body(state, state.name, state.name, f"%s{number}")
    made = state.emit(
        f"scf.if {condition} -> ({type_}) {{\n    {body}\n    scf.yield %s{number} : {type_}\n  }} else {{\n"
        f"    scf.yield {state.name} : {type_}\n  }}"
    )
    state.become(made, state.value.shape, _double(state, taken))
    return True


def _call(state: State, dim: int) -> bool:
    """A function of its own that adds two values, called in a loop or not."""
    type_, number = state.type, state.count
    state.functions.append(
        f"func.func private @g{number}(%x: {type_}, %y: {type_}) -> {type_} {{\n"
        f"  %s = arith.addi %x, %y : {type_}\n  return %s : {type_}\n}}\n"
    )
    made = state.emit(f"func.call @g{number}({state.name}, {state.name}) : ({type_}, {type_}) -> {type_}")
    state.become(made, state.value.shape, _double(state, 1))
    return True


def _partition_in_loop(state: State, dim: int) -> bool:
    """A structure made in a loop of values and a vector outside of it, and read there."""
    if not state.value.shape.layout.is_dense or state.value.shape.rank == 0:
        return False
    rows, count, number = state.value.extent(0), state.pick(0, 2), state.count
    vector = state.argument("tensor<?xi64>", np.array([0, state.pick(0, rows), rows], np.int64))
    ragged = state.value.shape.partition(0, 1, None)
    low, step, high = state.constant(0), state.constant(1), state.argument("index", count)
    type_, made_type = state.type, type_text(ragged, ELEMENT)
    partition = f"({type_}, tensor<?xi64>) -> {made_type}"
    made = state.emit(
        f"scf.for %i{number} = {low} to {high} step {step} iter_args(%c{number} = {state.name}) -> ({type_}) {{\n"
        f"    %p{number} = ragged.partition {state.name}, {vector} {{dim = 0}} : {partition}\n"
        f"    %q{number} = ragged.partition %c{number}, {vector} {{dim = 0}} : {partition}\n"
        f"    %s{number} = arith.addi %p{number}, %q{number} : {made_type}\n"
        f"    %m{number} = ragged.merge %s{number} {{dim = 0}} : ({made_type}) -> {type_}\n"
        f"    scf.yield %m{number} : {type_}\n  }}"
    )
    state.become(made, state.value.shape, _double(state, count))
    return True


def _rows(state: State, dim: int) -> bool:
    """Add an operand that has an element per component and feature."""
    shape = state.value.shape
    own = [d for d in range(shape.rank) if shape.layout.letter(d) == "d" and not shape.layout.is_split_outer(d)]
    own = [d for d in own if shape.layout.locate(d)[1] == 0]
    if not own or len(own) == shape.rank:
        return False
    row = elements(state.pick, [state.value.extent(d) for d in own], ELEMENT)
    row_shape = RaggedShape(Layout.dense(len(own)), tuple(shape.shape[d] for d in own))
    row_type = type_text(row_shape, ELEMENT)
    name = state.argument(row_type, row)
    type_, loops = state.type, ", ".join(f"d{d}" for d in range(shape.rank))
    sizes = [d for d in range(shape.rank) if shape.layout.is_plain(d) and shape.shape[d] is None]
    extents = [state.emit(f"tensor.dim {state.name}, {state.constant(d)} : {type_}") for d in sizes]
    given = ", ".join([type_, *["index"] * len(extents)])
    empty = state.emit(f"ragged.empty {', '.join([state.name, *extents])} : ({given}) -> {type_}")
    whole, rows = f"affine_map<({loops}) -> ({loops})>", f"affine_map<({loops}) -> ({', '.join(f'd{d}' for d in own)})>"
    kinds = ", ".join(['"parallel"'] * shape.rank)
    made = state.emit(
        f"linalg.generic {{indexing_maps = [{whole}, {rows}, {whole}], iterator_types = [{kinds}]}} "
        f"ins({state.name}, {name} : {type_}, {row_type}) outs({empty} : {type_}) {{\n"
        f"  ^bb0(%p: {ELEMENT}, %q: {ELEMENT}, %o: {ELEMENT}):\n    %s = arith.addi %p, %q : {ELEMENT}\n"
        f"    linalg.yield %s : {ELEMENT}\n  }} -> {type_}"
    )
    value = state.value.fresh(state.value.gather())
    for index in value.indices():
        value.values[value.position(index)] += row[tuple(index[d] for d in own)]
    state.become(made, shape, value)
    return True


def _scan(state: State, dim: int) -> bool:
    """What is combined so far, from either end."""
    shape = state.value.shape
    if not reduces(shape, (dim,)):
        return False
    kind, reverse = KINDS[state.pick(0, len(KINDS) - 1)], bool(state.pick(0, 1))
    attributes = f' {{dim = {dim}, kind = "{kind}"{", reverse" if reverse else ""}}}'
    state.step("scan", [], [], attributes, shape.contiguous(), making.scan(state.value, dim, kind, reverse))
    return True


def _segments(state: State, dim: int) -> bool:
    """Sort the elements of a vector in segments, or have numbers in their order."""
    shape = state.value.shape
    if not shape.layout.is_dense or shape.rank != 1:
        return False
    keys, size = state.value.gather(), state.value.extent(0)
    cuts = sorted(state.pick(0, size) for _ in range(state.pick(0, 3)))
    offsets = np.array([0, *cuts, size], np.int64)
    operands, types = [state.argument("tensor<?xi64>", offsets)], ["tensor<?xi64>"]
    numbers = [elements(state.pick, [size], ELEMENT)] if state.pick(0, 1) else []
    for vector in numbers:
        operands.append(state.argument(state.type, vector))
        types.append(state.type)
    state.step("sort", operands, types, "", shape, making.sort(keys, offsets, *numbers))
    return True


def _scatter(state: State, dim: int) -> bool:
    """Add rows up at positions, or move each to one of its own. Nobody looks whether it is: positions of that kind are
    of another type than what is damaged."""
    shape = state.value.shape
    if not shape.layout.is_dense or shape.rank == 0:
        return False
    size, unique = state.value.extent(0), bool(state.pick(0, 1))
    count = size if unique else state.pick(1, 5)
    order = sorted(range(size), key=lambda _: state.pick(0, 99))
    where = np.array(order if unique else [state.pick(0, count - 1) for _ in order], np.int32 if unique else np.int64)
    type_ = f"tensor<?x{'i32' if unique else 'i64'}>"
    operands = [state.argument(type_, where), state.argument("index", count)]
    made = making.scatter_add(state.value.gather(), where, count, unique)
    result = RaggedShape(shape.layout, (None, *shape.shape[1:]))
    state.step("scatter_add", operands, [type_, "index"], " {unique}" if unique else "", result, made)
    return True


def _group(state: State, dim: int) -> bool:
    """Return the groups of keys too, of their indices or of a vector."""
    size, count = state.pick(0, 6), state.pick(1, 4)
    keys = np.array([state.pick(0, count - 1) for _ in range(size)], np.int64)
    operands = [state.argument("tensor<?xi64>", keys), state.argument("index", count)]
    types = ["tensor<?xi64>", "index"]
    if state.pick(0, 1):
        operands.append(state.argument("tensor<?xi64>", keys * 2 - 3))
        types.append("tensor<?xi64>")
    made_type = 'tensor<?x?xi64, #ragged.layout<"dr">>'
    made = state.emit(f"ragged.group_by {', '.join(operands)} : ({', '.join(types)}) -> {made_type}")
    state.kept.append((made, made_type))
    return True


def _keep(state: State, dim: int) -> bool:
    """Return the value at hand too."""
    state.kept.append((state.name, state.type))
    return True


FLOW: Ops = (
    *OPS,
    _for,
    _while,
    _if,
    _call,
    _partition_in_loop,
    _partition_in_loop,
    _rows,
    _rows,
    _keep,
    _keep,
    _scan,
    _scan,
    _segments,
    _scatter,
    _scatter,
    _group,
)


def flow_program(seed: int, steps: int = 8) -> Program:
    """The program of a seed."""
    pick = seeded(seed)
    layout = LAYOUTS[pick(0, len(LAYOUTS) - 1)] if pick(0, 2) else None
    return generate(pick, layout, ELEMENT, steps, FLOW)


_LOOP = """func.func @f(%v: tensor<?xi32>, %o: tensor<?xi64>, %w: tensor<?xi32>, %p: tensor<?xi64>, %k: index,
    %n: index) -> tensor<2xi32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<2xi32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<2xi32>) -> tensor<2xi32>
  BEFORE
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %f) -> tensor<2xi32> {
    INSIDE
    %m = linalg.reduce { arith.addi } ins(%x : TYPE) outs(%f : tensor<2xi32>) dimensions = [1]
    %s = arith.addi %m, %a : tensor<2xi32>
    scf.yield %s : tensor<2xi32>
  }
  return %r : tensor<2xi32>
}
"""
_MADE = (
    "%y = ragged.partition %v, %o {dim = 0} : (tensor<?xi32>, tensor<?xi64>) -> TYPE\n"
    "  %z = ragged.partition %w, %p {dim = 0} : (tensor<?xi32>, tensor<?xi64>) -> TYPE"
)
_WRONG = np.array([0, 2**40, 4], np.int64)
_GOOD = [np.arange(4, dtype=np.int32), np.array([0, 1, 4], np.int64)]


def _loop(before: str, inside: str, args: list[Any]) -> tuple[str, list[Any]]:
    text = _LOOP.replace("BEFORE", before).replace("INSIDE", inside)
    text = text.replace("WINDOW", 'tensor<2x?xi32, #ragged.layout<"dw">>')
    return text.replace("TYPE", 'tensor<2x?xi32, #ragged.layout<"dr">>'), args


HOISTED = {
    "structure": _loop("", f"{_MADE}\n    %x = arith.addi %y, %y : TYPE", [_GOOD[0], _WRONG, *_GOOD, 0]),
    "conformity": _loop(
        _MADE,
        "%x = arith.addi %y, %z : TYPE",
        [np.zeros(2**20, np.int32), np.array([0, 1, 2**20]), np.zeros(1, np.int32), np.array([0, 1, 1]), 0],
    ),
    "index": _loop(
        _MADE,
        "%q = tensor.extract %y[%c1, %k] : TYPE\n    %j = arith.index_cast %q : i32 to index\n"
        "    %l = ragged.slice %y, %c0, %j {dim = 1} : (TYPE, index, index) -> WINDOW\n"
        "    %x = ragged.compact %l : (WINDOW) -> TYPE",
        [*_GOOD, *_GOOD, 2**45],
    ),
}
"""Loops of what does not change in them, with data that fails its checks there: text, arguments but the
number of iterations."""


def damaged(args: list[Any], rng: random.Random) -> list[Any]:
    """Arguments with one index vector changed: its entries, or how many they are."""
    vectors = [(k, j) for k, arg in enumerate(args) for j, part in _parts(arg) if _is_vector(part)]
    if not vectors:
        return args
    k, j = rng.choice(vectors)
    change = rng.choice(_CHANGES)
    if isinstance(args[k], tuple):
        return [*args[:k], (*args[k][:j], change(args[k][j].copy(), rng), *args[k][j + 1 :]), *args[k + 1 :]]
    return [*args[:k], change(args[k].copy(), rng), *args[k + 1 :]]


def _parts(arg: Any) -> list[tuple[int, Any]]:
    return list(enumerate(arg)) if isinstance(arg, tuple) else [(0, arg)]


def _is_vector(part: Any) -> bool:
    return isinstance(part, np.ndarray) and part.dtype == np.int64 and part.ndim > 0


def _entry(vector: Any, rng: random.Random) -> Any:
    if vector.size:
        values = [-1, 0, 1, 2, 3, 1000, 2**31, 2**40, -(2**40)]
        vector.flat[rng.randrange(vector.size)] = rng.choice(values)
    return vector


def _shorter(vector: Any, rng: random.Random) -> Any:
    return vector[: rng.randrange(len(vector) + 1)]


def _longer(vector: Any, rng: random.Random) -> Any:
    return np.concatenate([vector, vector[-1:] if len(vector) else np.zeros((1, *vector.shape[1:]), np.int64)])


_CHANGES: tuple[Callable[[Any, random.Random], Any], ...] = (_entry, _entry, _entry, _shorter, _longer)
