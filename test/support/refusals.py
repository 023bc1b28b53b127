"""Calls that have to be refused: an error of the project, of a kind that Python knows, with a text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

import ragged_dialect as rg

Refusal = tuple[Callable[..., Any], type[Exception], str]
"""A call, the kind of its error, and a part of the text."""


def refused(cases: Sequence[Refusal], *given: Callable[[], Any]) -> Callable[..., None]:
    """The test of some refusals; `given` make the arguments of the calls."""

    @pytest.mark.parametrize(("call", "kind", "text"), cases)
    def test(call: Callable[..., Any], kind: type[Exception], text: str) -> None:
        with pytest.raises(kind) as caught:
            call(*(make() for make in given))
        assert isinstance(caught.value, rg.RaggedError)
        assert text in str(caught.value)

    return test
