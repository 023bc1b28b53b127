"""Facts and checks. `assert_valid` and `assert_conform` have a memory effect and are the only ops
that check data; every other op assumes that its operands are valid."""

from math import lcm
from typing import Any

from ragged_dialect._mlir import attach_effects, ir
from ragged_dialect.checking.checker import Checker, Q
from ragged_dialect.checking.structures import check_facts
from ragged_dialect.checks import CHECK_KINDS, CheckKind
from ragged_dialect.errors import LayoutError
from ragged_dialect.ops.base import (
    DenseI64ArrayAttr,
    Divides,
    IntegerAttr,
    MixedOp,
    Operand,
    Pure,
    Result,
    Scalar,
    StringAttr,
    Tensor,
    UnmappedOp,
    unchecked,
)
from ragged_dialect.shape import RaggedShape
from ragged_dialect.traits import (
    check_scalar,
    check_vector,
    int_attr,
    is_index_element,
    optional_int,
    string_attr,
    tensor_shape,
)
from ragged_dialect.types import compatible, is_tensor


class AssumeOp(UnmappedOp, name="assume", traits=[Pure]):
    """Returns its operand with facts about the lengths of a level (the extent of a dense one):
    every length is a multiple of `divisible_by`, at least `min`, at most `max`. Verified at run
    time when checks are on.

    ```mlir
    %1 = ragged.assume %0 {level = 1, divisible_by = 8, max = 512}
         : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
    ```
    """

    res: Result[Tensor]
    x: Operand[Tensor]
    level: IntegerAttr
    optional = ("divisible_by", "min", "max")
    same_lengths = same_storage = True

    @staticmethod
    def infer(x: RaggedShape) -> RaggedShape:
        return x

    def verify_invariants(self) -> None:
        shape = tensor_shape(self.x)
        level = int_attr(self, "level")
        if shape.layout.letter(level) == "t":
            raise LayoutError(f'expected a level that is not a tile, got dim {level} of layout "{shape.layout}"')
        facts = {name: optional_int(self, name) for name in self.optional}
        if all(value is None for value in facts.values()):
            raise LayoutError("expected divisible_by, min or max, got none of them")
        divisor, low, high = facts["divisible_by"], facts["min"], facts["max"]
        if divisor is not None and divisor < 1:
            raise LayoutError(f"expected divisible_by of at least 1, got {divisor}")
        if low is not None and low < 0:
            raise LayoutError(f"expected min of at least 0, got {low}")
        if high is not None and high < (low or 0):
            raise LayoutError(f"expected max of at least {low or 0}, got {high}")
        if self.res.type != self.x.type:
            raise LayoutError(f"expected result type {self.x.type}, got {self.res.type}")

    def checks(self, ask: Checker[Q]) -> None:
        divisor, low, high = (optional_int(self, name) for name in self.optional)
        check_facts(ask, self.x, tensor_shape(self.x), int_attr(self, "level"), divisor, low, high)

    def divisors(self, known: Divides) -> tuple[int, ...]:
        x, level = known.of(self.x), int_attr(self, "level")
        divisor, low, high = (optional_int(self, name) for name in self.optional)
        fixed = low if low is not None and low == high else 1
        return (*x[:level], lcm(x[level], divisor or 1, fixed), *x[level + 1 :])


class AssertValidOp(MixedOp, name="assert_valid"):
    """Checks index data at run time. `kind` says what is checked (`ragged_dialect.checks`), `op`
    and `level` name the place in the error.

    ```mlir
    ragged.assert_valid %offsets, %extent {kind = "offsets", op = "ragged.partition", level = 1}
        : (tensor<?xi64>, index) -> ()
    ```
    """

    is_mapped = False

    kind: StringAttr
    op: StringAttr
    level: IntegerAttr
    optional = ("factor",)
    checks = unchecked

    def verify_invariants(self) -> None:
        name = string_attr(self, "kind")
        string_attr(self, "op")
        int_attr(self, "level")
        kind = CHECK_KINDS.get(name)
        if kind is None:
            raise LayoutError(f"expected kind among {', '.join(CHECK_KINDS)}, got '{name}'")
        factor = optional_int(self, "factor")
        if kind.needs_factor and (factor is None or factor < kind.least_factor):
            got = "none" if factor is None else factor
            raise LayoutError(f"expected a factor of at least {kind.least_factor} for kind '{name}', got {got}")
        _check_operands(kind, list(self.operation.operands))


def _check_operands(kind: CheckKind, operands: list[ir.Value]) -> None:
    low = sum(not spec.optional for spec in kind.operands)
    high = len(kind.operands)
    if not low <= len(operands) <= high:
        wanted = str(low) if low == high else f"{low} to {high}"
        raise LayoutError(f"expected {wanted} operands for kind '{kind.name}', got {len(operands)}")
    for spec, operand in zip(kind.operands, operands, strict=False):
        if not is_tensor(operand.type):
            if "s" not in spec.forms or not is_index_element(operand.type):
                raise LayoutError(f"expected {spec.name} to be a tensor for kind '{kind.name}', got {operand.type}")
            check_scalar(operand, spec.name)
            continue
        ranks = tuple(rank for form, rank in (("v", 1), ("m", 2)) if form in spec.forms)
        if not ranks:
            raise LayoutError(f"expected {spec.name} of type i32, i64 or index, got {operand.type}")
        check_vector(operand, spec.name, ranks)


class AssertConformOp(UnmappedOp, name="assert_conform"):
    """Checks that two tensors have equal logical lengths on a loop. `lhs[k]` of the first runs
    with `rhs[k]` of the second; the last pair is compared, those before are its parents. A parent
    that the second lacks is -1: its lengths are the same for all indices of that one.

    ```mlir
    ragged.assert_conform %a, %b {lhs = array<i64: 0, 1>, rhs = array<i64: 0, 1>, op = "arith.addf"}
        : (tensor<3x?xf32, #ragged.layout<"dr">>, tensor<3x?xf32, #ragged.layout<"dr">>) -> ()
    ```
    """

    a: Operand[Tensor]
    b: Operand[Tensor]
    lhs: DenseI64ArrayAttr
    rhs: DenseI64ArrayAttr
    op: StringAttr
    checks = unchecked

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Dims of the two operands that run together; the last pair is compared."""
        return list(zip(_int_array(self, "lhs"), _int_array(self, "rhs"), strict=True))

    def verify_invariants(self) -> None:
        lhs, rhs = _int_array(self, "lhs"), _int_array(self, "rhs")
        string_attr(self, "op")
        if len(lhs) != len(rhs) or not lhs:
            raise LayoutError(f"expected lhs and rhs of one size above 0, got {len(lhs)} and {len(rhs)}")
        _check_dims(tensor_shape(self.a), lhs)
        _check_dims(tensor_shape(self.b), [*(d for d in rhs[:-1] if d != -1), rhs[-1]])


def _check_dims(shape: RaggedShape, dims: list[int]) -> None:
    *parents, last = dims
    wanted = set[int]() if shape.layout.letter(last) == "d" else set(shape.layout.above(last))
    if set(parents) != wanted and (wanted or parents):
        raise LayoutError(
            f'expected the levels above dim {last} of layout "{shape.layout}", {sorted(wanted)}, as its parents, '
            f"got {parents}"
        )


def _int_array(op: ir.Operation | ir.OpView, name: str) -> list[int]:
    """Value of a dense i64 array attribute."""
    attr = op.operation.attributes[name]
    if not isinstance(attr, ir.DenseI64ArrayAttr):
        raise LayoutError(f"expected array<i64: …> for '{name}', got {attr}")
    return list(attr)


class GuardOp(UnmappedOp, name="guard"):
    """Returns its operand to an op that must not run before the checks above: a read, which no pass
    moves over a check or out of a loop, as it may an op without memory effects. It is gone when the
    checks are lowered.

    ```mlir
    %1 = ragged.guard %0 : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
    ```
    """

    res: Result[Any]
    x: Operand[Scalar]
    same_lengths = same_storage = True
    checks = unchecked

    @staticmethod
    def infer(x: RaggedShape) -> RaggedShape:
        return x

    def verify_invariants(self) -> None:
        if self.res.type != self.x.type:
            raise LayoutError(f"expected result type {self.x.type}, got {self.res.type}")


class AnnotateOp(UnmappedOp, name="annotate"):
    """Adds or removes the layout of a value; `ragged-infer-layouts` carries the layout to
    everything connected and erases the op. It has a memory effect, so that nothing else does, used
    or not, and the lowering refuses one that is left.

    ```mlir
    %1 = ragged.annotate %0 : (tensor<3x?xf32>) -> tensor<3x?xf32, #ragged.layout<"dr">>
    ```
    """

    res: Result[Tensor]
    x: Operand[Tensor]
    same_lengths = same_storage = True
    checks = unchecked

    def divisors(self, known: Divides) -> tuple[int, ...]:
        """None: an extent is that of the longest component where the layout makes the dim ragged."""
        return (1,) * tensor_shape(self.res).rank

    def verify_invariants(self) -> None:
        before, after = tensor_shape(self.x), tensor_shape(self.operation.results[0])
        same = self.x.type.element_type == self.res.type.element_type
        if not same or not compatible(before.shape, after.shape):
            raise LayoutError(f"expected types that differ in their layout only, got {self.x.type} and {self.res.type}")


def attach_check_effects() -> None:
    """Checks write a status: they are never erased as dead, nor moved over one another or a guard,
    which reads it. Annotations stay until their layout was used."""
    for name in ("ragged.assert_valid", "ragged.assert_conform", "ragged.annotate"):
        attach_effects(name, lambda op: [(ir.MemoryEffect.Write, None)])
    attach_effects("ragged.guard", lambda op: [(ir.MemoryEffect.Read, None)])


__all__ = [
    "AnnotateOp",
    "AssertConformOp",
    "AssertValidOp",
    "AssumeOp",
    "GuardOp",
    "attach_check_effects",
]
