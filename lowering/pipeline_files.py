"""Pipelines as JSON: stages by name, each with its passes in order.

{"stages": [{"name": "ragged", "passes": ["ragged-canonicalize", "func.func(cse)"]}]}
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import cast

from ragged_dialect.asm.files import read_file, reason
from ragged_dialect.errors import PassError
from ragged_dialect.lowering.stage import Stage
from ragged_dialect.passes.pipeline import running

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_SELF = re.compile(r"\bragged-file-pipeline\b")


def written(passes: Iterable[running.Stage]) -> str:
    """The file of a pipeline; a pass that belongs to no stage is one of its own name."""
    stages = [
        {"name": name, "passes": [_kept(str(one)) for one in group]}
        for name, group in groupby(passes, key=lambda one: one.part or one.name)
    ]
    return json.dumps({"stages": stages}, indent=2) + "\n"


def _kept(text: str) -> str:
    """A pass below the ops that it runs on: text as a whole may have a module around it, which reading drops."""
    return f"{running.MODULE}({text})" if text.startswith((f"{running.MODULE}(", "any(")) else text


def file_pipeline(file: str) -> tuple[Stage, ...]:
    """The passes of a file (`ragged-file-pipeline`), each a part of the stage it is listed in. PassError, with the
    line, for a file that is no pipeline."""
    try:
        text = read_file(file).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise PassError(f"{file}: error: expected a pipeline file, got {reason(error)}") from None
    try:
        data = json.loads(text, object_pairs_hook=_Pairs, parse_int=_integer)
    except json.JSONDecodeError as error:
        raise PassError(f"{file}:{error.lineno}:{error.colno}: error: expected JSON, got {error.msg}") from None
    except RecursionError:
        raise PassError(f"{file}: error: expected a pipeline file, got JSON that is nested too deep") from None
    return tuple(_Reader(file, text).stages(data))


class _Pairs(list[tuple[str, object]]):
    """The members of an object in the order of the text."""


class _Reader:
    """Reads a file's data, and follows in its text, for the lines."""

    def __init__(self, file: str, text: str) -> None:
        self.file, self.text = file, text
        self.strings = _STRING.finditer(text)
        self.place = f"{file}:1"

    def stages(self, data: object) -> Iterator[Stage]:
        """The passes, in order."""
        ((_, stages),) = self._members(data, "the file", ("stages",))
        for stage in self._list(stages, "stages"):
            name, passes = "", []
            for key, value in self._members(stage, "a stage", ("name", "passes")):
                if key == "name":
                    name = self._string(value, "a name")
                else:
                    passes = [self._pass(one) for one in self._list(value, "passes")]
            yield from (Stage(name, text, place) for text, place in passes)

    def _members(self, data: object, what: str, names: tuple[str, ...]) -> Iterator[tuple[str, object]]:
        if not isinstance(data, _Pairs):
            raise self._error(f"expected an object for {what}, got {_shown(data)}")
        got = [name for name, _ in data]
        for name, value in data:
            self._string(name, "a name")
            if name not in names or got.count(name) > 1:
                raise self._error(f"expected {' and '.join(map(repr, names))} once each in {what}, got '{name}'")
            yield name, value
        for name in names:
            if name not in got:
                raise self._error(f"expected '{name}' in {what}")

    def _list(self, data: object, what: str) -> list[object]:
        if not isinstance(data, list) or isinstance(data, _Pairs):
            raise self._error(f"expected a list of {what}, got {_shown(data)}")
        return cast("list[object]", data)

    def _string(self, data: object, what: str) -> str:
        if not isinstance(data, str) or not data:
            raise self._error(f"expected {what}, got {_shown(data)}")
        self._move_to(data)
        try:
            data.encode()
        except UnicodeEncodeError:
            raise self._error(f"expected {what} in UTF-8, got {_shown(data)}") from None
        return data

    def _move_to(self, data: str) -> None:
        """Go on to a string in the text."""
        for found in self.strings:
            if json.loads(found.group(), strict=False) == data:
                self.place = f"{self.file}:{self.text.count(chr(10), 0, found.start()) + 1}"
                break

    def _pass(self, data: object) -> tuple[str, str]:
        text = self._string(data, "a pass")
        if _SELF.search(text):
            raise self._error(f"expected passes, got a pipeline of a file in a file: '{text}'")
        return text, self.place

    def _error(self, message: str) -> PassError:
        return PassError(f"{self.place}: error: {message}")


def _integer(text: str) -> int:
    """A number, which is none of a pipeline: Python reads none of thousands of digits, and errors show some."""
    return int(text[:40])


def _shown(data: object) -> str:
    return "an object" if isinstance(data, _Pairs) else json.dumps(data)[:40]
