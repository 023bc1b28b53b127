"""The status record on every target, files included: a failed check is the same error with the same text."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.c_program import NO_CC
from support.check_cases import KINDS, at
from support.gpu_artifacts import artifact
from support.gpu_programs import with_emulator
from support.structures import text_of

from ragged_dialect import compile
from ragged_dialect.artifacts.cpu_library import write
from ragged_dialect.checks import CHECK_KINDS, Check
from ragged_dialect.errors import RuntimeCheckError
from ragged_dialect.runtime.status import STATUS_ENTRIES, is_status, new_status, raise_failed

Fail = Callable[[Sequence[Any]], tuple[str, str]]
"""Class and text of the error of a call."""

Form = tuple[str, int, tuple[int, ...]]
FORMS: list[Form] = list({(kind, factor, tuple(map(np.ndim, given))): None for kind, given, factor, _ in KINDS})
TYPES = ("index", "tensor<?xi64>", "tensor<?x?xi64>")


def program() -> str:
    """One check per form, of which the first argument chooses one."""
    types, body = ["index"], list[str]()
    for number, (kind, factor, ranks) in enumerate(FORMS):
        names = ", ".join(f"%a{len(types) + k}" for k in range(len(ranks)))
        own = [TYPES[rank] for rank in ranks]
        extra = f", factor = {factor}" if CHECK_KINDS[kind].needs_factor else ""
        attributes = f'{{kind = "{kind}", op = "ragged.x", level = 1{extra}}}'
        body += [f"%n{number} = arith.constant {number} : index"]
        body += [f"%is{number} = arith.cmpi eq, %a0, %n{number} : index", f"scf.if %is{number} {{"]
        body += [f"ragged.assert_valid {names} {attributes} : ({', '.join(own)}) -> ()", "}"]
        types += own
    return text_of(types, body, [])


def arguments(form: Form, operands: Sequence[Any]) -> list[Any]:
    """The arguments that let one check have its operands, the others nothing."""
    given: list[Any] = [FORMS.index(form)]
    for other in FORMS:
        given += operands if other == form else [np.zeros((0,) * rank, np.int64) if rank else 0 for rank in other[2]]
    return [np.array(value, np.int64) if np.ndim(value) else value for value in given]


def raising(function: Callable[..., Any]) -> Fail:
    """The error of a function in Python."""

    def fail(given: Sequence[Any]) -> tuple[str, str]:
        with pytest.raises(Exception) as error:  # noqa: PT011
            function(*given)
        return type(error.value).__name__, str(error.value)

    return fail


def library(folder: Path) -> Fail:
    """The error of a C library, which has no classes: that of the kind."""
    write(program(), None, folder / "libf.so")
    loaded = ctypes.CDLL(str(folder / "libf.so"))
    loaded.f_error.restype = ctypes.c_char_p

    def fail(given: Sequence[Any]) -> tuple[str, str]:
        flat: list[Any] = []
        for value in given:
            sizes = np.shape(value)
            flat += [value.ctypes.data_as(ctypes.c_void_p) if sizes else ctypes.c_int64(value)]
            flat += map(ctypes.c_int64, sizes)
        assert loaded.f(*flat) == 1
        return CHECK_KINDS[FORMS[given[0]][0]].error.__name__, loaded.f_error().decode()

    return fail


TARGETS = [
    "cpu",
    "emulator",
    "ptx-emulator",
    "module",
    pytest.param("library", marks=pytest.mark.skipif(bool(NO_CC), reason="no cc")),
]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("target", TARGETS)
def test_every_target_raises_the_same(target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if target == "module":
        with_emulator(monkeypatch)
        fail = raising(artifact(tmp_path, program(), check="sync").f)
    else:
        fail = library(tmp_path) if target == "library" else raising(compile(program(), target=target))
    for kind, operands, factor, message in KINDS:
        form = (kind, factor, tuple(map(np.ndim, operands)))
        assert fail(arguments(form, operands)) == (CHECK_KINDS[kind].error.__name__, at(kind, message))


def test_the_record() -> None:
    record = new_status()
    assert is_status(record)
    assert record.nbytes == STATUS_ENTRIES * 8
    checks = [Check("equal", "ragged.x", 1), Check("index", "ragged.y", 2)]
    raise_failed(checks, record.tolist())
    with pytest.raises(RuntimeCheckError, match=r"ragged.y: level 2, component 3: expected index in \[0, 4\), got 5"):
        raise_failed(checks, [2, 0, 3, 5, 4])
    assert not is_status(record[1:])
    assert not is_status(0)
