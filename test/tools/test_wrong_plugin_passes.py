"""Passes of plug-ins that go wrong where they run: they are named, and what others need stays."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from support.packages import opt, opt_process

from ragged_dialect._mlir import ir, rewrite

PASS = """from dataclasses import dataclass
from ragged_dialect.lowering.stage import Stage
from ragged_dialect.passes import registry
from ragged_dialect.passes.base import RaggedPass
@dataclass(frozen=True)
class Wrong(RaggedPass):
  name = "wrong-c"
  BODY
  def run(self, op): raise SystemExit(3)
def pipeline(): return (Stage("a", "cse,wrong-p"),)
def register():
  registry.register("wrong-c", lambda: Wrong)
  registry.register_pipeline("wrong-p", __name__, "pipeline")
"""
BODIES = {
    ("one: int", "--wrong-c"): "ragged-opt: expected 'one' for 'wrong-c'",
    (
        "one: 'Nothing' = 1",
        "--wrong-c",
    ): "ragged-opt: expected types of options of 'wrong-c', got NameError: name",
    ("def __post_init__(self): 1 / 0", "--wrong-c"): "ragged-opt: expected a pass of 'wrong-c', got ZeroDivisionError",
    ("one: float = 1.0", "--wrong-c=one=2"): "expected bool, int or str as type of 'one', got float",
    ("one: list[int] = ()", "--wrong-c=one=2"): "expected bool, int or str as type of 'one', got list",
    ("one: int = 1", "--wrong-c"): "in.mlir: error: internal error in wrong-c: SystemExit: 3 (wrong.py:9)",
    (
        "one: int = 1",
        "--wrong-p",
    ): "ragged-opt: pipeline:1:1: error: 'wrong-p', stage 'a': expected a pipeline that is not part of itself",
}


@pytest.mark.parametrize("how", BODIES, ids=" ".join)
def test_passes_that_go_wrong(how: tuple[str, str], folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "wrong.py").write_text(PASS.replace("BODY", how[0]))
    assert opt(folder, "--load-pass-plugin=wrong", how[1]) == 1
    assert BODIES[how] in capfd.readouterr().err


@pytest.mark.parametrize("error", ["next(iter([]))", "raise type('End', (BaseException,), {})"])
def test_no_exception_is_success(error: str, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "wrong.py").write_text(PASS.replace("BODY", "one: int = 1").replace("raise SystemExit(3)", error))
    (folder / "in.mlir").write_text("func.func @f() { return }")
    assert opt(folder, "--load-pass-plugin=wrong", "--wrong-c") == 1
    found = capfd.readouterr()
    assert not found.out
    assert re.search(r"in.mlir: error: internal error in wrong-c: (StopIteration|End):  \(wrong.py:9\)", found.err)


def test_interrupts_are_none_of_the_plug_in(folder: Path) -> None:
    (folder / "wrong.py").write_text(PASS.replace("BODY", "one: int = 1").replace("SystemExit(3)", "KeyboardInterrupt"))
    (folder / "in.mlir").write_text("func.func @f() { return }")
    assert opt(folder, "--load-pass-plugin=wrong", "--wrong-c") == 130


def write_pass(folder: Path, run: str, more: str = "") -> None:
    """A plug-in with a pass `wrong-e` whose `run` does something, in line 5."""
    (folder / "wrong.py").write_text(
        "from ragged_dialect.passes import registry\nfrom ragged_dialect.passes.base import RaggedPass\n"
        f"class Wrong(RaggedPass):\n  name = 'wrong-e'\n  def run(self, op): {run}\n  {more}\n"
        "def register(): registry.register('wrong-e', lambda: Wrong)"
    )


def test_a_pass_that_raises(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write_pass(folder, "raise KeyError('boom')")
    assert opt(folder, "--load-pass-plugin=wrong", "--wrong-e") == 1
    assert "error: internal error in wrong-e: KeyError: 'boom' (wrong.py:5)" in capfd.readouterr().err


def test_a_pass_that_closes_standard_output(folder: Path) -> None:
    """What goes to a file is written; what goes there is an error."""
    write_pass(folder, "__import__('sys').stdout.close()")
    (folder / "in.mlir").write_text("func.func @f() { return }")
    for flags, code, text in (
        (["-o", "out.mlir"], 0, ""),
        ([], 1, "ragged-opt: standard output: expected an open stream, got one that was closed\n"),
    ):
        done = opt_process(folder, "in.mlir", "--wrong-e", *flags)
        assert (done.returncode, done.stderr) == (code, text)
    assert "func.func @f" in (folder / "out.mlir").read_text()


FIRST = "list(op.regions[0].blocks[0].operations)[0]"
ERASED = {
    "op.erase()": "expected an op that no pass is running on, got 'builtin.module' to erase (wrong.py:5)",
    f"{FIRST}.operation.parent.operation.erase()": "got 'builtin.module' to erase (wrong.py:5)",
    f"{FIRST}.regions[0].blocks[0].operations[0].operation.erase()": (
        "expected an op that has no uses, got 'arith.constant' to erase (wrong.py:5)"
    ),
}


FAIL = "from ragged_dialect.passes.base import PassFailure"
USED = {
    "yield 1": "expected nothing from `run`, got generator",
    "raise type('End', (Exception,), {'__str__': lambda self: 1 / 0})()": "internal error in wrong-e: End (wrong.py:5)",
    f"x = {FIRST}.regions[0].blocks[0].operations[0].results[0]; x.replace_all_uses_with(x)": (
        "ValueError: expected another value in place of %0, got itself (wrong.py:5)"
    ),
    f"{FIRST}.regions[0].blocks[0].erase_argument(0)": (
        "ValueError: expected an argument that has no uses, got argument 0 to erase (wrong.py:5)"
    ),
    f"{FIRST}.regions[0].blocks[0].erase_argument(-1)": "IndexError: expected an argument below 1, got -1 (wrong.py:5)",
    f"{FAIL}; {FIRST}.walk(lambda op: (_ for _ in ()).throw(PassFailure(op, 'expected none')))": (
        "in.mlir:2:7: error: expected none"
    ),
    f"{FAIL}; from ragged_dialect._mlir import func, ir; place = ir.InsertionPoint(op.regions[0].blocks[0]); "
    "f = func.FuncOp('g', ([], []), visibility='private', ip=place).operation; f.erase(); raise PassFailure(f, 'no')": (
        "TypeError: expected an op that a pass fails at, got one that is erased (wrong.py:5, through base.py:"
    ),
    f"{FAIL}; raise PassFailure(None, 'no')": (
        "TypeError: expected an op that a pass fails at, got NoneType (wrong.py:5, through base.py:"
    ),
    f"{FIRST}.detach_from_parent(); op.detach_from_parent()": (
        "ValueError: expected an op that no pass is running on, got 'builtin.module' to detach (wrong.py:5)"
    ),
    f"{FIRST}.regions[0].blocks[0].append({FIRST})": (
        "ValueError: expected a place outside of 'func.func', got one in it (wrong.py:5)"
    ),
    f"{FAIL}; n = {FIRST}.regions[0].blocks[0].operations[0].operation; {FIRST}.erase(); raise PassFailure(n, 'no')": (
        "TypeError: expected an op that a pass fails at, got one that is erased (wrong.py:5, through base.py:"
    ),
    f"n = {FIRST}.regions[0].blocks[0].operations[0]; v = n.clone(); x = v.results[0]; v.erase(); "
    "n.results[0].replace_all_uses_with(x)": (
        "TypeError: expected a value of a program in place of %0, got one that is erased (wrong.py:5)"
    ),
    f"from ragged_dialect._mlir import arith; n = {FIRST}.regions[0].blocks[0].operations[0]; "
    "n.results[0].replace_all_uses_with(arith.MulFOp(*[n.operands[0]] * 2).result)": (
        "expected a value of a program in place of %0, got one of 'arith.mulf', which is in no block (wrong.py:5)"
    ),
    f"n = {FIRST}.regions[0].blocks[0].operations[0]; n.operands[1] = n.operands[0]": (
        "IndexError: expected an index below 1, got 1 (wrong.py:5)"
    ),
    f"n = {FIRST}.regions[0].blocks[0].operations[0]; n.operands[-2] = n.operands[0]": (
        "IndexError: expected an index below 1, got -2 (wrong.py:5)"
    ),
    f"n = {FIRST}.regions[0].blocks[0].operations[1]; n.successors[0] = n.operation.block": (
        "IndexError: expected an index below 0, got 0 (wrong.py:5)"
    ),
    "op.walk(lambda op: None)": "TypeError: expected a WalkResult from a callback of walk, got NoneType (wrong.py:5)",
    "from ragged_dialect._mlir import ir; ir.SymbolTable(op).erase(op)": (
        "ValueError: expected an op that no pass is running on, got 'builtin.module' to erase (wrong.py:5)"
    ),
    f"\n    from ragged_dialect._mlir import func, ir; g, h = {FIRST}, {FIRST}; g.erase(); b = h.regions[0].blocks[0]\n"
    "    with ir.InsertionPoint(b): func.FuncOp('k', ([], []), visibility='private')": (
        "expected an insertion point in a program, got one in what is erased (wrong.py:7)"
    ),
    f"n = {FIRST}.regions[0].blocks[0].operations[0]; v = n.clone(); v.operation.move_before(n)": (
        "expected ops that are in a block, got 'arith.negf', which is in none (wrong.py:5)"
    ),
    f"\n    from ragged_dialect._mlir import ir; b = {FIRST}.regions[0].blocks[0]; n = b.operations[0]\n"
    "    with ir.InsertionPoint(n): n.operation.clone()\n"
    "    one, other = b.operations[0], b.operations[0]; one.erase(); n.operands[0] = other.operands[0]": (
        "wrong-e: expected uses of ops that are part of a program, got an operand of one, which is erased"
    ),
    f"n = {FIRST}.regions[0].blocks[0].operations[0]; n.results[0].replace_all_uses_with(None)": (
        "TypeError: expected a value of a program in place of %0, got NoneType (wrong.py:5)"
    ),
    "self.__class__ = exec('1 / 0')": "ZeroDivisionError: division by zero (wrong.py:5)",
    "__import__('numpy').linalg.inv([[0.0]])": "LinAlgError: Singular matrix (wrong.py:5)",
    "from ragged_dialect import builders; builders.merge(None, dim=7)": "(wrong.py:5",
    "from ragged_dialect.errors import LayoutError; raise LayoutError('expected x, got y')": (
        "in.mlir: error: wrong-e: expected x, got y (wrong.py:5)"
    ),
    "import os; os._exit(0)": "ragged-opt: expected plug-ins to return, got one that ends the process",
    "raise type('End', (Exception,), {'__str__': lambda self: exit(0)})()": "error in wrong-e: End (wrong.py:5)",
    "import sys; sys.stdout = None": "standard output: expected an open stream, got one that was closed",
}


@pytest.mark.sampled(16)
@pytest.mark.parametrize("what", USED)
def test_a_pass_that_uses_what_it_is_given_wrongly(folder: Path, what: str) -> None:
    (folder / "in.mlir").write_text("func.func @f(%x: f32) -> f32 {\n %0 = arith.negf %x : f32\n return %0 : f32 }")
    write_pass(folder, what)
    found = opt_process(folder, "in.mlir", "--wrong-e")
    assert found.returncode == 1, found.stderr
    assert USED[what] in found.stderr
    assert "Traceback" not in found.stderr


@pytest.mark.sampled(2)
@pytest.mark.parametrize("what", ["op.parent.erase()", "op.parent.detach_from_parent()", "op.detach_from_parent()"])
def test_what_is_around_an_op_stays(folder: Path, what: str) -> None:
    (folder / "in.mlir").write_text("module { module { func.func @f() { return } } }")
    write_pass(folder, what, "anchor = 'func.func'")
    found = opt_process(folder, "in.mlir", "--pass-pipeline=builtin.module(builtin.module(func.func(wrong-e)),cse)")
    assert found.returncode == 1, found.stderr
    assert "internal error in wrong-e: ValueError: expected an op that no pass is running on, got '" in found.stderr


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("anchor = 'func.fnc'", "expected 'wrong-e' to run on an op that is registered, got 'func.fnc'"),
        ("run = RaggedPass.run", "NotImplementedError: expected a method `run` of 'wrong-e', got none"),
        ("anchor = 3", "expected a pass class of 'wrong-e', got type"),
        ("verified = property(lambda self: 1 / 0)", "expected a pass class of 'wrong-e', got type"),
    ],
)
def test_classes_of_passes_that_say_something_else(
    given: str, text: str, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    write_pass(folder, "pass", given)
    (folder / "in.mlir").write_text("func.func @f() { return }")
    assert opt(folder, "--load-pass-plugin=wrong", "--wrong-e", "--verify-each=false") == 1
    assert text in capfd.readouterr().err


@pytest.mark.sampled(12)
@pytest.mark.parametrize("what", ERASED)
@pytest.mark.parametrize("flags", ["", "--mlir-print-ir-after-all", "--mlir-timing", "--mlir-pass-statistics"])
def test_a_pass_that_erases_what_is_needed(folder: Path, what: str, flags: str) -> None:
    (folder / "in.mlir").write_text("func.func @f() -> f32 {\n %0 = arith.constant 0.0 : f32\n return %0 : f32 }")
    write_pass(folder, what)
    found = opt_process(folder, "in.mlir", *flags.split(), "--pass-pipeline=wrong-e,cse")
    assert found.returncode == 1, found.stderr
    assert "error: internal error in wrong-e: ValueError: expected" in found.stderr
    assert ERASED[what] in found.stderr


REWRITES = """
from dataclasses import dataclass
from ragged_dialect._mlir import ir, rewrite
from ragged_dialect.passes import registry
from ragged_dialect.passes.base import RaggedPass
@dataclass(frozen=True)
class Wrong(RaggedPass):
  name = "wrong-c"
  def run(self, op):
    def pattern(found, rewriter):
      {what}
    patterns = rewrite.RewritePatternSet(op.context)
    patterns.add("arith.constant", pattern)
    rewrite.apply_patterns_and_fold_greedily(op, patterns.freeze())
def register(): registry.register("wrong-c", lambda: Wrong)
"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("rewriter.erase_op(found)", "expected an op that has no uses, got 'arith.constant' to erase"),
        ("rewriter.replace_op(found, [])", "expected 1 values for 'arith.constant', got 0"),
        (
            "rewriter.replace_op(found, ir.Operation.create('arith.addi', operands=[found.results[0]] * 2, "
            "results=[found.results[0].type], loc=found.location))",
            "expected a value of a program in place of %c1_i32, got one of 'arith.addi', which is in no block",
        ),
    ],
)
def test_a_rewrite_that_leaves_uses_without_values(
    folder: Path, capfd: pytest.CaptureFixture[str], what: str, text: str
) -> None:
    (folder / "wrong.py").write_text(REWRITES.replace("{what}", what))
    program = "func.func @f() -> i32 { %0 = arith.constant 1 : i32 return %0 : i32 }"
    (folder / "f.mlir").write_text(program)
    done = opt_process(folder, "f.mlir", "--wrong-c")
    assert done.returncode == 1
    assert text in done.stderr


RIGHT = {
    "detached and put back": """
    block = FUNCTION.regions[0].blocks[0]
    dead = block.operations[0].detach_from_parent()
    ir.InsertionPoint.at_block_begin(block).insert(dead)
    passmanager.PassManager.parse("builtin.module(func.func(canonicalize))").run(op)
    assert len(block.operations) == 1""",
    "lowered in a pass": """
    from ragged_dialect.passes.pipeline.stages import parse_pipeline
    from ragged_dialect.passes.pipeline.running import run_pipeline
    run_pipeline(op, parse_pipeline("ragged-to-llvm-pipeline", op.context))""",
    "a symbol put in": """
    table = ir.SymbolTable(op)
    with ir.Location.unknown(op.context):
      name = table.insert(func.FuncOp("f", ([], []), visibility="private"))
    assert len(op.regions[0].blocks[0].operations) == 2 and name.value == "f_0" and "f_0" in table""",
    "erased in a conversion": """
    converter, keep, target = rewrite.TypeConverter(), lambda found: found, rewrite.ConversionTarget(op.context)
    converter.add_conversion(keep)
    target.add_illegal_op("arith.negf", "arith.absf")
    patterns = rewrite.RewritePatternSet(op.context)
    gone = lambda found, adaptor, converter, rewriter: rewriter.erase_op(found)
    for kind in (arith.NegFOp, math.AbsFOp):
      patterns.add_conversion(kind, gone, converter)
    rewrite.apply_partial_conversion(op, target, patterns.freeze())""",
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("what", RIGHT)
def test_what_is_right_is_taken(what: str, folder: Path) -> None:
    program = "func.func @f(%x: f32) {\n %0 = arith.negf %x : f32\n return }"
    (folder / "in.mlir").write_text(program)
    body = RIGHT[what].replace("FUNCTION", FIRST).replace('"arith.negf", "arith.absf"', '"arith.negf"')
    more = "from ragged_dialect._mlir import arith, func, ir, math, passmanager, rewrite\n"
    write_pass(folder, body)
    (folder / "wrong.py").write_text(more + (folder / "wrong.py").read_text())
    found = opt_process(folder, "in.mlir", "--wrong-e")
    assert (found.returncode, found.stderr) == (0, "")


def test_a_type_converter_keeps_its_functions() -> None:
    """The bindings do not, and a lambda that nobody else has was called after it was freed."""
    with ir.Context(), ir.Location.unknown():
        converter = rewrite.TypeConverter()
        function = lambda type_: ir.IntegerType.get_signless(64)  # noqa: E731
        before = sys.getrefcount(function)
        converter.add_conversion(function)
        assert sys.getrefcount(function) > before
        del function
        assert str(converter.convert_type(ir.F32Type.get())) == "i64"
