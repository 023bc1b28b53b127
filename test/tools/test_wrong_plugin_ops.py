"""Ops of plug-ins that go wrong, or lack what the dialect asks of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.packages import opt, opt_process

import ragged_dialect as rg
from ragged_dialect import extensions, plugins
from ragged_dialect.asm.module import load_module
from ragged_dialect.dialect import context
from ragged_dialect.errors import PassError, VerifyError
from ragged_dialect.reference.interpreter import run

WRONG_OP = """from ragged_dialect import ops
from ragged_dialect._mlir import ext
from ragged_dialect.ops.base import Operand, Pure, RaggedOp, Result, Tensor, unchecked

class Wrong(ext.Dialect, name="wrong"): ...

class Op(RaggedOp, name="op", dialect=Wrong, traits=[Pure]):
    \"\"\"An op.\"\"\"

    res: Result[Tensor]
    x: Operand[Tensor]
    same_lengths = True
    checks = unchecked

    @staticmethod
    def infer(x): return {infer}

def register(): ops.register_dialect(Wrong, lowering=__name__)


EXPANSIONS = {{"wrong.op": lambda op: {values}}}
def erased(op):
    made = op.clone()
    value = made.results[0]
    made.operation.erase()
    return value
def two_rows(op):
    from ragged_dialect._mlir import ir
    values = list(op.operands) * 2
    return ir.Operation.create("arith.addf", operands=values[:1], results=[values[0].type]).result
"""
USE = """func.func @f(%x: tensor<?x?xf32, #ragged.layout<"dr">>) -> tensor<?x?xf32, #ragged.layout<"dr">> {
  %y = wrong.op %x : (tensor<?x?xf32, #ragged.layout<"dr">>) -> tensor<?x?xf32, #ragged.layout<"dr">>
  return %y : tensor<?x?xf32, #ragged.layout<"dr">>
}
"""
TYPE = 'tensor<?x?xf32, #ragged.layout<"dr">>'
WRONG_PARTS = {
    ("x", "[op.operands[0]]"): "",
    ("__import__('sys').exit(0)", "[]"): "internal error in the verifier of 'wrong.op': SystemExit: 0",
    ("1 / 0", "[]"): "internal error in the verifier of 'wrong.op': ZeroDivisionError: division by zero",
    ("x", "None"): "expected 1 values from the expansion, got 0",
    ("x", "list(op.results)"): "expected new values from the expansion, got a result of the op",
    ("x", "next(iter([]))"): (
        "in.mlir:2:8: error: internal error in convert-ragged-to-scf on 'wrong.op': StopIteration:  (wrong.py:"
    ),
    ("x", "[op.results[0].replace_all_uses_with(op.operands[0]), op.erase()]"): (
        "on 'wrong.op': TypeError: expected 'wrong.op' to be left where it is, got it erased ("
    ),
    ("x", "[erased(op)]"): "expected new values from the expansion, got one",
    ("x", "[two_rows(op)]"): (
        "in.mlir:2:8: error: internal error in convert-ragged-to-scf on 'wrong.op': "
        "TypeError: expected valid IR from the expansion, got: "
    ),
    ("x", "__import__('ragged_dialect').builders.merge(op.operands[0], dim=7)"): (
        "in.mlir:2:8: error: internal error in convert-ragged-to-scf on 'wrong.op': LayoutError: expected dim in"
    ),
    ("x", "op.block.owner.erase()"): "expected an op that no pass is running on, got 'func.func' to erase (wrong.py:",
    ("x", "[op.operands[0]] * 2"): "expected 1 values from the expansion, got 2",
}


@pytest.mark.parametrize("parts", WRONG_PARTS, ids=lambda parts: parts[0] + " " + parts[1])
def test_parts_of_an_op_that_go_wrong(parts: tuple[str, str], folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "wrong.py").write_text(WRONG_OP.format(infer=parts[0], values=parts[1]))
    (folder / "in.mlir").write_text(USE)
    assert opt(folder, "--load-pass-plugin=wrong", "--convert-ragged-to-scf") == (1 if WRONG_PARTS[parts] else 0)
    assert WRONG_PARTS[parts] in capfd.readouterr().err


PATTERNS = {
    "{}[3]": "in.mlir:2:8: error: internal error in ragged-canonicalize on 'wrong.op': KeyError: 3 (wrong.py:",
    "'yes'": "on 'wrong.op': TypeError: expected a bool from a pattern, got str (wrong.py:",
    "op.block.owner.erase()": "expected an op that no pass is running on, got 'func.func' to erase (wrong.py:",
    "rewriter.replace(op, erased(op))": "expected a value in place of the result of 'wrong.op', got one that is erased",
    "True": "expected rewrites to come to an end, got one more of 'wrong.op'",
    "rewriter.replace(op, op.results[0])": "expected another value in place of the result of 'wrong.op', got itself",
    "[op.results[0].replace_all_uses_with(op.operands[0]), op.erase(), True][2]": (
        "on 'wrong.op': TypeError: expected 'wrong.op' to be left where it is, got it erased ("
    ),
    "clone_at_the_end(op, rewriter)": "expected rewrites to come to an end, got one more of 'wrong.op'",
    "next(op.results[0].uses).owner.erase()": "expected an op that has no uses, got 'math.exp' to erase (wrong.py:",
}


CLONES = """
def clone_at_the_end(op, rewriter):
    from ragged_dialect._mlir import ir
    with ir.InsertionPoint(list(op.block.operations)[-1]), op.location:
        return rewriter.replace(op, op.clone().results[0])
"""


@pytest.mark.sampled(10)
@pytest.mark.parametrize("what", PATTERNS)
def test_patterns_that_go_wrong(what: str, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    text = WRONG_OP.format(infer="x", values="[]").replace("lowering=__name__", "patterns=__name__")
    (folder / "wrong.py").write_text(f"{text}{CLONES}\nPATTERNS = {{'wrong.op': (lambda op, rewriter: {what},)}}")
    (folder / "in.mlir").write_text(USE.replace("return %y", f"%z = math.exp %y : {TYPE}\n  return %z"))
    assert opt(folder, "--load-pass-plugin=wrong", "--ragged-canonicalize") == 1
    assert PATTERNS[what] in capfd.readouterr().err


FOREIGN = """from ragged_dialect import ops
from ragged_dialect._mlir import ext, ir
from ragged_dialect.ops.base import Operand, RaggedOp, Result, Tensor, unchecked
class Wrong(ext.Dialect, name="wrong"): pass
class Plain(Wrong.Operation, name="plain"):
    res: Result[ir.RankedTensorType]
    x: Operand[ir.RankedTensorType]
class Same(RaggedOp, name="same", dialect=Wrong):
    res: Result[Tensor]
    x: Operand[Tensor]
    checks = unchecked
    infer = staticmethod(lambda x: x)
def register(): ops.register_dialect(Wrong)
"""
CALL = """func.func @f(%x: tensor<?x?xf32, #ragged.layout<"dr">>) -> tensor<?x?xf32, #ragged.layout<"dr">> {
  %y = OP %x : (tensor<?x?xf32, #ragged.layout<"dr">>) -> tensor<?x?xf32, #ragged.layout<"dr">>
  return %y : tensor<?x?xf32, #ragged.layout<"dr">>
}
"""


def test_ops_without_the_protocol_are_refused(folder: Path) -> None:
    (folder / "wrong.py").write_text(FOREIGN)
    plugins.load("wrong")
    text = (
        r"2:8: error: 'wrong.plain' op expected operands and results without a layout, got tensor<.*>; ops of other "
        r"packages take layouts if their classes derive from ragged_dialect.ops.base.RaggedOp and their dialect is "
        r"registered with ragged_dialect.ops.register_dialect \(docs/extending.md\)"
    )
    with pytest.raises(VerifyError, match=text):
        load_module(CALL.replace("OP", "wrong.plain"), context())
    load_module(CALL.replace("OP", "wrong.same"), context())


def test_ops_without_a_lowering_are_named(folder: Path) -> None:
    (folder / "wrong.py").write_text(FOREIGN)
    plugins.load("wrong")
    with pytest.raises(PassError, match=r"expected an expansion of 'wrong.same' by the plug-in that has it, got none"):
        rg.compile(CALL.replace("OP", "wrong.same"))
    with pytest.raises(rg.RaggedError, match=r"expected an op that the interpreter knows, got 'wrong.same'"):
        run(CALL.replace("OP", "wrong.same"), "f", [(np.zeros(1, np.float32), np.array([0, 1]))])


def test_an_unregistered_op(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "in.mlir").write_text(CALL.replace("OP %x", '"wrong.plain"(%x)'))
    assert opt(folder, "--allow-unregistered-dialect") == 1
    assert "ops of other packages take layouts if" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("def check_operands(self): yield", "TypeError: expected nothing from check_operands, got generator"),
        ("def verify_invariants(self): return {}['v']", "KeyError: 'v'"),
        ("def verify_invariants(self): yield", "TypeError: expected nothing from it, got generator"),
        ("def verify_invariants(self): return False", "expected a valid module, got one that MLIR refuses without a"),
        (
            "def check_operands(self): self.operation.erase()",
            "ValueError: expected a verifier to change nothing, got 'wrong.op' to erase (wrong.py:",
        ),
        (
            "def check_operands(self): self.operation.block.append(self.operation)",
            "ValueError: expected a verifier to change nothing, got 'wrong.op' to move (wrong.py:",
        ),
        ("checks = 5", "got expected a function checks of 'wrong.op', got int (wrong.py:"),
        ("check_operands = 5", "got expected a function check_operands of 'wrong.op', got int (wrong.py:"),
    ],
)
def test_verifiers_that_check_nothing(folder: Path, capfd: pytest.CaptureFixture[str], body: str, text: str) -> None:
    op = WRONG_OP.format(infer="x", values="[]")
    (folder / "wrong.py").write_text(op.replace("checks = unchecked\n", f"checks = unchecked\n    {body}\n"))
    (folder / "in.mlir").write_text(USE)
    assert opt(folder, "--load-pass-plugin=wrong") == 1
    assert text in capfd.readouterr().err


ANSWERS = {
    ("def checks(self, ask): return 3", "--ragged-insert-checks"): "TypeError: expected nothing from checks, got int",
    (
        "def checks(self, ask): yield",
        "--ragged-insert-checks",
    ): "TypeError: expected nothing from checks, got",
    ("def checks(self, ask): self.operation.block.owner.erase()", "--ragged-insert-checks"): (
        "ValueError: expected an op that no pass is running on, got 'func.func' to erase (wrong.py:"
    ),
    ("def divisors(self, known): return 0", "--ragged-simplify-splits"): (
        "TypeError: expected 2 numbers from divisors, got 0"
    ),
    ("def divisors(self, known): return (1,)", "--ragged-simplify-splits"): (
        "TypeError: expected 2 numbers from divisors, got (1,)"
    ),
    ("def level_above(self, level): return 7", "--ragged-canonicalize"): (
        "TypeError: expected a level or None from level_above, got 7"
    ),
}


@pytest.mark.parametrize("how", ANSWERS, ids=" ".join)
def test_classes_that_answer_something_else(
    how: tuple[str, str], folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    op = WRONG_OP.format(infer="x", values="[]")
    op = op.replace("same_lengths = True", "")
    (folder / "wrong.py").write_text(op.replace("checks = unchecked\n", f"checks = unchecked\n    {how[0]}\n"))
    offsets = f"%o = ragged.offsets %y {{level = 1}} : ({TYPE}) -> tensor<?xi64>\n  return %o : tensor<?xi64>"
    text = USE.replace(f"return %y : {TYPE}", offsets).replace(f") -> {TYPE} {{", ") -> tensor<?xi64> {")
    (folder / "in.mlir").write_text(text)
    assert opt(folder, "--load-pass-plugin=wrong", how[1]) == 1
    error = capfd.readouterr().err
    assert "in.mlir:2:8: error: internal error in" in error
    assert f"on 'wrong.op': {ANSWERS[how]}" in error


def test_annotations_that_are_texts(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """`from __future__ import annotations`, which the bindings do not know."""
    op = "from __future__ import annotations\n" + WRONG_OP.format(infer="x", values="[]")
    op = op.replace("x: Operand[Tensor]", "x: Operand[Tensor]\n    dim: IntegerAttr").replace(
        "import Operand", "import IntegerAttr, Operand"
    )
    (folder / "wrong.py").write_text(op.replace("def infer(x)", "def infer(x, *, dim: int)"))
    (folder / "in.mlir").write_text(USE.replace("op %x", "op %x {dim = 1}"))
    assert opt(folder, "--load-pass-plugin=wrong") == 0
    assert "wrong.op %arg0 {dim = 1}" in capfd.readouterr().out
    (folder / "in.mlir").write_text(USE)
    assert opt(folder, "--load-pass-plugin=wrong") == 1
    assert "in.mlir:2:8: error: 'wrong.op' op attribute \"dim\" is " in capfd.readouterr().err


DECLARED = {
    "x: 3": "expected a dialect that can be loaded, got 'wrong': TypeError: ",
    "x: Operand[3]": "expected a dialect that can be loaded, got 'wrong': TypeError: ",
    "x: Operand[Tensor]; dim: int": "expected a dialect that can be loaded, got 'wrong': ",
    "x: Operand[Tensor]\n    @staticmethod\n    def infer(x, *, dimm: int): return x": (
        "got expected attributes of 'wrong.op' as keywords of infer, got 'dimm' (wrong.py:"
    ),
    "x: Operand[Tensor]\n    optional = 'dim'": (
        "got expected names of attributes as optional of 'wrong.op', got 'dim' (wrong.py:"
    ),
    "operation: Operand[Tensor]": (
        "got expected other names of the parts of 'wrong.op' than those of every op, got 'operation' (wrong.py:"
    ),
    "x: Operand[Tensor]\n    @staticmethod\n    def infer(x, y): return x": (
        "got expected the shapes of operands of 'wrong.op' as arguments of infer, got 2 of 1 (wrong.py:"
    ),
    "x: Operand[Tensor]\n    @staticmethod\n    def infer(x, *, dim): return x": (
        "TypeError: expected int, bool or str for the attribute 'dim' of infer, got <class 'inspect._empty'>"
    ),
}


@pytest.mark.parametrize("fields", DECLARED)
def test_classes_that_declare_what_cannot_be(fields: str, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    op = WRONG_OP.format(infer="x", values="[]").replace("x: Operand[Tensor]", fields)
    (folder / "wrong.py").write_text(
        op[: op.rindex("    @staticmethod")] + op[op.index("def register") :] if "infer" in fields else op
    )
    (folder / "in.mlir").write_text(USE)
    assert opt(folder, "--load-pass-plugin=wrong") == 1
    assert DECLARED[fields] in capfd.readouterr().err


RULES = {
    "pass": 'expected tensor<3x?xf32, #ragged.layout<"dr">> from a rule of linearizes, got NoneType',
    "return []": "from a rule of linearizes, got nothing",
    "return 3": "from a rule of linearizes, got int",
    "return [ctx.given(op.x)] * 2": "from a rule of linearizes, got tensor",
    "return builders.values(ctx.given(op.x))": "from a rule of linearizes, got tensor<?xf32>",
    "return [erased(op.operation)]": "from a rule of linearizes, got OpResult",
    "return op.operation.block.owner.erase()": "expected an op that no pass is running on, got 'func.func' to erase",
    "return ctx.given(3)": "internal error in ragged-differentiate on 'wrong.op': ",
}
ADDS = {
    "pass": "TypeError: expected cotangents from a rule of transposes, got none",
    "return given": "on 'wrong.op': TypeError: expected nothing from a rule of transposes, got ",
    "ctx.add(op.x, builders.values(given))": "TypeError: expected a cotangent of type tensor<3x?xf32, ",
    "ctx.add('x', given)": "on 'wrong.op': TypeError: expected a value that has a cotangent, got str",
    "ctx.add(given, given)": "on 'wrong.op': TypeError: expected a cotangent of an operand, got one of %",
    "ctx.add(op.x, op.res)": "expected a cotangent of values and cotangents, got the tangent %",
    "ctx.add(op.x, builders.inferred(Op, [op.x]))": (
        "expected cotangents of values and cotangents, got 'wrong.op' of a tangent (wrong.py:"
    ),
    "ctx.add(op.x, erased(op.operation))": "on 'wrong.op': TypeError: expected a cotangent, got OpResult",
    "op.operation.erase()": "TypeError: expected 'wrong.op' to be left where it is, got it erased (wrong.py:",
    "ctx.add(op.x, 3)": "on 'wrong.op': TypeError: expected a cotangent, got int",
}
DERIVATIVES = """
from ragged_dialect import builders
from ragged_dialect.passes.differentiate.tables import linearizes, transposes
@linearizes(Op)
def _(ctx, op): {rule}
@transposes(Op)
def _(ctx, op, given): {adds}
"""
LOSS = """func.func @f(%x: TYPE) -> TYPE {
  %y = wrong.op %x : (TYPE) -> TYPE
  return %y : TYPE
}
""".replace("TYPE", 'tensor<3x?xf32, #ragged.layout<"dr">>')


@pytest.mark.parametrize(("table", "how"), [(0, how) for how in RULES] + [(1, how) for how in ADDS])
def test_rules_of_derivatives_that_go_wrong(
    table: int, how: str, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """What a rule forgets is no derivative of 0."""
    text = WRONG_OP.format(infer="x", values="[]").replace("lowering=__name__", "derivatives=__name__")
    same = "return builders.inferred(Op, [ctx.given(op.x)])"
    rules = DERIVATIVES.format(rule=same if table else how, adds=how if table else "ctx.add(op.x, given)")
    (folder / "wrong.py").write_text(text + rules)
    (folder / "in.mlir").write_text(LOSS)
    assert opt(folder, "--load-pass-plugin=wrong", "--ragged-differentiate=function=f") == 1
    assert (ADDS if table else RULES)[how] in capfd.readouterr().err


@pytest.mark.parametrize(
    ("more", "text"),
    [
        (
            "@linearizes(Op)\ndef _(ctx, op): return None",
            "TypeError: expected one rule for 'wrong.op', got another one",
        ),
        (
            "@linearizes('arith.addf')\ndef _(ctx, op): pass",
            "expected one rule for 'arith.addf', got another one",
        ),
        ("@linearizes()\ndef _(ctx, op): return None", "TypeError: expected ops that a rule is for, got none"),
        ("linearizes(Op)(3)", "TypeError: expected a function as rule, got 3"),
    ],
)
def test_rules_that_cannot_be_added(more: str, text: str, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    wrong = WRONG_OP.format(infer="x", values="[]").replace("lowering=__name__", "derivatives=__name__")
    rules = DERIVATIVES.format(rule="return None", adds="pass")
    (folder / "wrong.py").write_text(f"{wrong}{rules}\n{more}\n")
    (folder / "in.mlir").write_text(LOSS)
    assert opt(folder, "--load-pass-plugin=wrong", "--ragged-differentiate=function=f") == 1
    assert text in capfd.readouterr().err


@pytest.mark.parametrize(
    ("part", "table", "text"),
    [
        ("lowering", "EXPANSIONS = 3", "expected functions by op name in wrong.EXPANSIONS, got int"),
        ("lowering", "EXPANSIONS = {'wrong.op': 3}", "expected functions by op name in wrong.EXPANSIONS, got int"),
        ("patterns", "", "expected tuples of functions by op name in wrong.PATTERNS, got NoneType"),
        (
            "patterns",
            "PATTERNS = {'wrong.op': 3}",
            "tuples of functions by op name in wrong.PATTERNS, got int",
        ),
    ],
)
def test_tables_that_are_none(
    part: str, table: str, text: str, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    wrong = WRONG_OP.format(infer="x", values="[]").replace("lowering=__name__", f"{part}=__name__")
    (folder / "wrong.py").write_text(f"{wrong}\n{table}\n")
    (folder / "in.mlir").write_text(USE)
    named = "--convert-ragged-to-scf" if part == "lowering" else "--ragged-canonicalize"
    assert opt(folder, "--load-pass-plugin=wrong", named) == 1
    assert text in capfd.readouterr().err


@pytest.mark.parametrize("part", ["lowering", "patterns", "reference", "derivatives"])
def test_parts_without_a_module(folder: Path, part: extensions.Part) -> None:
    text = WRONG_OP.format(infer="x", values="[]").replace("lowering=__name__", f"{part}='no_such_module'")
    (folder / "wrong.py").write_text(text)
    plugins.load("wrong")
    text = "expected a module 'no_such_module' for PART of 'wrong', got ModuleNotFoundError: No module named"
    with pytest.raises(PassError, match=text.replace("PART", part)):
        extensions.modules(part)


VERIFIER = """
from ragged_dialect import ops
from ragged_dialect._mlir import ext
from ragged_dialect.ops.base import Operand, RaggedOp, Result, Tensor, unchecked
class Wrong(ext.Dialect, name="wrong"): pass
class Op(RaggedOp, name="op", dialect=Wrong):
  checks = unchecked
  x: Operand[Tensor]
  res: Result[Tensor]
  def check_operands(self): return {}["no such key"]
  @staticmethod
  def infer(x): return x
def register(): ops.register_dialect(Wrong)
"""


def test_a_verifier_that_raises_what_malformed_ops_raise(folder: Path) -> None:
    (folder / "wrong.py").write_text(VERIFIER)
    (folder / "f.mlir").write_text(
        'func.func @f(%x: tensor<2xf32>) { %0 = "wrong.op"(%x) : (tensor<2xf32>) -> tensor<2xf32> return }'
    )
    done = opt_process(folder, "f.mlir")
    assert done.returncode == 1
    assert "internal error in the verifier of 'wrong.op': KeyError: 'no such key'" in done.stderr
