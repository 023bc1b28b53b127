"""The pages that are generated are up to date."""

from __future__ import annotations

import re
import subprocess
import sys

import ragged_dialect as rg
from conftest import ROOT


def test_passes_are_documented_as_they_are() -> None:
    command = [sys.executable, "docs/generate_passes.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_ops_are_documented_as_they_are() -> None:
    command = [sys.executable, "docs/generate_ops.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_public_names_are_documented_as_they_are() -> None:
    command = [sys.executable, "docs/generate_api.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    text = (ROOT / "docs" / "api.md").read_text()
    names = {name for name in dir(rg) if callable(getattr(rg, name)) and not name.startswith("_")}
    assert names <= set(re.findall(r"`rg\.(\w+)", text))


def test_parity_is_documented_as_it_is() -> None:
    """What the rows say is checked by `test_parity.py`."""
    command = [sys.executable, "docs/generate_parity.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_flags_are_documented_as_they_are() -> None:
    """Runs every flag."""
    command = [sys.executable, "docs/generate_flags.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
