"""compile(): sources, entries, errors, results, run-time checks, printing."""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.check_cases import OPS, named
from support.structures import text_of
from support.targets import Compile
from support.twice import GOOD, TWICE, X

from ragged_dialect import (
    ArgumentError,
    CompileError,
    PassError,
    RaggedError,
    RuntimeCheckError,
    VerifyError,
    compile,
    reference,
)
from ragged_dialect.asm.module import parse_module, print_module
from ragged_dialect.checks import CHECK_KINDS
from ragged_dialect.dialect import context
from ragged_dialect.execution import TARGETS
from ragged_dialect.ir import clone
from ragged_dialect.runtime.cpu import CpuFunction

F32 = np.float32


def doubled(function: CpuFunction) -> list[float]:
    """What a compilation of TWICE makes of the good argument."""
    return function(GOOD)[0].tolist()


def module_of(text: str, filename: str = "<program>") -> Any:
    """A parsed module."""
    return parse_module(text, context(), filename)


def generic(text: str) -> str:
    """A program in generic form."""
    return print_module(module_of(text), generic=True)


def bytecode(text: str) -> bytes:
    """A program as bytecode."""
    return clone.bytecode(module_of(text))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("source", [str, str.encode, generic, bytecode, module_of])
def test_sources(source: Callable[[str], Any]) -> None:
    assert doubled(compile(source(TWICE))) == [2, 4, 6]


def test_a_path(tmp_path: Path) -> None:
    file = tmp_path / "twice.mlir"
    file.write_text(TWICE)
    assert doubled(compile(file)) == [2, 4, 6]
    file.write_text("func.func @f( {")
    with pytest.raises(VerifyError) as error:
        compile(file)
    assert str(error.value) == f"{file}:1:14: error: expected non-function type"


def test_a_module_is_not_changed() -> None:
    module = module_of(TWICE)
    before = print_module(module, debuginfo=True)
    assert doubled(compile(module)) == [2, 4, 6]
    assert print_module(module, debuginfo=True) == before


def test_entry() -> None:
    other = f"func.func @other(%x: {X}) -> {X} {{\n  %0 = call @twice(%x) : ({X}) -> {X}\n  return %0 : {X}\n}}\n"
    text = other + TWICE.replace("@twice", "private @twice")
    assert doubled(compile(text)) == [2, 4, 6]
    assert doubled(compile(text, entry="other")) == [2, 4, 6]
    assert doubled(compile(text, entry="twice")) == [2, 4, 6]
    assert compile(text).signature.name == "other"


def test_functions_that_the_entry_does_not_reach() -> None:
    """Neither their checks nor their faults touch it."""
    text = (
        "func.func @f(%x: f32) -> f32 {\n  return %x : f32\n}\n"
        "func.func private @g(f32) -> f32\n"
        "func.func @h(%x: f32) -> f32 {\n  %0 = call @g(%x) : (f32) -> f32\n  return %0 : f32\n}\n" + TWICE
    )
    assert compile(text, entry="f")(1.5) == 1.5
    assert doubled(compile(text, entry="twice")) == [2, 4, 6]
    with pytest.raises(CompileError, match="got a call of the declaration 'g'"):
        compile(text, entry="h")


BY_ADDRESS = """
func.func @f(%x: f32) -> f32 {
  %0 = func.constant @f : (f32) -> f32
  %1 = func.call_indirect %0(%x) : (f32) -> f32
  return %1 : f32
}"""
CALLS = """
func.func private @g(%x: f32) -> f32 {
  %0 = call @h(%x) : (f32) -> f32
  return %0 : f32
}
func.func private @h(%x: f32) -> f32 {
  %0 = call @g(%x) : (f32) -> f32
  return %0 : f32
}
func.func @f(%x: f32) -> f32 {
  %0 = call @h(%x) : (f32) -> f32
  return %0 : f32
}"""
NO_BODY = "func.func private @g(f32) -> f32\n"
REFUSED = [
    (TWICE, {"target": "tpu"}, CompileError, f"expected a target among {', '.join(TARGETS)}, got 'tpu'"),
    (TWICE, {"entry": "thrice"}, CompileError, "expected an entry among twice, got 'thrice'"),
    ("", {"entry": "f"}, CompileError, "expected an entry among no functions, got 'f'"),
    ("", {}, CompileError, "expected one public function or the name of an entry, got 0 functions"),
    (
        TWICE + TWICE.replace("twice", "b"),
        {},
        CompileError,
        "expected one public function or the name of an entry, got 2 functions",
    ),
    (NO_BODY, {"entry": "g"}, CompileError, "expected a function with a body, got the declaration 'g'"),
    (
        NO_BODY + "func.func @f(%x: f32) -> f32 {\n  %0 = call @g(%x) : (f32) -> f32\n  return %0 : f32\n}",
        {},
        CompileError,
        "expected functions with bodies, got a call of the declaration 'g'",
    ),
    (
        BY_ADDRESS.replace("@f :", "@g :") + NO_BODY,
        {},
        CompileError,
        "expected functions with bodies, got a call of the declaration 'g'",
    ),
    (BY_ADDRESS, {}, CompileError, "expected functions that do not call themselves, got 'f' calls 'f'"),
    (CALLS, {}, CompileError, "expected functions that do not call themselves, got 'g' calls 'h' calls 'g'"),
    (
        "func.func @f(%x: memref<3xf32>) { return }",
        {},
        CompileError,
        "f: expected arguments and results of number types, got memref<3xf32>",
    ),
    (
        "func.func @f(%x: tensor<3xi4>) { return }",
        {},
        CompileError,
        "f: expected arguments and results of number types, got tensor<3xi4>",
    ),
    (3, {}, CompileError, "expected a program as text, bytes, a path or a module, got int"),
    (
        "softmax.mlir",
        {},
        CompileError,
        "expected the text of a program, got the name of a file (pathlib.Path('softmax.mlir') reads it)",
    ),
    ("func.func @f( {", {}, VerifyError, "<program>:1:14: error: expected non-function type"),
    (b"func \xff", {}, VerifyError, "<program>:1:6: error: expected UTF-8 text, got byte 0xff"),
    (
        "func.func @f(%x: tensor<3x3xf32, 1>) { return }",
        {},
        VerifyError,
        "<program>:1:1: error: 'func.func' op expected a tensor with a #ragged.layout encoding or none, got 1 : i64",
    ),
    (
        TWICE.replace("arith.addf %x, %x", "tensor.cast %x").replace(f": {X}\n  r", f": {X} to tensor<?x?xf32>\n  r"),
        {},
        VerifyError,
        None,
    ),
    (
        "func.func @f(%c: i1) {\n  cf.cond_br %c, ^a, ^a\n^a:\n  return\n}",
        {},
        PassError,
        "ragged-insert-checks failed\n<program>:1:1: error: expected a function of 1 block, got 2",
    ),
]


@pytest.mark.parametrize(("source", "options", "kind", "message"), REFUSED)
def test_refused(source: Any, options: dict[str, str], kind: type[RaggedError], message: str | None) -> None:
    with pytest.raises(kind) as error:
        compile(source, **options)
    assert isinstance(error.value, RaggedError)
    assert message is None or str(error.value) == message


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5", "²"])
def test_number_of_threads_is_checked(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGGED_NUM_THREADS", text)
    with pytest.raises(CompileError) as error:
        compile(TWICE.replace("arith.addf %x, %x", "math.exp %x"))
    assert str(error.value) == f"expected RAGGED_NUM_THREADS of at least 1, got '{text}'"


@pytest.mark.sampled(2)
def test_results(compile: Compile) -> None:
    """None, one, or a tuple; a ragged one is a tuple of its own."""
    types = ["f32", X]
    values, offsets = GOOD
    assert compile(text_of(types, [], []))(1.0, GOOD) is None
    assert compile(text_of(types, [], [("%a0", "f32")]))(1.5, GOOD) == 1.5
    one = compile(text_of(types, [], [("%a1", X)]))(1.0, GOOD)
    assert isinstance(one, tuple)
    assert [part.tolist() for part in one] == [values.tolist(), offsets.tolist()]
    both = compile(text_of(types, [], [("%a1", X), ("%a0", "f32"), ("%a1", X)]))(2.5, GOOD)
    assert both[1] == 2.5
    assert [part.tolist() for part in (*both[0], *both[2])] == 2 * [values.tolist(), offsets.tolist()]


def test_one_buffer_returned_twice_and_a_constant(compile: Compile) -> None:
    text = """
    func.func @f(%x: tensor<?xf32>) -> (tensor<?xf32>, tensor<2xf32>, tensor<?xf32>, tensor<2xf32>) {
      %0 = arith.addf %x, %x : tensor<?xf32>
      %1 = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
      return %0, %1, %0, %1 : tensor<?xf32>, tensor<2xf32>, tensor<?xf32>, tensor<2xf32>
    }"""
    function = compile(text)
    first, constant, second, again = function(np.ones(3, F32))
    first[...], constant[...] = 7, 7
    assert second.tolist() == [2, 2, 2]
    assert again.tolist() == [1, 2]
    assert function(np.ones(3, F32))[1].tolist() == [1, 2]


NO_FEATURES = """
func.func @f(%x: tensor<?x?x0xf32, #ragged.layout<"dr|d">>) -> tensor<?xf32> {
  %m = ragged.merge %x {dim = 0} : (tensor<?x?x0xf32, #ragged.layout<"dr|d">>) -> tensor<?x0xf32>
  %c = ragged.merge %m {dim = 0} : (tensor<?x0xf32>) -> tensor<?xf32>
  %d = arith.addf %c, %c : tensor<?xf32>
  return %d : tensor<?xf32>
}
"""


def test_rows_without_features(compile: Compile) -> None:
    assert compile(NO_FEATURES)((np.zeros((5, 0), np.float32), np.array([0, 2, 5]))).shape == (0,)


def test_layouts_are_inferred_before_the_signature(compile: Compile) -> None:
    text = f"""
    func.func @f(%x: tensor<?x?xf32>) -> {X} {{
      %0 = ragged.annotate %x : (tensor<?x?xf32>) -> {X}
      return %0 : {X}
    }}"""
    assert compile(text)(GOOD)[1].tolist() == GOOD[1].tolist()


def _arrays(operands: list[Any]) -> list[Any]:
    return [x if isinstance(x, int) else np.array(x, np.int64) for x in operands]


@pytest.fixture(scope="module")
def asserts(compile: Compile) -> Callable[[str, list[Any], int], Callable[..., Any]]:
    """Programs of one check, each compiled once."""
    made: dict[str, Callable[..., Any]] = {}

    def get(kind: str, operands: list[Any], factor: int) -> Callable[..., Any]:
        types = [("index", "tensor<?xi64>", "tensor<?x?xi64>")[np.ndim(x)] for x in operands]
        names = ", ".join(f"%a{k}" for k in range(len(types)))
        extra = f", factor = {factor}" if CHECK_KINDS[kind].needs_factor else ""
        attributes = f'{{kind = "{kind}", op = "ragged.x", level = 1{extra}}}'
        text = text_of(types, [f"ragged.assert_valid {names} {attributes} : ({', '.join(types)}) -> ()"], [])
        if text not in made:
            made[text] = compile(text, check=False)
        return made[text]

    return get


PASSING = [
    ("offsets", [[0, 0, 3], 3, 2], 0),
    ("offsets", [[0], 0], 0),
    ("rows", [[[0, 1], [0, 2]], [1, 2]], 0),
    ("lengths", [[], 0, 0], 0),
    ("row_lengths", [[[1, 2], [0, 3]], 3, 2], 0),
    ("windows", [[3, 0], [0, 3], 3], 0),
    ("windows", [[0] * 4, [2**61, 2**61, 2**61, 2**61 - 1], 2**61], 0),
    ("index", [1, [2, 3]], 0),
    ("range", [[0, 2], [0, 2], [0, 2]], 0),
    ("divides", [[0, 4]], 4),
    ("covers", [3, []], 0),
    ("conform", [[1, 2], [1, 2]], 0),
    ("fits", [2**32, 2**30, 0], 0),
]


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("kind", "operands", "factor"), PASSING)
def test_checks_that_hold(kind: str, operands: list[Any], factor: int, asserts: Callable[..., Any]) -> None:
    assert asserts(kind, operands, factor)(*_arrays(operands)) is None


@pytest.mark.sampled(36)
@pytest.mark.parametrize("case", OPS, ids=[c[-1].split(":")[0] for c in OPS])
def test_ops_check_their_operands(case: Any, compile: Compile) -> None:
    op, types, result, args, message = case
    with pytest.raises(RuntimeCheckError) as error:
        compile(text_of(types, [f"{named(op)} = {op}"], [("%0", result)]))(*args)
    assert str(error.value) == message


def test_the_first_failure_counts(compile: Compile) -> None:
    """In the order of the program, and a function runs again after one."""
    text = text_of([X, X], [f"%0 = arith.addf %a0, %a1 : {X}", f"%1 = arith.addf %0, %a0 : {X}"], [("%1", X)])
    function = compile(text)
    for bad, message in [
        ((GOOD[0], np.array([1, 3])), "argument 1: level 1, component 0: expected offsets[0] == 0, got 1"),
        ((GOOD[0], np.array([0, 3])), "arith.addf: level 1: expected 3 components, got 1"),
        ((GOOD[0], np.array([0, 1, 2, 3])), "arith.addf: level 1, component 0: expected length 2, got 1"),
    ]:
        with pytest.raises(RuntimeCheckError) as error:
            function(GOOD, bad)
        assert str(error.value) == message
        assert function(GOOD, GOOD)[0].tolist() == [3, 6, 9]


@pytest.mark.sampled(2)
def test_many_checks(compile: Compile) -> None:
    """One guard for all that need no result of another op: nested ones would take hours to compile."""
    count = 40
    types = ["tensor<?xf32>", *["tensor<?xi64>"] * count]
    lines = [
        f"%{k} = ragged.partition %a0, %a{k + 1} {{dim = 0}} : (tensor<?xf32>, tensor<?xi64>) -> {X}"
        for k in range(count)
    ]
    function = compile(text_of(types, lines, [(f"%{k}", X) for k in range(count)]))
    good = [np.array([0, k % 3, 3]) for k in range(count)]
    assert [offsets.tolist() for _, offsets in function(GOOD[0], *good)] == [offsets.tolist() for offsets in good]
    bad = [*good[:20], np.array([0, 2]), *good[21:30], np.array([1, 3]), *good[31:]]
    with pytest.raises(RuntimeCheckError) as error:
        function(GOOD[0], *bad)
    assert str(error.value) == "ragged.partition: level 1, component 0: expected offsets[1] == 3, got 2"


def test_without_checks_nothing_is_checked(compile: Compile) -> None:
    text = text_of(["tensor<?xf32>", "tensor<?xi64>"], [f"%0 = ragged.partition %a0, %a1 {{dim = 0}} : "
                   f"(tensor<?xf32>, tensor<?xi64>) -> {X}"], [("%0", X)])  # fmt: skip
    bad = np.array([0, 2, 1])
    assert compile(text, check=False)(GOOD[0], bad)[1].tolist() == bad.tolist()
    with pytest.raises(RuntimeCheckError, match="expected offsets"):
        compile(text)(GOOD[0], bad)


PRINTED = [
    (X, GOOD, "[[1.0, 2.0], [], [3.0]]"),
    ('tensor<?x2x?xi32, #ragged.layout<"ddr">>', (np.arange(3, dtype=np.int32), np.array([0, 1, 1, 3, 3]), 2), None),
    ('tensor<2x?x?xi1, #ragged.layout<"drr">>', (np.array([True, False]), np.array([0, 1, 1]), np.array([0, 2])), None),
    ('tensor<?x?x2xf16, #ragged.layout<"dw|d">>', (np.eye(3, 2, dtype=np.float16), np.array([2]), np.array([1])), None),
    ('tensor<?x?x2xf64, #ragged.layout<"drt">>', (np.arange(3.0), np.array([0, 3])), "[[[0.0, 1.0], [2.0]]]"),
    ("tensor<2x?xi64>", np.array([[1, -2], [3, 4]]), "[[1, -2], [3, 4]]"),
    ("tensor<f32>", np.array(np.inf, F32), "inf"),
    ("tensor<?xf32>", np.zeros(0, F32), "[]"),
]  # fmt: skip


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("type_", "argument", "text"), PRINTED)
@pytest.mark.parametrize("label", ["", "the x"])
def test_print(
    type_: str, argument: Any, text: str | None, label: str, compile: Compile, capsys: pytest.CaptureFixture[str]
) -> None:
    """As the reference interpreter prints it."""
    attributes = f' {{label = "{label}"}}' if label else ""
    program = text_of([type_], [f"ragged.print %a0{attributes} : ({type_}) -> ()"], [])
    reference.run(program, "f", [argument])
    expected = capsys.readouterr().out
    assert text is None or expected == (f"{label}: {text}\n" if label else f"{text}\n")
    compile(program)(argument)
    assert capsys.readouterr().out == expected


def resident() -> int:
    """Bytes of memory this process holds."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def test_calls_do_not_leak() -> None:
    """Neither results nor temporaries nor failed calls: 100 calls with 8 MiB of results each."""
    text = text_of([X, "index"], [
        f"%0 = math.exp %a0 : {X}",
        f"%1 = ragged.concat %0, %0 {{dim = 1}} : ({X}, {X}) -> {X}",
        f"%2 = ragged.select %1, %a1 {{dim = 0}} : ({X}, index) -> tensor<?xf32>",
    ], [("%1", X), ("%2", "tensor<?xf32>")])  # fmt: skip
    function = compile(text)
    values, offsets = np.zeros(1 << 20, F32), np.array([0, 10, 1 << 20])

    def calls(count: int) -> None:
        for k in range(count):
            function((values, offsets), 1)
            if k % 4 == 0:
                with pytest.raises(RuntimeCheckError):
                    function((values, offsets), 2)

    calls(5)
    gc.collect()
    before = resident()
    calls(100)
    gc.collect()
    assert resident() - before < 64 << 20


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["exp", "malloc", "main", "ragged_set_threads", "set_threads"])
def test_functions_with_names_of_libraries(name: str) -> None:
    text = f"""
    func.func private @cos(%x: tensor<?xf64>) -> tensor<?xf64> {{
      %y = math.cos %x : tensor<?xf64>
      return %y : tensor<?xf64>
    }}
    func.func @{name}(%x: tensor<?xf64>) -> tensor<?xf64> {{
      %y = math.exp %x : tensor<?xf64>
      %z = call @cos(%y) : (tensor<?xf64>) -> tensor<?xf64>
      return %z : tensor<?xf64>
    }}
    """
    x = np.linspace(-1, 1, 5)
    np.testing.assert_allclose(compile(text, name)(x), np.cos(np.exp(x)), rtol=1e-14)


@pytest.mark.parametrize("target", ["cpu", "emulator"])
def test_arguments_by_name(target: str) -> None:
    function = compile(GOOD_NAMES, target=target)
    with pytest.raises(ArgumentError, match="f: expected arguments by position, got one named 'x'"):
        function(x=np.zeros(2))


def test_an_entry_that_is_no_name() -> None:
    with pytest.raises(CompileError, match="expected a name for entry, got list"):
        compile(GOOD_NAMES, [])  # pyright: ignore[reportArgumentType]


GOOD_NAMES = "func.func @f(%x: tensor<?xf64>) -> tensor<?xf64> { return %x : tensor<?xf64> }"


@pytest.mark.parametrize("inner", ["module @inner", "module", "module @outer { module"])
def test_modules_in_the_module_are_left_out(inner: str) -> None:
    nested = f"{inner} {{ func.func @f(%x: i64) -> i64 {{ return %x : i64 }} }}{' }' * ('{' in inner)}"
    assert doubled(compile(f"module {{ {nested}\n{TWICE} }}")) == [2, 4, 6]
