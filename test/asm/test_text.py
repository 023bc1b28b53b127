"""The short text form: translation both ways, what it leaves alone, what it refuses."""

from __future__ import annotations

import contextlib
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragged_dialect.asm import to_generic, to_short
from ragged_dialect.asm.diagnostics import ParseError
from ragged_dialect.asm.module import parse_module, print_module
from ragged_dialect.asm.short import translate
from ragged_dialect.dialect import context
from ragged_dialect.segments import GROUPS

JAGGED = '#ragged.layout<"dr|d">'
DENSE = "tensor<?x64xf32>"
RAGGED = f"tensor<3x?x64xf32, {JAGGED}>"
VECTOR = "tensor<4xi64>"


def _sizes(*sizes: int) -> str:
    return "operandSegmentSizes = array<i32: " + ", ".join(map(str, (*sizes, *[0] * (GROUPS - len(sizes))))) + ">"


PAIRS = [
    (
        f"%r = ragged.partition %x, %o {{dim = 0, lengths}} : ({DENSE}, {VECTOR}) -> {RAGGED}",
        f'%r = "ragged.partition"( %x, %o) {{dim = 0, lengths}} : ({DENSE}, {VECTOR}) -> {RAGGED}',
    ),
    (
        f'ragged.print %r {{label = "a"}} : ({RAGGED}) -> () loc("f":1:2)',
        f'"ragged.print"( %r) {{label = "a"}} : ({RAGGED}) -> () loc("f":1:2)',
    ),
    ("%a, %b:2 = ragged.merge %x#1 : (i1) -> (i1, i1, i1)", '%a, %b:2 = "ragged.merge"( %x#1) : (i1) -> (i1, i1, i1)'),
    ("%e = ragged.none : () -> i32", '%e = "ragged.none"() : () -> i32'),
    (
        f"%r = ragged.assemble %x, %o : ({DENSE}, {VECTOR}) -> {RAGGED}",
        f'%r = "ragged.assemble"( %x, %o) {{{_sizes(1, 1)}}} : ({DENSE}, {VECTOR}) -> {RAGGED}',
    ),
    (
        f"%r = ragged.concat %x, %y {{dim = 1}} : ({RAGGED}, tensor<3 x? x64xf32,{JAGGED}>) -> i32",
        f'%r = "ragged.concat"( %x, %y) {{{_sizes(2)}, dim = 1}} : ({RAGGED}, tensor<3 x? x64xf32,{JAGGED}>) -> i32',
    ),
    (
        "ragged.assert_valid %o, %n {} : (!alias, (i32) -> index) -> ()",
        f'"ragged.assert_valid"( %o, %n) {{{_sizes(1, 1)}}} : (!alias, (i32) -> index) -> ()',
    ),
]


@pytest.mark.parametrize(("short", "generic"), PAIRS)
def test_going_in(short: str, generic: str) -> None:
    assert to_generic(short) == generic
    assert to_generic(generic) == generic
    for before in ("  ", "{", "^bb0:", "f32 ", "^bb0(%a: i32): // note\n", "}"):
        assert to_generic(before + short) == before + generic


def test_segments_of_generic_input() -> None:
    text = f'%r = "ragged.assemble"(%x, %o) : ({DENSE}, {VECTOR}) -> {RAGGED}'
    assert to_generic(text) == f'%r = "ragged.assemble"(%x, %o) {{{_sizes(1, 1)}}} : ({DENSE}, {VECTOR}) -> {RAGGED}'
    given_sizes = f"%r = ragged.assemble %x, %o {{a, {_sizes(2)}}} : ({DENSE}, {VECTOR}) -> {RAGGED}"
    assert to_generic(given_sizes).count("operandSegmentSizes") == 1


GOING_OUT = [
    (
        f'%0 = "ragged.partition"(%arg0, %arg1) {{dim = 0 : i64, lengths}} : ({DENSE}, {VECTOR}) -> {RAGGED}',
        f"%0 = ragged.partition %arg0, %arg1 {{dim = 0, lengths}} : ({DENSE}, {VECTOR}) -> {RAGGED}",
    ),
    (
        f'%0 = "ragged.assemble"(%a, %b) {{{_sizes(1, 1)}}} : ({DENSE}, {VECTOR}) -> {RAGGED} loc(#loc)',
        f"%0 = ragged.assemble %a, %b : ({DENSE}, {VECTOR}) -> {RAGGED} loc(#loc)",
    ),
    (
        f'"ragged.empty"(%a) {{from = [[0 : i64, 1 : i64], -1 : i64], {_sizes(1)}}} : ({RAGGED}) -> {RAGGED}',
        f"ragged.empty %a {{from = [[0, 1], -1]}} : ({RAGGED}) -> {RAGGED}",
    ),
    (
        f'"ragged.concat"(%a) {{{_sizes(1)}, dim = 0 : i64}} : ({RAGGED}) -> {RAGGED}',
        f"ragged.concat %a {{dim = 0}} : ({RAGGED}) -> {RAGGED}",
    ),
    (
        '"ragged.x"(%a) {k = "1 : i64", l = array<i64: 1>, m = #f.x<1 : i64>, n = 1.0 : f64} : (i32) -> ()',
        'ragged.x %a {k = "1 : i64", l = array<i64: 1>, m = #f.x<1 : i64>, n = 1.0 : f64} : (i32) -> ()',
    ),
    ('"ragged.none"() {} : () -> ()', "ragged.none {} : () -> ()"),
    (
        f'"ragged.assemble"(%a, %b) {{{_sizes(2)}}} : ({DENSE}, {VECTOR}) -> {RAGGED}',  # not what the way in computes
        f"ragged.assemble %a, %b {{{_sizes(2)}}} : ({DENSE}, {VECTOR}) -> {RAGGED}",
    ),
]


@pytest.mark.parametrize(("generic", "short"), GOING_OUT)
def test_going_out(generic: str, short: str) -> None:
    assert to_short(generic) == short
    assert to_short(short) == short


UNTOUCHED = [
    '// ragged.merge %x : (i32) -> i32 and "ragged.merge"(%x) : (i32) -> i32',
    'func.func @f() attributes {ragged.x = 1, ragged.y, a = "ragged.merge %x"} {',
    f"func.func private @ragged.merge({RAGGED}) -> !ragged.thing",
    'call @"ragged.merge"(%x) : (i32) -> i32',
    'return loc("ragged.merge"("a":1:2))',
    'return loc(fused<"ragged.merge">["ragged.merge"("a":1:2), "ragged.x"("b":1:1)])',
    'return loc(callsite("a" at "ragged.merge"("a":1:2)))',
    '%p = pdl.operation "ragged.merge"(%a : !pdl.value) -> (%t : !pdl.type)',
    'emitc.call_opaque "ragged.concat"(%0) : (i32) -> ()',
    '#map = affine_map<(d0) -> (d0)>  #a = #ragged.layout<"dr">',
    '%0 = arith.constant {ragged.merge} 1 : i32 loc("ragged.merge %x")',
    '"other.op"() {"ragged.concat" = 1} : () -> ()',
]


@pytest.mark.parametrize("text", UNTOUCHED)
def test_left_alone(text: str) -> None:
    assert to_generic(text) == text
    assert to_short(text) == text


NO_TYPES = "error: 'ragged.merge' op expected ':' and the types of its operands and results"
NO_LIST = "error: 'ragged.merge' op expected the types of its operands in parentheses"
REFUSED = [
    ("\n  %y = ragged.merge %x {dim = 0}", f"2:33: {NO_TYPES}"),
    ("ragged.merge %x, {dim = 0} : (i32) -> i32", "1:18: error: 'ragged.merge' op expected an operand after ','"),
    ("ragged.merge(%x) : (i32) -> i32", f"1:13: {NO_TYPES}"),
    ("ragged.merge %x : i32 -> i32", f"1:19: {NO_LIST}"),
    ("ragged.merge %x : (i32) i32", "1:25: error: 'ragged.merge' op expected '->' and the types of its results"),
    ("ragged.merge %x {dim = [0} : (i32) -> i32", "1:17: error: 'ragged.merge' op expected '{' to be closed"),
    ("/* \u00e9 */ ragged.merge %x", f"1:25: {NO_TYPES}"),
    (
        "ragged.concat : (" + ", ".join(["i1", "i2"] * 7) + ") -> i32",
        "1:1: error: 'ragged.concat' op expected at most 12 runs of operands of equal type, got 14",
    ),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_malformed(text: str, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        translate(text, "f.mlir")
    assert str(caught.value) == f"f.mlir:{message}"


PROGRAM = f"""#jagged = {JAGGED}
func.func @f(%x: {DENSE}, %o: {VECTOR}, %p: f32, %n: index) -> {DENSE} attributes {{ragged.x, k = "ragged.merge"}} {{
  %r = ragged.partition %x, %o {{dim = 0}} : ({DENSE}, {VECTOR}) -> tensor<3x?x64xf32, #jagged>
  ragged.print %r {{label = "ragged.merge %x"}} : ({RAGGED}) -> ()
  %a = ragged.assemble %x, // the values
      %o : ({DENSE}, {VECTOR}) -> {RAGGED}
  %e = ragged.empty %r, %a {{from = [[0, 0], [1, 1], -1]}} : ({RAGGED}, {RAGGED}) -> {RAGGED}
  %c = ragged.concat %r, %e {{dim = 0}} : ({RAGGED}, {RAGGED}) -> tensor<6x?x64xf32, #jagged>
  ragged.assert_conform %a, %e {{lhs = array<i64: 0, 1>, rhs = array<i64: 0, 1>, op = "x"}} : ({RAGGED}, {RAGGED}) -> ()
  %q = ragged.to_padded %r, %p, %n : ({RAGGED}, f32, index) -> tensor<3x?x64xf32>
  %m = ragged.merge %r {{dim = 0}} : ({RAGGED}) -> {DENSE}
  return %m : {DENSE}
}}
"""


def test_round_trip_of_a_program() -> None:
    made = context()
    module = parse_module(PROGRAM, made, "f.mlir")
    generic = print_module(module, generic=True)
    short = print_module(module)
    assert '"ragged.' not in short.replace('"ragged.merge', "").replace('"ragged.layout', "")
    assert "operandSegmentSizes" not in short
    assert ": i64}" not in short
    for text in (generic, short, module.operation.get_asm()):
        assert print_module(parse_module(text, made), generic=True) == generic
    assert to_short(short) == short


@pytest.mark.parametrize("end", ["\r", "\r\n"])
def test_line_ends_of_other_systems(end: str) -> None:
    """A carriage return ends a comment, as it does for MLIR."""
    made = context()
    text = f"// %r = ragged.merge\n{PROGRAM}"
    expected = print_module(parse_module(text, made))
    assert print_module(parse_module(text.replace("\n", end), made)) == expected


LINES = st.sampled_from(
    [line for pair in PAIRS for line in pair]
    + [line for pair in GOING_OUT for line in pair]
    + UNTOUCHED
    + ["return", "}", "^bb0(%a: i32):", "", "  // ragged.x", '"'],
)


@settings(max_examples=200, deadline=None)
@given(st.lists(LINES, max_size=6))
def test_translation_is_stable(lines: list[str]) -> None:
    """Lines are kept, a second translation changes nothing, and generic -> short -> generic keeps
    every op generic."""
    text = "\n".join(lines)
    generic = to_generic(text)
    short = to_short(generic)
    assert generic.count("\n") == text.count("\n") == short.count("\n")
    assert to_generic(generic) == generic
    assert to_short(short) == short
    assert to_short(to_generic(short)).replace("  ", " ") == short.replace("  ", " ")


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet=st.characters(codec="utf-8", exclude_characters='"\\\r\n'), max_size=20))
def test_strings_and_comments_survive(noise: str) -> None:
    label = f"{noise} ragged.merge %x ragged.concat"
    text = f'ragged.print %r {{label = "{label}"}} : (i32) -> () // {label} "ragged.merge"(%x) : (i32) -> i32'
    generic = to_generic(text)
    assert generic == '"ragged.print"( %r)' + text.removeprefix("ragged.print %r")
    assert to_short(generic) == text


@pytest.mark.parametrize("filler", [" ", "\n", "(", "{", "%a,", "// \n", '"', "<", "ragged.merge ", "a : i64"])
def test_time_is_linear(filler: str) -> None:
    """Long runs of anything take no more than a moment."""
    for text in ("ragged.merge" + filler * 20000, '"ragged.merge"(' + filler * 20000, filler * 20000 + " ragged.merge"):
        start = time.perf_counter()
        with contextlib.suppress(ParseError):
            to_generic(text)
        to_short(text)
        assert time.perf_counter() - start < 5


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet='ragedm.%x"(){}[]<>:,=-> \n/#!@0', max_size=60))
def test_any_text_translates_or_is_refused(text: str) -> None:
    try:
        generic = to_generic("ragged.merge" + text)
    except ParseError as error:
        assert "'ragged." in str(error)
        return
    assert generic.count("\n") == text.count("\n")
    assert to_short(text).count("\n") == text.count("\n")
