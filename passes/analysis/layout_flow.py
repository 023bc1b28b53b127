"""Layouts through a program: which values an op connects, and what layout each gets.

`LayoutFlow` sets the types of values in place, from the values it is given outwards, until
nothing changes. What an op says of a value joins what is known of it (`Layout.join`), so that the
result is the least that all ops agree on, whatever order they are visited in. An op that refuses
what is known so far may accept what is known later: errors are reported at the end, in the order
of the program. Every layout remembers the op it came from, for errors that name both places.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress

from ragged_dialect._mlir import ir
from ragged_dialect.errors import LayoutError
from ragged_dialect.ir.match import definer, enclosing, terminator
from ragged_dialect.iteration import ELEMENTWISE_DIALECTS, LINALG_OPS
from ragged_dialect.layout import Layout
from ragged_dialect.ops import INFERRED, OPS, VIEWS
from ragged_dialect.ops.base import attributes_for, infer_shape
from ragged_dialect.passes.analysis.loop_layouts import layout_on, loop_levels, operand_loops
from ragged_dialect.passes.base import PassFailure
from ragged_dialect.passes.patterns.rewriting import walk
from ragged_dialect.shape import RaggedShape
from ragged_dialect.traits import tensor_shape
from ragged_dialect.types import is_ragged, is_tensor, shape_of, tensor_type

_READERS = frozenset({"tensor.dim", "tensor.extract", "tensor.empty"})


class LayoutFlow:
    """Carries layouts through the functions of a module. `seed` shuffles the order of visits: the
    result must not depend on it."""

    def __init__(self, module: ir.Operation, seed: int | None = None) -> None:
        self._module = module
        self._order = None if seed is None else random.Random(seed)
        self._why: dict[ir.Value, ir.Operation] = {}
        self._given: set[ir.Value] = set()
        self._visited: set[ir.Operation] = set()
        self._final = False
        self._work: deque[ir.Value] = deque()
        self._functions: dict[str, ir.Operation] = {}
        self._calls: dict[str, list[ir.Operation]] = {}
        self._returns: dict[str, list[ir.Operation]] = {}
        for op in walk(module):
            if op.name == "func.func":
                self._functions[_symbol(op)] = op
            elif op.name == "func.call":
                self._calls.setdefault(op.attributes["callee"].value, []).append(op)
            elif op.name == "func.return":
                self._returns.setdefault(_symbol(enclosing(op)), []).append(op)

    def start(self, value: ir.Value, why: ir.Operation) -> None:
        """Carry the layout of a ragged value on, on behalf of the op `why`."""
        self._assign(value, shape_of(value.type).layout, why)

    def run(self) -> None:
        """Carry layouts until nothing changes. PassFailure for two layouts of one value, and for
        an op that does not carry a layout."""
        while self._work:
            value = self._next()
            why = self._why[value]
            if isinstance(value, ir.BlockArgument):
                self._enter_block(value, why)
            else:
                self._try(definer(value), why)
            for use in value.uses:
                self._try(use.owner.operation, why)
        self._final = True
        for op in [op for op in walk(self._module) if op in self._visited]:
            tensors = (v for v in (*op.operands, *op.results) if v in self._why)
            self._visit(op, self._why[next(tensors)])

    def _next(self) -> ir.Value:
        if self._order is not None:
            self._work.rotate(self._order.randrange(len(self._work)))
        return self._work.popleft()

    def _try(self, op: ir.Operation, why: ir.Operation) -> None:
        """Carry layouts over an op as far as it goes now."""
        self._visited.add(op)
        with suppress(PassFailure):
            self._visit(op, why)

    def changed_functions(self) -> list[ir.Operation]:
        """The functions with a body, whose types may no longer match it."""
        return [f for f in self._functions.values() if len(f.regions[0].blocks)]

    # Assignment ------------------------------------------------------------------------------

    def _assign(self, value: ir.Value, layout: Layout, why: ir.Operation) -> None:
        """Join a layout with what is known of a value. What the program or an annotation gives stays."""
        if layout.is_dense:
            return
        known = shape_of(value.type)
        if value not in self._why and is_ragged(value.type):
            self._given.add(value)
        joined = known.layout.join(layout)
        if joined is None or (value in self._given and joined != known.layout):
            if self._final:
                _fail_twice(self._why.get(value, _place(value)), known.layout, why, layout)
            return
        if value in self._why and joined == known.layout:
            return
        try:
            value.set_type(tensor_type(RaggedShape(joined, known.shape), value.type.element_type))
        except LayoutError as error:
            raise PassFailure(_place(value), f"{error}") from error
        self._why[value] = why
        self._work.append(value)

    def _connect(self, values: Sequence[ir.Value], why: ir.Operation) -> None:
        """All values have one layout."""
        for known in [v for v in values if is_ragged(v.type)]:
            layout = shape_of(known.type).layout
            for value in values:
                self._assign(value, layout, self._why.get(known, why))

    # Ops -------------------------------------------------------------------------------------

    def _visit(self, op: ir.Operation, why: ir.Operation) -> None:
        name = op.name
        tensors = [v for v in (*op.operands, *op.results) if is_tensor(v.type)]
        if name in VIEWS or name == "linalg.softmax":
            self._connect(tensors, why)
        elif name in LINALG_OPS:
            self._visit_linalg(op, why)
        elif name.split(".")[0] in ELEMENTWISE_DIALECTS and len(op.operands):
            self._connect(tensors, why)
        elif name in INFERRED:
            self._visit_structure(op, why)
        elif name in _CONTROL:
            for group in _CONTROL[name](op):
                self._connect(group, why)
        elif name in ("func.return", "func.call"):
            self._visit_function(op, why)
        elif name not in _READERS and name not in OPS:
            layout = next(shape_of(v.type).layout for v in tensors if is_ragged(v.type))
            if self._final:
                why.location.emit_error(f'expected a layout that every connected op carries, got "{layout}" at {name}')
            raise PassFailure(op, f"'{name}' op expected tensors without a layout, got \"{layout}\" from an annotation")

    def _visit_structure(self, op: ir.Operation, why: ir.Operation) -> None:
        kind = INFERRED[op.name]
        try:
            shape = infer_shape(kind, list(op.operands), attributes_for(kind, op), tensor_shape)
        except LayoutError as error:
            raise PassFailure(op, f"'{op.name}' op {error}") from error
        self._assign(op.results[0], shape.layout, why)

    def _visit_linalg(self, op: ir.Operation, why: ir.Operation) -> None:
        loops = operand_loops(op)
        outs = len(op.operands) - len(op.results)
        for k, result in enumerate(op.results):
            self._connect([op.operands[outs + k], result], why)
        known = [(v, used) for v, used in zip(op.operands, loops, strict=True) if is_tensor(v.type)]
        every = {loop for used in loops for loop in used}
        try:
            levels = loop_levels(known)
            targets = [k for k, used in enumerate(loops) if k >= outs or self._follows(op, used, every)]
            layouts = {k: layout_on(loops[k], levels) for k in targets}
        except LayoutError as error:
            raise PassFailure(op, f"'{op.name}' op {error}") from error
        for k, layout in layouts.items():
            why = self._why_besides(op.operands[k], op, why)
            self._assign(op.operands[k], layout, why)
            if k >= outs:
                self._assign(op.results[k - outs], layout, why)

    def _why_besides(self, value: ir.Value, op: ir.Operation, why: ir.Operation) -> ir.Operation:
        """Why the other operands of an op have their layouts, if that is not why `value` has its own."""
        own = self._why.get(value)
        reasons = (self._why.get(v) for v in op.operands if v != value)
        return next((reason for reason in reasons if reason is not None and (own is None or reason != own)), why)

    @staticmethod
    def _follows(op: ir.Operation, loops: Sequence[int | None], every: set[int | None]) -> bool:
        """Whether an input must have the layout of the loops: it has an element for every iteration,
        or is broadcast. Others may be dense on a ragged loop."""
        return len(loops) > 0 and (set(loops) == every or op.name == "linalg.broadcast")

    # Blocks and functions --------------------------------------------------------------------

    def _enter_block(self, value: ir.BlockArgument, why: ir.Operation) -> None:
        op = value.owner.owner.operation
        if op.name in _CONTROL:
            self._try(op, why)
        elif op.name == "func.func":
            for call in self._calls.get(_symbol(op), []):
                self._try(call, why)

    def _visit_function(self, op: ir.Operation, why: ir.Operation) -> None:
        name = op.attributes["callee"].value if op.name == "func.call" else _symbol(enclosing(op))
        function = self._functions.get(name)
        if function is None or not len(function.regions[0].blocks):
            raise PassFailure(op, f"'{op.name}' op expected a function with a body to carry a layout into, got @{name}")
        calls, returns = self._calls.get(name, []), self._returns.get(name, [])
        for k, value in enumerate(_entry(function).arguments):
            if is_tensor(value.type):
                self._connect([value, *(c.operands[k] for c in calls)], why)
        for group in zip(*(r.operands for r in returns), *(c.results for c in calls), strict=True):
            self._connect([v for v in group if is_tensor(v.type)], why)


def update_function_types(functions: Sequence[ir.Operation]) -> None:
    """Make function types agree with the entry block and the returned values."""
    for function in functions:
        block = _entry(function)
        results = [v.type for v in terminator(block).operands]
        type_ = ir.FunctionType.get([a.type for a in block.arguments], results)
        function.attributes["function_type"] = ir.TypeAttr.get(type_)


def _entry(function: ir.Operation) -> ir.Block:
    return function.regions[0].blocks[0]


def _symbol(function: ir.Operation) -> str:
    return function.attributes["sym_name"].value if "sym_name" in function.attributes else ""


def _place(value: ir.Value) -> ir.Operation:
    owner = value.owner
    return owner.owner.operation if isinstance(owner, ir.Block) else owner.operation


def _fail_twice(first: ir.Operation, a: Layout, second: ir.Operation, b: Layout) -> None:
    first.location.emit_error(f'expected one layout for a value, got "{a}" here and "{b}" elsewhere')
    raise PassFailure(second, f'expected one layout for a value, got "{b}" here and "{a}" elsewhere')


# Values that control flow connects -----------------------------------------------------------


def _groups(*columns: Sequence[ir.Value]) -> list[list[ir.Value]]:
    return [list(group) for group in zip(*columns, strict=True) if is_tensor(group[0].type)]


def _if(op: ir.Operation) -> list[list[ir.Value]]:
    blocks = [r.blocks[0] for r in op.regions if len(r.blocks)]
    return _groups(list(op.results), *(list(terminator(block).operands) for block in blocks)) if len(op.results) else []


def _for(op: ir.Operation) -> list[list[ir.Value]]:
    body = op.regions[0].blocks[0]
    inits = list(op.operands)[3:]
    return _groups(list(op.results), inits, list(body.arguments)[1:], list(terminator(body).operands))


def _while(op: ir.Operation) -> list[list[ir.Value]]:
    before, after = op.regions
    condition, end = terminator(before.blocks[0]), terminator(after.blocks[0])
    entering = _groups(list(op.operands), list(before.blocks[0].arguments), list(end.operands))
    return entering + _groups(list(op.results), list(condition.operands)[1:], list(after.blocks[0].arguments))


def _yield(op: ir.Operation) -> list[list[ir.Value]]:
    parent = enclosing(op)
    return _CONTROL[parent.name](parent) if parent.name in _CONTROL else []


_CONTROL: dict[str, Callable[[ir.Operation], list[list[ir.Value]]]] = {
    "scf.if": _if,
    "scf.for": _for,
    "scf.while": _while,
    "scf.yield": _yield,
    "scf.condition": _yield,
}
