"""Names of a PTX text and their scopes (PTX ISA 4.4): what is declared inside of `{}` hides its namesakes outside."""

from __future__ import annotations

import re
from collections.abc import Collection

from ragged_dialect.errors import EmulatorError

_NAME = re.compile(r"(?<![\w$%.])%?[A-Za-z_$][\w$]*")
_GIVEN = re.compile(r"\([^()]*\)")


class Names:
    """The scopes that are open: what each name stands for there, which no other scope has. Of `%r<9>` that is `%r`, and
    how many there are."""

    def __init__(self) -> None:
        self._scopes: list[dict[str, tuple[str, int]]] = [{}]
        self._taken: set[str] = set()
        self._renamed = 0
        self._differs = False

    def enter(self) -> None:
        """Begin a scope."""
        self._scopes.append({})

    def leave(self) -> bool:
        """End one; whether it was inside of another one of a kernel or function."""
        self._scopes.pop()
        self._differs = any(name != found for scope in self._scopes for name, (found, _) in scope.items())
        return len(self._scopes) > 1

    def code(self, name: str) -> None:
        """Take the name of a kernel or function."""
        if name in self._taken:
            raise EmulatorError(f"expected kernels and functions of names of their own, got {name} twice")
        self._taken.add(name)

    def variable(self, name: str) -> str:
        """Declare a variable or parameter: its name in all of the text."""
        found = self._declare(name, 0, self._taken)
        self._taken.add(found)
        return found

    def register(self, name: str, count: int, taken: Collection[str]) -> str:
        """Declare a register, or so many: its name in all of the kernel. One of an inner scope has another one than it
        was given, so that it means nothing outside."""
        return self._declare(name, count, {*taken, name} if len(self._scopes) > 2 else taken)

    def resolved(self, opcode: str, text: str) -> str:
        """Operands with the names that what they name has in all of the kernel; those of labels and functions are their
        own."""
        if opcode == "bra" or not self._differs:
            return text
        if opcode == "call":
            return _GIVEN.sub(lambda given: _NAME.sub(self._resolved, given[0]), text)
        return _NAME.sub(self._resolved, text)

    def _resolved(self, match: re.Match[str]) -> str:
        name = match[0]
        prefix = name.rstrip("0123456789")
        for scope in reversed(self._scopes):
            if name in scope and not scope[name][1]:
                return scope[name][0]
            found, count = scope.get(prefix, ("", 0))
            if prefix != name and int(name[len(prefix) :]) < count:
                return found + name[len(prefix) :]
        return name

    def _declare(self, name: str, count: int, taken: Collection[str]) -> str:
        if name in self._scopes[-1]:
            raise EmulatorError(f"expected names of their own in a scope, got {name} twice")
        found = name
        while found in taken:
            self._renamed += 1
            found = f"{name}_{self._renamed}_" if count else f"{name}_{self._renamed}"
        self._scopes[-1][name] = (found, count)
        self._differs = self._differs or name != found
        return found
