"""A small subset of Python, compiled to LLVM IR.

The scheduler and the checks of the emulator must run at machine speed, and users have no C
compiler. They are written as plain Python functions over 64-bit words; this module translates them.

The subset: functions over `int` and `Struct` parameters; `if`, `while`, `for … in range(…)`,
`break`, `continue`, `return`; assignment to names and fields; calls of each other and of `words.py`.
All integers are unsigned and wrap at 64 bits, also where `/` `%` `>>` and comparisons look at them.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from ragged_dialect.emulator.words import DECLARATIONS, INSTRUCTIONS, Struct

_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.FloorDiv: "udiv",
    ast.Mod: "urem",
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.BitXor: "xor",
    ast.LShift: "shl",
    ast.RShift: "lshr",
}
_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Lt: "ult",
    ast.LtE: "ule",
    ast.Gt: "ugt",
    ast.GtE: "uge",
}
_Type = type[Struct] | None


def compile_modules(modules: Sequence[ModuleType], exports: Sequence[str]) -> str:
    """LLVM IR of all functions of the modules; those in `exports` are visible outside.

    Raises NotImplementedError for what the subset does not have.
    """
    texts = [DECLARATIONS]
    for module in modules:
        tree = ast.parse(inspect.getsource(module))
        functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
        texts += [_Function(node, vars(module), node.name in exports).text for node in functions]
    return "\n".join(texts)


class _Function:
    """The translation of one function: every variable is a stack slot, which LLVM turns into
    registers."""

    def __init__(self, node: ast.FunctionDef, names: Mapping[str, Any], exported: bool) -> None:
        self._names = names
        self._types: dict[str, _Type] = {}
        self._slots: list[str] = []
        self._lines: list[str] = []
        self._loops: list[tuple[str, str]] = []
        self._count = 0
        self._returns = not (isinstance(node.returns, ast.Constant) and node.returns.value is None)
        parameters = [argument.arg for argument in node.args.args]
        for argument in node.args.args:
            self._assign(argument.arg, f"%{argument.arg}", self._annotated(argument.annotation))
        self._block(node.body)
        self._lines.append("unreachable" if self._returns else "ret void")
        kind = "i64" if self._returns else "void"
        head = f"define {'' if exported else 'internal '}{kind} @{node.name}("
        head += ", ".join(f"i64 %{name}" for name in parameters) + ") nounwind {"
        self.text = "\n".join([head, "entry:", *self._slots, *self._lines, "}"])

    def _annotated(self, annotation: ast.expr | None) -> _Type:
        found = self._names.get(annotation.id) if isinstance(annotation, ast.Name) else None
        return found if isinstance(found, type) and issubclass(found, Struct) else None

    def _fresh(self, hint: str) -> str:
        self._count += 1
        return f"{hint}.{self._count}"

    def _emit(self, operation: str) -> str:
        result = self._fresh("%v")
        self._lines.append(f"{result} = {operation}")
        return result

    def _label(self, label: str) -> None:
        self._lines += [f"br label %{label}", f"{label}:"]

    def _assign(self, name: str, value: str, kind: _Type) -> None:
        if name not in self._types:
            self._slots.append(f"%{name}.slot = alloca i64")
            self._types[name] = kind
        self._lines.append(f"store i64 {value}, ptr %{name}.slot")

    def _block(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Expr(ast.Constant()) | ast.Pass():
                pass
            case ast.Expr(call):
                self._value(call)
            case ast.Assign([target], value):
                self._store(target, *self._value(value))
            case ast.AugAssign(target, operator, value):
                self._store(target, *self._value(ast.BinOp(_as_load(target), operator, value)))
            case ast.If(test, body, orelse):
                self._if(test, body, orelse)
            case ast.While(test, body, []):
                self._while(test, body)
            case ast.For(ast.Name(name), ast.Call(ast.Name("range"), bounds), body, []):
                self._for(name, bounds, body)
            case ast.Return(value):
                self._jump(f"ret i64 {self._value(value)[0]}" if value else "ret void")
            case ast.Break():
                self._jump(f"br label %{self._loops[-1][1]}")
            case ast.Continue():
                self._jump(f"br label %{self._loops[-1][0]}")
            case _:
                raise NotImplementedError(ast.unparse(node))

    def _jump(self, terminator: str) -> None:
        self._lines += [terminator, f"{self._fresh('after')}:"]

    def _store(self, target: ast.expr, value: str, kind: _Type) -> None:
        if isinstance(target, ast.Name):
            self._assign(target.id, value, kind)
        elif isinstance(target, ast.Attribute):
            self._lines.append(f"store i64 {value}, ptr {self._field(target)}")
        else:
            raise NotImplementedError(ast.unparse(target))

    def _if(self, test: ast.expr, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt]) -> None:
        then, other, end = self._fresh("then"), self._fresh("else"), self._fresh("end")
        self._branch(test, then, other)
        self._lines.append(f"{then}:")
        self._block(body)
        self._lines += [f"br label %{end}", f"{other}:"]
        self._block(orelse)
        self._label(end)

    def _while(self, test: ast.expr, body: Sequence[ast.stmt]) -> None:
        head, inside, end = self._fresh("head"), self._fresh("body"), self._fresh("end")
        self._label(head)
        self._branch(test, inside, end)
        self._lines.append(f"{inside}:")
        self._loops.append((head, end))
        self._block(body)
        self._loops.pop()
        self._lines += [f"br label %{head}", f"{end}:"]

    def _for(self, name: str, bounds: Sequence[ast.expr], body: Sequence[ast.stmt]) -> None:
        start = self._value(bounds[0])[0] if len(bounds) > 1 else "0"
        stop = self._value(bounds[-1])[0]
        head, inside, step, end = (self._fresh(hint) for hint in ("head", "body", "step", "end"))
        self._assign(name, start, None)
        self._label(head)
        test = self._emit(f"icmp ult i64 {self._name(name)[0]}, {stop}")
        self._lines += [f"br i1 {test}, label %{inside}, label %{end}", f"{inside}:"]
        self._loops.append((step, end))
        self._block(body)
        self._loops.pop()
        self._label(step)
        self._assign(name, self._emit(f"add i64 {self._name(name)[0]}, 1"), None)
        self._lines += [f"br label %{head}", f"{end}:"]

    def _branch(self, test: ast.expr, then: str, other: str) -> None:
        """Jump to `then` where the test holds, else to `other`; `and` and `or` stop early."""
        match test:
            case ast.BoolOp(operator, values):
                for value in values[:-1]:
                    following = self._fresh("next")
                    stops = isinstance(operator, ast.Or)
                    self._branch(value, then if stops else following, following if stops else other)
                    self._lines.append(f"{following}:")
                self._branch(values[-1], then, other)
            case ast.UnaryOp(ast.Not(), operand):
                self._branch(operand, other, then)
            case _:
                self._lines.append(f"br i1 {self._condition(test)}, label %{then}, label %{other}")

    def _condition(self, test: ast.expr) -> str:
        match test:
            case ast.Compare(left, [operator], [right]):
                operands = f"{self._value(left)[0]}, {self._value(right)[0]}"
                return self._emit(f"icmp {_COMPARE[type(operator)]} i64 {operands}")
            case _:
                return self._emit(f"icmp ne i64 {self._value(test)[0]}, 0")

    def _value(self, node: ast.expr) -> tuple[str, _Type]:
        match node:
            case ast.Constant(int(number)):
                return _literal(number), None
            case ast.Name(name):
                return self._name(name)
            case ast.Attribute(ast.Name(name), "stride") if isinstance(self._names.get(name), type):
                return _literal(self._names[name].stride), None
            case ast.Attribute():
                return self._emit(f"load i64, ptr {self._field(node)}"), None
            case ast.BinOp(left, operator, right):
                operands = f"{self._value(left)[0]}, {self._value(right)[0]}"
                return self._emit(f"{_BINARY[type(operator)]} i64 {operands}"), None
            case ast.UnaryOp(ast.Invert(), operand):
                return self._emit(f"xor i64 {self._value(operand)[0]}, -1"), None
            case ast.Compare():
                return self._emit(f"zext i1 {self._condition(node)} to i64"), None
            case ast.IfExp(test, then, other):
                chosen = f"i64 {self._value(then)[0]}, i64 {self._value(other)[0]}"
                return self._emit(f"select i1 {self._condition(test)}, {chosen}"), None
            case ast.Call(ast.Name(name), arguments, []):
                return self._call(name, [self._value(argument)[0] for argument in arguments])
            case _:
                raise NotImplementedError(ast.unparse(node))

    def _name(self, name: str) -> tuple[str, _Type]:
        if name in self._types:
            return self._emit(f"load i64, ptr %{name}.slot"), self._types[name]
        return _literal(self._names[name]), None

    def _field(self, node: ast.Attribute) -> str:
        base, kind = self._value(node.value)
        if kind is None:
            raise NotImplementedError(ast.unparse(node))
        pointer = self._emit(f"inttoptr i64 {base} to ptr")
        return self._emit(f"getelementptr i8, ptr {pointer}, i64 {kind.offset(node.attr)}")

    def _call(self, name: str, arguments: Sequence[str]) -> tuple[str, _Type]:
        callee = self._names[name]
        if isinstance(callee, type):
            return arguments[0], callee
        if name in INSTRUCTIONS:
            result = self._fresh("%v")
            self._lines.append(INSTRUCTIONS[name].format(*arguments, r=result))
            return result, None
        call = f"@{name}({', '.join(f'i64 {argument}' for argument in arguments)})"
        if callee.__annotations__["return"] == "None":
            self._lines.append(f"call void {call}")
            return "undef", None
        return self._emit(f"call i64 {call}"), None


def _literal(number: int) -> str:
    return str(number - (1 << 64) if number >> 63 > 0 else number)


def _as_load(target: ast.expr) -> ast.expr:
    return ast.Name(target.id, ast.Load()) if isinstance(target, ast.Name) else target
