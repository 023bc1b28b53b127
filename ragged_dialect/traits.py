"""What op verifiers share: the hook itself, attribute access, and the checks used by several ops."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from ragged_dialect._mlir import Op, ext, ir
from ragged_dialect.erasing import frozen
from ragged_dialect.errors import LayoutError, require_nothing, told_at
from ragged_dialect.ir.match import attribute_names, is_float
from ragged_dialect.layout import Extent
from ragged_dialect.shape import RaggedShape
from ragged_dialect.types import compatible, layout_of, shape_of, tensor_type, text_of

_STRUCTURAL = frozenset({"operandSegmentSizes", "resultSegmentSizes"})


class Malformed(Exception):
    """An op whose operands, results or attributes are not there or of the wrong class. IRDL's own
    verifier, which runs after the hook, reports those."""


def verifier(check: Callable[[Any], object]) -> Callable[[Any], bool]:
    """Turn a check that raises LayoutError into the hook the bindings call.

    The hook runs before IRDL's constraints, so an op may lack operands or attributes here:
    such lookups fail, and the constraint verifier that follows names them. It must not raise,
    and must emit a diagnostic whenever it returns False.
    """

    @functools.wraps(check)
    def hook(op: ir.OpView) -> bool:
        try:
            _refuse_misspelt_attributes(op)
            with op.location, frozen():
                found = check(op)
            require_nothing(None if isinstance(found, bool) else found, "it", check)
        except LayoutError as error:
            op.location.emit_error(f"'{op.operation.name}' op {error}")
            return False
        except Malformed:
            return True
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # of a plug-in, which may call `sys.exit`
            if isinstance(error, (KeyError, IndexError)) and _is_malformed(op):
                return True  # of a plug-in; the bindings would hand it to whoever parses
            text = f"internal error in the verifier of '{op.operation.name}': {told_at(error)}"
            op.location.emit_error(text)
            return False
        return found is not False  # of a class whose base is an op itself, it is a hook

    return hook


def _is_malformed(op: ir.OpView) -> bool:
    """Whether an op lacks what its class declares, which MLIR says of it by itself; of our own ops all that an operand
    or attribute is not found by."""
    if type(op).__module__.startswith("ragged_dialect."):
        return True
    fields, optional = getattr(op, "_fields"), getattr(op, "optional", ())
    operands = sum(isinstance(f, ext.OperandDef) and f.variadicity.name == "single" for f in fields)
    attributes = {f.name for f in fields if isinstance(f, ext.AttributeDef)} - set(optional)
    return len(op.operation.operands) < operands or any(name not in op.operation.attributes for name in attributes)


def _refuse_misspelt_attributes(op: Any) -> None:
    """Discardable attributes may have any name, but one that is nearly that of an attribute of the op would
    pass unseen."""
    known = {f.name for f in op._fields} | set(op.optional) | _STRUCTURAL
    for name in attribute_names(op.operation):
        if name not in known and "." not in name:
            values = {f.name for f in op._fields if type(f).__name__ in ("OperandDef", "ResultDef")}
            names = sorted(known - _STRUCTURAL - {"result"} - values)
            if _is_near(name, names):
                raise LayoutError(f"expected attributes among [{', '.join(names)}], got '{name}'")


def _is_near(name: str, names: list[str]) -> bool:
    from difflib import get_close_matches  # only few programs have such attributes

    return bool(get_close_matches(name, names, n=1, cutoff=0.75))


def int_attr(op: Op, name: str) -> int:
    """Value of an integer attribute."""
    attributes = op.operation.attributes
    if name not in attributes:
        raise Malformed(name)
    attr = attributes[name]
    if not isinstance(attr, ir.IntegerAttr):
        raise LayoutError(f"expected an integer for '{name}', got {attr}")
    return attr.value


def optional_int(op: Op, name: str) -> int | None:
    """Value of an integer attribute that may be absent."""
    return int_attr(op, name) if name in op.operation.attributes else None


def has_unit(op: Op, name: str) -> bool:
    """Whether a unit attribute is set."""
    attributes = op.operation.attributes
    if name not in attributes:
        return False
    if not isinstance(attributes[name], ir.UnitAttr):
        raise LayoutError(f"expected '{name}' without a value, got {attributes[name]}")
    return True


def string_attr(op: Op, name: str) -> str:
    """Value of a string attribute."""
    attr = op.operation.attributes[name]
    if not isinstance(attr, ir.StringAttr):
        raise LayoutError(f"expected a string for '{name}', got {attr}")
    return text_of(attr)


def tensor_shape(value: ir.Value) -> RaggedShape:
    """Shape of a tensor operand or result; Malformed when IRDL refuses it anyway."""
    if not isinstance(value.type, ir.RankedTensorType):
        raise Malformed(str(value.type))
    return shape_of(value.type)


def is_index_element(type_: ir.Type) -> bool:
    """Whether a scalar type may hold offsets, lengths and indices: index, i64 or i32."""
    if isinstance(type_, ir.IntegerType):
        return type_.is_signless and type_.width in (32, 64)
    return isinstance(type_, ir.IndexType)


def check_elements(x: ir.Value, what: str = "elements", integers: bool = True) -> None:
    """What a tensor is computed with: floats of 16 to 64 bits, and signless integers and index."""
    tensor_shape(x)  # which leaves what is no tensor to IRDL
    type_ = x.type.element_type
    is_integer = isinstance(type_, ir.IndexType)
    if isinstance(type_, ir.IntegerType):
        is_integer = type_.is_signless and 1 <= type_.width <= 64
    if not is_float(type_) and not (integers and is_integer):
        wanted = f"floats of 16 to 64 bits{', signless integers or index' if integers else ''}"
        raise LayoutError(f"expected {what} of {wanted}, got {type_}")


def check_vector(value: ir.Value, what: str, ranks: Iterable[int] = (1,)) -> RaggedShape:
    """An index vector: dense, of i32, i64 or index, of one of the ranks."""
    if not isinstance(value.type, ir.RankedTensorType):
        raise LayoutError(f"expected {what} to be a tensor, got {value.type}")
    shape = shape_of(value.type)
    if layout_of(value.type) is not None:
        raise LayoutError(f"expected {what} without a layout, got {value.type}")
    if not is_index_element(value.type.element_type):
        raise LayoutError(f"expected {what} of i32, i64 or index, got {value.type.element_type}")
    if shape.rank not in ranks:
        wanted = " or ".join(map(str, ranks))
        raise LayoutError(f"expected {what} of rank {wanted}, got rank {shape.rank}")
    return shape


def check_size(vector: RaggedShape, size: Extent, what: str) -> None:
    """A vector's size, where it and the expected one are static."""
    got = vector.shape[0]
    if got is not None and size is not None and got != size:
        raise LayoutError(f"expected {what} of size {size}, got {got}")


def offsets_size(components: Extent) -> Extent:
    """Size of the offsets of a number of components."""
    return None if components is None else components + 1


def check_scalar(value: ir.Value, what: str) -> None:
    """A scalar index: i32, i64 or index."""
    if not is_index_element(value.type):
        raise LayoutError(f"expected {what} of type i32, i64 or index, got {value.type}")


def check_result(op: ir.OpView, expected: RaggedShape, element: ir.Type) -> None:
    """The result's type against the inferred one; static extents may be more or less precise."""
    check_type(op.operation.results[0].type, expected, element, "result")


def check_type(type_: ir.RankedTensorType, expected: RaggedShape, element: ir.Type, what: str) -> None:
    """A tensor type against an expected shape and element type."""
    got = shape_of(type_)
    same = got.layout == expected.layout and compatible(got.shape, expected.shape)
    if not same or type_.element_type != element:
        raise LayoutError(f"expected {what} type {tensor_type(expected, element)}, got {type_}")
