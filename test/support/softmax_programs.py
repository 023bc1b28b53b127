"""A softmax over rows that reads one element type and computes in another."""

from __future__ import annotations

MIXED = (("f16", "f32"), ("bf16", "f32"), ("i8", "f32"), ("i8", "f64"), ("f32", "f64"), ("f64", "f32"))
"""Element types that are read and computed in."""

_LOWEST = {"f16": "0xFC00", "bf16": "0xFF80", "f32": "0xFF800000", "f64": "0xFFF0000000000000", "i8": "-128"}

_TEXT = """
#l = #ragged.layout<"dr|d">
#all = affine_map<(b, i, d) -> (b, i, d)>
#features = affine_map<(b, i, d) -> (b, d)>
!in = tensor<?x?x{width}x{given}, #l>
!out = tensor<?x?x{width}x{made}, #l>
!maxima = tensor<?x{width}x{given}>
!sums = tensor<?x{width}x{made}>
func.func @f(%values: !maxima, %offsets: tensor<?xi64>) -> !out {{
  %c0 = arith.constant 0 : index
  %lowest = arith.constant {lowest} : {given}
  %zero = arith.constant 0.0 : {made}
  %x = ragged.partition %values, %offsets {{dim = 0}} : (!maxima, tensor<?xi64>) -> !in
  %n = tensor.dim %x, %c0 : !in
  %m0 = tensor.empty(%n) : !maxima
  %m1 = linalg.fill ins(%lowest : {given}) outs(%m0 : !maxima) -> !maxima
  %max = linalg.reduce {{ {maximum} }} ins(%x : !in) outs(%m1 : !maxima) dimensions = [1]
  %p0 = ragged.empty %x : (!in) -> !out
  %p = linalg.generic {{indexing_maps = [#all, #features, #all], iterator_types = ["parallel", "parallel", "parallel"]}}
      ins(%x, %max : !in, !maxima) outs(%p0 : !out) {{
  ^bb0(%u: {given}, %m: {given}, %o: {made}):
    %u1 = {cast} %u : {given} to {made}
    %m2 = {cast} %m : {given} to {made}
    %d = arith.subf %u1, %m2 : {made}
    %r = math.exp %d : {made}
    linalg.yield %r : {made}
  }} -> !out
  %s0 = tensor.empty(%n) : !sums
  %s1 = linalg.fill ins(%zero : {made}) outs(%s0 : !sums) -> !sums
  %sum = linalg.reduce {{ arith.addf }} ins(%p : !out) outs(%s1 : !sums) dimensions = [1]
  %y0 = ragged.empty %x : (!in) -> !out
  %y = linalg.generic {{indexing_maps = [#all, #features, #all], iterator_types = ["parallel", "parallel", "parallel"]}}
      ins(%p, %sum : !out, !sums) outs(%y0 : !out) {{
  ^bb0(%u: {made}, %s: {made}, %o: {made}):
    %r = arith.divf %u, %s : {made}
    linalg.yield %r : {made}
  }} -> !out
  return %y : !out
}}
"""


def softmax_of(given: str, made: str, width: int) -> str:
    """The program for two element types and a number of features."""
    cast = "arith.sitofp" if given[0] == "i" else "arith.truncf" if (given, made) == ("f64", "f32") else "arith.extf"
    names = {"cast": cast, "lowest": _LOWEST[given], "maximum": "arith.max" + ("si" if given[0] == "i" else "imumf")}
    return _TEXT.format(given=given, made=made, width=width, **names)
