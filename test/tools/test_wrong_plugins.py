"""Plug-ins that go wrong: they are named, and nothing is left of them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.packages import SUMS, install, opt

import ragged_dialect as rg
from conftest import ROOT
from ragged_dialect import extensions, ops, plugins
from ragged_dialect._mlir import ir, rewrite
from ragged_dialect.asm.module import load_module
from ragged_dialect.dialect import context
from ragged_dialect.errors import PassError, VerifyError
from ragged_dialect.lowering.gpu.schedules import OWN
from ragged_dialect.passes import registry
from ragged_dialect.reference.interpreter import run

WRONG: dict[str, tuple[str, str]] = {
    "import": ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
    "missing": ("", "AttributeError: module 'wrong' has no attribute 'register'"),
    "raises": ("def register(): raise ValueError('boom')", "ValueError: boom"),
    "ends": (
        "def register(): raise type('End', (BaseException,), {})('now')",
        "End: now",
    ),
    "no module": (
        "from ragged_dialect import ops\nfrom ragged_dialect._mlir import ext\n"
        "class Wrong(ext.Dialect, name='wrong'): pass\ndef register(): ops.register_dialect(Wrong, lowering=3)",
        "expected the name of a module, got 3",
    ),
    "no name of a module": (
        "from ragged_dialect import ops\nfrom ragged_dialect._mlir import ext\n"
        "class Wrong(ext.Dialect, name='wrong'): pass\ndef register(): ops.register_dialect(Wrong, patterns='..')",
        "expected the name of a module, got '..'",
    ),
    "no module of a pipeline": (
        "from ragged_dialect.passes import registry\n"
        "def register(): registry.register_pipeline('wrong-p', 3, 'pipeline')",
        "expected the name of a module, got 3",
    ),
    "no module of a schedule": (
        "from ragged_dialect.passes import registry\n"
        "def register(): registry.register_schedule('wrong-s', None, 'schedule')",
        "expected the name of a module, got None",
    ),
    "no dialect": (
        "from ragged_dialect import ops\ndef register(): ops.register_dialect(3)",
        "expected a dialect class, got 3",
    ),
    "op twice": (
        "from ragged_dialect import ops\nfrom ragged_dialect._mlir import ext\n"
        "from ragged_dialect.ops.base import RaggedOp\n"
        "class Wrong(ext.Dialect, name='wrong'): pass\n"
        "class A(RaggedOp, name='op', dialect=Wrong): pass\nclass B(RaggedOp, name='op', dialect=Wrong): pass\n"
        "def register(): ops.register_dialect(Wrong)",
        "expected one class of an op, got two of 'wrong.op'",
    ),
    "dialect of the wheel": (
        "from ragged_dialect import ops\nfrom ragged_dialect._mlir import ext\n"
        "class Wrong(ext.Dialect, name='stablehlo'): pass\ndef register(): ops.register_dialect(Wrong)",
        "expected a new dialect name, got 'stablehlo', which is registered",
    ),
    "another dialect of the wheel": (
        "from ragged_dialect import ops\nfrom ragged_dialect._mlir import ext\n"
        "class Wrong(ext.Dialect, name='tm_tensor'): pass\ndef register(): ops.register_dialect(Wrong)",
        "expected a new dialect name, got 'tm_tensor', which is registered",
    ),
    "exits": ("import sys\nsys.exit(0)", "SystemExit: 0"),
    "twice": (
        "from ragged_dialect.passes import registry\n"
        "def register():\n  registry.register('wrong-a', None)\n  registry.register('wrong-a', None)",
        "expected a new pass name, got 'wrong-a', which is registered",
    ),
    "taken": (
        "from ragged_dialect.passes import registry\n"
        "def register():\n  registry.register('wrong-a', None)\n"
        "  registry.register_pipeline('ragged-fuse', 'wrong', 'f')",
        "expected a new pipeline name, got 'ragged-fuse', which is registered",
    ),
    "taken by a pass of MLIR": (
        "from ragged_dialect.passes import registry\n"
        "def register():\n  registry.register('wrong-a', None)\n  registry.register('canonicalize', None)",
        "expected a new pass name, got 'canonicalize', which is registered",
    ),
    "taken by a pipeline of MLIR": (
        "from ragged_dialect.passes import registry\n"
        "def register(): registry.register_pipeline('buffer-deallocation-pipeline', 'wrong', 'f')",
        "expected a new pipeline name, got 'buffer-deallocation-pipeline', which is registered",
    ),
    "dialect": (
        "from ragged_dialect import ops\nfrom ragged_dialect._mlir import ext\n"
        "class Wrong(ext.Dialect, name='wrong'): pass\n"
        "def register():\n  ops.register_dialect(Wrong)\n  ops.register_dialect(Wrong)",
        "expected a new dialect name, got 'wrong', which is registered",
    ),
    "dialect of MLIR": (
        "from ragged_dialect import ops\nfrom ragged_dialect._mlir import ext\n"
        "class Wrong(ext.Dialect, name='tensor'): pass\ndef register(): ops.register_dialect(Wrong)",
        "expected a new dialect name, got 'tensor', which is registered",
    ),
    "name of a pass": (
        "from ragged_dialect.passes import registry\ndef register(): registry.register('wrong a', None)",
        "expected a name of small letters, digits and '-', got 'wrong a'",
    ),
    "no name of a pipeline": (
        "from ragged_dialect.passes import registry\ndef register(): registry.register_pipeline(3, 'wrong', 'f')",
        "expected a name of small letters, digits and '-', got 3",
    ),
    "name of a dialect": (
        "from ragged_dialect import ops\nfrom ragged_dialect._mlir import ext\n"
        "class Wrong(ext.Dialect, name='wrong dialect'): pass\ndef register(): ops.register_dialect(Wrong)",
        "expected a name of MLIR for a dialect, got 'wrong dialect'",
    ),
}


@pytest.mark.parametrize("how", WRONG)
def test_plugins_that_go_wrong(how: str, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """They are named, and leave nothing; programs that do not need them run."""
    text, reason = WRONG[how]
    (folder / "wrong.py").write_text(text)
    install(folder, "wrong", "wrong:register")
    before = registry.names(), registry.pipelines(), extensions.names(), dict(ops.OPS)
    assert opt(folder, "--cse") == 0
    capfd.readouterr()
    assert opt(folder, "--wrong-a") == 1
    expected = f"ragged-opt: expected plug-in 'wrong:register' to register what it adds, got {reason}\n"
    assert capfd.readouterr() == ("", expected)
    assert (registry.names(), registry.pipelines(), extensions.names(), ops.OPS) == before


GIVEN = {
    "register('wrong-c', lambda: int)": "expected a pass class of 'wrong-c', got type",
    "register('wrong-c', None)": "expected a pass class of 'wrong-c', got TypeError: 'NoneType' object is not callable",
    "register('wrong-c', lambda: __import__('sys').exit(0))": "expected a pass class of 'wrong-c', got SystemExit: 0",
    "register('wrong-c', lambda: RaggedPass)": "expected a pass class of 'wrong-c', got type",
    "register_pipeline('wrong-c', 'wrong', 'no_type')": (
        "expected options of 'wrong-c', got NameError: name 'Nothing' is not defined"
    ),
    "register_pipeline('wrong-c', 'wrong', 'no_names')": "expected stages of 'wrong-c', got tuple",
    "register('wrong-c', lambda: 1 / 0)": "expected a pass class of 'wrong-c', got ZeroDivisionError: division by zero",
    "register_pipeline('wrong-c', 'no_such_module', 'f')": "expected a function of 'wrong-c', got ModuleNotFoundError",
    "register_pipeline('wrong-c', 'os', 'sep')": "expected a function of 'wrong-c', got str",
    "register_pipeline('wrong-c', 'os', 'getcwd')": "expected stages of 'wrong-c', got tuple",
    "register_pipeline('wrong-c', 'os', 'abort_')": "expected a function of 'wrong-c', got AttributeError",
}


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


def test_a_pipeline_without_a_module_is_not_listed(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "wrong.py").write_text(
        "from ragged_dialect.passes import registry\n"
        "def register(): registry.register_pipeline('wrong-c', 'no_such_module', 'f')"
    )
    assert opt(folder, "--load-pass-plugin=wrong", "--list-passes") == 1
    message = "expected a description of 'wrong-c', got ModuleNotFoundError: No module named 'no_such_module'"
    assert message in capfd.readouterr().err


@pytest.mark.parametrize("what", GIVEN)
def test_what_is_given_for_a_name(what: str, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "wrong.py").write_text(
        "from ragged_dialect.passes import registry\nfrom ragged_dialect.passes.base import RaggedPass\n"
        f"def register(): registry.{what}\n"
        "class Part:\n  text = 'cse'\n"
        "def no_type(a: 'Nothing' = 1): return ()\n"
        "def no_names(): return (Part(),)\n"
    )
    assert opt(folder, "--load-pass-plugin=wrong", "--wrong-c") == 1
    assert capfd.readouterr().err.startswith(f"ragged-opt: {GIVEN[what]}")


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
    ("x", "None"): "expected 1 values from the expansion of 'wrong.op', got 0",
    ("x", "list(op.results)"): "expected a list of new values from the expansion of 'wrong.op', got list",
    ("x", "next(iter([]))"): (
        "in.mlir:2:8: error: internal error in convert-ragged-to-scf on 'wrong.op': StopIteration:  (wrong.py:"
    ),
    ("x", "[op.operands[0]] * 2"): "expected 1 values from the expansion of 'wrong.op', got 2",
}


@pytest.mark.parametrize("parts", WRONG_PARTS, ids=lambda parts: parts[0] + " " + parts[1])
def test_parts_of_an_op_that_go_wrong(parts: tuple[str, str], folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "wrong.py").write_text(WRONG_OP.format(infer=parts[0], values=parts[1]))
    (folder / "in.mlir").write_text(USE)
    assert opt(folder, "--load-pass-plugin=wrong", "--convert-ragged-to-scf") == (1 if WRONG_PARTS[parts] else 0)
    assert WRONG_PARTS[parts] in capfd.readouterr().err


PATTERNS = {
    "{}[3]": "in.mlir:2:8: error: internal error in ragged-canonicalize on 'wrong.op': KeyError: 3 (wrong.py:",
    "True": "expected rewrites to come to an end, got one more of 'wrong.op'",
    "rewriter.replace(op, op.results[0])": "expected another value in place of the result of 'wrong.op', got itself",
    "next(op.results[0].uses).owner.erase()": "expected an op that has no uses, got 'math.exp' to erase (wrong.py:",
}


@pytest.mark.parametrize("what", PATTERNS)
def test_patterns_that_go_wrong(what: str, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    text = WRONG_OP.format(infer="x", values="[]").replace("lowering=__name__", "patterns=__name__")
    (folder / "wrong.py").write_text(f"{text}\nPATTERNS = {{'wrong.op': (lambda op, rewriter: {what},)}}")
    (folder / "in.mlir").write_text(USE.replace("return %y", f"%z = math.exp %y : {TYPE}\n  return %z"))
    assert opt(folder, "--load-pass-plugin=wrong", "--ragged-canonicalize") == 1
    assert PATTERNS[what] in capfd.readouterr().err


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


def test_a_pass_that_raises(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "wrong.py").write_text(
        "from ragged_dialect.passes import registry\nfrom ragged_dialect.passes.base import RaggedPass\n"
        "class Wrong(RaggedPass):\n  name = 'wrong-b'\n  def run(self, op): raise KeyError('boom')\n"
        "def register(): registry.register('wrong-b', lambda: Wrong)"
    )
    assert opt(folder, "--load-pass-plugin=wrong", "--wrong-b") == 1
    assert "error: internal error in wrong-b: KeyError: 'boom' (wrong.py:5)" in capfd.readouterr().err


def test_a_pass_that_closes_standard_output(folder: Path) -> None:
    """What goes to a file is written; what goes there is an error."""
    (folder / "wrong.py").write_text(
        "import sys\nfrom ragged_dialect.passes import registry\nfrom ragged_dialect.passes.base import RaggedPass\n"
        "class Wrong(RaggedPass):\n  name = 'wrong-b'\n  def run(self, op): sys.stdout.close()\n"
        "def register(): registry.register('wrong-b', lambda: Wrong)"
    )
    (folder / "in.mlir").write_text("func.func @f() { return }")
    command = [sys.executable, "-m", "ragged_dialect.tools.ragged_opt", "in.mlir", "--load-pass-plugin=wrong"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}
    for flags, code, text in (
        (["-o", "out.mlir"], 0, ""),
        ([], 1, "ragged-opt: standard output: expected an open stream, got one that was closed\n"),
    ):
        done = subprocess.run(
            [*command, "--wrong-b", *flags], cwd=folder, env=environment, capture_output=True, text=True, timeout=60
        )
        assert (done.returncode, done.stderr) == (code, text)
    assert "func.func @f" in (folder / "out.mlir").read_text()


WRONG_SCHEDULES = {
    "'os', 'sep'": "expected a schedule of 'wrong-s', got str",
    "'os', 'zz'": "expected a schedule of 'wrong-s', got AttributeError: module 'os' has no attribute 'zz'",
    "'wrong', 'RAISES'": (
        "internal error in fission-ragged-foralls on 'scf.forall': ZeroDivisionError: division by zero (wrong.py:3)"
    ),
    "'wrong', 'LEAVES'": "scf.forall",
}


@pytest.mark.parametrize("what", WRONG_SCHEDULES)
def test_schedules_that_go_wrong(what: str, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "wrong.py").write_text(
        "from ragged_dialect.lowering.gpu.schedules import Schedule\nfrom ragged_dialect.passes import registry\n"
        "RAISES = Schedule(lambda forall: 1 / 0, print)\n"
        "LEAVES = Schedule(lambda forall: True, lambda *given: None)\n"
        f"def register(): registry.register_schedule('wrong-s', {what})"
    )
    (folder / "in.mlir").write_text(SUMS)
    pipeline = "--pass-pipeline=ragged-to-gpu-pipeline{schedule=wrong-s}"
    assert opt(folder, "--load-pass-plugin=wrong", pipeline) == (0 if "LEAVES" in what else 1)
    found = capfd.readouterr()
    assert WRONG_SCHEDULES[what] in found.out + found.err


def test_schedules_have_new_names(folder: Path) -> None:
    for name in ("auto", "general", "balanced", "segment", "contract"):
        with pytest.raises(PassError, match=f"expected a new schedule name, got '{name}', which is registered"):
            registry.register_schedule(name, "os", "sep")
    registry.register_schedule("wrong-s", "os", "sep")
    with pytest.raises(PassError, match="which is registered"):
        registry.register_schedule("wrong-s", "os", "sep")
    assert {"auto", *OWN} == set(registry.OWN_SCHEDULES)


FIRST = "list(op.regions[0].blocks[0].operations)[0]"
ERASED = {
    "op.erase()": "expected an op that no pass is running on, got 'builtin.module' to erase (wrong.py:5)",
    f"{FIRST}.operation.parent.operation.erase()": "got 'builtin.module' to erase (wrong.py:5)",
    f"{FIRST}.regions[0].blocks[0].operations[0].operation.erase()": (
        "expected an op that has no uses, got 'arith.constant' to erase (wrong.py:5)"
    ),
}


@pytest.mark.parametrize("what", ERASED)
@pytest.mark.parametrize("flags", ["", "--mlir-print-ir-after-all", "--mlir-timing", "--mlir-pass-statistics"])
def test_a_pass_that_erases_what_is_needed(folder: Path, what: str, flags: str) -> None:
    (folder / "in.mlir").write_text("func.func @f() -> f32 {\n %0 = arith.constant 0.0 : f32\n return %0 : f32 }")
    (folder / "wrong.py").write_text(
        "from ragged_dialect.passes import registry\nfrom ragged_dialect.passes.base import RaggedPass\n"
        f"class Wrong(RaggedPass):\n  name = 'wrong-e'\n  def run(self, op): {what}\n"
        "def register(): registry.register('wrong-e', lambda: Wrong)"
    )
    command = [sys.executable, "-m", "ragged_dialect.tools.ragged_opt", "--load-pass-plugin=wrong", *flags.split()]
    command += [str(folder / "in.mlir"), "--pass-pipeline=wrong-e,cse"]
    paths = os.pathsep.join([str(folder), str(ROOT)])
    found = subprocess.run(command, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True)
    assert found.returncode == 1, found.stderr
    assert "error: internal error in wrong-e: ValueError: expected" in found.stderr
    assert ERASED[what] in found.stderr


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


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("rewriter.erase_op(found)", "expected an op that has no uses, got 'arith.constant' to erase"),
        ("rewriter.replace_op(found, [])", "expected 1 values for 'arith.constant', got 0"),
    ],
)
def test_a_rewrite_that_leaves_uses_without_values(
    folder: Path, capfd: pytest.CaptureFixture[str], what: str, text: str
) -> None:
    (folder / "wrong.py").write_text(REWRITES.replace("{what}", what))
    program = "func.func @f() -> i32 { %0 = arith.constant 1 : i32 return %0 : i32 }"
    (folder / "f.mlir").write_text(program)
    done = subprocess.run(
        [sys.executable, "-m", "ragged_dialect.tools.ragged_opt", "f.mlir", "--load-pass-plugin=wrong", "--wrong-c"],
        cwd=folder, env={**os.environ, "PYTHONPATH": f"{ROOT}:{folder}"}, capture_output=True, text=True, check=False,
        timeout=60,
    )  # fmt: skip
    assert done.returncode == 1
    assert text in done.stderr


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
    done = subprocess.run(
        [sys.executable, "-m", "ragged_dialect.tools.ragged_opt", "f.mlir", "--load-pass-plugin=wrong"],
        cwd=folder, env={**os.environ, "PYTHONPATH": f"{ROOT}:{folder}"}, capture_output=True, text=True, check=False,
        timeout=60,
    )  # fmt: skip
    assert done.returncode == 1
    assert "internal error in the verifier of 'wrong.op': KeyError: 'no such key'" in done.stderr
