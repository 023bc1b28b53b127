"""MLIR types and shapes: reading, building, the 1:N form of a type."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from support.shapes import shapes

from conftest import make_shape as S
from ragged_dialect import types
from ragged_dialect._mlir import ir, load_irdl
from ragged_dialect.dialect import context
from ragged_dialect.errors import LayoutError
from ragged_dialect.layout import Layout
from ragged_dialect.shape import Part, RaggedShape

JAGGED = 'tensor<3x?x8xf32, #ragged.layout<"dr|d">>'

pytestmark = pytest.mark.usefixtures("mlir_context")


def parse(text: str) -> Any:
    return ir.Type.parse(text)


def test_shape_of() -> None:
    assert types.shape_of(parse(JAGGED)) == S("dr|d", "3x?x8")
    assert types.shape_of(parse("tensor<3x?xf32>")) == S("d|d", "3x?")
    assert types.shape_of(parse("tensor<f32>")) == RaggedShape(Layout(()), ())


def test_shape_of_refuses_what_is_no_ranked_tensor() -> None:
    for text in ("tensor<*xf32>", "memref<4xf32>", "index"):
        with pytest.raises(LayoutError) as error:
            types.shape_of(parse(text))
        assert str(error.value) == f"expected a ranked tensor, got {text}"


def test_layout_of() -> None:
    assert types.layout_of(parse(JAGGED)) == Layout.parse("dr|d")
    assert types.layout_of(parse("tensor<3xf32>")) is None
    assert types.layout_of(parse("index")) is None


def test_layout_of_refuses_foreign_encodings_and_text_outside_the_grammar() -> None:
    with pytest.raises(LayoutError, match=r'^expected a tensor with a #ragged\.layout encoding or none, got "odd"$'):
        types.layout_of(parse('tensor<3xf32, "odd">'))
    with pytest.raises(LayoutError, match=r"^expected axis \"rd\" of layout \"rd\" to start with 'd', got 'r'$"):
        types.layout_of(parse('tensor<3x?xf32, #ragged.layout<"rd">>'))


def test_predicates() -> None:
    assert types.is_tensor(parse("tensor<3xf32>"))
    assert not types.is_tensor(parse("tensor<*xf32>"))
    assert types.is_ragged(parse(JAGGED))
    assert not types.is_ragged(parse("tensor<3xf32>"))
    assert not types.is_ragged(parse('tensor<3xf32, "odd">'))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(shapes())
def test_types_round_trip(shape: RaggedShape) -> None:
    with context(), ir.Location.unknown():
        type_ = types.tensor_type(shape, ir.F32Type.get())
        assert types.shape_of(type_) == shape
        assert types.shape_of(parse(str(type_))) == shape
        flat = types.flat_types(type_)
        assert len(flat) == len(shape.parts())
        assert flat[0].rank == shape.layout.storage_rank


def test_dense_shapes_have_no_encoding() -> None:
    assert str(types.tensor_type(S("d|d", "3x?"), ir.F32Type.get())) == "tensor<3x?xf32>"


@pytest.mark.parametrize(
    ("text", "flat"),
    [
        ("index", "index"),
        ("tensor<3xf32>", "tensor<3xf32>"),
        (JAGGED, "tensor<?x8xf32> tensor<?xi64>"),
        ('tensor<?x?x?xi8, #ragged.layout<"ddr">>', "tensor<?xi8> tensor<?xi64> index index"),
        ('tensor<?x?xf32, #ragged.layout<"dw">>', "tensor<?xf32> tensor<?xi64> tensor<?xi64>"),
        ('tensor<2x?x8x?x4xf16, #ragged.layout<"dr|dr|d">>', "tensor<?x?x4xf16> tensor<?xi64> tensor<?xi64>"),
        ('tensor<?x4xf32, #ragged.layout<"dt">>', "tensor<?xf32> index"),
    ],
)
def test_flat_types(text: str, flat: str) -> None:
    assert " ".join(map(str, types.flat_types(parse(text)))) == flat


def test_part_type() -> None:
    shape = S("ddr", "?x2x?")
    element = ir.F64Type.get()
    assert str(types.part_type(Part("values", 0), shape, element)) == "tensor<?xf64>"
    assert str(types.part_type(Part("offsets", 2), shape, element)) == "tensor<?xi64>"
    assert str(types.part_type(Part("extent", 0), shape, element)) == "index"


def test_vector_type() -> None:
    assert str(types.vector_type()) == "tensor<?xi64>"


def test_compatible() -> None:
    assert types.compatible((3, None), (None, 4))
    assert types.compatible((), ())
    assert not types.compatible((3,), (4,))
    assert not types.compatible((3,), (3, 3))


def test_types_of_other_dialects_in_place_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Identifiers are addresses, used again once a context is gone; the class stays registered under them."""
    theirs = ir.Context()
    with theirs, ir.Location.unknown():
        load_irdl(ir.Module.parse("irdl.dialect @foo { irdl.type @t {} }"))
        address = ir.DynamicType.lookup_typeid("foo.t")

    def reused(_: str) -> ir.TypeID:
        return address

    monkeypatch.setattr(ir.DynamicAttr, "lookup_typeid", reused)
    context()
    with theirs:
        assert type(ir.TypeAttr(ir.Attribute.parse("!foo.t")).value) is ir.Type
