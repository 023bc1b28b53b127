"""`verify_ragged`: what may touch a ragged type, everywhere the type appears.

The bindings offer no hook on types, and upstream ops verify nothing of a foreign encoding, so
this walk is what keeps a ragged tensor from being compiled as a dense one. It runs after parsing,
between passes under `--verify-each`, and before compiling.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any, NamedTuple

from ragged_dialect._mlir import DYNAMIC, ext, ir
from ragged_dialect.dialect import LayoutAttr
from ragged_dialect.errors import LayoutError
from ragged_dialect.ir.walk import ops_in
from ragged_dialect.iteration import (
    BACKWARDS,
    LINALG_OPS,
    MAPPING,
    PARALLEL,
    analyze,
    has_backwards,
    has_mapping,
    may_be_parallel,
    signature,
)
from ragged_dialect.layout import Layout
from ragged_dialect.ops import OPS
from ragged_dialect.tensor_rules import TENSOR_RULES
from ragged_dialect.types import is_ragged, shape_of, text_of

ARGUMENT_FACTS = {"ragged.divisible_by": 1, "ragged.max_length": 0}
"""Facts a ragged function argument may carry, with their least value. They hold for the logical
lengths of every ragged level of the argument."""

SHARDED = "ragged.sharded"
"""Of a tensor argument: its leading dim is spread over the ranks in blocks, see `ragged-distribute`."""

_PASS_THROUGH = frozenset(
    "func.func func.call func.return scf.if scf.for scf.while scf.yield scf.condition builtin.module".split()
)

_INSTEAD = {
    "arith.constant": "ragged.empty and linalg.fill",
    "tensor.bitcast": "arith.bitcast",
    "tensor.concat": "ragged.concat",
    "tensor.empty": "ragged.empty",
    "tensor.from_elements": "ragged.assemble",
    "tensor.gather": "ragged.select",
    "tensor.generate": "ragged.empty and linalg.generic",
    "tensor.insert": "linalg.generic",
    "tensor.insert_slice": "ragged.concat",
    "tensor.pad": "ragged.to_padded",
    "tensor.reshape": "ragged.split and ragged.merge",
    "tensor.scatter": "linalg.generic",
    "tensor.splat": "ragged.empty and linalg.fill",
}

_INSTEAD_OF_DIALECT = {
    "bufferization": "convert-ragged-to-scf first",
    "cf": "scf.if, scf.for or scf.while",
    "linalg": "linalg.generic",
    "memref": "ragged.values",
    "scf": "scf.if, scf.for or scf.while",
    "tensor": "ragged.values",
    "vector": "ragged.values",
}


_HOW_TO_EXTEND = (
    "; ops of other packages take layouts if their classes derive from ragged_dialect.ops.base.RaggedOp and their"
    " dialect is registered with ragged_dialect.ops.register_dialect (docs/extending.md)"
)


class _TypeInfo(NamedTuple):
    """Whether a type is ragged, and why it is refused, if it is."""

    ragged: bool
    error: str | None


class _Verifier:
    """One walk. Types and compute ops of equal signature are looked at once."""

    def __init__(self) -> None:
        self.ok = True
        self._types: dict[ir.Type, _TypeInfo] = {}
        self._attributes: dict[ir.Attribute, str | None] = {}
        self._computed: dict[Hashable, str | None] = {}
        self._reported: set[str] = set()

    def fail(self, op: ir.Operation, text: str) -> None:
        """Report an error at an op."""
        self.ok = False
        op.location.emit_error(f"'{op.name}' op {text}")

    def visit(self, op: ir.Operation) -> None:
        """Check one op and the arguments of its blocks, not what is inside."""
        name = op.name
        if len(op.attributes):
            self._visit_attributes(op)
            if MAPPING in op.attributes and not has_mapping(op):
                self.fail(op, f"expected {MAPPING} on what has loops, got it on an op that has none")
            if PARALLEL in op.attributes and not may_be_parallel(op):
                self.fail(
                    op, f"expected {PARALLEL} alone on an scf.for over indices from 0 by 1 without results, got another"
                )
            if BACKWARDS in op.attributes and not has_backwards(op):
                found = op.attributes[BACKWARDS]
                self.fail(op, f"expected {BACKWARDS} to be a loop of a linalg.generic that reduces, got {found}")
        infos = [self._check_type(op, value.type) for value in op.results]
        for region in op.regions:
            for block in region:
                infos += [self._check_type(op, argument.type) for argument in block.arguments]
        if name.endswith((".func", ".global")):
            self._visit_function(op)
        if name == "tensor.pad":
            self._visit_pad(op)
        if name in OPS or name in _PASS_THROUGH:
            return
        infos += [self._info(value.type) for value in op.operands]
        if any(i.ragged for i in infos) and not any(i.error for i in infos):
            error = self._check_op(op, name)
            if error is not None:
                self.fail(op, error)

    def _visit_attributes(self, op: ir.Operation) -> None:
        for named in op.attributes:
            attribute = op.attributes[named] if isinstance(named, str) else named.attr
            self._fail_once(op, self._attribute_error(attribute))

    def _attribute_error(self, attribute: ir.Attribute) -> str | None:
        """Why a layout that is, or is somewhere in, an attribute is refused."""
        if attribute not in self._attributes:
            self._attributes[attribute] = _error_of(self._check_attribute, attribute)
        return self._attributes[attribute]

    def _check_attribute(self, attribute: ir.Attribute) -> None:
        if isinstance(attribute, LayoutAttr):
            Layout.parse(ir.StringAttr(attribute.text).value)
        for error in map(self._attribute_error, _attributes_in(attribute)):
            if error is not None:
                raise LayoutError(error)
        for type_ in _types_in(attribute):
            error = self._info(type_).error
            if error is not None:
                raise LayoutError(error)

    def _check_type(self, op: ir.Operation, type_: ir.Type) -> _TypeInfo:
        info = self._info(type_)
        self._fail_once(op, info.error)
        return info

    def _fail_once(self, op: ir.Operation, error: str | None) -> None:
        if error is not None and error not in self._reported:
            self._reported.add(error)
            self.fail(op, error)

    def _info(self, type_: ir.Type) -> _TypeInfo:
        info = self._types.get(type_)
        if info is None:
            info = self._types[type_] = _look_at(type_)
        return info

    def _check_op(self, op: ir.Operation, name: str) -> str | None:
        rule = TENSOR_RULES.get(name)
        if rule is not None:
            return _error_of(rule, op)
        elementwise = name.startswith(("arith.", "math.")) and len(op.operands) > 0
        if not elementwise and name not in LINALG_OPS:
            return _refusal(op, name)
        key = signature(op)
        if key not in self._computed:
            self._computed[key] = _error_of(analyze, op)
        return self._computed[key]

    def _visit_pad(self, op: ir.Operation) -> None:
        """As many operands as extents that say that there is one: upstream does not count here, as it does elsewhere,
        and whatever reads the op, its printer first, takes an operand that is not there."""
        _, *counts = op.attributes["operandSegmentSizes"]
        for side, count in zip(("low", "high"), counts, strict=True):
            wanted = list(op.attributes[f"static_{side}"]).count(DYNAMIC)
            if wanted != count:
                self.fail(op, f"expected {wanted} operands for {side}, got {count}")

    def _visit_function(self, op: ir.Operation) -> None:
        attributes = op.attributes
        error = _error_of(text_of, attributes["sym_name"]) if "sym_name" in attributes else None
        if error is not None:
            self.fail(op, error)
        if "function_type" not in attributes or not isinstance(attributes["function_type"], ir.TypeAttr):
            return
        type_ = attributes["function_type"].value
        if not isinstance(type_, ir.FunctionType):
            return
        for part in (*type_.inputs, *type_.results):
            self._check_type(op, part)
        if "arg_attrs" in attributes:
            for number, (part, facts) in enumerate(zip(type_.inputs, attributes["arg_attrs"], strict=False)):
                self._check_facts(op, number, part, facts)
        if "res_attrs" in attributes:
            for number, facts in enumerate(attributes["res_attrs"]):
                for name in _ragged_names(facts):
                    self.fail(op, f"expected ragged attributes on arguments only, got '{name}' on result {number}")

    def _check_facts(self, op: ir.Operation, number: int, type_: ir.Type, facts: ir.DictAttr) -> None:
        for name in _ragged_names(facts):
            value = facts[name]
            if name == SHARDED:
                ranked = isinstance(type_, (ir.RankedTensorType, ir.MemRefType)) and type_.rank  # bufferized
                if not isinstance(value, ir.UnitAttr) or not ranked:
                    self.fail(op, f"expected '{name}' alone on a tensor argument of rank 1 or more, got {type_}")
            elif name not in ARGUMENT_FACTS:
                known = ", ".join([*ARGUMENT_FACTS, SHARDED])
                self.fail(op, f"expected attributes among [{known}] on argument {number}, got '{name}'")
            elif not isinstance(value, ir.IntegerAttr):
                self.fail(op, f"expected an integer for '{name}' on argument {number}, got {value}")
            elif value.value < ARGUMENT_FACTS[name]:
                low = ARGUMENT_FACTS[name]
                self.fail(op, f"expected {name} of at least {low} on argument {number}, got {value.value}")
            elif not is_ragged(type_):
                self.fail(op, f"expected a tensor with a layout for '{name}' on argument {number}, got {type_}")


def facts_of(attributes: ir.DictAttr | None) -> dict[str, int]:
    """The facts that the attributes of a verified argument hold."""
    if attributes is None:
        return {}
    named = {name: attributes[name] for name in _ragged_names(attributes)}
    return {name: fact.value for name, fact in named.items() if isinstance(fact, ir.IntegerAttr)}


def _ragged_names(facts: ir.DictAttr) -> list[str]:
    return [named.name for named in facts if named.name.startswith("ragged.")]


def _look_at(type_: ir.Type) -> _TypeInfo:
    try:
        ragged = is_ragged(type_)
        if isinstance(type_, ir.RankedTensorType):
            shape_of(type_)
            type_ = type_.element_type
    except LayoutError as error:
        return _TypeInfo(True, str(error))
    if "#ragged." in str(type_):
        return _TypeInfo(True, f"expected a layout on a tensor that is not part of another type, got {type_}")
    return _TypeInfo(ragged, None)


def _attributes_in(attribute: ir.Attribute) -> Iterator[ir.Attribute]:
    """The attributes that an array or dictionary holds."""
    if isinstance(attribute, ir.ArrayAttr):
        yield from attribute
    elif isinstance(attribute, ir.DictAttr):
        yield from (named.attr for named in attribute)


def _types_in(attribute: ir.Attribute) -> Iterator[ir.Type]:
    """The types that an attribute names or has: those of a function type apart."""
    if isinstance(attribute, ir.TypeAttr):
        type_ = attribute.value
        yield from (*type_.inputs, *type_.results) if isinstance(type_, ir.FunctionType) else (type_,)
    elif isinstance(attribute, ir.DenseElementsAttr):
        yield attribute.type


def _error_of(rule: Callable[[Any], object], op: ir.Operation | ir.Attribute) -> str | None:
    try:
        rule(op)
    except LayoutError as error:
        return str(error)
    return None


def _refusal(op: ir.Operation, name: str) -> str:
    type_ = next(v.type for v in values_of(op) if is_ragged(v.type))
    instead = _INSTEAD.get(name) or _INSTEAD_OF_DIALECT.get(name.split(".", 1)[0])
    hint = f" (use {instead})" if instead else _HOW_TO_EXTEND if _is_foreign(op) else ""
    return f"expected operands and results without a layout, got {type_}{hint}"


def _is_foreign(op: ir.Operation) -> bool:
    """Whether an op is of no dialect that MLIR or we have."""
    return isinstance(op.opview, ext.Operation) or not op.context.is_registered_operation(op.name)


def values_of(op: ir.Operation) -> Iterator[ir.Value]:
    """Operands, results and block arguments of an op."""
    yield from op.operands
    yield from op.results
    for region in op.regions:
        for block in region:
            yield from block.arguments


def verify_ragged(op: ir.Operation) -> bool:
    """Whether ragged types appear in `op` and inside it only where they may.

    Emits an error at every op that is refused and returns False; never raises.
    """
    verifier = _Verifier()
    with op.context:
        for inner in ops_in(op):
            verifier.visit(inner)
    return verifier.ok
