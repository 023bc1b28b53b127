"""Upstream's slices and expansions of dense dims name the extents of the others: whatever passes do around them, these
can still be told to be whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.run_pass import outcome, transform
from support.targets import Compile

from ragged_dialect.passes.base import RaggedPass
from ragged_dialect.passes.ragged_canonicalize import RaggedCanonicalize
from ragged_dialect.passes.ragged_check_conform import RaggedCheckConform
from ragged_dialect.passes.ragged_fuse import RaggedFuse
from ragged_dialect.passes.ragged_insert_checks import RaggedInsertChecks
from ragged_dialect.reference import run

X, PART = 'tensor<3x?x8xf32, #ragged.layout<"dr|d">>', 'tensor<3x?x?xf32, #ragged.layout<"dr|d">>'
ANY, WIDE = 'tensor<?x?x8xf32, #ragged.layout<"dr|d">>', 'tensor<3x?x4x2xf32, #ragged.layout<"dr|d|d">>'
PROGRAMS = {
    "computed": (
        f"""%y = math.exp %x : {X}
        %n = ragged.max_length %y {{level = 1}} : ({X}) -> index
        %r = tensor.extract_slice %y[0, 0, 2] [3, %n, %k] [1, 1, 1] : {X} to {PART}""",
        PART,
    ),
    "constant": (
        f"""%o = arith.constant dense<[0, 2, 2, 5]> : tensor<4xi64>
        %v = ragged.values %x : ({X}) -> tensor<?x8xf32>
        %y = ragged.partition %v, %o {{dim = 0}} : (tensor<?x8xf32>, tensor<4xi64>) -> {X}
        %n = ragged.max_length %y {{level = 1}} : ({X}) -> index
        %r = tensor.extract_slice %y[0, 0, 2] [3, %n, %k] [1, 1, 1] : {X} to {PART}""",
        PART,
    ),
    "cast": (
        f"""%y = tensor.cast %x : {X} to {ANY}
        %n = ragged.max_length %y {{level = 1}} : ({ANY}) -> index
        %m = tensor.dim %y, %c0 : {ANY}
        %s = tensor.extract_slice %y[0, 0, 2] [%m, %n, 4] [1, 1, 1]
            : {ANY} to tensor<?x?x4xf32, #ragged.layout<"dr|d">>
        %r = tensor.cast %s : tensor<?x?x4xf32, #ragged.layout<"dr|d">> to {PART}""",
        PART,
    ),
    "loop": (
        f"""%n = ragged.max_length %x {{level = 1}} : ({X}) -> index
        %s = tensor.extract_slice %x[0, 0, 1] [3, %n, %k] [1, 1, 1] : {X} to {PART}
        %r = scf.for %i = %c0 to %k step %c1 iter_args(%a = %s) -> {PART} {{
          %y = math.exp %x : {X}
          %l = ragged.max_length %y {{level = 1}} : ({X}) -> index
          %b = tensor.extract_slice %y[0, 0, %i] [3, %l, %k] [1, 1, 1] : {X} to {PART}
          %t = arith.addf %a, %b : {PART}
          scf.yield %t : {PART}
        }}""",
        PART,
    ),
    "expanded": (
        f"""%y = math.exp %x : {X}
        %n = ragged.max_length %y {{level = 1}} : ({X}) -> index
        %r = tensor.expand_shape %y [[0], [1], [2, 3]] output_shape [3, %n, 4, 2] : {X} into {WIDE}""",
        WIDE,
    ),
}
ARGS: tuple[Any, ...] = ((np.arange(40, dtype=np.float32).reshape(5, 8) / 40, np.array([0, 2, 2, 5], np.int64)), 4)


def program(name: str) -> str:
    body, result = PROGRAMS[name]
    constants = "%c0 = arith.constant 0 : index\n%c1 = arith.constant 1 : index"
    return f"func.func @f(%x: {X}, %k: index) -> {result} {{\n{constants}\n{body}\nreturn %r : {result}\n}}"


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize(
    "passes",
    [
        (RaggedCanonicalize(),),
        (RaggedFuse(),),
        ("canonicalize",),
        (RaggedInsertChecks(), RaggedCanonicalize(), RaggedCheckConform(), RaggedFuse(), RaggedCanonicalize()),
    ],
)
def test_passes_leave_valid_programs_that_mean_the_same(name: str, passes: tuple[RaggedPass | str, ...]) -> None:
    text = program(name)
    assert outcome(transform(text, *passes), ARGS) == outcome(transform(text), ARGS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_they_are_compiled(name: str, compile: Compile) -> None:
    values, offsets = compile(program(name), "f")(*ARGS)
    ((expected, expected_offsets),) = run(transform(program(name)), "f", ARGS)
    np.testing.assert_allclose(values, expected, rtol=1e-6)
    np.testing.assert_array_equal(offsets, expected_offsets)
