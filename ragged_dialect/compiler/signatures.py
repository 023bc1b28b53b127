"""The signature of a function whose types are final, and still ragged."""

from __future__ import annotations

from ragged_dialect._mlir import ir
from ragged_dialect.errors import CompileError
from ragged_dialect.runtime.signature import Group, Part, Signature, numpy_dtype
from ragged_dialect.types import flat_types, is_ragged, is_tensor, shape_of


def signature_of(function: ir.Operation) -> Signature:
    """Arguments and results as parts. CompileError for other types than numbers and tensors of them."""
    type_ = ir.TypeAttr(function.attributes["function_type"]).value
    name = function.attributes["sym_name"].value
    return Signature(
        name, tuple(_group(name, t) for t in type_.inputs), tuple(_group(name, t) for t in type_.results), False
    )


def _group(function: str, type_: ir.Type) -> Group:
    if not is_ragged(type_):
        return Group((_part(function, "value", type_),))
    shape = shape_of(type_)
    parts = [
        _part(function, p.kind if p.kind == "values" else f"{p.kind}{p.dim}", flat, p.kind)
        for p, flat in zip(shape.parts(), flat_types(type_), strict=True)
    ]
    return Group(tuple(parts), shape)


def _part(function: str, name: str, type_: ir.Type, kind: str = "values") -> Part:
    element = type_.element_type if is_tensor(type_) else type_
    dtype = numpy_dtype(str(element))
    if dtype is None:
        raise CompileError(f"{function}: expected arguments and results of number types, got {type_}")
    shape = shape_of(type_).shape if is_tensor(type_) else None
    return Part(name, dtype, shape, extent=kind == "extent", vector=kind not in ("values", "extent"))
