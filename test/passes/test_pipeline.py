"""Pipeline text, the pass registry, stages."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from ragged_dialect._mlir import ir
from ragged_dialect.asm.diagnostics import Diagnostic
from ragged_dialect.asm.module import parse_module, print_module
from ragged_dialect.dialect import context
from ragged_dialect.errors import PassError
from ragged_dialect.ir.walk import find_ops
from ragged_dialect.passes import registry
from ragged_dialect.passes.base import PassFailure, RaggedPass
from ragged_dialect.passes.pipeline.descriptions import describe, describe_all
from ragged_dialect.passes.pipeline.running import PassFailed, Stage, run_pipeline
from ragged_dialect.passes.pipeline.stages import parse_pipeline
from ragged_dialect.passes.pipeline.text import parse_text

TEXT = """func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = arith.constant 1 : i32
  return %x : tensor<?xf32>
}
func.func @g() {
  return
}
"""


@dataclass(frozen=True)
class Mark(RaggedPass):
    """Marks its op with its options."""

    name: ClassVar[str] = "test-mark"
    max_count: int = 3
    with_tag: bool = False
    label: str = ""

    def run(self, op: Any) -> None:
        op.attributes["test.mark"] = ir.StringAttr.get(f"{self.max_count} {self.with_tag} {self.label}")


@dataclass(frozen=True)
class MarkFunction(RaggedPass):
    """Marks a function."""

    name: ClassVar[str] = "test-mark-function"
    anchor: ClassVar[str] = "func.func"

    def run(self, op: Any) -> None:
        op.attributes["test.mark"] = ir.UnitAttr.get()


@dataclass(frozen=True)
class Fail(RaggedPass):
    """Fails in one of several ways."""

    name: ClassVar[str] = "test-fail"
    how: str = "failure"

    def run(self, op: Any) -> None:
        function = op.regions[0].blocks[0].operations[0]
        if self.how == "failure":
            raise PassFailure(function, "expected less, got more")
        if self.how == "bug":
            raise RuntimeError("boom")
        if self.how == "interrupt":  # as the bindings do with what a callback of theirs raises
            raise RuntimeError("Exception raised in walk callback: KeyboardInterrupt: <EMPTY MESSAGE>")
        if self.how == "invalid":
            function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get([], []))
        if self.how == "ragged":
            del function.attributes["sym_name"]


@pytest.fixture(name="made")
def _made() -> Iterator[Any]:
    for cls in (Mark, MarkFunction, Fail):
        registry.register(cls.name, lambda cls=cls: cls)
    with context() as made:
        yield made
    for cls in (Mark, MarkFunction, Fail):
        registry.unregister(cls.name)


def _run(made: Any, pipeline: str, verify: bool = True) -> str:
    module = parse_module(TEXT, made, "f.mlir")
    run_pipeline(module, parse_pipeline(pipeline, made), verify)
    return print_module(module)


def test_text() -> None:
    elements = parse_text(" builtin.module( a{x=1 y-z=2} ,func.func(c, cse{}) , any() )")
    assert [e.name for e in elements] == ["a", "func.func", "any"]
    assert [(o.name, o.value, o.column) for o in elements[0].parsed_options()] == [("x", "1", 20), ("y-z", "2", 24)]
    assert [e.name for e in elements[1].nested or ()] == ["c", "cse"]
    assert elements[2].nested == ()
    assert parse_text("") == parse_text("builtin.module()") == ()
    [one] = parse_text("p{a='x y' b={c d} flag}")
    assert [(o.name, o.value) for o in one.parsed_options()] == [("a", "x y"), ("b", "{c d}"), ("flag", None)]


def test_mixed_nesting(made: Any) -> None:
    pipeline = "builtin.module(func.func(test-mark-function,cse),test-mark{max-count=-4 with-tag label=x},canonicalize)"
    stages = parse_pipeline(pipeline, made)
    assert [str(stage) for stage in stages] == [
        "func.func(test-mark-function)",
        "func.func(cse)",
        "test-mark{max-count=-4 with-tag label=x}",
        "canonicalize",
    ]
    text = _run(made, pipeline)
    assert text.count("attributes {test.mark}") == 2
    assert 'test.mark = "-4 True x"' in text
    assert "arith.constant" not in text


def test_upstream_option_text_is_kept(made: Any) -> None:
    [stage] = parse_pipeline("canonicalize{max-iterations=2 disable-patterns=A,{anonymous}::B}", made)
    assert stage.text == "canonicalize{max-iterations=2 disable-patterns=A,{anonymous}::B}"


def test_named_pipeline(made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Part:
        name = "part"

        def __init__(self, text: str) -> None:
            self.text = text

    def parts(check: bool = True) -> list[Any]:
        return [Part("cse"), Part(f"func.func(canonicalize),test-mark{{with-tag={int(check)}}}")]

    monkeypatch.setattr(registry, "pipeline", lambda name: parts)
    stages = parse_pipeline("ragged-to-llvm-pipeline{check=0}", made)
    assert [str(stage) for stage in stages] == ["cse", "func.func(canonicalize)", "test-mark{with-tag=0}"]
    assert {stage.part for stage in stages} == {"part"}
    assert registry.pipelines() == ["ragged-file-pipeline", TO_GPU, TO_LLVM]


TO_GPU = "ragged-to-gpu-pipeline"
TO_LLVM = "ragged-to-llvm-pipeline"
MALFORMED = [
    ("cse,", 5, "expected a pass name, got the end"),
    ("cse,,cse", 5, "expected a pass name, got ','"),
    ("func.func(cse", 14, "expected ')' to close 'func.func('"),
    ("cse)", 4, "expected ',' or the end, got ')'"),
    ("cse cse", 5, "expected ',' or the end, got 'c'"),
    ("test-mark{label=x", 10, "expected '}' to close the options of 'test-mark'"),
    ("test-mark{label=x max=3}", 19, "expected an option of 'test-mark' (max-count, with-tag, label), got 'max'"),
    ("cse,test-mark{max-count=x}", 15, "expected an integer for 'max-count', got 'x'"),
    ("test-mark{max-count}", 11, "expected a value for 'max-count'"),
    ("test-mark{with-tag=maybe}", 11, "expected true or false for 'with-tag', got 'maybe'"),
    ("test-mark{label=a label=b}", 19, "expected 'label' once"),
    ("test-mark-function", 1, "expected 'test-mark-function' under 'func.func', got it under 'builtin.module'"),
    ("cse,any(test-mark)", 9, "expected 'test-mark' under 'builtin.module', got it under 'any'"),
    ("func.func(test-mark)", 11, "expected 'test-mark' under 'builtin.module', got it under 'func.func'"),
    (
        "cse,test-marc",
        5,
        "expected a known pass, got 'test-marc' (did you mean 'test-mark' or 'test-mark-function' or 'test-fail'?)",
    ),
    ("func.func(nope)", 11, "expected a known pass, got 'nope'"),
    ("cse{x=1}", 1, "'cse': <Pass-Options-Parser>: no such option x; failed to add `cse` with options `x=1`"),
    ("test-mark{max_count=1}", 11, "expected an option of 'test-mark' (max-count, with-tag, label), got 'max_count'"),
    (
        "func.func(ragged-to-llvm-pipeline)",
        11,
        f"expected '{TO_LLVM}' under 'builtin.module', got it under 'func.func'",
    ),
    (
        "ragged-to-llvm-pipeline{x}",
        25,
        f"expected an option of '{TO_LLVM}' (check, isa, half, skew, amx, from, to), got 'x'",
    ),
    ("(" * 5000, 1, "expected a pass name, got '('"),
    ("cse{x=a\0b}", 8, "expected text, got a zero byte"),
    ("func.func(" * 5000, 641, "expected lists nested at most 64 deep"),
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("text", "column", "message"), MALFORMED)
def test_malformed(made: Any, text: str, column: int, message: str) -> None:
    with pytest.raises(PassError) as caught:
        parse_pipeline(text, made)
    assert str(caught.value) == f"pipeline:1:{column}: error: {message}"


def test_an_upstream_pass_on_the_wrong_op(made: Any) -> None:
    with pytest.raises(PassError, match="pipeline:1:11: error: 'convert-func-to-llvm': Can't add pass"):
        parse_pipeline("func.func(convert-func-to-llvm)", made)


FAILURES = [
    ("failure", "test-fail failed\nf.mlir:1:1: error: expected less, got more"),
    ("invalid", "test-fail{how=invalid} failed\nf.mlir:1:1: error: 'func.func' op entry block must have 0 arguments"),
    (
        "bug",
        "test-fail{how=bug} failed\nf.mlir: error: internal error in test-fail: RuntimeError: boom (test_pipeline.py:",
    ),
]


@pytest.mark.parametrize(("how", "message"), FAILURES)
def test_failures(made: Any, how: str, message: str, capfd: pytest.CaptureFixture[str]) -> None:
    options = "" if how == "failure" else f"{{how={how}}}"
    with pytest.raises(PassFailed) as caught:
        _run(made, f"cse,test-fail{options},test-mark")
    assert str(caught.value).startswith(message)
    assert caught.value.stage.name == "test-fail"
    assert capfd.readouterr() == ("", "")


def test_an_interrupt_is_no_failure_of_a_pass(made: Any) -> None:
    with pytest.raises(KeyboardInterrupt):
        _run(made, "test-fail{how=interrupt}")


def test_the_ragged_verifier_runs_between_passes(made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def verify(op: Any) -> bool:
        seen.append(op.name)
        op.location.emit_error("expected no such type")
        return False

    monkeypatch.setattr("ragged_dialect.passes.pipeline.running.verify_ragged", verify)
    with pytest.raises(PassFailed, match=r"^cse failed\nf\.mlir: error: expected no such type"):
        _run(made, "cse")
    assert seen == ["builtin.module"]
    _run(made, "cse", verify=False)
    assert seen == ["builtin.module"]


def test_without_verification_invalid_ir_stays(made: Any) -> None:
    assert '"func.func"' in _run(made, "test-fail{how=invalid}", verify=False)


def test_reports_of_a_pass_that_succeeds(made: Any) -> None:
    @dataclass(frozen=True)
    class Complain(RaggedPass):
        name: ClassVar[str] = "test-complain"

        def run(self, op: Any) -> None:
            op.location.emit_error("only saying")

    module = parse_module(TEXT, made, "f.mlir")
    reports: list[Diagnostic] = []
    run_pipeline(module, (Stage("test-complain", "test-complain", (), Complain()),), True, reports.append)
    assert [d.message for d in reports] == ["only saying"]


def test_registry(made: Any) -> None:
    assert registry.lookup("test-mark") is Mark
    assert "test-mark" in registry.names()
    with pytest.raises(PassError, match="expected a new pass name, got 'test-mark', which is registered"):
        registry.register("test-mark", lambda: Mark)
    with pytest.raises(PassError, match=r"expected a known pass, got 'test-mrk' \(did you mean 'test-mark'"):
        registry.lookup("test-mrk")
    with pytest.raises(PassError, match=r"expected a known pass, got 'zzz'$"):
        registry.lookup("zzz")


def test_registry_imports_no_pass() -> None:
    code = (
        "import sys, ragged_dialect.passes.pipeline.stages\n"
        "bad = [m for m in sys.modules if m.startswith(('ragged_dialect.lowering', 'ragged_dialect.passes.ragged_'))]\n"
        "assert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.parametrize("name", registry.names())
def test_names_agree(name: str) -> None:
    assert registry.lookup(name).name == name


@pytest.mark.parametrize("name", registry.names())
def test_descriptions_say_what_the_class_has(name: str) -> None:
    cls, described = registry.lookup(name), describe(name)
    assert (cls.__doc__ or "").strip().splitlines()[0] == described.summary
    assert [(o.name, o.type) for o in described.options] == [
        (field.name.replace("_", "-"), field.type) for field in dataclasses.fields(cls)
    ]
    defaults = [str(f.default).lower() if f.type == "bool" else str(f.default) for f in dataclasses.fields(cls)]
    assert [o.default for o in described.options] == defaults


def test_descriptions_of_pipelines() -> None:
    described = {d.name: d for d in describe_all()}
    assert described[TO_LLVM].options[0].name == "check"
    assert described[TO_GPU].summary


def test_description_of_a_pass_of_others(made: Any) -> None:
    assert [(o.name, o.default) for o in describe("test-mark").options] == [
        ("max-count", "3"), ("with-tag", "false"), ("label", "")
    ]  # fmt: skip
    registry.register("test-made", lambda: type("Made", (RaggedPass,), {"__doc__": "Made.", "name": "test-made"}))
    assert describe("test-made").summary == "Made."
    registry.unregister("test-made")


def test_descriptions_import_no_bindings() -> None:
    code = (
        "import sys\nfrom ragged_dialect.tools import ragged_opt\nassert ragged_opt.main(['--list-passes']) == 0\n"
        "bad = [m for m in sys.modules if m.startswith(('torch_mlir', 'mlir', 'numpy', 'ragged_dialect._mlir'))]\n"
        "assert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60, stdout=subprocess.DEVNULL)


INVALID = """func.func @f(%n: index) -> index {
  %c0 = arith.constant 0 : index
  %x = memref.alloca(%n) : memref<?xf32>
  %d = memref.dim %x, %c0 : memref<?xf32>
  return %d : index
}
"""


@dataclass(frozen=True)
class LeavesInvalid(RaggedPass):
    """Takes the size of an alloca away, without which MLIR's folders would read behind its operands."""

    name: ClassVar[str] = "leaves-invalid"
    verified: ClassVar[bool] = True

    def run(self, op: ir.Operation) -> None:
        (found,) = find_ops(op, "memref.alloca")
        with ir.InsertionPoint(found), found.location:
            sizes = ir.DenseI32ArrayAttr.get([0, 0])
            made = ir.Operation.create(found.name, [found.results[0].type], [], {"operandSegmentSizes": sizes})
        found.results[0].replace_all_uses_with(made.results[0])
        found.erase()


def test_what_a_lowering_leaves_is_verified_before_mlir_sees_it() -> None:
    """Also where a program is compiled, and nothing else is verified between passes: the process would end."""
    module = parse_module(INVALID, context())
    (native,) = parse_pipeline("canonicalize", module.context)
    own = Stage("leaves-invalid", "leaves-invalid", own=LeavesInvalid())
    with pytest.raises(PassFailed, match="incorrect number of dynamic sizes"):
        run_pipeline(module, [own, native], verify=False)
