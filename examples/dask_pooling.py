"""Batch jobs over files: lists of numbers in Parquet, pooled by a jit function on the workers of a Dask cluster.

    python examples/dask_pooling.py --make data --rows 1000000     # writes some Parquet
    python examples/dask_pooling.py data pooled                    # four processes here, or --cluster tcp://host:8786

Needs `pip install dask distributed pyarrow`. Each part of the data is read, pooled and written by itself, so that
memory is that of a few parts, and what a worker that died was at is done again by others. The function is compiled once
per machine: the other processes find it in the cache on disk.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

import numpy as np

import ragged_dialect as rg

PART_ROWS = 50_000
"""Rows of a row group: the unit of work, a few megabytes."""
MEAN_LENGTH = 64


@rg.jit
def pooled(x: Any) -> Any:
    """Of every list the sum of its numbers, weighted by their softmax; 0 for an empty one."""
    return (x * rg.softmax(x, axis=1)).sum(axis=1)


def pool_part(source: str, group: int, target: str) -> int:
    """Pool a row group of a file to a file of its own, and give the number of rows. The file appears as a whole, so
    that doing a part twice is doing it once."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    table = parquet.ParquetFile(source).read_row_group(group)
    lists = rg.from_arrow(table.column("values"))
    made = pa.table({"id": table.column("id"), "pooled": pooled(lists)})
    path = Path(target)
    own = path.with_name(f".{path.name}.{os.getpid()}")
    parquet.write_table(made, own)
    own.replace(path)
    return len(made)


def parts_of(folder: Path) -> list[tuple[str, int]]:
    """The row groups of the files of a folder."""
    import pyarrow.parquet as parquet

    files = sorted(folder.glob("*.parquet"))
    return [(str(file), group) for file in files for group in range(parquet.ParquetFile(file).num_row_groups)]


def run(source: Path, target: Path, client: Any) -> int:
    """Pool all files of a folder on a cluster: one file for every row group. The number of rows."""
    target.mkdir(parents=True, exist_ok=True)
    parts = parts_of(source)
    if not parts:
        raise SystemExit(f"expected Parquet files in {source}, got none")
    names = [str(target / f"{Path(file).stem}-{group:05d}.parquet") for file, group in parts]
    files, groups = zip(*parts, strict=True)
    return sum(client.gather(client.map(pool_part, files, groups, names, pure=False, retries=2)))


def make(folder: Path, rows: int, rows_of_file: int = 500_000) -> None:
    """Write lists of numbers of lognormal lengths, some of them empty."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    for number, first in enumerate(range(0, rows, rows_of_file)):
        schema = pa.schema([("id", pa.int64()), ("values", pa.list_(pa.float32()))])
        with parquet.ParquetWriter(folder / f"part-{number:04d}.parquet", schema) as writer:
            last = min(first + rows_of_file, rows)
            for start in range(first, last, PART_ROWS):
                count = min(PART_ROWS, last - start)
                lengths = rng.lognormal(np.log(MEAN_LENGTH) - 0.245, 0.7, count).astype(np.int64)
                lengths[rng.random(count) < 0.01] = 0
                values = rng.standard_normal(lengths.sum(), dtype=np.float32)
                lists = rg.from_lengths(values, lengths).to_arrow().cast(schema.field("values").type)
                writer.write_table(pa.table({"id": np.arange(start, start + count), "values": lists}, schema))


def main(argv: list[str] | None = None) -> int:
    """Make data, or pool it; the exit code."""
    parser = argparse.ArgumentParser(description="Pools lists of numbers in Parquet files on a Dask cluster.")
    parser.add_argument("source", type=Path, nargs="?", help="a folder of Parquet files with columns id and values")
    parser.add_argument("target", type=Path, nargs="?", help="a folder for the results")
    parser.add_argument("--cluster", metavar="ADDRESS", help="of a scheduler (default: processes of this machine)")
    parser.add_argument("--workers", type=int, default=4, help="processes on this machine (default 4)")
    parser.add_argument("--make", type=Path, metavar="FOLDER", help="write Parquet to be pooled")
    parser.add_argument("--rows", type=int, default=1_000_000, help="how many lists to write (default 1,000,000)")
    options = parser.parse_args(argv)
    if options.make is not None:
        make(options.make, options.rows)
        return 0
    if options.source is None or options.target is None:
        parser.error("expected a folder of data and one for results")
    from dask.distributed import Client, LocalCluster

    if options.cluster is not None:
        with Client(options.cluster) as client:
            rows = run(options.source, options.target, client)
    else:
        # threads of a worker would share its cores with those of the program
        with LocalCluster(n_workers=options.workers, threads_per_worker=1, dashboard_address=None) as cluster:
            with Client(cluster) as client:
                rows = run(options.source, options.target, client)
    print(f"{rows} lists pooled")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
