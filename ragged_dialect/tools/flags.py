"""How flags are declared: as fields of dataclasses, a class for every group. What a field tells of its flag is all
there is: the command line, `--help` and `docs/flags.md` are made of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Any, NamedTuple, cast

from ragged_dialect.errors import RaggedError

BINDINGS, OWN, STOCK = "bindings", "own code", "torch-mlir-opt"
_DIGITS = 9  # 32 bits
_BOOLS = {"": True, "1": True, "true": True, "0": False, "false": False}


class Flag(NamedTuple):
    """A flag; `metavar` stands for its value, which may be left out where there is an `implied` one. `also` is
    another name. It is tried with `value` and what it `needs`, where `{out}` is a path and other words in braces are
    inputs (`docs/generate_flags.py`); `silent` says that there is nothing to see."""

    name: str
    help: str
    served: str = OWN
    metavar: str = ""
    choices: tuple[str, ...] = ()
    implied: str | None = None
    also: str = ""
    value: str = ""
    needs: str = ""
    silent: bool = False

    @property
    def usage(self) -> str:
        """The flag as `--help` has it."""
        value = "|".join(self.choices) or self.metavar
        shown = f"[={value}]" if value and self.implied is not None else f"={value}" if value else ""
        return self.name + shown + (f", {self.also}" if self.also else "")

    @property
    def example(self) -> str:
        """The flag with a value."""
        value = self.value or "".join(self.choices[-1:])
        return f"{self.name}={value}" if value else self.name


def flag(
    name: str,
    help: str,
    served: str = OWN,
    *,
    default: object = False,
    metavar: str = "",
    choices: tuple[str, ...] = (),
    implied: str | None = None,
    also: str = "",
    value: str = "",
    needs: str = "",
    silent: bool = False,
) -> Any:
    """A field for a flag. The default tells how its value is read: a bool (`--x`, `--x=false`; where it is True also
    `--no-x`), an int, a tuple of what commas divide, or text, for which the default may be None."""
    implied = "true" if isinstance(default, bool) else implied
    made = Flag(name, help, served, metavar, choices, implied, also, value, needs, silent)
    return field(default=default, metadata={"flag": made})


def require_utf8(name: str, text: str) -> None:
    """RaggedError for what is given to a flag as bytes that are not UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise RaggedError(f"expected UTF-8 for '{name}', got {text!r}") from None


class Known(NamedTuple):
    """A flag and where its value is kept: the group's class and the field."""

    flag: Flag
    group: type
    field: dataclasses.Field[object]

    def read(self, text: str | None, before: object) -> object:
        """The value that a text means. RaggedError when it means none."""
        flag, kind = self.flag, self.field.default
        if text is None:
            text = flag.implied
        if text is None:
            raise RaggedError(f"expected a value for '{flag.name}', got none")
        if flag.metavar not in ("FILE", "DIR"):  # the names of files are bytes
            require_utf8(flag.name, text)
        if not text and flag.metavar in ("FILE", "MODULE"):
            raise RaggedError(f"expected a {flag.metavar.lower()} for '{flag.name}', got an empty name")
        if not text and kind is None and flag.implied is None and flag.metavar == "DIR":
            return None  # as in mlir-opt
        if flag.choices and text not in flag.choices:
            raise RaggedError(f"expected one of {', '.join(flag.choices)} for '{flag.name}', got '{text}'")
        if isinstance(kind, bool) or self.field.type == "bool | None":
            return self._bool(text)
        if "int" in str(self.field.type):
            return self._int(text)
        return (*cast("tuple[str, ...]", before), *text.split(",")) if isinstance(before, tuple) else text

    def _bool(self, text: str) -> bool:
        if text not in _BOOLS:
            raise RaggedError(f"expected true or false for '{self.flag.name}', got '{text}'")
        return _BOOLS[text]

    def _int(self, text: str) -> int:
        if not text.isascii() or not text.isdigit() or len(text) > _DIGITS:
            raise RaggedError(f"expected a number of at most {_DIGITS} digits for '{self.flag.name}', got '{text}'")
        return int(text)


def known(groups: Sequence[type]) -> dict[str, Known]:
    """The flags of groups by their names."""
    found: dict[str, Known] = {}
    for one in _all(groups):
        found[one.flag.name] = one
        if one.flag.also:
            found[one.flag.also] = one
    return found


def _all(groups: Sequence[type]) -> Iterator[Known]:
    for group in groups:
        for kept in dataclasses.fields(group):
            if "flag" in kept.metadata:
                yield Known(kept.metadata["flag"], group, kept)


def written(group: object) -> list[tuple[Flag, str]]:
    """The flags of a group's instance that are not at their defaults, with what sets them."""
    found: list[tuple[Flag, str]] = []
    for one in _all([type(group)]):
        value = getattr(group, one.field.name)
        if value != one.field.default:
            found.append((one.flag, one.flag.name if value is True else f"{one.flag.name}={value}"))
    return found
