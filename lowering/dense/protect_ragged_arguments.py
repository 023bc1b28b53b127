"""`protect-ragged-arguments`: arguments of entry functions are never written."""

from __future__ import annotations

from ragged_dialect._mlir import ir
from ragged_dialect.ir.functions import functions_of
from ragged_dialect.passes.base import RaggedPass
from ragged_dialect.types import is_tensor


class ProtectRaggedArguments(RaggedPass):
    """Tell bufferization that the arguments of public functions belong to the caller.

    ```mlir
    func.func @f(%x: tensor<?xf32>, …)
    // becomes
    func.func @f(%x: tensor<?xf32> {bufferization.writable = false}, …)
    ```

    An op whose `outs` is an argument then works on a copy. Precondition: no ragged types left.
    """

    def run(self, op: ir.Operation) -> None:
        """Mark the arguments of every public function of a module."""
        for function in functions_of(op).values():
            if "sym_visibility" not in function.attributes:
                _protect(function)


def _protect(function: ir.Operation) -> None:
    types = ir.TypeAttr(function.attributes["function_type"]).value.inputs
    given = list(function.attributes["arg_attrs"]) if "arg_attrs" in function.attributes else [None] * len(types)
    marked: list[ir.DictAttr] = []
    for type_, attr in zip(types, given, strict=True):
        known = {} if attr is None else {a.name: a.attr for a in ir.DictAttr(attr)}
        if is_tensor(type_):
            known["bufferization.writable"] = ir.BoolAttr.get(False)
        marked.append(ir.DictAttr.get(known))
    if marked:
        function.attributes["arg_attrs"] = ir.ArrayAttr.get(marked)
