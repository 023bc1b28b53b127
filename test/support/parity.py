"""Tables of what a peer's document names and what became of each name here.

A table is a module `support/parity_<peer>.py` with a `TABLE`. Its rows are declared in the order of
the document, each with a check that runs it:

    TABLE = Table("fvdb.JaggedTensor", "ragged_dialect.compat.fvdb")

    @TABLE.works("ceil", "floor")
    def _rounding() -> None:
        assert jagged().ceil().jdata.tolist() == ...

    @TABLE.differs("jidx", why="the example in the document is wrong")
    def _jidx() -> None:
        assert jagged().jidx.tolist() == [0, 0, 0, 1, 1, 2]

    TABLE.not_applicable("is_meta", why="there are no meta tensors")

One check may stand for several names. A check asserts what the row says: of `works` what the document
says, of `differs` what is done instead. Checks use NumPy arrays only, so that the page is the same
with and without the optional libraries.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

Check = Callable[[], None]


@dataclass(frozen=True)
class Row:
    """A name, what became of it (`works`, `differs` or `n.a.`), why, and the check that shows it."""

    name: str
    status: str
    why: str
    check: Check | None


@dataclass
class Table:
    """The rows of one document; `module` is what stands for the peer here."""

    document: str
    module: str
    rows: list[Row] = field(default_factory=list)

    def works(self, *names: str, note: str = "") -> Callable[[Check], Check]:
        """Declare names that do what the document says."""
        return self._declare(names, "works", note)

    def differs(self, *names: str, why: str) -> Callable[[Check], Check]:
        """Declare names that do something else; the check asserts what."""
        return self._declare(names, "differs", why)

    def not_applicable(self, *names: str, why: str) -> None:
        """Declare names that have no counterpart."""
        for name in names:
            self._add(Row(name, "n.a.", why, None))

    def _declare(self, names: tuple[str, ...], status: str, why: str) -> Callable[[Check], Check]:
        def take(check: Check) -> Check:
            for name in names:
                self._add(Row(name, status, why, check))
            return check

        return take

    def _add(self, row: Row) -> None:
        if any(known.name == row.name for known in self.rows):
            raise ValueError(f"expected each name of {self.document} once, got {row.name} twice")
        if row.status != "works" and not row.why:
            raise ValueError(f"expected a reason for {row.name} of {self.document}, got none")
        self.rows.append(row)


def refused(error: type[Exception], call: Callable[[], object]) -> None:
    """Assert that a call raises an error."""
    try:
        call()
    except error:
        return
    raise AssertionError(f"expected a {error.__name__}, got none")


def tables() -> list[Table]:
    """Every table, by the name of its file."""
    names = sorted(path.stem for path in Path(__file__).parent.glob("parity_*.py"))
    return [import_module(f"support.{name}").TABLE for name in names]


def checks(table: Table) -> dict[Check, Row]:
    """Every check once, with the first row that it stands for."""
    found: dict[Check, Row] = {}
    for row in table.rows:
        if row.check is not None:
            found.setdefault(row.check, row)
    return found


def failures(table: Table) -> list[str]:
    """Rows whose check does not hold, with what it raised; a check of several rows runs once."""
    found: list[str] = []
    for check, row in checks(table).items():
        try:
            check()
        except Exception as error:  # whatever a check raises is a finding about its row
            found.append(f"{table.document} {row.name}: {type(error).__name__}: {error}")
    return found
