"""Random programs through the reference interpreter: its trees and its index vectors agree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from support.programs import Program, generate, programs
from support.structures import LAYOUTS, Case, assert_same, cases, make, seeded

from ragged_dialect.checking.structures import check_assembled
from ragged_dialect.reference import RaggedValue, run
from ragged_dialect.reference.checker import DataChecker


@given(cases())
def test_parts_round_trip(case: Case) -> None:
    """Parts to lists and back are the same parts, and valid ones."""
    check_assembled(DataChecker("test", {}, {}), case.shape, case.parts)
    value = RaggedValue.from_parts(case.shape, case.parts)
    for part, given_part in zip(value.to_parts(), case.parts, strict=True):
        np.testing.assert_array_equal(part, given_part)


@given(cases())
def test_fresh_is_the_same_tensor(case: Case) -> None:
    """Contiguous storage of its own holds the same lists, and no more."""
    value = RaggedValue.from_parts(case.shape, case.parts)
    fresh = value.fresh()
    assert fresh.to_nested() == value.to_nested()
    check_assembled(DataChecker("test", {}, {}), fresh.shape, fresh.to_parts())
    assert fresh.values.size == value.gather().size


@given(programs())
@settings(max_examples=40)
def test_results_are_valid_and_the_ones_generated(program: Program) -> None:
    """What a program returns passes every check and reads as the lists it was made of."""
    result = run(program.text, "f", program.args)[0]
    shape = program.result.shape
    if shape.layout.is_dense:
        assert_same(shape, result, program.result.values)
        return
    check_assembled(DataChecker("test", {}, {}), shape, result)
    assert_same(shape, result, program.result.to_parts())


@pytest.mark.sampled(8)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_programs_over_every_layout(layout: str) -> None:
    """Longer programs; checks on and off give the same bits; arguments stay as they are."""
    for seed in range(3):
        program = generate(seeded(seed), layout, "i32", 10)
        before = [[np.array(p) for p in a] if isinstance(a, tuple) else np.array(a) for a in program.args]
        for checked, unchecked in zip(
            run(program.text, "f", program.args), run(program.text, "f", program.args, check=False), strict=True
        ):
            for a, b in zip(*((x,) if not isinstance(x, tuple) else x for x in (checked, unchecked)), strict=True):
                np.testing.assert_array_equal(a, b)
        for args, kept in zip(program.args, before, strict=True):
            for a, b in zip(*((x,) if not isinstance(x, (tuple, list)) else x for x in (args, kept)), strict=True):
                np.testing.assert_array_equal(a, b)


def test_generators_reach_the_corners() -> None:
    """Empty components, zero batches, skew, gaps and overlaps all turn up."""
    seen: set[str] = set()
    for seed in range(200):
        case = make(seeded(seed), "dw")
        values, starts, lengths = case.parts
        order = np.argsort(starts, kind="stable")
        ends = (starts + lengths)[order]
        seen |= {"zero batch"} if len(starts) == 0 else set()
        seen |= {"empty"} if (lengths == 0).any() else set()
        seen |= {"skew"} if len(lengths) > 1 and lengths.max() >= 8 else set()
        seen |= {"gap"} if len(values) > lengths.sum() else set()
        seen |= {"overlap"} if (starts[order][1:] < ends[:-1]).any() else set()
    assert seen == {"zero batch", "empty", "skew", "gap", "overlap"}


def test_generated_programs_use_every_op() -> None:
    """The generator does not starve an op."""
    texts = "".join(generate(seeded(seed)).text for seed in range(150))
    wanted = "partition merge split select slice compact concat empty lengths".split()
    missing = [op for op in wanted if f"ragged.{op}" not in texts]
    assert missing == []
    assert "linalg.reduce" in texts
    assert "dim = 1" in texts
