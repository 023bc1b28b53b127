"""Attention within components, as one op: masks, skipped keys and statistics could not be found again in loop nests."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from ragged_dialect._mlir import ir
from ragged_dialect.checking.checker import Checker, Q
from ragged_dialect.errors import LayoutError
from ragged_dialect.ir.walk import captures, ops_in
from ragged_dialect.layout import Extent, Layout
from ragged_dialect.ops.base import Divides, Operand, Pure, RaggedOp, Region, Result, Tensor
from ragged_dialect.ops.regions import ended, listed
from ragged_dialect.shape import RaggedShape
from ragged_dialect.traits import check_elements, check_type, string_attr, tensor_shape

FloatAttr = ir.FloatAttr

_WINDOW = re.compile(r"window(_end)?<(-1|[0-9]{1,18}), ?(-1|[0-9]{1,18})>")
CAPS = (1e-20, 1e20)
"""Softcaps that floats of 32 bits hold, and what scores become by them."""


class Keys(NamedTuple):
    """The keys that query i sees: i + shift - left to i + shift + right, None for no bound. `shift` is 0, or, with
    `end`, what makes the last query see the last key: the number of keys less that of queries."""

    left: int | None = None
    right: int | None = None
    end: bool = False

    @staticmethod
    def parse(text: str) -> "Keys":
        """`all`, `causal`, `causal_end`, `window<l, r>` or `window_end<l, r>`, where -1 is no bound. LayoutError."""
        if text in ("all", "causal", "causal_end"):
            return Keys(None, None if text == "all" else 0, text == "causal_end")
        found = _WINDOW.fullmatch(text)
        if found is None:
            raise LayoutError(
                f"expected keys among all, causal, causal_end, window<l, r>, window_end<l, r>, got '{text}'"
            )
        left, right = (None if int(n) == -1 else int(n) for n in found.groups()[1:])
        return Keys(left, right, found[1] is not None)

    def __str__(self) -> str:
        end = "_end" if self.end else ""
        if self.left is None and self.right in (None, 0):
            return "all" if self.right is None else f"causal{end}"
        left, right = (-1 if n is None else n for n in (self.left, self.right))
        return f"window{end}<{left}, {right}>"

    @property
    def of_keys(self) -> "Keys":
        """The queries that see a key."""
        return Keys(self.right, self.left, self.end)

    @property
    def is_all(self) -> bool:
        """Whether every query sees every key."""
        return self.left is None and self.right is None


def result_shapes(
    q: RaggedShape, k: RaggedShape, v: RaggedShape, *, windows: bool = True
) -> tuple[RaggedShape, RaggedShape]:
    """The shapes of the results for those of the operands; keys and values may be windows. LayoutError where the op
    refuses them."""
    keys = ("dr", "dw") if windows else ("dr",)
    for name, shape, firsts in (("q", q, ("dr",)), ("k", k, keys), ("v", v, keys)):
        if shape.layout.axes[1:] != ("d", "d") or shape.layout.axes[0] not in firsts:
            wanted = " or ".join(f'"{first}|d|d"' for first in firsts)
            raise LayoutError(f'expected {name} of layout {wanted}, got "{shape.layout}"')
    _agree("batch extents", q.shape[0], k.shape[0])
    _agree("batch extents", k.shape[0], v.shape[0])
    _agree("head dims of q and k", q.shape[3], k.shape[3])
    _agree("heads of k and v", k.shape[2], v.shape[2])
    groups(q, k)
    layout = Layout.parse("dr|d|d")
    head = q.shape[:3]
    return RaggedShape(layout, (*head, v.shape[3])), RaggedShape(Layout.parse("dr|d"), head)


def groups(q: RaggedShape, k: RaggedShape) -> int:
    """Heads of q for each head of k; 1 where one of them is dynamic. LayoutError for heads that do not divide."""
    own, fewer = q.shape[2], k.shape[2]
    if own is None or fewer is None or own == fewer:
        return 1
    if 0 in (own, fewer) or own % fewer:
        raise LayoutError(f"expected heads of q that are a positive multiple of {fewer}, got {own}")
    return own // fewer


_DIMS = {
    **dict.fromkeys(("q", "tq", "dq"), "bihd"),
    **dict.fromkeys(("k", "tk", "dk"), "bjgd"),
    **dict.fromkeys(("v", "tv", "dv"), "bjge"),
    **dict.fromkeys(("o", "to", "upstream"), "bihe"),
    **dict.fromkeys(("lse", "tlse", "delta"), "bih"),
}
"""The dims of operands and results: batch, queries, keys, heads of queries, of keys, head dims of keys, of values."""

_DIM_NAMES = {"b": "batch extents", "h": "heads", "g": "heads", "d": "head dims", "e": "head dims"}


SCORE_OPS = frozenset({"tensor.dim", "tensor.extract"})
"""What scores are made by beside arithmetic."""


def _agree(what: str, a: Extent, b: Extent) -> None:
    if a is not None and b is not None and a != b:
        raise LayoutError(f"expected equal {what}, got {a} and {b}")


class Attention(RaggedOp):
    """What ops of attention share: `q`, `k` and `v` among their operands, and which scores there are."""

    scale: FloatAttr
    score: Region
    optional = ("keys", "softcap")
    windows = False
    """Whether keys and values may be windows over memory."""
    slopes = False
    """Whether a score yields besides itself what it grows by with what it is made of."""

    if TYPE_CHECKING:
        q: Operand[Tensor]
        k: Operand[Tensor]
        v: Operand[Tensor]

    @property
    def visible(self) -> Keys:
        """The keys that queries see."""
        return Keys.parse(string_attr(self, "keys") if "keys" in self.operation.attributes else "all")

    @property
    def cap(self) -> float | None:
        """What the scores stay below, None where there is no such bound."""
        if "softcap" not in self.operation.attributes:
            return None
        found = self.operation.attributes["softcap"]
        if not isinstance(found, FloatAttr) or not CAPS[0] <= found.value <= CAPS[1]:
            raise LayoutError(f"expected a float in [{CAPS[0]:g}, {CAPS[1]:g}] for 'softcap', got {found}")
        return found.value

    def verify_operands(self) -> dict[str, tuple[RaggedShape, ir.Type]]:
        """Refuse queries, keys, values and attributes; the shapes and elements of what is like `o` and like `lse`.
        LayoutError."""
        shapes = result_shapes(*map(tensor_shape, (self.q, self.k, self.v)), windows=self.windows)
        element = self.q.type.element_type
        check_elements(self.q, "operands", integers=False)
        for name in "kv":
            found = getattr(self, name).type.element_type
            if found != element:
                raise LayoutError(f"expected {name} of {element}, got {found}")
        _ = self.visible, self.cap
        self._verify_score()
        return dict(zip(("o", "lse"), zip(shapes, (element, wide(element)), strict=True), strict=True))

    @property
    def scored(self) -> ir.Block | None:
        """What makes scores of products, None where these are the scores."""
        blocks = list(self.operation.regions[0].blocks)
        return blocks[0] if blocks else None

    def _verify_score(self) -> None:
        """Refuse a region that does not make one score of another by numbers alone. LayoutError."""
        block = self.scored
        if block is None:
            return
        if self.cap is not None:
            raise LayoutError("expected no 'softcap' beside a score of its own, got both")
        element, index = wide(self.q.type.element_type), ir.IndexType.get()
        wanted, found = [element, *[index] * 4], [x.type for x in block.arguments]
        count = len(list(self.operation.regions[0].blocks))
        if count != 1:
            raise LayoutError(f"expected a score of one block, got {count}")
        if found != wanted:
            raise LayoutError(f"expected a score of one block of ({listed(wanted)}), got ({listed(found)})")
        *ops, last = ended(block, "a score")
        for op in (inner for outer in ops for inner in ops_in(outer)):
            if op.name not in SCORE_OPS and not op.name.startswith(("arith.", "math.")):
                raise LayoutError(f"expected a score of numbers and of elements of tensors, got '{op.name}'")
        wanted, found = [element] * (1 + self.slopes), [x.type for x in last.operands]
        if found != wanted:
            raise LayoutError(f"expected a score that yields ({listed(wanted)}), got ({listed(found)})")
        for x in self.captured:
            if isinstance(x.type, ir.RankedTensorType) and x.type.encoding is not None:
                raise LayoutError(f"expected a score of elements of dense tensors, got {x.type}")

    @property
    def captured(self) -> list[ir.Value]:
        """What the score reads of what is around the op."""
        block = self.scored
        return [] if block is None else captures(block.operations, block.arguments)

    def extents(self) -> dict[str, dict[str, Extent]]:
        """The extents of operands and results by their dims' letters, static wherever one with the same dim is, of
        keys and queries too where these must have as many heads. LayoutError where two differ."""
        given = {name: tensor_shape(getattr(self, name)).shape for name in _DIMS if hasattr(self, name)}
        alike = None in (given["q"][2], given["k"][2])
        found: dict[str, tuple[str, int]] = {}
        for name, shape in given.items():
            for letter, extent in zip(_DIMS[name], shape, strict=True):
                if extent is None:
                    continue
                key = "h" if alike and letter == "g" else letter
                first, other = found.setdefault(key, (name, extent))
                if extent != other:
                    what = _DIM_NAMES[letter]
                    raise LayoutError(f"expected equal {what} of {first} and {name}, got {other} and {extent}")
        known = {letter: extent for letter, (_, extent) in found.items()}
        if alike and "h" in known:
            known["g"] = known["h"]
        return {name: {letter: known.get(letter) for letter in _DIMS[name]} for name in given}

    def verify_like(self, kinds: Mapping[str, tuple[RaggedShape, ir.Type]], **likes: str) -> None:
        """Refuse operands and results that are not like what their name stands for: `o`, `lse`, or an operand.
        LayoutError."""
        for name, like in likes.items():
            shape, element = kinds[like] if like in kinds else _kind(getattr(self, like))
            check_type(getattr(self, name).type, shape, element, name)
        self.extents()

    def checks(self, ask: Checker[Q]) -> None:
        q, k, v = self.q, self.k, self.v
        ask.equal(0, ask.extent(k, 0), ask.extent(q, 0))
        ask.equal(0, ask.extent(v, 0), ask.extent(q, 0))
        ask.conform(k, v, [(0, 0), (1, 1)])
        for dim, x, other in ((3, k, q), (2, v, k), (2, k, q)):
            self._same(ask, dim, x, other)

    def checks_like(self, ask: Checker[Q], **likes: str) -> None:
        """Operands have the lengths and the extents of others."""
        for name, like in likes.items():
            x, other = getattr(self, name), getattr(self, like)
            ask.equal(0, ask.extent(x, 0), ask.extent(other, 0))
            ask.conform(other, x, [(0, 0), (1, 1)])
            for dim, (letter, same) in enumerate(zip(_DIMS[name], _DIMS[like], strict=False)):
                if dim > 1 and letter == same and tensor_shape(x).shape[dim] is None:
                    ask.equal(dim, ask.extent(x, dim), ask.extent(other, dim))

    def same_width(self, ask: Checker[Q], x: ir.Value) -> None:
        """An operand like `o` has the head dim of the values."""
        self._same(ask, 3, x, self.v)

    @staticmethod
    def _same(ask: Checker[Q], dim: int, x: ir.Value, other: ir.Value) -> None:
        """Extents are equal, where the types do not say both."""
        if None in (tensor_shape(x).shape[dim], tensor_shape(other).shape[dim]):
            ask.equal(dim, ask.extent(x, dim), ask.extent(other, dim))

    def level_above(self, level: int) -> int | None:
        return level if level < 3 else None


class AttentionDerivative(Attention):
    """What takes the sums that `ragged.attention` gives, for the same operands and attributes, and a score that also
    yields its derivative."""

    slopes = True

    if TYPE_CHECKING:
        lse: Operand[Tensor]


class AttentionVjp(AttentionDerivative):
    """What takes cotangents of the results."""

    if TYPE_CHECKING:
        upstream: Operand[Tensor]
        delta: Operand[Tensor]

    def checks(self, ask: Checker[Q]) -> None:
        super().checks(ask)
        self.checks_like(ask, lse="q", upstream="q", delta="q")
        self.same_width(ask, self.upstream)


def _kind(x: ir.Value) -> tuple[RaggedShape, ir.Type]:
    return tensor_shape(x), x.type.element_type


class AttentionOp(Attention, name="attention", traits=[Pure]):
    """softmax(scale * q k^T) v within each component, and the log of each row's sum of exponentials.

    q is [batch, queries, heads, head dim]; k and v have lengths of their own, and may have fewer heads, each for a
    group of adjacent heads of q. `keys` bounds the keys that query i sees: `all`; `causal`, keys 0 to i; `causal_end`,
    so that the last query sees the last key; `window<l, r>`, keys i - l to i + r, and `window_end<l, r>`, counted from
    the ends (-1: no bound). `softcap` c makes a score s c * tanh(s / c); a region makes another one of it and of the
    numbers of component, head, query and key, by arithmetic and elements of dense tensors. A score of -inf is that of a
    key that is not seen. Where no key is seen `o` is 0 and `lse` is -inf. Short floats are computed in f32, which is
    then the type of `lse` and of scores.

    ```mlir
    %o, %lse = ragged.attention %q, %k, %v {scale = 2.500000e-01, keys = "causal"}
         : (tensor<3x?x4x16xf32, #ragged.layout<"dr|d|d">>, tensor<3x?x2x16xf32, #ragged.layout<"dr|d|d">>,
            tensor<3x?x2x16xf32, #ragged.layout<"dr|d|d">>)
         -> (tensor<3x?x4x16xf32, #ragged.layout<"dr|d|d">>, tensor<3x?x4xf32, #ragged.layout<"dr|d">>)

    %o, %lse = ragged.attention %q, %k, %v ({                // with what is added to scores, of heads and keys
    ^bb0(%score: f32, %component: index, %head: index, %query: index, %key: index):
      %more = tensor.extract %bias[%head, %key] : tensor<4x?xf32>
      %sum = arith.addf %score, %more : f32
      ragged.yield %sum : (f32) -> ()
    }) {scale = 1.0} : …
    ```
    """

    o: Result[Tensor]
    lse: Result[Tensor]
    q: Operand[Tensor]
    k: Operand[Tensor]
    v: Operand[Tensor]
    windows = True
    reduces = True

    def verify_invariants(self) -> None:
        for result, (shape, element) in zip(self.operation.results, self.verify_operands().values(), strict=True):
            check_type(result.type, shape, element, "result")
        self.extents()

    def divisors(self, known: Divides) -> tuple[int, ...]:
        return (*known.of(self.q)[:3], known.of(self.v)[3])


class AttentionJvpOp(AttentionDerivative, name="attention_jvp", traits=[Pure]):
    """The tangents of the results of `ragged.attention`, of tangents of its operands, in which it is linear.

    `o` and `lse` are the results for the same operands and attributes. `ragged-differentiate` makes it;
    `ragged-decompose-attention` says what it means.

    ```mlir
    %to, %tlse = ragged.attention_jvp %q, %k, %v, %o, %lse, %tq, %tk, %tv {scale = 2.500000e-01}
         : (tensor<3x?x4x16xf32, #ragged.layout<"dr|d|d">>, tensor<3x?x2x16xf32, #ragged.layout<"dr|d|d">>,
            tensor<3x?x2x16xf32, #ragged.layout<"dr|d|d">>, tensor<3x?x4x16xf32, #ragged.layout<"dr|d|d">>,
            tensor<3x?x4xf32, #ragged.layout<"dr|d">>, tensor<3x?x4x16xf32, #ragged.layout<"dr|d|d">>,
            tensor<3x?x2x16xf32, #ragged.layout<"dr|d|d">>, tensor<3x?x2x16xf32, #ragged.layout<"dr|d|d">>)
         -> (tensor<3x?x4x16xf32, #ragged.layout<"dr|d|d">>, tensor<3x?x4xf32, #ragged.layout<"dr|d">>)
    ```
    """

    to: Result[Tensor]
    tlse: Result[Tensor]
    q: Operand[Tensor]
    k: Operand[Tensor]
    v: Operand[Tensor]
    o: Operand[Tensor]
    lse: Operand[Tensor]
    tq: Operand[Tensor]
    tk: Operand[Tensor]
    tv: Operand[Tensor]

    def verify_invariants(self) -> None:
        kinds = self.verify_operands()
        self.verify_like(kinds, o="o", lse="lse", tq="q", tk="k", tv="v", to="o", tlse="lse")

    def checks(self, ask: Checker[Q]) -> None:
        super().checks(ask)
        self.checks_like(ask, o="q", lse="q", tq="q", tk="k", tv="v")
        self.same_width(ask, self.o)

    def divisors(self, known: Divides) -> tuple[int, ...]:
        return known.of(self.o)


class AttentionVjpQOp(AttentionVjp, name="attention_vjp_q", traits=[Pure]):
    """The cotangent of the queries of `ragged.attention`, of those of its results.

    `lse` is the result for the same operands and attributes, `upstream` the cotangent of `o`, and `delta` the sum of
    `o * upstream` over each row less the cotangent of `lse`. With p = exp(score - lse), which is 0 where a query does
    not see a key, the cotangent of a score is p * (upstream v^T - delta).

    ```mlir
    %dq = ragged.attention_vjp_q %q, %k, %v, %lse, %upstream, %delta {scale = 2.500000e-01}
         : (tensor<3x?x4x16xf32, #ragged.layout<"dr|d|d">>, tensor<3x?x2x16xf32, #ragged.layout<"dr|d|d">>,
            tensor<3x?x2x16xf32, #ragged.layout<"dr|d|d">>, tensor<3x?x4xf32, #ragged.layout<"dr|d">>,
            tensor<3x?x4x16xf32, #ragged.layout<"dr|d|d">>, tensor<3x?x4xf32, #ragged.layout<"dr|d">>)
         -> tensor<3x?x4x16xf32, #ragged.layout<"dr|d|d">>
    ```
    """

    dq: Result[Tensor]
    q: Operand[Tensor]
    k: Operand[Tensor]
    v: Operand[Tensor]
    lse: Operand[Tensor]
    upstream: Operand[Tensor]
    delta: Operand[Tensor]
    same_lengths = True

    def verify_invariants(self) -> None:
        kinds = self.verify_operands()
        self.verify_like(kinds, lse="lse", upstream="o", delta="lse", dq="q")


class AttentionVjpKvOp(AttentionVjp, name="attention_vjp_kv", traits=[Pure]):
    """The cotangents of the keys and values of `ragged.attention`: see `ragged.attention_vjp_q`.

    ```mlir
    %dk, %dv = ragged.attention_vjp_kv %k, %v, %q, %lse, %upstream, %delta {scale = 2.500000e-01}
         : (tensor<3x?x2x16xf32, #ragged.layout<"dr|d|d">>, tensor<3x?x2x16xf32, #ragged.layout<"dr|d|d">>,
            tensor<3x?x4x16xf32, #ragged.layout<"dr|d|d">>, tensor<3x?x4xf32, #ragged.layout<"dr|d">>,
            tensor<3x?x4x16xf32, #ragged.layout<"dr|d|d">>, tensor<3x?x4xf32, #ragged.layout<"dr|d">>)
         -> (tensor<3x?x2x16xf32, #ragged.layout<"dr|d|d">>, tensor<3x?x2x16xf32, #ragged.layout<"dr|d|d">>)
    ```
    """

    dk: Result[Tensor]
    dv: Result[Tensor]
    k: Operand[Tensor]  # the first operand has the structure of the results
    v: Operand[Tensor]
    q: Operand[Tensor]
    lse: Operand[Tensor]
    upstream: Operand[Tensor]
    delta: Operand[Tensor]

    def verify_invariants(self) -> None:
        kinds = self.verify_operands()
        self.verify_like(kinds, lse="lse", upstream="o", delta="lse", dk="k", dv="v")

    def divisors(self, known: Divides) -> tuple[int, ...]:
        return known.of(self.k)


def wide(element: ir.Type) -> ir.Type:
    """The type that short floats are computed in."""
    return ir.F32Type.get() if isinstance(element, (ir.F16Type, ir.BF16Type)) else element
