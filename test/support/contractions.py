"""Products of ragged rows and weights, as programs."""

from __future__ import annotations

import re
from dataclasses import dataclass

_TEXT = """
#l = #ragged.layout<"dr|d">
#x = affine_map<(b, i, n, k) -> (b, i, k)>
#w = affine_map<(b, i, n, k) -> ({w_map})>
#y = affine_map<(b, i, n, k) -> (b, i, n)>
#all = affine_map<(b, i, n) -> (b, i, n)>
#bias = affine_map<(b, i, n) -> (n)>
!x = tensor<?x?x{k}x{t}, #l>
!w = tensor<{w}x{t}>
!s = tensor<?x?x{n}xf32, #l>
!y = tensor<?x?x{n}x{t}, #l>
func.func @f(%x: !x, %w: !w{arguments}) -> {result} {{
  %zero = arith.constant {zero} : f32
  %c0 = arith.constant 0 : index
  %e = ragged.empty %x, %w {{from = [[0, 0], [0, 1], [1, {n_dim}]]}} : (!x, !w) -> !s
  %i = linalg.fill ins(%zero : f32) outs(%e : !s) -> !s
  %s = linalg.generic {{indexing_maps = [#x, #w, #y],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}} ins(%x, %w : !x, !w) outs({init} : !s) {{
  ^bb0(%a: {t}, %b: {t}, %c: f32):
    %a1 = arith.extf %a : {t} to f32
    %b1 = arith.extf %b : {t} to f32
    %m = arith.mulf %a1, %b1 : f32
    %r = arith.addf %c, %m : f32
    linalg.yield %r : f32
  }} -> !s
{following}
}}
"""
_FOLLOWING = """
  %e2 = ragged.empty %s : (!s) -> !y
  %y = linalg.generic {{indexing_maps = [#all, #bias, #all], iterator_types = ["parallel", "parallel", "parallel"]}}
      ins(%s, %bias : !s, tensor<{n}x{t}>) outs(%e2 : !y) {{
  ^bb0(%a: f32, %b: {t}, %c: {t}):
    %b1 = arith.extf %b : {t} to f32
    %m = arith.addf %a, %b1 : f32
    %z = arith.constant 0.0 : f32
    %r = arith.maximumf %m, %z : f32
    %t = arith.truncf %r : f32 to {t}
    linalg.yield %t : {t}
  }} -> !y
  return %y : !y"""


@dataclass(frozen=True)
class Product:
    """Rows of `k` features times weights of `n` columns: `grouped` if every component has its own, `turned` if they
    lie as n x k; added to `%s0` or, with a bias, clipped at 0 and rounded to the inputs' type. Extents of -1 are
    dynamic."""

    dtype: str
    k: int
    n: int
    grouped: bool = True
    turned: bool = False
    bias: bool = False
    added: bool = False
    start: float = 0.0

    def text(self) -> str:
        """The program, of x, w and what else is added."""
        sizes = [str(e) if e >= 0 else "?" for e in (self.k, self.n)]
        own, letters = sizes[::-1] if self.turned else sizes, "nk" if self.turned else "kn"
        more = {"%bias": f"tensor<{sizes[1]}x{self.dtype}>"} if self.bias else {"%s0": "!s"} if self.added else {}
        text = _TEXT.format(
            w_map=", ".join(["b"] * self.grouped + list(letters)),
            w="x".join(["?"] * self.grouped + own),
            n_dim=int(self.grouped) + letters.index("n"),
            k=sizes[0],
            n=sizes[1],
            t=self.dtype,
            zero=self.start,
            init="%s0" if self.added else "%i",
            arguments="".join(f", {name}: {type_}" for name, type_ in more.items()),
            result="!y" if self.bias else "!s",
            following=_FOLLOWING.format(n=sizes[1], t=self.dtype) if self.bias else "  return %s : !s",
        )
        for line, name, given in re.findall(r"( *%(\w+) = arith.\w+ %(\w+) : f32 to f32\n)", text):
            text = re.sub(rf"%{name}\b", f"%{given}", text.replace(line, ""))
        return text
