"""Parsing and printing modules: locations, diagnostics, bytecode, inputs that MLIR cannot take."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from support.programs import Program, programs

from ragged_dialect._mlir import ir
from ragged_dialect.asm.diagnostics import ParseError
from ragged_dialect.asm.module import copy_module, load_module, parse_module, print_module
from ragged_dialect.asm.scan import DEEPEST
from ragged_dialect.asm.short import translate
from ragged_dialect.dialect import context
from ragged_dialect.errors import VerifyError

PROGRAM = """func.func @f(%x: tensor<?xf32>, %o: tensor<4xi64>) -> (tensor<?xf32>) {
  %r = ragged.partition %x, %o {dim = 0} : (tensor<?xf32>, tensor<4xi64>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  %m = ragged.merge %r {dim = 0} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<?xf32>
  %c = ragged.concat %r, %r {dim = 0} : (tensor<3x?xf32, #ragged.layout<"dr">>, tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<6x?xf32, #ragged.layout<"dr">> loc("mine":7:8)
  return %m : tensor<?xf32>
}
"""  # noqa: E501


@pytest.fixture(name="made")
def _made() -> Iterator[Any]:
    with context() as made:
        yield made


def _positions(op: Any) -> dict[str, str]:
    found: dict[str, str] = {}
    op.walk(lambda inner: (found.setdefault(inner.name, str(inner.location)), ir.WalkResult.ADVANCE)[1])
    return found


def test_locations_are_the_users(made: Any) -> None:
    module = parse_module(PROGRAM, made, "f.mlir")
    found = _positions(module.operation)
    lines = PROGRAM.splitlines()
    for number, name in ((1, "func.func"), (2, "ragged.partition"), (3, "ragged.merge"), (5, "func.return")):
        column = lines[number - 1].index(name.removeprefix("func.") if name == "func.return" else name) + 1
        assert found[name] == f'loc("f.mlir":{number}:{column})'
    assert found["ragged.concat"] == 'loc("mine":7:8)'
    argument = module.body.operations[0].regions[0].blocks[0].arguments[1]
    assert str(argument.location) == f'loc("f.mlir":1:{lines[0].index("%o") + 1})'
    assert 'loc("f.mlir":2:8)' in print_module(module, debuginfo=True)


def test_every_column_maps_back() -> None:
    source = translate(PROGRAM.replace("return", "// é\n  return"), "f.mlir")
    assert source.insertions
    for number, (mine, generic) in enumerate(zip(source.text.split("\n"), source.generic.split("\n"), strict=True), 1):
        at = 0
        for column, char in enumerate(generic.encode(), 1):
            back = source.column(number, column) - 1
            assert at <= back
            at = back
            if back + 1 < len(mine.encode()) and source.column(number, column + 1) > back + 1:
                assert mine.encode()[back] == char


STOPS = "error: 'ragged.print' op expected operands, attributes, ':' and its types"
REFUSED = [
    (
        "func.func @f(%x: tensor<?xi1>) {\n  %y = ragged.merge %x {dim = 0} : (tensor<?xi1>) -> i1\n  return\n}",
        "f.mlir:2:8: error: 'ragged.merge' op expected dim in [0, 0), got 0",
    ),
    (
        "func.func @f(%x: i32) {\n  ragged.print %x, %zz : (i32, i32) -> ()\n  return\n}",
        "f.mlir:2:20: error: use of undeclared SSA value name",
    ),
    ("func.func @f() { ragged.print }", f"f.mlir:1:18: {STOPS}"),
    ("func.func @f() {\n  ragged.print = 3\n}", f"f.mlir:2:3: {STOPS}"),
    ("ragged.print", f"f.mlir:1:1: {STOPS}"),
    ("(" * 20000, f"f.mlir:1:257: error: expected brackets nested at most {DEEPEST} deep"),
    *(
        (
            "func.func @f(%x: tensor<8xf32>, %e: tensor<f32>) {\n"
            f"  %1 = linalg.reduce {{ arith.addf }} ins(%x: tensor<8xf32>) outs(%e: tensor<f32>) dimensions = {dims}\n"
            "  return\n}",
            "f.mlir:2:95: error: expected a list of integers after 'dimensions ='",
        )
        for dims in ("[0", "[x]", "0", "[0,]", "[99999999999999999999]", "[0 // it ends here]")
    ),
    ("// \ud800", "f.mlir:1:4: error: expected text that UTF-8 can hold, got '\\ud800'"),
    (b"\n \xff", "f.mlir:2:2: error: expected UTF-8 text, got byte 0xff"),
    (b"ML\xefR junk", "f.mlir: error: attempting to parse 5 bytes when only 4 remain"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_refused(made: Any, text: str | bytes, message: str) -> None:
    with pytest.raises(VerifyError) as caught:
        parse_module(text, made, "f.mlir")
    assert str(caught.value) == message
    assert isinstance(caught.value, ParseError)
    assert caught.value.diagnostics


def test_dims_may_have_comments(made: Any) -> None:
    text = """func.func @f(%x: tensor<8x4xf32>, %e: tensor<f32>) -> tensor<f32> {
      %1 = linalg.reduce { arith.addf } ins(%x : tensor<8x4xf32>) outs(%e : tensor<f32>) // which
        dimensions = [ 0, // both
          1 ]
      return %1 : tensor<f32>
    }"""
    assert "dimensions = [0, 1]" in print_module(parse_module(text, made))


def test_long_gaps_take_no_time(made: Any) -> None:
    assert print_module(parse_module("func.func @f()" + " " * 50_000 + "{ return }", made)).count("return") == 1


@settings(max_examples=40, deadline=None)
@given(programs())
def test_both_forms_are_one_program(program: Program) -> None:
    """Generic -> short -> generic is the identity on what MLIR parses."""
    made = context()
    module = parse_module(program.text, made)
    generic, short = print_module(module, generic=True), print_module(module)
    assert '"ragged.' not in short
    assert print_module(parse_module(short, made), generic=True) == generic
    assert print_module(parse_module(generic, made)) == short


def test_notes_are_mapped_too(made: Any) -> None:
    line = '  ragged.print %x : (tensor<i32>) -> () "ragged.mrge"(%x) : (tensor<i32>) -> ()'
    text = f"func.func @f(%x: tensor<i32>) {{\n{line}\n  return\n}}"
    with pytest.raises(ParseError) as caught:
        parse_module(text, made, "f.mlir")
    first, note = str(caught.value).split("\n")
    assert first.startswith("f.mlir:2:41: error: unregistered operation 'ragged.mrge'")
    assert note.startswith("f.mlir:2:41: note: see current operation")


def test_an_unknown_op_is_named(made: Any) -> None:
    with pytest.raises(ParseError, match=r"f.mlir:1:6: error: unregistered operation 'ragged.mrge'"):
        parse_module("%x = ragged.mrge : () -> i32", made, "f.mlir")


def test_bytecode(made: Any) -> None:
    module = parse_module(PROGRAM, made, "f.mlir")
    buffer = io.BytesIO()
    module.operation.write_bytecode(buffer)
    again = parse_module(buffer.getvalue(), made)
    assert print_module(again) == print_module(module)
    assert _positions(again.operation) == _positions(module.operation)


def test_a_copy_is_a_module_of_its_own(made: Any) -> None:
    module = parse_module(PROGRAM, made, "f.mlir")
    copy = copy_module(module)
    assert print_module(copy) == print_module(module)
    assert _positions(copy.operation) == _positions(module.operation)
    copy.body.operations[0].erase()
    assert "ragged.partition" in print_module(module)


def test_a_copy_is_verified(made: Any) -> None:
    """Modules that were built op by op need not have been."""
    module = ir.Module.parse(
        'func.func private @f() -> tensor<?x4xf32, #ragged.layout<"drr">>',
        made,  # two dims for three letters
    )
    with pytest.raises(ParseError, match="expected "):
        copy_module(module)


def test_diagnostics_do_not_leak(made: Any, capfd: pytest.CaptureFixture[str]) -> None:
    """A refused text prints nothing, and leaves the context's settings as they were."""
    before = made.emit_error_diagnostics
    with pytest.raises(ParseError):
        parse_module("func.func @f( {", made)
    assert made.emit_error_diagnostics == before
    assert capfd.readouterr() == ("", "")


def test_layouts_in_bytecode_that_no_op_shows(made: Any) -> None:
    module = ir.Module.parse('func.func @f() { return } loc(fused<#ragged.layout<"zz">>["x"])', made)
    data = io.BytesIO()
    module.operation.write_bytecode(data)
    with pytest.raises(ParseError, match=r"expected letters d, r, w, t in layout \"zz\", got 'z'"):
        load_module(data.getvalue(), made)


@pytest.mark.parametrize("name", ["builtin_.attribute", "operandSegmentSizes"])
def test_names_in_bytecode_that_are_no_text(name: str, made: Any) -> None:
    x = 'tensor<?x?xf32, #ragged.layout<"dr">>'
    text = f"""func.func @f(%x: {x}) -> {x} attributes {{builtin_.attribute = 1}} {{
      %y = ragged.concat %x, %x {{dim = 1}} : ({x}, {x}) -> {x}
      return %y : {x}
    }}"""
    data = io.BytesIO()
    parse_module(text, made).operation.write_bytecode(data)
    broken = data.getvalue().replace(name.encode(), b"\xc2" + name.encode()[1:])
    with pytest.raises(ParseError, match="expected names of attributes in UTF-8, got others"):
        load_module(broken, made)


@pytest.mark.parametrize("deep", [DEEPEST - 1, DEEPEST + 1])
def test_regions_in_bytecode_are_as_deep_as_in_text(deep: int, made: Any) -> None:
    """What goes through programs calls itself for each region."""
    with ir.Location.unknown(made):
        module = ir.Module.create()
        block = module.body
        for _ in range(deep):
            op = ir.Operation.create("builtin.module", regions=1, ip=ir.InsertionPoint(block))
            block = op.regions[0].blocks.append()
    data = io.BytesIO()
    module.operation.write_bytecode(data)
    if deep > DEEPEST:
        with pytest.raises(VerifyError, match="expected regions nested at most 256 deep"):
            load_module(data.getvalue(), made)
    else:
        load_module(data.getvalue(), made)
