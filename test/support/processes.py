"""Interpreters in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from subprocess import CompletedProcess

from conftest import ROOT


def python(*arguments: str, folder: str = ".", **settings: str) -> CompletedProcess[str]:
    """What an interpreter with these arguments and variables did, which has to succeed. It finds the package, `support`
    and what is in a folder."""
    paths = os.pathsep.join(str(ROOT / path) for path in (".", "test", folder))
    environment = {**os.environ, "PYTHONPATH": paths, **settings}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done
