"""What is loaded only to be stored: the copy of a result, of which some elements may belong to nobody."""

from __future__ import annotations

import pytest
from support.matrix import EVERY_PTX, run_cell

from ragged_dialect.emulator.moves import moved

LOAD = "  %v = load float, ptr addrspace(1) %p, align 4"
PAIR = "  %v = load <2 x float>, ptr addrspace(1) %p, align 8"
MOVES = [
    [LOAD, "  store float %v, ptr addrspace(1) %q, align 4"],
    [LOAD, "  %b = bitcast float %v to i32", "  store i32 %b, ptr %q, align 4", "  store float %v, ptr %r, align 4"],
    [
        PAIR,
        "  %a = extractelement <2 x float> %v, i64 1",
        "  %w = insertelement <2 x float> poison, float %a, i64 0",
        "  store <2 x float> %w, ptr addrspace(1) %q, align 8",
    ],
]
USES = [
    [LOAD],
    [LOAD, "  %s = fadd float %v, 1.0", "  store float %s, ptr addrspace(1) %q, align 4"],
    [LOAD, "  store float %v, ptr %q, align 4", "  %c = fcmp ogt float %v, 0.0"],
    ["  %v = load ptr, ptr %p, align 8", "  store i32 0, ptr %v, align 4"],
    ["  %v = load ptr, ptr %p, align 8", "  store ptr %v, ptr %v, align 8"],
    [LOAD, "  switch i32 %v, label %a [", "    i32 0, label %b", "  ]"],
]


@pytest.mark.parametrize("lines", MOVES)
def test_values_that_are_stored_only(lines: list[str]) -> None:
    assert moved(lines) == {"%v"}


@pytest.mark.parametrize("lines", USES)
def test_values_that_something_is_done_with(lines: list[str]) -> None:
    assert not moved(lines)


def test_a_result_is_copied_with_what_nobody_wrote() -> None:
    """Elements that no window shows are not computed; the branch that returns the argument makes the copy."""
    assert run_cell(("drw", "scf.if", "yields x or twice x"), EVERY_PTX).status == "works"
