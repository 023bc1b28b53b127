"""--mlir-timing: the time that reading, every pass and writing took."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ragged_dialect._mlir import ir
from ragged_dialect.passes.pipeline.running import Stage, Watcher

_RULE = f"===-{'-' * 73}-==="


@dataclass
class Timer:
    """Seconds of something, and of its parts in order."""

    name: str
    seconds: float = 0.0
    parts: list[Timer] = field(default_factory=list["Timer"])

    def add(self, path: tuple[str, ...], seconds: float) -> None:
        """Add to this and to the last part along a path, which is made where it is another one."""
        self.seconds += seconds
        if path:
            if not self.parts or self.parts[-1].name != path[0] or len(path) == 1:
                self.parts.append(Timer(path[0]))
            self.parts[-1].add(path[1:], seconds)

    def leaves(self) -> Iterator[Timer]:
        """What has no parts."""
        if not self.parts:
            yield self
        for part in self.parts:
            yield from part.leaves()


class Times(Watcher):
    """Measures a run of the tool."""

    def __init__(self) -> None:
        self.start = time.perf_counter()
        self.began = self.start
        self.all = Timer("Total")

    @contextmanager
    def phase(self, name: str) -> Generator[None]:
        """Measures what is done inside."""
        began = time.perf_counter()
        yield
        self.all.add((name,), time.perf_counter() - began)

    def before(self, stage: Stage, module: ir.Operation) -> None:
        self.began = time.perf_counter()

    def after(self, stage: Stage, module: ir.Operation) -> None:
        parts = (f"stage '{stage.part}'",) if stage.part else ()
        anchors = tuple(f"'{anchor}' Pipeline" for anchor in stage.anchors)
        self.all.add((*parts, *anchors, stage.name), time.perf_counter() - self.began)

    def failed(self, stage: Stage, module: ir.Operation) -> None:
        self.after(stage, module)

    def report(self, display: str, format: str) -> str:
        """The times as text or JSON, as a tree or a list sorted by time."""
        total = Timer("Total", time.perf_counter() - self.start, self.all.parts)
        total.parts.append(Timer("Rest", max(total.seconds - self.all.seconds, 0.0)))
        parts = _listed(total) if display == "list" else total.parts
        total.parts = []
        if format == "json":
            import json

            return json.dumps([_data(part, total.seconds) for part in (*parts, total)], indent=1) + "\n"
        lines = [line for part in (*parts, total) for line in _lines(part, total.seconds)]
        head = [_RULE, f"{'... Execution time report ...':^79}".rstrip(), _RULE]
        head += [f"  Total Execution Time: {total.seconds:.4f} seconds", "", "  ----Wall Time----  ----Name----"]
        return "\n".join([*head, *lines]) + "\n"


def _listed(total: Timer) -> list[Timer]:
    """Times of equal names together, the longest first."""
    found: dict[str, Timer] = {}
    for leaf in total.leaves():
        found.setdefault(leaf.name, Timer(leaf.name)).seconds += leaf.seconds
    return sorted(found.values(), key=lambda timer: -timer.seconds)


def _share(seconds: float, total: float) -> float:
    return 100 * seconds / total if total else 0.0


def _lines(timer: Timer, total: float, depth: int = 0) -> Iterator[str]:
    yield f"  {timer.seconds:8.4f} ({_share(timer.seconds, total):5.1f}%)  {'  ' * depth}{timer.name}"
    for part in timer.parts:
        yield from _lines(part, total, depth + 1)


def _data(timer: Timer, total: float) -> dict[str, object]:
    wall = {"duration": round(timer.seconds, 6), "percentage": round(_share(timer.seconds, total), 1)}
    parts = {"passes": [_data(part, total) for part in timer.parts]} if timer.parts else {}
    return {"wall": wall, "name": timer.name, **parts}
