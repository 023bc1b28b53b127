"""What code of plug-ins erases, detaches and moves, with as many handles as there may be."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import nullcontext
from types import FrameType

import pytest

from ragged_dialect._mlir import func, ir
from ragged_dialect.erasing import foreign, frozen, grave, is_erased, is_value, kept
from ragged_dialect.errors import PassError

PROGRAM = """func.func @f(%c: i1, %x: f32) -> f32 {
  %0 = scf.if %c -> f32 {
    %1 = arith.negf %x : f32
    %2 = arith.addf %1, %1 : f32
    scf.yield %2 : f32
  } else {
    scf.yield %x : f32
  }
  return %0 : f32
}"""


@pytest.fixture(name="module")
def _module() -> Iterator[ir.Module]:
    with ir.Context():
        yield ir.Module.parse(PROGRAM)


def ops(module: ir.Module) -> list[ir.Operation]:
    """The function, the branch and the return in it, and the first op of the branch; new handles in every call."""
    (function,) = [op.operation for op in module.body.operations]
    branch, end = [op.operation for op in function.regions[0].blocks[0].operations]
    return [function, branch, end, branch.regions[0].blocks[0].operations[0].operation]


def unused(module: ir.Module) -> ir.Operation:
    _, branch, end, _ = ops(module)
    end.operands[0] = branch.block.arguments[1]
    return branch


def test_all_handles_can_be_read_until_a_pass_ends(module: ir.Module) -> None:
    with grave(), foreign():
        others, values = ops(module), [*ops(module)[3].results]
        branch = unused(module)
        branch.erase()
        assert is_erased(branch)
        with pytest.raises(RuntimeError, match=r"the operation has been invalidated"):
            str(branch)
        assert [is_erased(op) for op in others] == [False, True, False, True]
        assert [op.name for op in others] == ["func.func", "scf.if", "func.return", "arith.negf"]
        assert not is_value(values[0])
        assert str(values[0].type) == "f32"
    assert "scf.if" not in str(module)
    assert module.operation.verify()


def test_what_programs_use_is_refused_and_stays(module: ir.Module) -> None:
    def wrong() -> None:
        with grave(), foreign():
            inner, end = ops(module)[3].results[0], ops(module)[2]
            unused(module).erase()
            end.operands[0] = inner

    with pytest.raises(
        PassError, match=r"expected uses of ops that are part of a program, got one of 'scf.if', which is erased"
    ):
        wrong()
    assert "return" in str(module)


def test_what_is_detached_and_put_back_is_part_of_the_program(module: ir.Module) -> None:
    before = str(module)
    with grave(), foreign():
        _, branch, end, _ = ops(module)
        branch.detach_from_parent()
        assert is_erased(branch)
        ir.InsertionPoint(end).insert(branch)
        assert not is_erased(branch)
    assert str(module) == before
    with grave(), foreign():
        unused(module).detach_from_parent()  # with uses in itself, which end with it
    assert "scf.if" not in str(module)


def test_what_is_detached_may_be_erased(module: ir.Module) -> None:
    with grave(), foreign():
        branch = unused(module)
        branch.detach_from_parent()
        branch.erase()
    assert "scf.if" not in str(module)


def test_what_is_erased_stays_where_it_is(module: ir.Module) -> None:
    with grave(), foreign():
        function, other, end, inner = ops(module)
        unused(module).erase()
        moves = [lambda: inner.move_before(end), lambda: end.move_after(inner), lambda: end.move_before(other)]
        for move in (*moves, lambda: function.regions[0].blocks[0].append(inner)):
            with pytest.raises(
                ValueError, match=r"expected '.*' to be moved within a program, got an op that is erased"
            ):
                move()
    assert module.operation.verify()


def test_what_ends_a_block_can_be_read_too() -> None:
    text = "func.func @f(%c: i1) { cf.cond_br %c, ^a, ^b\n^a: cf.br ^b\n^b: return }"
    with ir.Context():
        module = ir.Module.parse(text)
        with grave(), foreign():
            blocks = list(module.body.operations[0].regions[0].blocks)
            ends = [[block.operations[0].operation for block in blocks] for _ in range(2)]
            for one in ends[0][:2]:
                one.erase()
            assert [one.name for one in ends[1]] == ["cf.cond_br", "cf.br", "func.return"]
            ends[0][2].detach_from_parent()
            blocks[0].append(ends[0][2])
    assert "cf." not in str(module)


@pytest.mark.parametrize("order", [ir.WalkOrder.PRE_ORDER, ir.WalkOrder.POST_ORDER])
def test_a_walk_goes_over_what_is_left(order: ir.WalkOrder) -> None:
    text = "func.func @f(%x: f32) { %0 = arith.negf %x : f32 %1 = arith.extf %x : f32 to f64 return }"
    seen: list[str] = []
    with ir.Context():
        module = ir.Module.parse(text)

        def see(op: ir.Operation) -> ir.WalkResult:
            seen.append(op.name)
            for other in [o.operation for o in op.block.operations] if op.name == "arith.negf" else ():
                if other.name == "arith.extf":
                    other.erase()
            return ir.WalkResult.ADVANCE

        with grave(), foreign():
            module.body.operations[0].operation.walk(see, order)
    inside = ["arith.negf", "func.return"]
    assert seen == (["func.func", *inside] if order == ir.WalkOrder.PRE_ORDER else [*inside, "func.func"])


def test_what_is_around_kept_ops_stays(module: ir.Module) -> None:
    function, branch, _, inner = ops(module)
    with kept(inner):
        for op in (inner, branch, function, module.operation):
            with pytest.raises(ValueError, match=r"expected an op that no pass is running on, got '.*' to erase"):
                op.erase()
            with pytest.raises(ValueError, match=r"expected an op that no pass is running on, got '.*' to detach"):
                op.detach_from_parent()


def test_an_op_is_not_moved_into_itself(module: ir.Module) -> None:
    function, branch, end, inner = ops(module)
    block = branch.regions[0].blocks[0]
    for move in (lambda: block.append(branch), lambda: function.move_before(inner), lambda: branch.move_after(inner)):
        with pytest.raises(ValueError, match=r"expected a place outside of '.*', got one in it"):
            move()
    function.detach_from_parent()
    with pytest.raises(ValueError, match=r"expected a place outside of 'func.func', got one in it"):
        ir.InsertionPoint(end).insert(function)


def test_verifiers_change_nothing(module: ir.Module) -> None:
    _, branch, end, inner = ops(module)
    with frozen():
        for change, what in (
            (inner.erase, "erase"), (branch.detach_from_parent, "detach"), (lambda: inner.move_before(end), "move")
        ):  # fmt: skip
            with pytest.raises(ValueError, match=rf"expected a verifier to change nothing, got '.*' to {what}"):
                change()


def test_other_contexts_have_their_own_memory(module: ir.Module) -> None:
    with grave(), foreign():
        unused(module).erase()
        with ir.Context():
            other = ir.Module.parse("module { func.func @g() { return } }")
            other.body.operations[0].operation.erase()
    assert str(other) == "module {\n}\n"


@pytest.mark.parametrize("order", [ir.WalkOrder.PRE_ORDER, ir.WalkOrder.POST_ORDER])
def test_what_is_detached_is_walked_and_changed(module: ir.Module, order: ir.WalkOrder) -> None:
    function, branch, _, inner = ops(module)
    wanted, seen = [], []
    function.walk(lambda op: (wanted.append(op.name), ir.WalkResult.ADVANCE)[1], order)
    with grave(), foreign():
        function.detach_from_parent()
        function.walk(lambda op: (seen.append(op.name), ir.WalkResult.ADVANCE)[1], order)
        inner.results[0].replace_all_uses_with(function.regions[0].blocks[0].arguments[1])
        branch.results[0].replace_all_uses_with(function.regions[0].blocks[0].arguments[1])
        module.body.append(function)
    assert seen == wanted
    assert "addf %arg1, %arg1" in str(module)


@pytest.mark.parametrize("plug_in", [False, True])
def test_a_walk_may_be_over_ops_of_a_class(module: ir.Module, plug_in: bool) -> None:
    seen: list[str] = []
    with foreign() if plug_in else nullcontext():
        module.operation.walk(
            lambda op: (seen.append(op.name), ir.WalkResult.ADVANCE)[1], ir.WalkOrder.PRE_ORDER, op_class=func.FuncOp
        )
    assert seen == ["func.func"]


def test_ctrl_c_at_the_call_of_a_callback(module: ir.Module) -> None:
    def interrupt(frame: FrameType, event: str, _: object) -> None:
        if frame.f_code.co_name == "kept":  # its first line comes later
            raise KeyboardInterrupt

    sys.settrace(interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            module.operation.walk(lambda op: ir.WalkResult.ADVANCE)
    finally:
        sys.settrace(None)


def test_what_is_not_yet_in_a_program_may_be_changed(module: ir.Module) -> None:
    function = ops(module)[0].clone(ip=False).operation
    block = function.regions[0].blocks[0]
    block.operations[0].results[0].replace_all_uses_with(block.arguments[1])
    assert "return %arg1" in str(function)


def test_values_of_ops_in_no_block_are_refused_everywhere(module: ir.Module) -> None:
    _, branch, end, inner = ops(module)
    alone = inner.clone(ip=False).results[0]
    refused = r"expected a value of a program in place of %0, got one of 'arith.negf', which is in no block"
    for replace in (
        lambda: branch.results[0].replace_all_uses_with(alone),
        lambda: branch.results[0].replace_all_uses_except(alone, []),
        lambda: end.replace_uses_of_with(branch.results[0], alone),
    ):
        with pytest.raises(TypeError, match=refused):
            replace()


def test_sets_find_ops_that_have_changed(module: ir.Module) -> None:
    first, end = ops(module)[3], ops(module)[2]
    same = first.clone(ir.InsertionPoint(first)).operation
    assert len({first, same, *ops(module)}) == 5  # new handles, and one op that is as another
    found = {first: "first", end: "end"}
    assert hash(first.opview) == hash(first)
    first.attributes["name"] = ir.StringAttr.get("x")
    end.operands[0] = end.block.arguments[1]
    assert [found[op] for op in (first, ops(module)[2])] == ["first", "end"]


def test_names_of_arguments_have_any_order(module: ir.Module) -> None:
    """Methods that are checked first take arguments by their names."""
    end = ops(module)[2]
    old, new = end.operands[0], end.block.arguments[1]
    end.replace_uses_of_with(with_=new, of=old)
    assert end.operands[0] == new
    end.operands[0] = old
    old.replace_all_uses_except(exceptions=[], with_=new)
    assert end.operands[0] == new
