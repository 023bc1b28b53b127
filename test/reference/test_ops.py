"""The reference interpreter on the other ops of the dialect: access, making, conversion, facts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.structures import LAYOUTS, Case, make, seeded, text_of, type_text

from ragged_dialect.layout import Layout
from ragged_dialect.reference import RaggedValue, run
from ragged_dialect.shape import RaggedShape

F32 = np.float32


def ragged(layout: str, shape: tuple[int | None, ...], storage: tuple[int, ...], *parts: Any) -> Case:
    """A case with numbered elements."""
    values = np.arange(int(np.prod(storage)), dtype=F32).reshape(storage)
    given = tuple(np.array(p, np.int64) if isinstance(p, list) else p for p in parts)
    return Case(RaggedShape(Layout.parse(layout), shape), "f32", (values, *given))


def result_of(case: Case, op: str, result: str, *extra: tuple[str, Any]) -> Any:
    """The result of an op on a tensor and more operands, given as (type, value)."""
    names = ", ".join(f"%a{k}" for k in range(1 + len(extra)))
    name, _, attributes = op.partition(" ")
    types = ", ".join([case.type, *(t for t, _ in extra)])
    text = text_of(
        [case.type, *(t for t, _ in extra)],
        [f"%0 = {name} {names} {attributes} : ({types}) -> {result}"],
        [("%0", result)],
    )
    return run(text, "f", [case.parts, *(v for _, v in extra)])[0]


def as_list(x: Any) -> Any:
    """Arrays as lists, tuples of parts likewise."""
    return [as_list(p) for p in x] if isinstance(x, tuple) else x.tolist() if isinstance(x, np.ndarray) else x


DR = ragged("dr", (3, None), (5,), [0, 3, 3, 5])
DRR = ragged("drr", (None, None, None), (6,), [0, 2, 3], [0, 1, 3, 6])
DW = ragged("dw", (None, None), (8,), [5, 2, 8], [2, 3, 0])
DRT = ragged("drt", (None, None, 2), (10,), [0, 3, 8, 10])
DWR = ragged("dwr", (None, None, None), (4,), [1, 0, 1], [1, 2, 2], [0, 2, 2, 4])
DT = ragged("dt", (None, 4), (6,), 2)

VECTORS = [
    (DR, "offsets", 1, [0, 3, 3, 5]),
    (DRR, "offsets", 2, [0, 1, 3, 6]),
    (DRT, "offsets", 1, [0, 3, 8, 10]),
    (DR, "starts", 1, [0, 3, 3]),
    (DW, "starts", 1, [5, 2, 8]),
    (DR, "lengths", 1, [3, 0, 2]),
    (DW, "lengths", 1, [2, 3, 0]),
    (DRT, "lengths", 1, [2, 3, 1]),
    (DRT, "lengths", 2, [2, 1, 2, 2, 1, 2]),
    (DT, "lengths", 1, [4, 2]),
    (DWR, "offsets", 2, [0, 2, 2, 4]),
    (DWR, "lengths", 2, [0, 2, 0, 0, 2]),
    (DWR, "row_ids", 2, [1, 1, 4, 4]),
    (DR, "row_ids", 1, [0, 0, 0, 2, 2]),
    (DRR, "row_ids", 1, [0, 0, 1]),
    (DRR, "row_ids", 2, [0, 1, 1, 2, 2, 2]),
    (DRT, "row_ids", 1, [0, 0, 0, 1, 1, 1, 1, 1, 2, 2]),
]


@pytest.mark.parametrize(("case", "op", "level", "expected"), VECTORS)
def test_vectors(case: Case, op: str, level: int, expected: list[int]) -> None:
    """Element vectors, and logical lengths."""
    assert result_of(case, f"ragged.{op} {{level = {level}}}", "tensor<?xi64>").tolist() == expected


STORED = [(DR, 1, [3, 0, 2]), (DW, 1, [2, 3, 0]), (DRT, 1, [3, 5, 2]), (DWR, 2, [2, 0, 2])]


@pytest.mark.parametrize(("case", "level", "expected"), STORED)
def test_stored_lengths(case: Case, level: int, expected: list[int]) -> None:
    """Lengths in elements, by parent position."""
    assert result_of(case, f"ragged.lengths {{level = {level}, stored}}", "tensor<?xi64>").tolist() == expected


SCALARS = [
    (DR, "total", 1, 5),
    (DRT, "total", 1, 6),
    (DRT, "total", 2, 10),
    (DR, "max_length", 1, 3),
    (DRT, "max_length", 1, 3),
    (ragged("dr", (0, None), (0,), [0]), "max_length", 1, 0),
]


@pytest.mark.parametrize(("case", "op", "level", "expected"), SCALARS)
def test_scalars(case: Case, op: str, level: int, expected: int) -> None:
    """Sums and maxima of logical lengths."""
    assert result_of(case, f"ragged.{op} {{level = {level}}}", "index") == expected


@pytest.mark.sampled(4)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_assemble_gives_the_parts_back(layout: str) -> None:
    """The parts of a tensor assemble to the tensor, whatever the layout."""
    for seed in range(5):
        case = make(seeded(seed), layout)
        kinds = [part.kind for part in case.shape.parts()]
        storage = type_text(
            RaggedShape(Layout.dense(case.shape.layout.storage_rank), case.shape.storage_shape()), case.element
        )
        types = [storage, *("index" if k == "extent" else "tensor<?xi64>" for k in kinds[1:])]
        names = ", ".join(f"%a{k}" for k in range(len(types)))
        line = f"%0 = ragged.assemble {names} : ({', '.join(types)}) -> {case.type}"
        (parts,) = run(text_of(types, [line], [("%0", case.type)]), "f", list(case.parts))
        for part, given in zip(parts, case.parts, strict=True):
            np.testing.assert_array_equal(part, given)


def test_values_keeps_gaps() -> None:
    """The storage of windows is whole."""
    assert result_of(DW, "ragged.values", "tensor<?xf32>").tolist() == [0, 1, 2, 3, 4, 5, 6, 7]


TO_PADDED = [
    (DR, "", "tensor<3x?xf32>", [], [[0, 1, 2], [-1, -1, -1], [3, 4, -1]]),
    (DR, "", "tensor<3x?xf32>", [4], [[0, 1, 2, -1], [-1, -1, -1, -1], [3, 4, -1, -1]]),
    (DR, "{truncate}", "tensor<3x?xf32>", [1], [[0], [-1], [3]]),
    (DW, "", "tensor<?x?xf32>", [], [[5, 6, -1], [2, 3, 4], [-1, -1, -1]]),
    (DRR, "", "tensor<?x?x?xf32>", [2, 3], [[[0, -1, -1], [1, 2, -1]], [[3, 4, 5], [-1, -1, -1]]]),
]


@pytest.mark.parametrize(("case", "attribute", "result", "maxima", "expected"), TO_PADDED)
def test_to_padded(case: Case, attribute: str, result: str, maxima: list[int], expected: Any) -> None:
    """Padding to the longest length, to a maximum, and truncation."""
    extra = [("f32", -1.0), *(("index", m) for m in maxima)]
    assert result_of(case, f"ragged.to_padded {attribute}", result, *extra).tolist() == expected


def test_from_padded() -> None:
    """The elements that offsets leave of a padded tensor."""
    text = """
    func.func @f(%x: tensor<2x2x3xf32>, %o: tensor<3xi64>, %i: tensor<4xi64>)
        -> tensor<2x?x?xf32, #ragged.layout<"drr">> {
      %0 = ragged.from_padded %x, %o, %i
         : (tensor<2x2x3xf32>, tensor<3xi64>, tensor<4xi64>) -> tensor<2x?x?xf32, #ragged.layout<"drr">>
      return %0 : tensor<2x?x?xf32, #ragged.layout<"drr">>
    }"""
    padded = np.arange(12, dtype=F32).reshape(2, 2, 3)
    (parts,) = run(text, "f", [padded, np.array([0, 2, 3]), np.array([0, 1, 3, 6])])
    assert as_list(parts) == [[0, 3, 4, 6, 7, 8], [0, 2, 3], [0, 1, 3, 6]]


ACROSS = [
    ("sum", [3.0, 5.0, 2.0, 0.0]),
    ("prod", [0.0, 4.0, 2.0, 1.0]),
    ("max", [3.0, 4.0, 2.0, -np.inf]),
    ("min", [0.0, 1.0, 2.0, np.inf]),
]


@pytest.mark.parametrize(("kind", "expected"), ACROSS)
def test_reduce_across(kind: str, expected: list[float]) -> None:
    """Rows aligned over the components that have them; the neutral element where none has."""
    op = f'ragged.reduce_across {{dim = 1, kind = "{kind}"}}'
    assert result_of(DR, op, "tensor<?xf32>", ("index", 4)).tolist() == expected


def test_reduce_across_rounds_once() -> None:
    """A sum of bf16 is kept in f32: 256 + 1 + 1 is 258, not 256."""
    shape = RaggedShape(Layout.parse("dr"), (3, None))
    case = Case(shape, "bf16", (np.array([256, 1, 1], "bfloat16"), np.array([0, 1, 2, 3])))
    result = result_of(case, 'ragged.reduce_across {dim = 1, kind = "sum"}', "tensor<?xbf16>", ("index", 1))
    assert result.astype(F32).tolist() == [258.0]


SCANNED = [
    ('kind = "sum"', [0.0, 1.0, 3.0, 3.0, 7.0]),
    ('kind = "sum", reverse', [3.0, 3.0, 2.0, 7.0, 4.0]),
    ('kind = "prod"', [0.0, 0.0, 0.0, 3.0, 12.0]),
    ('kind = "max", reverse', [2.0, 2.0, 2.0, 4.0, 4.0]),
    ('kind = "min"', [0.0, 0.0, 0.0, 3.0, 3.0]),
]


@pytest.mark.parametrize(("attributes", "expected"), SCANNED)
def test_scan(attributes: str, expected: list[float]) -> None:
    """Every component by itself, from either end."""
    values, offsets = result_of(DR, f"ragged.scan {{dim = 1, {attributes}}}", DR.type)
    assert (values.tolist(), offsets.tolist()) == (expected, [0, 3, 3, 5])


def structure_of(text: str, *cases: Case) -> Any:
    """Index vectors and extents of the one result of a program."""
    return as_list(run(text, "f", [c.parts for c in cases])[0])[1:]


def empty_text(cases: list[Case], attribute: str, result: str) -> str:
    """A program of one `ragged.empty`."""
    names, types = ", ".join(f"%a{k}" for k in range(len(cases))), ", ".join(c.type for c in cases)
    return text_of(
        [c.type for c in cases], [f"%0 = ragged.empty {names} {attribute} : ({types}) -> {result}"], [("%0", result)]
    )


EMPTIES = [
    ([DR], "", 'tensor<3x?xi8, #ragged.layout<"dr">>', [[0, 3, 3, 5]]),
    ([DW], "", 'tensor<?x?xf32, #ragged.layout<"dw">>', [[0, 2, 5], [2, 3, 0]]),
    ([DRR], "{from = [[0, 0], [0, 1]]}", 'tensor<?x?xf32, #ragged.layout<"dr">>', [[0, 2, 3]]),
    ([DRT], "", 'tensor<?x?x2xf32, #ragged.layout<"drt">>', [[0, 3, 8, 10]]),
    ([DR], "{from = [[0, 0], [0, 1], -1]}", 'tensor<3x?x2xf32, #ragged.layout<"dr|d">>', [[0, 3, 3, 5]]),
    (
        [DR, ragged("dr", (3, None), (4,), [0, 1, 1, 4])],
        "{from = [[0, 0], [0, 1], [1, 1]]}",
        'tensor<3x?x?xf32, #ragged.layout<"drr">>',
        [[0, 3, 3, 5], [0, 1, 2, 3, 6, 9]],
    ),
    (
        [DRR, ragged("drr", (2, None, None), (6,), [0, 2, 3], [0, 2, 2, 6])],
        "{from = [[0, 0], [0, 1], [0, 2], [1, 2]]}",
        'tensor<?x?x?x?xf32, #ragged.layout<"drrr">>',
        [[0, 2, 3], [0, 1, 3, 6], [0, 2, 2, 2, 6, 10, 14]],
    ),
    (
        [ragged("ddr", (2, 3, None), (9,), [0, 1, 3, 3, 6, 6, 9])],
        "{from = [[0, 1], [0, 0], [0, 2]]}",
        'tensor<3x2x?xf32, #ragged.layout<"ddr">>',
        [[0, 1, 4, 6, 6, 6, 9]],
    ),
    (
        [ragged("dr|dr", (None, None, None, None), (3, 2), [0, 2, 3], [0, 0, 2])],
        "{from = [[0, 2], [0, 3], [0, 0], [0, 1]]}",
        'tensor<?x?x?x?xf32, #ragged.layout<"dr|dr">>',
        [[0, 0, 2], [0, 2, 3]],
    ),
]


@pytest.mark.parametrize(("cases", "attribute", "result", "expected"), EMPTIES)
def test_empty(cases: list[Case], attribute: str, result: str, expected: Any) -> None:
    """Structures taken over, dropped, permuted and combined."""
    assert structure_of(empty_text(cases, attribute, result), *cases) == expected


def test_print(capsys: pytest.CaptureFixture[str]) -> None:
    """Nested lists, with a label if there is one."""
    case = Case(DR.shape, "f32", DR.parts)
    run(text_of([case.type], [f'ragged.print %a0 {{label = "x"}} : ({case.type}) -> ()'], []), "f", [case.parts])
    run(text_of([case.type], [f"ragged.print %a0 : ({case.type}) -> ()"], []), "f", [case.parts])
    assert capsys.readouterr().out == "x: [[0.0, 1.0, 2.0], [], [3.0, 4.0]]\n[[0.0, 1.0, 2.0], [], [3.0, 4.0]]\n"


def test_assume_and_annotate_are_identities() -> None:
    """Facts that hold, and an annotate of one layout."""
    lines = [
        f"%0 = ragged.assume %a0 {{level = 1, min = 0, max = 3}} : ({DR.type}) -> {DR.type}",
        f"%1 = ragged.annotate %0 : ({DR.type}) -> {DR.type}",
    ]
    (parts,) = run(text_of([DR.type], lines, [("%1", DR.type)]), "f", [DR.parts])
    assert as_list(parts) == as_list(DR.parts)


def test_dense_dims_in_tensor_ops() -> None:
    """tensor.dim, cast, extract, extract_slice, expand_shape and collapse_shape on ragged tensors."""
    case = ragged("dr|d", (None, None, 4), (3, 4), [0, 1, 3])
    j, wide = '#ragged.layout<"dr|d">', '#ragged.layout<"dr|d|d">'
    text = f"""
    func.func @f(%x: {case.type}) -> (index, f32, tensor<2x?x2xf32, {j}>, tensor<2x?x4xf32, {j}>) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c3 = arith.constant 3 : index
      %n = tensor.dim %x, %c0 : {case.type}
      %e = tensor.extract %x[%c1, %c1, %c3] : {case.type}
      %y = tensor.cast %x : {case.type} to tensor<2x?x4xf32, {j}>
      %m = ragged.max_length %y {{level = 1}} : (tensor<2x?x4xf32, {j}>) -> index
      %s = tensor.extract_slice %y[0, 0, 1] [2, %m, 2] [1, 1, 2]
         : tensor<2x?x4xf32, {j}> to tensor<2x?x2xf32, {j}>
      %w = tensor.expand_shape %y [[0], [1], [2, 3]] output_shape [2, %m, 2, 2]
         : tensor<2x?x4xf32, {j}> into tensor<2x?x2x2xf32, {wide}>
      %z = tensor.collapse_shape %w [[0], [1], [2, 3]]
         : tensor<2x?x2x2xf32, {wide}> into tensor<2x?x4xf32, {j}>
      return %n, %e, %s, %z : index, f32, tensor<2x?x2xf32, {j}>, tensor<2x?x4xf32, {j}>
    }}"""
    count, element, sliced, same = run(text, "f", [case.parts])
    assert (count, element) == (2, 11.0)
    assert as_list(sliced) == [[[1, 3], [5, 7], [9, 11]], [0, 1, 3]]
    assert as_list(same) == as_list(case.parts)


def test_nested_is_the_view_of_a_reader() -> None:
    """from_parts and to_nested for use in other tests."""
    assert RaggedValue.from_parts(DRT.shape, DRT.parts).to_nested() == [
        [[0, 1], [2]],
        [[3, 4], [5, 6], [7]],
        [[8, 9]],
    ]
