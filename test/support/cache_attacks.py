"""What is done to entries of the cache that must not be trusted."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

NOBODY = 65534
ROOT = os.geteuid() == 0
needs_root = pytest.mark.skipif(not ROOT, reason="needs root, to make files of another user")


def mode(bits: int) -> Callable[[Path], None]:
    """What sets the mode of a file."""
    return lambda path: path.chmod(bits)


def given_away(path: Path) -> None:
    """Let a file belong to another user."""
    os.chown(path, NOBODY, -1)


CHANGES: list[Any] = [
    pytest.param(".", mode(0o777), "other users can write to {}", id="folder for all"),
    pytest.param(".", mode(0o1777), "other users can write to {}", id="folder for all, sticky"),
    pytest.param(".", mode(0o770), "other users can write to {}", id="folder for a group"),
    pytest.param("..", mode(0o777), "other users can write to {}", id="folder above for all"),
    pytest.param("entry", mode(0o602), "other users can write to {}", id="file for all"),
    pytest.param("entry", mode(0o660), "other users can write to {}", id="file for a group"),
    pytest.param(".", given_away, f"{{}} belongs to user {NOBODY}", id="another's folder", marks=needs_root),
    pytest.param("..", given_away, f"{{}} belongs to user {NOBODY}", id="below another's folder", marks=needs_root),
    pytest.param("entry", given_away, f"{{}} belongs to user {NOBODY}", id="another's file", marks=needs_root),
]
FOREIGN = (b"{}", b"[]", b"1", b"", b"\xff", b"[" * 100_000, b'{"format": "ragged-dialect device program"}')
