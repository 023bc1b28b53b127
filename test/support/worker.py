"""A process that does what may crash it, task by task."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


class Died(Exception):
    """A worker gave no answer."""


class Worker:
    """One process of a script beside this file, started again after it died. `env` is added to the
    environment."""

    def __init__(self, script: str, env: dict[str, str] | None = None) -> None:
        self.script = script
        self.env = env or {}
        self.process: subprocess.Popen[str] | None = None

    def run(self, task: Any, seconds: float) -> Any:
        """The worker's answer to a task, both as JSON; Died when there is none."""
        process = self._ready()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(task) + "\n")
        process.stdin.flush()
        if not select.select([process.stdout], [], [], seconds)[0]:
            self.stop()
            raise Died(f"no answer in {seconds} s")
        line = process.stdout.readline()
        if not line:
            raise Died(f"died with {self.stop()}")
        return json.loads(line)

    def _ready(self) -> subprocess.Popen[str]:
        if self.process is None:
            self.process = subprocess.Popen(
                [sys.executable, str(HERE / self.script)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                env={**os.environ, "PYTHONPATH": f"{HERE.parent.parent}{os.pathsep}{HERE.parent}", **self.env},
            )
        return self.process

    def stop(self) -> int | None:
        """End the process; its exit status."""
        process, self.process = self.process, None
        if process is None:
            return None
        process.kill()
        process.communicate()
        return process.returncode


def answers(worker: Worker, tasks: Iterable[Any], seconds: float) -> list[str]:
    """What a worker says of tasks of which it has something to say, or how it died; it is stopped at the end."""
    found: list[str] = []
    try:
        for task in tasks:
            try:
                wrong = worker.run(task, seconds)
            except Died as death:
                wrong = str(death)
            if wrong is not None:
                found.append(f"{task}: {wrong}")
    finally:
        worker.stop()
    return found
