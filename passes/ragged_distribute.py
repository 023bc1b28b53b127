"""`ragged-distribute`: the program of one rank, from that of all."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

from ragged_dialect import builders
from ragged_dialect._mlir import DYNAMIC, arith, ir, tensor
from ragged_dialect.generic import filled
from ragged_dialect.ir.functions import name_of, users_of
from ragged_dialect.ir.match import defining_op, is_read, view_of
from ragged_dialect.ir.walk import ops_in
from ragged_dialect.iteration import Iteration, analyze, is_compute
from ragged_dialect.ops import OPS
from ragged_dialect.ops.making import EmptyOp
from ragged_dialect.passes.base import PassFailure, RaggedPass
from ragged_dialect.traits import int_attr
from ragged_dialect.types import is_tensor, shape_of
from ragged_dialect.verify import SHARDED


@dataclass(frozen=True)
class RaggedDistribute(RaggedPass):
    """Makes the program of one of `ranks` ranks of a program of all: of the leading dims of arguments that are
    `ragged.sharded` a block is left, and what changes which dim is the leading one becomes an exchange.

    ```mlir
    func.func @f(%x: tensor<2x4x?x8xf32, #ragged.layout<"ddr|d">> {ragged.sharded}) -> tensor<4x2x?x8xf32, …> {
      %y = linalg.transpose ins(%x : …) outs(%e : …) permutation = [1, 0, 2, 3]
      return %y : tensor<4x2x?x8xf32, …>
    }
    // [rank, expert, token, …] to [expert, rank, token, …] becomes, with ranks=2,
    func.func @f(%x: tensor<1x4x?x8xf32, #ragged.layout<"ddr|d">>) -> tensor<2x2x?x8xf32, …> {
      %0 = ragged.merge %x {dim = 0} : … -> tensor<4x?x8xf32, #ragged.layout<"dr|d">>
      %1 = ragged.split %0 {dim = 0, factor = 2} : … -> tensor<2x2x?x8xf32, …>    // [rank it goes to, expert there, …]
      %2 = ragged.all_to_all %1 : …
      %y = linalg.transpose ins(%2 : …) outs(%e : …) permutation = [1, 0, 2, 3]
      return %y : tensor<2x2x?x8xf32, …>
    }
    ```

    Blocks have one size, but for leading dims that are as large as the sum of `owned`: with `owned=3,1` rank 0 has the
    first three of four. Then every rank has a program of its own, with its extents. What is exchanged is ragged in
    them, so that all ranks exchange the same types, and how many came of each rank is checked. Above, with `rank=0`:
    ```mlir
      %1 = ragged.partition %0, %offsets {dim = 0} : …, tensor<3xi64> -> tensor<2x?x?x8xf32, #ragged.layout<"drr|d">>
      %2 = ragged.all_to_all %1 : …                                                 // %offsets = 0, 3, 4
      %3 = ragged.merge %2 {dim = 0} : … -> tensor<6x?x8xf32, #ragged.layout<"dr|d">>
      %4 = ragged.split %3 {dim = 0, factor = 3} : … -> tensor<2x3x?x8xf32, …>      // [rank it comes from, expert, …]
    ```

    What lies below the leading dim commutes with the ranks and stays as it is: partitions, merges, splits, loops.
    Tensors that are not sharded every rank has whole; they may meet sharded ones but for the leading dim.
    Uninitialised, filled and constant tensors become what they meet. Refused are sums and softmax over the leading
    dim, other ops on it, extents that the ranks do not divide, calls and control flow. A function without sharded
    arguments stays as it is. Of what is computed of sharded tensors a rank has a part, results too.

    Options: `ranks`, how many; `owned`, a number for each of them, with commas between; `rank`, whose program is made.
    """

    anchor = "func.func"

    ranks: int = 1
    owned: str = ""
    rank: int = 0

    def run(self, op: ir.Operation) -> None:
        """Rewrite a function; PassFailure where its ranks are not apart."""
        if self.ranks < 1:
            raise _refused(op, "ranks above 0", str(self.ranks))
        if not 0 <= self.rank < self.ranks:
            raise _refused(op, f"a rank in [0, {self.ranks})", str(self.rank))
        given = op.attributes["arg_attrs"] if "arg_attrs" in op.attributes else ()
        marks = [{named.name: named.attr for named in ir.DictAttr(mark)} for mark in given]
        owned = self._owned(op)
        if any(SHARDED in mark for mark in marks):
            if op.parent is not None and users_of(op.parent.operation, name_of(op)):
                raise _refused(op, "a function that nobody calls", "a call of it")
            _Function(op, owned, self.ranks, self.rank).run(marks)

    def _owned(self, op: ir.Operation) -> list[int]:
        """What each rank owns, of no rank where nothing is said."""
        words = self.owned.split(",") if self.owned else []
        if words and (len(words) != self.ranks or not all(word.isascii() and word.isdecimal() for word in words)):
            raise _refused(op, f"how many each of {self.ranks} ranks owns", f"'{self.owned}'")
        owned = [int(word) for word in words]
        if sum(owned) == self.ranks and set(owned) != {1}:
            raise _refused(op, f"owned with another sum than {self.ranks}, the extent of a dim of ranks", self.owned)
        return owned


class _Function:
    """A function, and for values that are sharded the `parts` that a rank has."""

    def __init__(self, op: ir.Operation, owned: list[int], ranks: int, rank: int) -> None:
        self.op, self.owned, self.rank, self.ranks = op, owned, rank, ranks
        self.is_owned = False
        """Whether something sharded is as large as the sum of `owned`."""
        self.parts: dict[ir.Value, ir.Value] = {}
        self.leading: dict[ir.Value, int] = {}
        """The leading extents of sharded arguments in the program of all; other values still have their types."""

    def run(self, marks: list[dict[str, ir.Attribute]]) -> None:
        """Rewrite it."""
        if len(self.op.regions[0].blocks) != 1:
            raise _refused(self.op, "a function of one block", "another one")
        block = self.op.regions[0].blocks[0]
        *body, end = [op.operation for op in block.operations]
        for argument, mark in zip(block.arguments, marks, strict=True):
            if mark.pop(SHARDED, None) is not None:
                part = self._part_type(argument.type, self.op)
                self.leading[argument] = argument.type.shape[0]
                argument.set_type(part)
                self.parts[argument] = argument
        for op in body:
            if any(value in self.parts for value in op.operands):
                with ir.InsertionPoint(op), op.location:
                    self._shard(op)
            elif any(value in self.parts for inner in ops_in(op) for value in inner.operands):
                raise _refused(op, "ranks that are apart", f"'{op.name}', whose body reads what is sharded")
        if self.owned and not self.is_owned:
            wanted = f"something sharded with a leading extent of {sum(self.owned)}, the sum of owned"
            raise _refused(self.op, wanted, "none")
        for number, value in enumerate(end.operands):
            end.operands[number] = self.parts.get(value, value)
        for op in reversed(body):
            waits = _waits(op) and any(value in self.parts for value in op.operands)
            if waits and is_read(op.results[0]):
                raise _refused(op, "a transpose into it", "another use")
            if waits or any(result in self.parts for result in op.results):
                op.erase()
        inputs, results = ([value.type for value in values] for values in (block.arguments, end.operands))
        self.op.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, results))
        self.op.attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(mark) for mark in marks])

    def _part_type(self, type_: ir.Type, op: ir.Operation) -> ir.RankedTensorType:
        """The type of a rank's part of a tensor."""
        if not is_tensor(type_) or not type_.rank:
            raise _refused(op, "a tensor with a leading dim to shard", str(type_))
        first, *rest = type_.shape
        if first in (DYNAMIC, 0):
            return type_
        if self.ranks > first != sum(self.owned) or sum(blocks := self._blocks(first)) != first:
            raise _refused(op, f"a leading extent that {self.ranks} ranks divide", str(type_))
        return ir.RankedTensorType.get([blocks[self.rank], *rest], type_.element_type, type_.encoding)

    def _blocks(self, extent: int) -> list[int]:
        """How much of a leading dim each rank has; of one that they do not divide, of less."""
        if self.owned and extent == sum(self.owned):
            self.is_owned = True
            return self.owned
        return [extent // self.ranks] * self.ranks

    def _shard(self, op: ir.Operation) -> None:
        """Make an op of parts of one that reads what is sharded."""
        if op.name == "linalg.transpose" and _permutation(op)[0] != 0:
            self.parts[op.results[0]] = self._exchanged(op)
            return
        if _waits(op):
            return
        meets = self._meeting(op)
        given = [self._part(value, op) if number in meets else value for number, value in enumerate(op.operands)]
        made = op.clone().operation
        for number, value in enumerate(given):
            made.operands[number] = value
        for old, new in zip(op.results, made.results, strict=True):
            new.set_type(self._part_type(old.type, op))
            self.parts[old] = new

    def _meeting(self, op: ir.Operation) -> set[int]:
        """The operands that an op takes a part of; others it takes whole. PassFailure for an op that does not keep
        the ranks apart."""
        tensors = [number for number, value in enumerate(op.operands) if is_tensor(value.type)]
        apart = OPS[op.name].apart if op.name in OPS else ""
        if apart not in ("", "always") and int_attr(op, apart) == 0:
            raise _refused(op, "ranks that are apart", f"'{op.name}' of the leading dim")
        if op.name == "ragged.split":
            self._check_split(op)
        if op.name == "ragged.partition" and op.operands[1].type.rank != 2:
            raise _refused(op, "offsets of rank 2, a row for each component", f"rank {op.operands[1].type.rank}")
        if apart:
            return set(tensors)
        if not is_compute(op):
            raise _refused(op, "an op that keeps ranks apart", f"'{op.name}'")
        found = analyze(op)
        loop = self._leading_loop(op, found)
        if any(out.loops[:1] != (loop,) for out in found.outs):
            raise _refused(op, "ranks that are apart", f"'{op.name}' with a result without the leading dim")
        for number in tensors:
            loops = found.accesses[number].loops
            if loop in loops[1:]:
                dim = loops.index(loop, 1)
                raise _refused(op, "ranks that are apart", f"'{op.name}', which takes the leading dim for dim {dim}")
        return {number for number in tensors if found.accesses[number].loops[:1] == (loop,)}

    def _check_split(self, op: ir.Operation) -> None:
        """Of a split of the leading dim both the parts and what they are parts of are placed: every rank has whole
        parts, those that it has anyhow."""
        source, after, factor = op.operands[0], op.results[0].type.shape[0], int_attr(op, "factor")
        before = self.leading[source] if source in self.leading else source.type.shape[0]
        if int_attr(op, "dim") == 0 and DYNAMIC not in (before, after):
            wanted, got = self._blocks(before), [n * factor for n in self._blocks(after)]
            if wanted != got:
                raise _refused(op, f"parts of {factor} in blocks of {wanted}", f"blocks of {got}")

    def _leading_loop(self, op: ir.Operation, found: Iteration) -> int:
        """The loop over the leading dim of what is sharded, of a compute op whose turns are apart."""
        loops = {found.accesses[k].loops[0] for k, value in enumerate(op.operands) if value in self.parts}
        (loop,) = loops if len(loops) == 1 else (None,)
        softmax = op.name == "linalg.softmax" and ir.IntegerAttr(op.attributes["dimension"]).value == 0
        if loop is None or found.kinds[loop] != "parallel" or softmax:
            raise _refused(op, "ranks that are apart", f"'{op.name}' over the leading dim")
        body = [inner for inner in ops_in(op) if inner != op]
        indices = [ir.IntegerAttr(inner.attributes["dim"]).value for inner in body if inner.name == "linalg.index"]
        if loop in indices or any(value in self.parts for inner in body for value in inner.operands):
            raise _refused(op, "ranks that are apart", f"'{op.name}' with an index of the leading dim")
        return loop

    def _part(self, value: ir.Value, op: ir.Operation) -> ir.Value:
        """A rank's part of what meets something sharded in the leading dim of an op."""
        if value in self.parts:
            return self.parts[value]
        made = defining_op(value)
        if made is not None and made.name == "tensor.empty" and not len(made.operands):
            type_ = self._part_type(value.type, op)
            return tensor.empty(type_.shape, type_.element_type, encoding=type_.encoding)
        if made is not None and made.name == "linalg.fill":
            return filled(made.operands[0], self._part(made.operands[1], op)).results[0]
        if made is not None and made.name == "arith.constant":
            elements = made.attributes["value"]
            if isinstance(elements, ir.DenseElementsAttr) and elements.is_splat:
                type_ = self._part_type(value.type, op)
                return arith.ConstantOp(type_, ir.DenseElementsAttr.get_splat(type_, elements.get_splat_value())).result
        raise _refused(op, "operands that are sharded, too", f"{value.get_name()}, which every rank has whole")

    def _exchanged(self, op: ir.Operation) -> ir.Value:
        """A transpose of the first two dims, one of which is that of the ranks."""
        source = op.operands[0]
        if source not in self.parts:
            raise _refused(op, "operands that are sharded, too", f"{source.get_name()}, which every rank has whole")
        letters = shape_of(op.results[0].type).layout.axes[0]
        order = _permutation(op)
        if order != [1, 0, *range(2, len(order))] or not letters.startswith("dd"):
            raise _refused(
                op, "a transpose of the first two dims of a nested axis", f"permutation {order} of {op.results[0].type}"
            )
        result = self._part_type(op.results[0].type, op)
        x, (first, second) = self.parts[source], op.results[0].type.shape[:2][::-1]
        sources = [(0, 1), (0, 0), *((0, level) for level in range(2, len(letters)))]
        padded = [*sources, *([None] * (len(order) - len(letters)))]
        if self.ranks not in (first, second):
            raise _refused(op, f"a leading dim of {self.ranks} ranks before or after", str(op.results[0].type))
        if DYNAMIC in (first, second):
            raise _refused(op, "two static extents to exchange", str(op.results[0].type))
        blocks = self._blocks(second if first == self.ranks else first)
        own = blocks[self.rank]
        is_uneven = len(set(blocks)) > 1  # on all ranks or none: they make the same exchanges
        if first == self.ranks:
            x = builders.merge(x, 0)
            if is_uneven:
                x = self._unevenly(x, blocks, [own] * self.ranks)
                if own == 0:  # there is nothing to sort, and no factor of 0
                    return builders.split(x, 0, self.ranks)
                x = builders.split(x, 0, own)
            else:
                x = builders.all_to_all(builders.split(x, 0, own))
            return self._transposed(op, x, builders.empty([x], result, padded))
        shape = [self.ranks, own, *result.shape[2:]]
        middle = ir.RankedTensorType.get(shape, result.element_type, result.encoding)
        x = self._transposed(op, x, builders.empty([x], middle, padded))
        if is_uneven:
            x = self._unevenly(builders.merge(x, 0), [own] * self.ranks, blocks)
        else:
            x = builders.merge(builders.all_to_all(x), 0)
        return builders.split(x, 0, first)

    @staticmethod
    def _unevenly(x: ir.Value, sent: list[int], received: list[int]) -> ir.Value:
        """Of the components for all ranks, as many as `sent`, the `received` ones of all ranks. A number that ranks do
        not share is no extent of a dense dim of an exchange, but a length."""
        came = builders.all_to_all(builders.partition(x, _offsets(sent), 0))
        flat, (_, *rest) = builders.merge(came, 0), x.type.shape
        flat.set_type(ir.RankedTensorType.get([sum(received), *rest], x.type.element_type, x.type.encoding))
        # the program of another rank may have been made with others: their sum alone does not tell
        wanted = builders.partition(flat, _offsets(received), 0)
        builders.assert_conform(wanted, came, [(0, 0), (1, 1)], "ragged.all_to_all")
        return flat

    @staticmethod
    def _transposed(op: ir.Operation, x: ir.Value, out: ir.Value) -> ir.Value:
        made = op.clone().operation
        made.operands[0], made.operands[1] = x, out
        made.results[0].set_type(out.type)
        return made.results[0]


def _offsets(counts: list[int]) -> ir.Value:
    """Where blocks start, and the end."""
    i64 = ir.IntegerType.get_signless(64)
    type_ = ir.RankedTensorType.get([len(counts) + 1], i64)
    numbers: list[ir.Attribute] = [ir.IntegerAttr.get(i64, n) for n in accumulate(counts, initial=0)]
    return arith.ConstantOp(type_, ir.DenseElementsAttr.get(numbers, type_)).result


def _permutation(op: ir.Operation) -> list[int]:
    return list(ir.DenseI64ArrayAttr(op.attributes["permutation"]))


def _waits(op: ir.Operation) -> bool:
    """Whether an op is uninitialised, with another leading dim than what it takes its structure from: it is made anew
    where an exchange needs it."""
    return op.name == "ragged.empty" and (view_of(op, EmptyOp).sources()[0] or (0, 1))[1] != 0


def _refused(op: ir.Operation, wanted: str, got: str) -> PassFailure:
    return PassFailure(op, f"ragged-distribute: expected {wanted}, got {got}")
