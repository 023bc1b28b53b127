"""Generated host programs as functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ragged_dialect.runtime import host_numbers
from ragged_dialect.runtime.program import Run


def load_host_program(source: str) -> Callable[[Any], Run]:
    """The `bind` of a host program's source."""
    namespace: dict[str, Any] = {**vars(host_numbers)}
    if "bfloat16" in source:
        from ml_dtypes import bfloat16  # start-up time

        namespace["bfloat16"] = bfloat16
    exec(compile(source, "<host program>", "exec"), namespace)
    return namespace["bind"]
