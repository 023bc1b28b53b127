"""What compiling takes as programs grow: counted, never timed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.run_pass import transform

import ragged_dialect as rg
from ragged_dialect._mlir import ir
from ragged_dialect.handles import visit_all
from ragged_dialect.ir import walk
from ragged_dialect.ir.walk import find_ops, ops_in
from ragged_dialect.lowering.buffers.subviews import is_own
from ragged_dialect.lowering.gpu.passes.convert_forall_to_gpu import ConvertForallToGpu
from ragged_dialect.lowering.gpu.passes.merge_ragged_checks import MergeRaggedChecks
from ragged_dialect.lowering.loops.cascade_ragged_sums import CascadeRaggedSums
from ragged_dialect.lowering.vector import body
from ragged_dialect.lowering.vector.vectorize_ragged_loops import VectorizeRaggedLoops
from ragged_dialect.passes.analysis import scheduling
from ragged_dialect.passes.analysis.structure import keys
from ragged_dialect.passes.analysis.structure.facts import Facts
from ragged_dialect.passes.ragged_canonicalize import RaggedCanonicalize
from ragged_dialect.passes.ragged_fuse import RaggedFuse


@pytest.mark.parametrize("wrong", [None, 0, 7, 8, 23])
def test_many_checks_around_a_view_are_compiled_and_each_is_made(wrong: int | None) -> None:
    @rg.jit
    def steps(at: np.ndarray, tables: list[np.ndarray], rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        for table in tables:
            at = rg.take(table, at, axis=0)
        return at, rows[:, 1:]

    tables = [np.roll(np.arange(9), k) for k in range(24)]
    rows = np.arange(12.0).reshape(3, 4)
    expected = np.array([2, 5])
    for table in tables[:wrong]:
        expected = table[expected]
    if wrong is not None:
        tables[wrong] = tables[wrong][:0]
        with pytest.raises(rg.RuntimeCheckError, match=f"expected an index of what has elements, got {expected[0]} of"):
            steps(np.array([2, 5]), tables, rows)
        return
    at, view = steps(np.array([2, 5]), tables, rows)
    assert np.array_equal(at, expected)
    assert np.array_equal(view, rows[:, 1:])


def test_ops_visited_for_foralls_with_gates_grow_with_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    visited = 0

    def counted(root: ir.Operation, *closed: Callable[[ir.Operation], bool]) -> list[ir.Operation]:
        nonlocal visited
        found = ops_in(root, *closed)
        visited += len(found)
        return found

    monkeypatch.setattr(walk, "ops_in", counted)
    taken: list[int] = []
    for size in (10, 20, 40):
        visited = 0
        foralls = "\n".join(
            f"%g{k} = memref.alloc() {{ragged.gate = {k} : i64}} : memref<1xi64>\n"
            f"scf.forall (%i) in (%n) {{ memref.store %c, %b[%i] : memref<?xf32> }} {{ragged.gate = {k} : i64}}"
            for k in range(size)
        )
        text = f"func.func @f(%b: memref<?xf32>, %n: index, %c: f32) {{\n{foralls}\nreturn\n}}"
        transform(text, ConvertForallToGpu())
        taken.append(visited)
    assert taken[2] - taken[1] == 2 * (taken[1] - taken[0])


def test_a_loop_of_many_sums_asks_of_each_buffer_whether_it_is_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = 0

    def counted(buffer: ir.Value) -> bool:
        nonlocal asked
        asked += 1
        return is_own(buffer)

    monkeypatch.setattr(body, "is_own", counted)
    taken: list[int] = []
    for count in (10, 20, 40):
        asked = 0
        arguments = ", ".join(f"%s{k}: memref<f32>" for k in range(count))
        sums = "\n".join(
            f"%a{k} = memref.load %s{k}[] : memref<f32>\n"
            f"%b{k} = arith.addf %a{k}, %e fastmath<reassoc> : f32\nmemref.store %b{k}, %s{k}[] : memref<f32>"
            for k in range(count)
        )
        transform(
            f"""func.func @f(%x: memref<?xf32>, %n: index, {arguments}) {{
              %c0 = arith.constant 0 : index
              %c1 = arith.constant 1 : index
              scf.for %i = %c0 to %n step %c1 {{
                %e = memref.load %x[%i] : memref<?xf32>
                {sums}
              }}
              return
            }}""",
            VectorizeRaggedLoops(isa="avx2"),
        )
        taken.append(asked)
    assert 0 < taken[2] - taken[1] == 2 * (taken[1] - taken[0])


def test_checks_that_share_a_forall_are_moved_there_once(monkeypatch: pytest.MonkeyPatch) -> None:
    moved = 0
    operation: Any = ir.Operation.__mro__[1]
    move: Callable[[ir.Operation, ir.Operation], None] = operation.move_before

    def counted(self: ir.Operation, other: ir.Operation) -> None:
        nonlocal moved
        moved += 1
        move(self, other)

    monkeypatch.setattr(operation, "move_before", counted)
    foralls = "scf.forall (%i) in (1) { memref.store %x, %s[%n] : memref<5xi64> }\n" * 30
    module = transform(
        "module attributes {ragged.checks = []} {\n"
        f"func.func @f(%x: i64, %n: index, %s: memref<5xi64>) {{\n{foralls}return\n}}\n}}",
        MergeRaggedChecks(),
    )
    assert len(find_ops(module, "scf.forall")) == 1
    assert len(find_ops(module, "scf.if")) == 29
    assert moved == 30


def _calls(monkeypatch: pytest.MonkeyPatch, module: Any, name: str, text: str, pass_: Any) -> int:
    """How often a pass calls a function of a module."""
    made, function = 0, getattr(module, name)

    def counted(*given: Any) -> Any:
        nonlocal made
        made += 1
        return function(*given)

    with monkeypatch.context() as patch:
        patch.setattr(module, name, counted)
        transform(text, pass_)
    return made


JAGGED = 'tensor<?x?xf32, #ragged.layout<"dr">>'


def _loops(count: int) -> str:
    """Loops one after the other, each of what the one before it made."""
    loops = "\n".join(
        f"%x{k + 1} = scf.for %i{k} = %c0 to %n step %c1 iter_args(%a{k} = %x{k}) -> ({JAGGED}) {{\n"
        f"%y{k} = arith.addf %a{k}, %x{k} : {JAGGED}\nscf.yield %y{k} : {JAGGED}\n}}"
        for k in range(count)
    )
    constants = "%c0 = arith.constant 0 : index\n%c1 = arith.constant 1 : index"
    body = f"{constants}\n{loops}\nreturn %x{count} : {JAGGED}"
    return f"func.func @f(%x0: {JAGGED}, %n: index) -> {JAGGED} {{\n{body}\n}}"


def _checked_views(count: int) -> str:
    """Views of views, each with a check of its own."""
    views = "\n".join(
        f'ragged.assert_valid %a, %b {{kind = "index", op = "step", level = {k}}} : (index, index) -> ()\n'
        f"%x{k + 1} = tensor.cast %x{k} : tensor<{'?' if k % 2 else '4'}xf32> to tensor<{'4' if k % 2 else '?'}xf32>\n"
        f"%d{k + 1} = tensor.dim %x{k + 1}, %d{k} : tensor<{'4' if k % 2 else '?'}xf32>\n"
        f'ragged.assert_valid %d{k + 1}, %b {{kind = "index", op = "step", level = {k}}} : (index, index) -> ()'
        for k in range(count)
    )
    return f"func.func @f(%x0: tensor<4xf32>, %d0: index, %a: index, %b: index) {{\n{views}\nreturn\n}}"


def test_where_structures_come_from_is_asked_for_once_over_all_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = [_calls(monkeypatch, keys, "_above", _loops(count), RaggedFuse()) for count in (10, 20, 40)]
    assert 0 < taken[2] - taken[1] == 2 * (taken[1] - taken[0])


def test_what_checks_need_is_looked_for_once_in_chains_of_views(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [_checked_views(count) for count in (10, 20, 40)]
    taken = [_calls(monkeypatch, scheduling, "_read", text, RaggedCanonicalize()) for text in texts]
    assert 0 < taken[2] - taken[1] == 2 * (taken[1] - taken[0])


def _rows(count: int) -> str:
    """Sums of a row, one loop after the other, in a loop over rows."""
    arguments = ", ".join(f"%s{k}: memref<f32>" for k in range(count))
    loops = "\n".join(
        f"""scf.for %j{k} = %c0 to %m step %c1 {{
          %e{k} = memref.load %x[%i, %j{k}] : memref<?x?xf32>
          %f{k} = arith.mulf %e{k}, %e{k} : f32
          %a{k} = memref.load %s{k}[] : memref<f32>
          %b{k} = arith.addf %a{k}, %f{k} fastmath<reassoc> : f32
          memref.store %b{k}, %s{k}[] : memref<f32>
        }}"""
        for k in range(count)
    )
    return f"""func.func @f(%x: memref<?x?xf32>, %n: index, %m: index, {arguments}) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      scf.for %i = %c0 to %n step %c1 {{ {loops} }}
      return
    }}"""


@pytest.mark.parametrize("name", ["vectorize", "cascade"])
def test_ops_visited_for_loops_over_a_row_grow_with_them(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pass_ = VectorizeRaggedLoops(isa="avx2") if name == "vectorize" else CascadeRaggedSums()
    taken = [_visits(monkeypatch, _rows(count), pass_) for count in (10, 20, 40)]
    assert 0 < taken[2] - taken[1] == 2 * (taken[1] - taken[0])


def _visits(monkeypatch: pytest.MonkeyPatch, text: str, pass_: Any) -> int:
    """How many ops a pass visits, as often as it does."""
    visited = 0

    def counted(root: Any, visit: Callable[[Any], Any], order: Any) -> None:
        def counting(op: Any) -> Any:
            nonlocal visited
            visited += 1
            return visit(op)

        visit_all(root, counting, order)

    with monkeypatch.context() as patch:
        patch.setattr(walk, "visit_all", counted)
        transform(text, pass_)
    return visited


def test_equalities_that_are_learnt_one_after_the_other_are_followed_once() -> None:
    looked = 0

    class Named:
        def __hash__(self) -> int:
            nonlocal looked
            looked += 1
            return id(self)

    taken: list[int] = []
    for count in (20, 80):
        first, *others = (Named() for _ in range(count))
        facts, looked = Facts(), 0
        for other in others:
            facts.learn(other, first)
        taken.append(looked)
        facts.push()
        facts.learn(Named(), first)
        found = facts.find(first)
        assert all(facts.find(other) == found for other in others)
        facts.pop()
        assert facts.find(first) == facts.find(others[0]) == others[-1]
    assert taken[1] < 5 * taken[0]
