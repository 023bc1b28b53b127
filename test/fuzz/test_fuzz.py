"""Malformed .mlir never gives a traceback, a crash or a hang."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from support.mutate import mutate
from support.worker import Died, Worker

from conftest import ROOT
from ragged_dialect.passes import registry
from ragged_dialect.tools import ragged_opt
from ragged_dialect.tools.driver import split_chunks

FILES, ALL_FILES, EACH = 200, 20_000, 1000
SECONDS = 20


def _seeds() -> list[str]:
    files = sorted([*(ROOT / "lit_tests").rglob("*.mlir"), *(ROOT / "examples").rglob("*.mlir")])
    return [chunk.strip() for file in files for chunk in split_chunks(file.read_text()) if len(chunk) < 20000]


def _run(worker: Worker, argv: list[str]) -> dict[str, object]:
    """What ragged-opt answers, or how it died."""
    try:
        return worker.run(argv, SECONDS)
    except Died as death:
        return {"code": str(death), "stderr": ""}


def _bad(answer: dict[str, object]) -> bool:
    text = str(answer["stderr"])
    silent = answer["code"] == 1 and not text.strip()
    return answer["code"] not in (0, 1) or silent or "Traceback" in text or "internal error" in text


def _sweep(folder: Path, first: int, count: int) -> None:
    """Mutated files by their numbers, every other one through a pass or pipeline."""
    seeds = _seeds()
    if not seeds:
        pytest.fail("expected seed files in lit_tests")
    rng = random.Random(int(os.environ.get("RAGGED_FUZZ_SEED", "0")) + first)
    names = [*registry.names(), *registry.pipelines()]
    worker = Worker("fuzz_worker.py")
    failures = []
    try:
        for number in range(first, first + count):
            file = folder / f"{number}.mlir"
            file.write_text(mutate(rng, seeds), encoding="utf-8")
            passes = [f"--{rng.choice(names)}"] if number % 2 else []
            answer = _run(worker, [str(file), *passes, "-o", os.devnull])
            if _bad(answer):
                failures.append(f"{answer['code']} on {' '.join(passes)}: {answer['stderr']}\n{file.read_text()}")
            file.unlink()
    finally:
        worker.stop()
    assert not failures, "\n".join(failures)


def test_mutated_files(tmp_path: Path) -> None:
    _sweep(tmp_path, 0, FILES)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, ALL_FILES, EACH))
def test_many_mutated_files(first: int, tmp_path: Path) -> None:
    _sweep(tmp_path, first, EACH)


def test_mutated_bytecode(tmp_path: Path) -> None:
    rng = random.Random(1)
    text, code = ROOT / "lit_tests" / "tools" / "short-form.mlir", tmp_path / "in.mlirbc"
    assert ragged_opt.main([str(text), "--emit-bytecode", "-o", str(code)]) == 0
    worker, failures = Worker("fuzz_worker.py"), []
    try:
        for number in range(60):
            data = bytearray(code.read_bytes())
            for _ in range(rng.randint(1, 4)):
                data[rng.randrange(4, len(data))] = rng.randrange(256)
            file = tmp_path / f"{number}.mlirbc"
            file.write_bytes(bytes(data))
            answer = _run(worker, [str(file), "-o", os.devnull])
            if _bad(answer):
                failures.append(f"{answer['code']} on {file}: {answer['stderr']}")
    finally:
        worker.stop()
    assert not failures, "\n".join(failures)


@pytest.mark.parametrize("argv", [["/nonexistent.mlir"], ["--no-such-pass", os.devnull]])
def test_the_worker_answers(argv: list[str]) -> None:
    worker = Worker("fuzz_worker.py")
    try:
        answer = _run(worker, argv)
    finally:
        worker.stop()
    assert answer["code"] == 1
    assert str(answer["stderr"]).startswith("ragged-opt: ")
