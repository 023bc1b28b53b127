"""Base of the op classes, and what every op answers about itself."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

from ragged_dialect._mlir import Op, ext, ir
from ragged_dialect.checking.checker import Checker, Q
from ragged_dialect.dialect import Ragged
from ragged_dialect.errors import kind_of, require_nothing, wrong_answer
from ragged_dialect.segments import GROUPS
from ragged_dialect.shape import RaggedShape
from ragged_dialect.traits import check_result, has_unit, int_attr, string_attr, tensor_shape, verifier

Operand = ext.Operand
Result = ext.Result
Operands = Sequence[ext.Operand[Any]]
Results = Sequence[ext.Result[Any]]
"""Groups of operands, and of results, of any type."""
Region = ir.Region
Tensor = ir.RankedTensorType
Index = ir.IndexType
Scalar = Any
"""Of an operand that may be of several types of scalars, which the op's class tells apart."""
IntegerAttr = ir.IntegerAttr
StringAttr = ir.StringAttr
DenseI64ArrayAttr = ir.DenseI64ArrayAttr
Pure = ext.Pure


class Divides(Protocol):
    """What is known to divide the extents and lengths of values, per dim (`passes/analysis/divisibility.py`)."""

    def of(self, value: ir.Value) -> tuple[int, ...]:
        """A divisor per dim; 0 is divided by everything."""
        ...

    def lengths(self, value: ir.Value, level: int) -> list[int] | None:
        """The lengths of a level that comes from a constant."""
        ...


class RaggedOp(ext.Operation):
    """An op of the dialect, or of the one that the class names with `dialect=`. `optional` names the attributes
    that may be absent; an undotted attribute that is no field, but nearly has the name of one, is refused.

    An op whose result type follows from its operands and attributes says so once, with a static method
    `infer`: from the shapes of its first operands (one per positional parameter) and from attributes (keywords,
    annotated as int, bool or str) to the shape of the result, or LayoutError. Its verifier, its builder, layout
    inference and the refinement of static extents all ask it. `check_operands` is for what `infer` does not see.
    """

    optional = ()  # not annotated: the op builder takes annotated names for fields
    same_lengths = False
    """Whether the result has the lengths and extents of the first operand, dim by dim."""
    same_storage = False
    """Whether it has its values and index vectors too."""
    apart = ""
    """The attribute whose dim or level, if it is not the leading one, says that the op works on the components of the
    leading dim apart from one another; `always` where it does, whatever its attributes are."""
    reduces = False
    """Whether an element of a result is made of many of the operands: cheaper to keep than to compute again."""
    is_mapped = True
    """Whether `ragged.mapping` says something of it: it computes, by loops or what becomes some."""

    if TYPE_CHECKING:
        infer: Callable[..., RaggedShape]
        res: ir.OpResult

    def __init_subclass__(cls, *, name: str = "", traits: Sequence[type] = (), dialect: object = None) -> None:
        own = Ragged if name else None
        if any(isinstance(annotation, str) for annotation in inspect.get_annotations(cls).values()):
            cls.__annotations__ = inspect.get_annotations(cls, eval_str=True)  # the bindings read types of fields
        if name:
            setattr(cls, "verify_invariants", verifier(cls.verify_invariants))
        getattr(super(), "__init_subclass__")(name=name, traits=list(traits), dialect=dialect or own)

    def check_operands(self) -> None:
        """Refuse operands that the shape of the result does not depend on. LayoutError."""

    def divisors(self, known: Divides) -> tuple[int, ...]:
        """What divides the extent, or every length, of each dim of the result: 1 where nothing is known beyond the
        type."""
        return known.of(self.operation.operands[0]) if self.same_lengths else (1,) * tensor_shape(self.res).rank

    def level_above(self, level: int) -> int | None:
        """The level of the first operand that is this level of the result, with the same vector or, of a plain dim,
        the same extent; None where there is none."""
        return None

    def checks(self, ask: Checker[Q]) -> None:
        """Make the checks of index data that the op takes for valid. An op that takes nothing says `unchecked`."""
        raise NotImplementedError(f"expected checks of '{self.operation.name}', got none")

    def verify_invariants(self) -> None:
        """Operands, then the type of the result."""
        kind, operands = type(self), list(self.operation.operands)
        require_nothing(cast(object, self.check_operands()), "check_operands", kind.check_operands)
        shape = infer_shape(kind, operands, attributes_for(kind, self), tensor_shape)
        check_result(self, shape, operands[0].type.element_type)


def unchecked(self: RaggedOp, ask: Checker[Q]) -> None:
    """The checks of an op that every valid tensor can be given to, or that is a check itself."""


class _Signature(NamedTuple):
    """What an `infer` takes: shapes of how many operands (None: of all), and which attributes; `defaults` are those
    that are left out where an op has none."""

    operands: int | None
    attributes: dict[str, type]
    defaults: frozenset[str]


_READERS: dict[type, Callable[[Op, str], object]] = {int: int_attr, bool: has_unit, str: string_attr}


@cache
def _signature(infer: Callable[..., RaggedShape]) -> _Signature:
    parameters = inspect.signature(infer, eval_str=True).parameters.values()
    every = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    count = sum(p.kind is p.POSITIONAL_OR_KEYWORD for p in parameters)
    attributes = {p.name: p.annotation for p in parameters if p.kind is p.KEYWORD_ONLY}
    for name, type_ in attributes.items():
        if type_ not in _READERS:
            raise TypeError(f"expected int, bool or str for the attribute '{name}' of infer, got {type_!r}")
    given = [p for p in parameters if p.kind is p.KEYWORD_ONLY and p.annotation is not bool]
    defaults = frozenset(p.name for p in given if p.default is not p.empty)
    return _Signature(None if every else count, attributes, defaults)


def unknown_attributes(kind: type[RaggedOp]) -> list[str]:
    """What `kind.infer` takes and is no field of the class."""
    fields = {*kind.optional, *(name for base in kind.__mro__ for name in inspect.get_annotations(base))}
    return [name for name in _signature(kind.infer).attributes if name not in fields]


def missing_operands(kind: type[RaggedOp]) -> str | None:
    """How many shapes `kind.infer` takes, where no op of the class has so many operands."""
    wanted = _signature(kind.infer).operands
    operands = [field for field in kind._fields if isinstance(field, ext.OperandDef)]
    fixed = all(field.variadicity.name == "single" for field in operands)
    return f"{wanted} of {len(operands)}" if wanted is not None and fixed and wanted > len(operands) > 0 else None


def attributes_for(kind: type[RaggedOp], op: Op) -> dict[str, object]:
    """The attributes of an op that `kind.infer` takes."""
    known, there = _signature(kind.infer), op.operation.attributes
    read = {n: type_ for n, type_ in known.attributes.items() if n in there or n not in known.defaults}
    return {name: _READERS[type_](op, name) for name, type_ in read.items()}


def infer_shape(
    kind: type[RaggedOp],
    operands: Sequence[ir.Value],
    attributes: Mapping[str, object],
    shape: Callable[[ir.Value], RaggedShape],
) -> RaggedShape:
    """The shape that an op of a class gives its result; `shape` reads those of operands, and what `infer` does not
    take of `attributes` is left out. LayoutError where the op refuses them."""
    count, wanted, _ = _signature(kind.infer)
    taken = {name: value for name, value in attributes.items() if name in wanted}
    numbers = range(len(operands) if count is None else count)
    found = cast(object, kind.infer(*(shape(operands[number]) for number in numbers), **taken))
    if not isinstance(found, RaggedShape):
        raise wrong_answer(f"expected a shape from infer, got {kind_of(found)}", kind.infer)
    return found


class UnmappedOp(RaggedOp):
    """An op that computes no elements by loops, of which `ragged.mapping` says nothing."""

    is_mapped = False


class MixedOp(RaggedOp):
    """An op with any number of operands of different types.

    All operands of one variadic group must have one type (IRDL binds a constraint to the first
    type it meets), so there are several groups: each takes a run of operands of equal type.
    `operandSegmentSizes` is filled in by the builders and by the text form (`segments`).
    """

    __annotations__ = {f"g{number}": Operands for number in range(GROUPS)}
