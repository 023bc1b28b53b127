"""Writes `docs/passes.md` from the docstrings of the passes.

`python docs/generate_passes.py` writes it; with `--check` it writes nothing and exits with 1 when it is out of date.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from generated import write_or_check  # noqa: E402  (the repository comes first on the path)

from ragged_dialect.passes import registry  # noqa: E402


def summary(name: str) -> str:
    """First paragraph of a pass's docstring, on one line, without its final stop."""
    text = inspect.cleandoc(registry.lookup(name).__doc__ or "")
    return " ".join(text.split("\n\n")[0].split()).rstrip(".:")


def table() -> str:
    """One row per pass."""
    rows = [f"| [`{name}`](#{name}) | {summary(name)} |" for name in registry.names()]
    return "\n".join(["| pass | what |", "|---|---|", *rows])


def _default(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def options(name: str) -> str:
    """The options of a pass with their defaults."""
    fields = dataclasses.fields(registry.lookup(name))
    if not fields:
        return ""
    shown = (f"`{f.name.replace('_', '-')}={_default(f.default)}`" for f in fields)
    return f"\n\nOptions: {', '.join(shown)}"


def page() -> str:
    """The whole page: every pass with its docstring."""
    parts = [
        "# Passes",
        "Generated from the docstrings by `docs/generate_passes.py`. `ragged-opt --list-passes` prints the names.",
        table(),
    ]
    for name in registry.names():
        text = inspect.cleandoc(registry.lookup(name).__doc__ or "")
        parts.append(f"## `{name}`\n\n{text}{options(name)}")
    return "\n\n".join(parts) + "\n"


def main(arguments: Sequence[str]) -> int:
    """Write or check the page."""
    return write_or_check({ROOT / "docs" / "passes.md": page()}, __file__, arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
