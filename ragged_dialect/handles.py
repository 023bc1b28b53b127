"""The bindings' own methods, with the checks that they leave out. They read and write where they are told to, and a
handle is a pointer: what a Python program gets wrong would read freed memory, or never end."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, TypeAlias

from ragged_dialect import erasing
from ragged_dialect.errors import kind_of

if TYPE_CHECKING:
    from ragged_dialect._mlir import Op, ir

_New: TypeAlias = "Op | Sequence[ir.Value]"
"""What comes in place of an op."""
_Visit: TypeAlias = "Callable[[ir.Operation], ir.WalkResult]"


def check(ir: ModuleType, library: ModuleType) -> None:
    """Put the checks before the methods of `ir` and of its extension module."""
    operation = ir.Operation.__mro__[1]
    operation.__hash__ = _hash_of()
    operation.erase = _erase_of(operation.erase)
    operation.detach_from_parent = _detach_of(operation.detach_from_parent)
    operation.move_before = _move_of(operation.move_before, _beside)
    operation.move_after = _move_of(operation.move_after, _beside)
    _walks.append(operation.walk)
    operation.walk = _walk_of(ir, operation.walk)
    ir.Block.append = _move_of(ir.Block.append, _appended)
    ir.Block.erase_argument = _after(_check_argument, ir.Block.erase_argument)
    ir.InsertionPoint.insert = _move_of(ir.InsertionPoint.insert, _inserted)
    ir.InsertionPoint.__enter__ = _after(erasing.check_place, ir.InsertionPoint.__enter__)
    ir.Value.replace_all_uses_with = _after(_check_replaced, ir.Value.replace_all_uses_with)
    ir.Value.replace_all_uses_except = _after(_require_value, ir.Value.replace_all_uses_except)
    ir.Operation.replace_uses_of_with = _after(_check_own, ir.Operation.replace_uses_of_with)
    for items in (library.ir.OpOperandList, library.ir.OpSuccessors):
        items.__setitem__ = _set_item_of(items.__setitem__)
    ir.SymbolTable.erase = ir.SymbolTable.__delitem__ = _erase_symbol_of(ir.SymbolTable.erase)
    setattr(ir, "SymbolTable", _symbol_table(ir.SymbolTable))
    ir.Location.emit_error = _emit_error_of(ir.Location.emit_error)
    greedy, converting = library.rewrite.PatternRewriter, library.rewrite.ConversionPatternRewriter
    converting.erase_op = greedy.erase_op  # in a conversion, uses are replaced or erased later
    greedy.erase_op = _after(_check_erased, greedy.erase_op)
    for rewriter in (greedy, converting):
        rewriter.replace_op = _after(_check_results, rewriter.replace_op)
    converter = library.rewrite.TypeConverter
    converter.add_conversion = _after(_keep, converter.add_conversion)


def _after(check: Callable[..., object], method: Callable[..., object]) -> Callable[..., object]:
    """A method that runs after a check of its arguments, which names them as the method does."""

    def checked(*given: object, **named: object) -> object:
        check(*given, **named)
        return method(*(inspect.signature(check).bind(*given, **named).args if named else given))

    return checked


def _hash_of() -> Callable[[Op], int]:
    """The bindings' hash of an op is that of its operands and attributes: sets do not find what has changed since. This
    one is of the pointer, as `==` is."""
    import ctypes

    library, names = ctypes.PyDLL(None), list[bytes]()
    pointer, name = library.PyCapsule_GetPointer, library.PyCapsule_GetName
    pointer.restype, pointer.argtypes = ctypes.c_size_t, [ctypes.py_object, ctypes.c_char_p]
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]

    def hashed(self: Op) -> int:
        capsule = self._CAPIPtr  # pyright: ignore[reportPrivateUsage]
        if not names:  # one for all, of the package that provides the bindings
            names.append(name(capsule))
        return pointer(capsule, names[0]) >> 4

    return hashed


def _erase_of(erase: Callable[[ir.Operation], None]) -> Callable[[Op], None]:
    """Erasing what is still used leaves users that read freed memory, and so does erasing what a pass runs on."""

    def checked(self: Op) -> None:
        op = self.operation
        erasing.check_erased(op)
        if erasing.buried(op):
            op._set_invalid()
        else:
            erase(op)

    return checked


def _detach_of(detach: Callable[[ir.Operation], ir.OpView]) -> Callable[[Op], ir.OpView]:
    def checked(self: Op) -> ir.OpView:
        op = self.operation
        erasing.check_detached(op)
        found = detach(op)
        erasing.keep_detached(op)
        return found

    return checked


def _beside(op: Op, other: Op) -> tuple[Op, ir.Block]:
    for one in (op.operation, other.operation):
        if erasing.parent_of(one) is None:
            raise ValueError(f"expected ops that are in a block, got '{one.name}', which is in none")
    return op, other.operation.block


def _appended(block: ir.Block, op: Op) -> tuple[Op, ir.Block]:
    return op, block


def _inserted(at: ir.InsertionPoint, op: Op) -> tuple[Op, ir.Block]:
    return op, at.block


def _move_of(
    move: Callable[[object, object], None], place: Callable[..., tuple[Op, ir.Block]]
) -> Callable[[object, object], None]:
    """What puts an op into a block, as `place` finds them among two arguments."""

    def checked(self: object, *given: object, **named: object) -> None:
        (other,) = (*given, *named.values())
        op, block = place(self, other)
        erasing.check_moved(op.operation, block)
        move(self, other)
        erasing.let_go(op.operation)

    return checked


def _symbol_table(base: type[ir.SymbolTable]) -> type[ir.SymbolTable]:
    """The bindings' `insert` leaves an op to its handle, which destroys it where it is."""

    class SymbolTable(base):
        """Symbols of an op by name."""

        def __init__(self, op: Op) -> None:
            super().__init__(op.operation)
            self._body = op.operation.regions[0].blocks[0]

        def insert(self, operation: Op) -> ir.StringAttr:  # pyright: ignore[reportIncompatibleMethodOverride]
            """Put an op into the table's, with another name where there is one of its."""
            if erasing.parent_of(operation.operation) is None:
                self._body.append(operation.operation)
            return super().insert(operation.operation)

    return SymbolTable


def _check_replaced(value: ir.Value, by: ir.Value) -> None:
    """A use that is taken from a value and given to it again is the next one, for ever."""
    _require_value(value, by)
    if value == by:
        raise ValueError(f"expected another value in place of {value.get_name()}, got itself")


def _check_own(_: Op, of: ir.Value, with_: ir.Value) -> None:
    _require_value(of, with_)


def _require_value(old: ir.Value, with_: ir.Value, exceptions: object = None) -> None:
    if (other := erasing.no_value(with_)) is not None:
        raise TypeError(f"expected a value of a program in place of {old.get_name()}, got {other}")


def _check_argument(block: ir.Block, index: int) -> None:
    if not 0 <= index < len(block.arguments):
        raise IndexError(f"expected an argument below {len(block.arguments)}, got {index}")
    if next(block.arguments[index].uses, None) is not None:
        raise ValueError(f"expected an argument that has no uses, got argument {index} to erase")


def _emit_error_of(emit: Callable[[ir.Location, str], None]) -> Callable[[ir.Location, str], None]:
    """The bindings take no text that UTF-8 does not have, as of exceptions of plug-ins about names of files, and
    end one at a NUL, as strings of programs may have."""

    def emit_error(self: ir.Location, message: str) -> None:
        emit(self, message.encode(errors="backslashreplace").decode().replace("\0", r"\00"))

    return emit_error


def _set_item_of(put: Callable[[object, int, object], None]) -> Callable[[Sequence[object], int, object], None]:
    """MLIR writes behind the last operand, or before the first, without a look."""

    def checked(self: Sequence[object], index: int, item: object) -> None:
        if not -len(self) <= index < len(self):
            raise IndexError(f"expected an index below {len(self)}, got {index}")
        put(self, index if index >= 0 else index + len(self), item)

    return checked


def _erase_symbol_of(erase: Callable[[ir.SymbolTable, Op], None]) -> Callable[[ir.SymbolTable, Op | str], None]:
    """The bindings erase what has uses, and what passes are running on."""

    def checked(self: ir.SymbolTable, operation: Op | str) -> None:
        op = self[operation] if isinstance(operation, str) else operation
        erasing.check_erased(op.operation)
        erase(self, op.operation)

    return checked


def _walk_of(ir: ModuleType, walk: Callable[..., None]) -> Callable[..., None]:
    """What a callback raises comes out as it is, and not as the text of its traceback. MLIR has the next op in hand
    when it calls; code of a plug-in may erase that, and is called for the ops that are left."""

    def checked(
        self: Op,
        callback: _Visit,
        walk_order: ir.WalkOrder = ir.WalkOrder.POST_ORDER,
        op_class: type[ir.OpView] | None = None,
    ) -> None:
        raised: list[BaseException] = []
        result, advance, interrupt = ir.WalkResult, ir.WalkResult.ADVANCE, ir.WalkResult.INTERRUPT

        def kept(op: ir.Operation) -> ir.WalkResult:  # of every op, in most passes: one call, and few lookups
            try:
                found = callback(op) if op_class is None or isinstance(op.opview, op_class) else advance
                if isinstance(found, result):
                    return found
                raise TypeError(f"expected a WalkResult from a callback of walk, got {kind_of(found)}")
            except BaseException as error:
                raised.append(error)
                return interrupt

        if erasing.is_foreign():
            _visit(ir, self.operation, kept, walk_order == ir.WalkOrder.PRE_ORDER)
        else:
            try:
                walk(self.operation, kept, walk_order)
            except RuntimeError as error:  # Ctrl-C where the callback is called but not in its `try` yet
                raise KeyboardInterrupt if "KeyboardInterrupt" in str(error) else error from None
        if raised:
            raise raised[0]

    return checked


_walks: list[Callable[..., None]] = []
"""The bindings' own `walk`."""


def visit_all(op: ir.Operation, visit: _Visit, order: ir.WalkOrder) -> None:
    """`walk` with a callback of our own that raises nothing and gives a WalkResult: most of what passes do, so no other
    call is around it."""
    try:
        _walks[0](op, visit, order)
    except RuntimeError as error:
        if "KeyboardInterrupt" in str(error):  # one in the callback comes out as text
            raise KeyboardInterrupt from None
        raise


def _visit(ir: ModuleType, op: ir.Operation, callback: _Visit, first: bool) -> ir.WalkResult:
    """Walk over the ops that were there when a block was begun, and still are."""
    go_on, stop = ir.WalkResult.ADVANCE, ir.WalkResult.INTERRUPT
    found = callback(op) if first else go_on
    if found != go_on or erasing.is_buried(op):
        return found
    for region in op.regions:
        for block in region.blocks:
            for inner in [one.operation for one in block.operations]:
                if not erasing.is_buried(inner) and _visit(ir, inner, callback, first) == stop:
                    return stop
    return go_on if first else callback(op)


def _check_erased(_: object, op: Op) -> None:
    erasing.check_erased(op.operation)


def _check_results(_: object, op: Op, by: _New) -> None:
    """MLIR reads as many values as the op has results, whether they are there or not."""
    results = by if isinstance(by, Sequence) else by.operation.results
    if any(result in op.operation.results for result in results):
        raise ValueError(f"expected other values in place of the results of '{op.operation.name}', got its own")
    wanted = len(op.operation.results)
    if len(results) != wanted:
        raise ValueError(f"expected {wanted} values for '{op.operation.name}', got {len(results)}")
    for old, new in zip(op.operation.results, results, strict=True):
        _require_value(old, new)


_conversions: list[object] = []


def _keep(_: object, convert: object) -> None:
    """The bindings keep no reference to the function, which may be a lambda that nobody else has. It is kept for good:
    a TypeConverter takes neither attributes nor weak references."""
    _conversions.append(convert)
