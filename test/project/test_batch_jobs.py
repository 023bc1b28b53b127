"""The job on Dask, and the snippets for other engines, where they are installed."""

from __future__ import annotations

import importlib
import os
import re
import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import ROOT


def pooled_by_numpy(source: Path) -> dict[int, float]:
    """What the job makes of every list, in a loop."""
    parquet = pytest.importorskip("pyarrow.parquet", reason="no pyarrow (pip install pyarrow)")
    found: dict[int, float] = {}
    for file in sorted(source.glob("*.parquet")):
        for row in parquet.read_table(file).to_pylist():
            values = np.array(row["values"])
            weights = np.exp(values - values.max(initial=0))
            found[row["id"]] = float((values * weights).sum() / weights.sum()) if values.size else 0.0
    return found


@pytest.mark.slow
@pytest.mark.parametrize("killed", [False, True])
def test_dask_pooling(tmp_path: Path, killed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Right on several processes, and where one is killed in the middle."""
    distributed = pytest.importorskip("dask.distributed", reason="no Dask (pip install dask distributed)")
    parquet = pytest.importorskip("pyarrow.parquet", reason="no pyarrow (pip install pyarrow)")
    examples = str(ROOT / "examples")
    monkeypatch.syspath_prepend(examples)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([examples, str(ROOT)]))
    module = importlib.import_module("dask_pooling")
    monkeypatch.setattr(module, "PART_ROWS", 500)
    source, target = tmp_path / "data", tmp_path / "pooled"
    module.make(source, 10_000, 4_000)
    with (
        distributed.LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        victim, counts = next(iter(client.run(os.getpid).values())), list[int]()
        job = threading.Thread(target=lambda: counts.append(module.run(source, target, client)))
        job.start()
        if killed:
            while len(list(target.glob("*.parquet"))) < 2 and job.is_alive():
                time.sleep(0.005)
            assert job.is_alive()
            os.kill(victim, signal.SIGKILL)
        job.join()
    assert counts == [10_000]
    rows = [row for file in target.glob("part-*.parquet") for row in parquet.read_table(file).to_pylist()]
    expected = pooled_by_numpy(source)
    assert sorted(row["id"] for row in rows) == sorted(expected) == list(range(10_000))
    wanted = [expected[row["id"]] for row in rows]
    np.testing.assert_allclose([row["pooled"] for row in rows], wanted, rtol=1e-4, atol=1e-5)


def test_other_engines(capsys: pytest.CaptureFixture[str]) -> None:
    """The snippets of docs/batch.md; that for Ray takes a table of Arrow."""
    pytest.importorskip("polars", reason="no Polars (pip install polars)")
    pa = pytest.importorskip("pyarrow", reason="no pyarrow (pip install pyarrow)")
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "batch.md").read_text(), re.DOTALL):
        exec(block, names)
    assert "1.731059" in capsys.readouterr().out
    table = names["pool_batch"](pa.table({"values": [[1.0, 2.0], [], [3.0]]}))
    np.testing.assert_allclose(table.column("pooled").to_pylist(), [1.731059, 0, 3], rtol=1e-6)
