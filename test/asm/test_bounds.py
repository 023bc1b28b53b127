"""Texts that MLIR's parser must not see: it would end the process, or take minutes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ragged_dialect import VerifyError
from ragged_dialect.asm.bounds import LARGEST, LONGEST, refuse
from ragged_dialect.asm.module import load_module
from ragged_dialect.asm.scan import DEEPEST
from ragged_dialect.dialect import context


def constant(number: str) -> str:
    return f"func.func @f() {{\n  %0 = arith.constant {number} : f32\n  return\n}}"


def attribute(text: str) -> str:
    return f"module attributes {{\n  x.y = {text}\n}} {{}}"


def chain(sigil: str, first: str, following: str, count: int) -> str:
    """Aliases, each made of the one before it."""
    lines = [
        f"{sigil}a0 = {first}",
        *(f"{sigil}a{k} = {following.format(f'{sigil}a{k - 1}')}" for k in range(1, count)),
    ]
    return "\n".join([*lines, "module {}"])


def resource(alignment: str) -> str:
    return f'module {{}}\n{{-# dialect_resources: {{ builtin: {{ a: "0x{alignment}00000000" }} }} #-}}'


DIGITS = f"expected numbers of at most {LONGEST} digits"
DIMS = f"expected types of at most {DEEPEST} dims"
SIGNS = f"expected signs nested at most {DEEPEST} deep"
NESTED = f"expected aliases and brackets nested at most {DEEPEST} deep"
WORDS = f"expected at most {LARGEST} words with aliases written out"
ELEMENTS = f"expected at most {LARGEST} elements as operands or results"
TEXTS: dict[str, tuple[Callable[[int], str], int, int, str]] = {
    "an integer": (lambda n: constant("1" * n), LONGEST, 2, DIGITS),
    "a fraction": (lambda n: constant("0." + "1" * (n - 2)), LONGEST, 2, DIGITS),
    "an exponent": (lambda n: constant("1.0e-" + "1" * n), LONGEST, 2, DIGITS),
    "a bit pattern": (lambda n: constant("0x" + "f" * (n - 2)), LONGEST, 2, DIGITS),
    "a tensor": (lambda n: f"func.func private @f(tensor<{'1x' * n}f32>)", DEEPEST, 1, DIMS),
    "dynamic dims": (lambda n: f"func.func private @f(tensor<{'?x' * n}f32>)", DEEPEST, 1, DIMS),
    "signs": (lambda n: attribute(f"affine_map<(i) -> ({'-' * n}i)>"), DEEPEST, 2, SIGNS),
    "signs apart": (lambda n: attribute(f"affine_map<(i) -> ({'- ' * n}i)>"), DEEPEST, 2, SIGNS),
    "an affine map": (
        lambda n: attribute(f"affine_map<(i) -> (i{' + i' * (n // 4)})>"), 60000, 2,
        "expected affine maps of at most 65536 characters",
    ),
    "elements": (
        lambda n: f"func.func @f(%x: f32) {{ tensor.from_elements %x : tensor<{n}xf32> }}", LARGEST, 1, ELEMENTS,
    ),
    "elements of an alias": (
        lambda n: f"!t = vector<{n}x1xf32>\nfunc.func @f(%x: !t) {{ vector.to_elements %x {{a = 1 : i32}} : !t }}",
        LARGEST, 2, ELEMENTS,
    ),
    "attributes": (lambda n: chain("#", "1", "[{}]", n), DEEPEST, DEEPEST + 2, NESTED),
    "types": (lambda n: chain("!", "i32", "tuple<{}>", n), DEEPEST, DEEPEST + 2, NESTED),
    "locations": (lambda n: chain("#", "loc(unknown)", 'loc("x"({}))', n), DEEPEST // 2, DEEPEST // 2 + 1, NESTED),
    "aliases used twice": (lambda n: chain("#", "1", "[{0}, {0}]", n), 20, 22, WORDS),
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
def test_refused(name: str) -> None:
    """At the bound nothing is said, above it line and bound are."""
    text, bound, line, message = TEXTS[name]
    assert refuse(text(bound)) is None
    refused = refuse(text(bound + bound // 8 + 2))
    assert refused is not None
    assert refused[1] == message
    with pytest.raises(VerifyError) as error:
        load_module(text(2 * bound), context(), "f.mlir")
    assert str(error.value).startswith(f"f.mlir:{line}:")
    assert message in str(error.value)


@pytest.mark.parametrize(
    "text",
    [
        "%0 = tensor.expand_shape %x [[], [0, 1]] output_shape [2, 4] : tensor<8xf32> into tensor<2x4xf32>",
        "%0 = tensor.collapse_shape %x [[0], [ ]] : tensor<8xf32> into tensor<8x1xf32>",
        '%0 = "tensor.collapse_shape"(%x) <{reassociation = [[0],\n[]]}> : (tensor<8xf32>) -> tensor<8x1xf32>',
    ],
)
def test_groups_without_a_dim(text: str) -> None:
    """MLIR's verifier takes the first dim of each."""
    program = f"func.func @f(%x: tensor<8xf32>) {{\n{text}\nreturn }}"
    with pytest.raises(VerifyError, match=r"f.mlir:2:.*expected a dim in every group of a reshape"):
        load_module(program, context(), "f.mlir")


@pytest.mark.parametrize(
    "text",
    [
        "linalg.generic {indexing_maps = [], iterator_types = [0, 1]} ins(%x : f32)",
        'linalg.generic {iterator_types = ["parallel", []]} ins(%x : f32)',
        "linalg.generic {iterator_types = [#linalg.iterator_type<parallel>]} ins(%x : f32)",
        "linalg.generic {iterator_types = #numbers} ins(%x : f32)",
        'linalg.generic {iterator_types = ["parallel", #number]} ins(%x : f32)',
        "%0 = vector.contract {iterator_types = [1, 2, 3], kind = #vector.kind<add>} %x, %x, %x : f32, f32 into f32",
        '"linalg.generic"() {iterator_types = [0]} : () -> ()\nlinalg.generic {iterator_types = [unit]} ins(%x : f32)',
    ],
)
def test_iterators_that_are_no_strings(text: str) -> None:
    """MLIR's parsers read what is behind a pointer that there is not."""
    program = f"#number = 1\n#numbers = [0, 1] func.func @f(%x: f32) {{\n{text}\nreturn }}"
    with pytest.raises(VerifyError, match=r"f.mlir:[34]:.*expected strings in a list after 'iterator_types ='"):
        load_module(program, context(), "f.mlir")


def test_iterators_that_are_aliases() -> None:
    body = "^bb0(%a: f32): linalg.yield %a : f32"
    text = f"""#one = "parallel"
      #all = [#one]
      #map = affine_map<(i) -> (i)>
      func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {{
        %0 = linalg.generic {{indexing_maps = [#map], iterator_types = #all}} outs(%x : tensor<2xf32>) {{ {body} }}
          -> tensor<2xf32>
        %1 = "linalg.generic"(%0) <{{indexing_maps = [#map], iterator_types = [#linalg.iterator_type<parallel>],
          operandSegmentSizes = array<i32: 0, 1>}}> ({{ {body} }}) : (tensor<2xf32>) -> tensor<2xf32>
        return %1 : tensor<2xf32> }}"""
    load_module(text, context(), "f.mlir")


@pytest.mark.parametrize("alignment", ["00000000", "03000000", "00000080"])
def test_resources_that_cannot_be_aligned(alignment: str) -> None:
    with pytest.raises(VerifyError, match=r"f.mlir:2:.*expected a resource aligned to a power of two up to 65536"):
        load_module(resource(alignment), context(), "f.mlir")


@pytest.mark.parametrize(
    "text",
    [
        resource("04000000"),
        attribute('"' + "1" * 5000 + "1x" * 5000 + "-" * 5000 + '"'),
        "// " + "-" * 5000 + "\nmodule {}",
        f"func.func private @a{'1' * 5000}()",
        "\n".join(
            f"#a{k} = affine_map<(i) -> (i)>\nfunc.func private @f{k}() attributes {{x.y = #a{k}}}" for k in range(300)
        ),
    ],
)
def test_what_only_looks_like_it(text: str) -> None:
    load_module(text, context(), "f.mlir")


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "text",
    [
        "#a=1 ",
        "#a=<=\n",
        "#a = ",
        "#a=#a\n",
        "1x",
        "- ",
        "1",
        "1 x ",
        "affine_map<",
        "0x",
        "?",
        "{-#",
        ': "0x',
        "from_elements ",
        "from_elements %x : !t ",
        "iterator_types = #a ",
        "iterator_types = [#a, ",
        "#a = [",
    ],
)
def test_searching_takes_linear_time(text: str) -> None:
    """Quadratic time would be minutes."""
    refuse(text * 50_000)
