"""Arrays that come in: booleans of any byte, masked arrays, and tensors that need gradients."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.c_program import NO_CC, call
from support.structures import text_of
from support.targets import Compile

import ragged_dialect as rg
from conftest import ROOT
from ragged_dialect.artifacts.cpu_library import write
from ragged_dialect.compat import fbgemm, fvdb, torch_nested
from ragged_dialect.runtime.cpu import CpuFunction

RAW = np.array([0, 2, 1, 255, 0, 128], np.uint8)
BOOLS = RAW.view(np.bool_)
TRUE = RAW != 0
OFFSETS = np.array([0, 2, 2, 6])
V = np.arange(6.0)


def uses(x: Any, m: Any) -> tuple[Any, ...]:
    """What can be done with a mask."""
    reduced = (m.any(1), m.all(1), m.sum(1), m.argmax(1), m.max(1), rg.cumsum(m, axis=1))
    moved = (rg.to_padded(m), m[:, ::-1], rg.concat([m, m], axis=1), m[:, :1] + 0, rg.merge(m, axis=0))
    return (x[m], m & True, ~m, m == True, m ^ m, m + 1, rg.where(m, x, -1.0), m.astype(np.float32), *reduced, *moved)  # noqa: E712


def plain(value: Any) -> Any:
    """Lists of numbers, booleans as 0 and 1."""
    found = value.compacted.values if isinstance(value, rg.RaggedArray) else np.asarray(value)
    shown = found.view(np.uint8) != 0 if found.dtype == np.bool_ else found
    return [value.tolist() if isinstance(value, rg.RaggedArray) and found.dtype != np.bool_ else None, shown.tolist()]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("target", ["cpu", "emulator"])
def test_a_bool_is_true_where_its_byte_is_not_0(target: str) -> None:
    run = rg.jit(uses, target=target)
    x = rg.from_offsets(V, OFFSETS)
    got, wanted = (run(x, rg.from_offsets(m, OFFSETS)) for m in (BOOLS, TRUE))
    for a, b in zip(got, wanted, strict=True):
        assert plain(a) == plain(b)


def test_bools_of_files_pickles_and_dense_operands() -> None:
    x, m = rg.from_offsets(V, OFFSETS), rg.from_offsets(BOOLS, OFFSETS)
    file = io.BytesIO()
    rg.save_npz(file, m)
    file.seek(0)
    assert x[rg.load_npz(file)].tolist() == x[rg.from_offsets(TRUE, OFFSETS)].tolist()
    rows = BOOLS[:3]
    assert x[rows].tolist() == x[rows.view(np.uint8) != 0].tolist()
    assert rg.from_padded(V.reshape(2, 3), mask=BOOLS.reshape(2, 3)).tolist() == [[1.0, 2.0], [3.0, 5.0]]


J = '#ragged.layout<"dr">'
M, F = f"tensor<?x?xi1, {J}>", f"tensor<?x?xf32, {J}>"
PROGRAM = text_of(
    [M, "tensor<?xi1>", "i1"],
    [f"%0 = arith.uitofp %a0 : {M} to {F}", "%1 = arith.extui %a1 : tensor<?xi1> to tensor<?xi8>",
     "%2 = arith.extui %a2 : i1 to i64"],
    [("%0", F), ("%1", "tensor<?xi8>"), ("%2", "i64")],
)  # fmt: skip


def test_bools_of_compiled_programs(compile: Compile) -> None:
    floats, dense, number = compile(PROGRAM)((BOOLS, OFFSETS), BOOLS, True)
    assert floats[0].tolist() == dense.tolist() == TRUE.astype(int).tolist()
    assert number == 1


@pytest.mark.skipif(NO_CC is not None, reason=NO_CC or "")
def test_bools_of_c_libraries(tmp_path: Path) -> None:
    library = write(PROGRAM, None, tmp_path / "libbools.so")[0]
    function = rg.compile(PROGRAM, target="cpu")
    assert isinstance(function, CpuFunction)
    made = call(library, function.signature, [(BOOLS, OFFSETS), BOOLS, RAW[1:2].view(np.bool_)[0]])
    assert not isinstance(made, str)
    assert made[0].tolist() == made[-2].tolist() == TRUE.astype(int).tolist()
    assert made[-1] == 1


# Masks ----------------------------------------------------------------------------------------------

MASKED = np.ma.masked_less(V, 3.0)
NO_MASK = r"expected an array without a mask, got a masked one \(use its filled or compressed\)"


def x_of(values: Any = V) -> rg.RaggedArray:
    """Three components, the second one empty."""
    return rg.from_offsets(values, OFFSETS)


MASKS: dict[str, Callable[[], Any]] = {
    "values": lambda: x_of(MASKED),
    "lengths": lambda: rg.from_lengths(V, np.ma.array([2, 4], mask=[0, 1])),
    "components": lambda: rg.ragged([MASKED, MASKED]),
    "like": lambda: rg.like(x_of(), MASKED),
    "an operand": lambda: x_of() + np.ma.masked_less(np.ones((3, 1)), 3.0),
    "weights": lambda: x_of(np.ones((6, 2))) @ np.ma.masked_less(np.ones((2, 2)), 3.0),
    "padded": lambda: rg.from_padded(MASKED.reshape(2, 3), [1, 2]),
    "narrow": lambda: rg.narrow(MASKED.reshape(2, 3), 0, 2),
    "an index": lambda: x_of()[np.ma.array([0, 1], mask=[0, 1])],
    "jit": lambda: rg.jit(lambda x, y: x * y)(x_of(), np.ma.masked_less(np.ones((3, 1)), 3.0)),
    "captured": lambda: rg.jit(lambda x: x * np.ma.masked_less(np.ones((3, 1)), 3.0))(x_of()),
    "a ufunc": lambda: np.add(x_of(), np.ma.masked_less(np.ones((3, 1)), 3.0)),
    "compile": lambda: rg.compile(PROGRAM, target="cpu")((BOOLS, OFFSETS), np.ma.array(TRUE, mask=TRUE), True),
    "fvdb": lambda: fvdb.JaggedTensor([MASKED]),
    "torch_nested": lambda: torch_nested.nested_tensor([MASKED]),
    "fbgemm": lambda: fbgemm.jagged_to_padded_dense(MASKED, [OFFSETS], [2]),
}


@pytest.mark.parametrize("case", MASKS)
def test_masks_are_not_dropped(case: str) -> None:
    with pytest.raises(rg.ArgumentError, match=NO_MASK):
        MASKS[case]()


# Gradients ------------------------------------------------------------------------------------------

GRADIENTS = "expected what requires a gradient as an argument, got an array that the traced function holds on to"


def gradient_cases(torch: Any) -> dict[str, Callable[[], Any]]:
    """Ways of a tensor that needs gradients into this package."""
    values = torch.ones(6, 4, requires_grad=True)
    computed = values * 2
    weights = torch.nn.Parameter(torch.ones(4, 2))
    free = torch.ones(6, 4)
    x = rg.from_offsets(free, OFFSETS)
    return {
        "values": lambda: rg.from_lengths(values, [2, 4]),
        "computed values": lambda: rg.from_offsets(computed, OFFSETS),
        "components": lambda: rg.ragged([computed, computed]),
        "weights": lambda: x @ weights,
        "einsum": lambda: rg.einsum("blk,kn->bln", x, weights),
        "like": lambda: rg.like(x, values),
        "operand": lambda: x * weights[:, 0],
        "left operand": lambda: weights[:, 0] * x,
        "ufunc": lambda: rg.where(x > 0, x, weights[:, 0]),
        "layer_norm": lambda: rg.layer_norm(x, weights[:, 0], weights[:, 1]),
        "padded": lambda: rg.from_padded(computed.reshape(2, 3, 4), [1, 2]),
        "narrow": lambda: rg.narrow(values.reshape(2, 3, 4), 0, 2),
        "jit": lambda: rg.jit(lambda x, w: x @ w)(x, weights),
        "captured": lambda: rg.jit(lambda x: x @ weights)(x),
        "nested": lambda: rg.from_torch_nested(torch.nested.nested_tensor([free], layout=torch.jagged) * weights[:, 0]),
        "dlpack": lambda: rg.from_dlpack(values, OFFSETS),
        "fvdb": lambda: fvdb.JaggedTensor([values]),
        "fvdb operand": lambda: fvdb.JaggedTensor([free]) * weights[:, 0],
        "fvdb function": lambda: torch.mul(fvdb.JaggedTensor([free]), weights[:, 0]),
        "torch_nested": lambda: torch_nested.nested_tensor([values]),
        "fbgemm": lambda: fbgemm.jagged_to_padded_dense(values, [torch.tensor([0, 6])], [2]),
    }  # fmt: skip


def test_gradients_are_not_dropped() -> None:
    torch = pytest.importorskip("torch", reason="no torch (pip install torch)")
    cases = gradient_cases(torch)
    for name, run in cases.items():
        if name == "captured":
            with pytest.raises(rg.ArgumentError, match=GRADIENTS):
                run()
        elif name == "torch_nested":  # copies, as torch's
            assert not run().requires_grad
        else:
            assert run().requires_grad, name
    with torch.no_grad():
        for name, run in cases.items():
            if name != "captured":  # the program would run with gradients too
                assert not getattr(run(), "requires_grad", False), name
    assert rg.from_lengths(torch.ones(3, requires_grad=True).detach(), [1, 2]).sum().tolist() == 3


def test_bfloat16_goes_by_its_name() -> None:
    """Where nobody has imported `ml_dtypes`, which makes it known to NumPy."""
    code = (
        "import numpy as np, ragged_dialect as rg; print(rg.from_lengths(np.ones(3), [1, 2]).astype('bfloat16').dtype)"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True, cwd=ROOT) == "bfloat16\n"


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("from_lengths: lengths 0", lambda x: rg.from_lengths(x.values, [-1, 2**63])),
        ("from_offsets: offsets 1", lambda x: rg.from_offsets(x.values, [0, 1], [None])),
        ("from_starts_lengths: starts", lambda x: rg.from_starts_lengths(x.values, "a", [1])),
        ("from_row_ids: row_ids", lambda x: rg.from_row_ids(x.values, None)),
        ("from_row_ids", lambda _: rg.from_row_ids("abc", [0, 1])),
        ("from_lengths", lambda _: rg.from_lengths([-1, 2**63], [2])),
        ("narrow: length", lambda _: rg.narrow(np.ones((2, 3)), 0, [None, None])),
        ("like", lambda x: rg.like(x, None)),
        ("ragged", lambda _: rg.ragged([[-1], [2**63]])),
        ("np.quantile", lambda x: np.quantile(x, None)),
        ("np.digitize", lambda x: np.digitize(x, None)),
        ("np.isin", lambda x: np.isin(x, [-1, 2**63])),
        ("np.array_split", lambda x: np.array_split(x, None)),
        ("np.full_like", lambda x: np.full_like(x, "a")),
        ("np.average", lambda x: np.average(x, weights="a")),
    ],
)
def test_what_is_no_array_of_numbers_is_named(name: str, call: Callable[[Any], Any]) -> None:
    """And so is what it was given to."""
    wanted = "an array or nested lists of numbers|integers below 2\\*\\*63, got a list with 9223372036854775808"
    with pytest.raises(rg.ArgumentError, match=rf"^{re.escape(name)}: expected ({wanted})"):
        call(rg.ragged([[1, 2], [3]]))


def test_lists_beside_ragged_arguments() -> None:
    """NumPy asks ragged arrays for functions whose first argument is a list or a number."""
    x: Any = rg.ragged([[1, 2], [3]])
    assert np.diff([[1, 2], [3, 4]], axis=1, append=x).tolist() == [[1, -1, 1], [1, -1]]
    assert np.mean([[1, 2], [3, 3]], dtype=np.float32, where=rg.from_lengths([True] * 4, [2, 2])) == 2.25
    for split in (np.split, np.array_split):
        with pytest.raises(rg.ArgumentError, match=r"^np\.(array_)?split: expected a dense array, got a ragged one"):
            split([1, 2], x)
    with pytest.raises(rg.AxisError, match=r"^np\.diff: expected axis in \[0, 0\), got 1$"):
        np.diff(1, axis=1, append=x)
    with pytest.raises(
        rg.ArgumentError, match=r"^np\.sort: expected a kind of quicksort, heapsort, mergesort, stable, got"
    ):
        np.sort(x, kind=np.zeros(3))  # pyright: ignore[reportCallIssue, reportArgumentType]
    if hasattr(np, "astype"):  # NumPy 2.1
        with pytest.raises(
            rg.ArgumentError, match=r"^np\.astype: expected an array or nested lists of numbers, got str$"
        ):
            np.astype("a", x)
