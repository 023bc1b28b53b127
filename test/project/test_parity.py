"""The tables behind `docs/parity.md`: what they refuse, and that they cover what the modules offer."""

from __future__ import annotations

from importlib import import_module

import pytest
from support.parity import Check, Table, checks, failures, tables


def _table() -> Table:
    return Table("peer", "module")


def _holds() -> None:
    return None


def _fails() -> None:
    raise AssertionError("expected 1, got 2")


def test_a_check_of_several_names_runs_once() -> None:
    table, runs = _table(), list[int]()
    table.works("a", "b")(lambda: runs.append(1))
    assert failures(table) == []
    assert [row.name for row in table.rows] == ["a", "b"]
    assert len(runs) == 1


def test_a_check_that_fails_names_its_row() -> None:
    table = _table()
    table.works("a")(_holds)
    table.differs("b", why="because")(_fails)
    assert failures(table) == ["peer b: AssertionError: expected 1, got 2"]


def test_a_name_stands_once() -> None:
    table = _table()
    table.works("a")(_holds)
    with pytest.raises(ValueError, match="expected each name of peer once, got a twice"):
        table.not_applicable("a", why="because")


def test_a_difference_has_a_reason() -> None:
    with pytest.raises(ValueError, match="expected a reason for a of peer, got none"):
        _table().differs("a", why="")(_holds)


ROWS = {f"{table.document}-{row.name}": check for table in tables() for check, row in checks(table).items()}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("check", ROWS.values(), ids=ROWS)
def test_what_rows_say(check: Check) -> None:
    check()


@pytest.mark.parametrize("table", tables(), ids=lambda table: table.module)
def test_every_public_name_has_a_row(table: Table) -> None:
    """Under its own name, or in the note of the document's spelling."""
    known = {row.name for row in table.rows}
    notes = " ".join(row.why for row in table.rows)
    offered = import_module(table.module).__all__
    assert not [name for name in offered if name not in known and f"`{name}`" not in notes]
