"""The run-time checks in the reference interpreter: every kind, with its text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.check_cases import F32, GOOD, KINDS, OPS, VECTOR, at, named, vector
from support.structures import text_of

from ragged_dialect.checked_data import require
from ragged_dialect.checks import CHECK_KINDS
from ragged_dialect.errors import RuntimeCheckError
from ragged_dialect.reference import run


@pytest.mark.parametrize(("kind", "operands", "factor", "message"), KINDS)
def test_kinds(kind: str, operands: list[Any], factor: int, message: str) -> None:
    """Every case of every kind, the first offending component."""
    with pytest.raises(RuntimeCheckError) as error:
        require(kind, "ragged.x", 1, operands, factor)
    assert str(error.value) == at(kind, message)
    assert type(error.value) is CHECK_KINDS[kind].error


def test_every_case_is_tested() -> None:
    """One test at least for each text; `holds` is what a cf.assert becomes, and has tests of its own."""
    cases = sum(len(kind.cases) for kind in CHECK_KINDS.values())
    assert {kind for kind, *_ in KINDS} | {"holds"} == set(CHECK_KINDS)
    assert len(KINDS) >= cases


@pytest.mark.parametrize("case", OPS, ids=[c[-1].split(":")[0] for c in OPS])
def test_ops_check_their_operands(case: Any) -> None:
    """The place and the text; without checks valid programs only are run."""
    op, types, result, args, message = case
    with pytest.raises(RuntimeCheckError) as error:
        run(text_of(types, [f"{named(op)} = {op}"], [("%0", result)]), "f", args)
    assert str(error.value) == message


def test_asserts_run_without_checks() -> None:
    """The checking ops check whatever `check` says; other ops then do not."""
    attributes = '{kind = "offsets", op = "ragged.partition", level = 1}'
    valid = f"ragged.assert_valid %a0, %c {attributes} : ({VECTOR}, index) -> ()"
    text = text_of([VECTOR], ["%c = arith.constant 4 : index", valid], [])
    assert run(text, "f", [vector(0, 4)], check=False) == []
    with pytest.raises(RuntimeCheckError, match=r"^ragged\.partition: level 1, component 0: expected offsets"):
        run(text, "f", [vector(0, 5)], check=False)


CONFORM = """
func.func @f(%a: tensor<?x?xf32, #ragged.layout<"dr">>, %b: tensor<?x?xf32, #ragged.layout<"dw">>) {
  ragged.assert_conform %a, %b {lhs = array<i64: 0, 1>, rhs = array<i64: 0, 1>, op = "arith.addf"}
      : (tensor<?x?xf32, #ragged.layout<"dr">>, tensor<?x?xf32, #ragged.layout<"dw">>) -> ()
  return
}
"""


def test_assert_conform() -> None:
    """Lengths component by component, wherever the windows start."""
    window = (np.zeros(9, F32), vector(6, 0, 2), vector(3, 0, 2))
    assert run(CONFORM, "f", [GOOD, window], check=False) == []
    with pytest.raises(RuntimeCheckError) as error:
        run(CONFORM, "f", [GOOD, (np.zeros(9, F32), vector(6, 0, 2), vector(3, 0, 1))])
    assert str(error.value) == "arith.addf: level 1, component 2: expected length 2, got 1"
    with pytest.raises(RuntimeCheckError) as error:
        run(CONFORM, "f", [GOOD, (np.zeros(9, F32), vector(6), vector(3))])
    assert str(error.value) == "arith.addf: level 1: expected 3 components, got 1"


def test_conform_below_a_dense_and_a_ragged_level() -> None:
    """Lengths are compared where the ragged one has indices."""
    text = """
    func.func @f(%a: tensor<?x?x?xf32, #ragged.layout<"drr">>, %b: tensor<?x3x?xf32, #ragged.layout<"ddr">>) {
      ragged.assert_conform %a, %b {lhs = array<i64: 0, 1, 2>, rhs = array<i64: 0, 1, 2>, op = "arith.addf"}
          : (tensor<?x?x?xf32, #ragged.layout<"drr">>, tensor<?x3x?xf32, #ragged.layout<"ddr">>) -> ()
      return
    }"""
    lists = (np.zeros(4, F32), vector(0, 2, 3), vector(0, 2, 3, 4))
    assert run(text, "f", [lists, (np.zeros(9, F32), vector(0, 2, 3, 7, 8, 8, 9), 2)], check=False) == []
    with pytest.raises(RuntimeCheckError) as error:
        run(text, "f", [lists, (np.zeros(9, F32), vector(0, 2, 3, 7, 9, 9, 9), 2)])
    assert str(error.value) == "arith.addf: level 2, component 2: expected length 1, got 2"


def test_conform_of_permuted_batches() -> None:
    """Two operands whose batch dims are in another order conform pair by pair."""
    text = """
    func.func @f(%a: tensor<?x?x?xf32, #ragged.layout<"ddr">>, %b: tensor<?x?x?xf32, #ragged.layout<"ddr">>)
        -> tensor<?x?x?xf32, #ragged.layout<"ddr">> {
      %0 = linalg.transpose ins(%a : tensor<?x?x?xf32, #ragged.layout<"ddr">>)
                            outs(%b : tensor<?x?x?xf32, #ragged.layout<"ddr">>) permutation = [1, 0, 2]
      return %0 : tensor<?x?x?xf32, #ragged.layout<"ddr">>
    }"""
    a = (np.arange(6, dtype=F32), vector(0, 1, 3, 3, 6), 2, 2)
    b = (np.zeros(6, F32), vector(0, 1, 1, 3, 6), 2, 2)
    (parts,) = run(text, "f", [a, b])
    assert parts[0].tolist() == [0, 1, 2, 3, 4, 5]
    with pytest.raises(RuntimeCheckError, match=r"^linalg\.transpose: level 2, component 1: expected length 2, got 0$"):
        run(
            text, "f", [a, (np.zeros(6, F32), vector(0, 1, 3, 3, 6)[[0, 1, 1, 3, 4]] * 0 + vector(0, 1, 1, 1, 6), 2, 2)]
        )
