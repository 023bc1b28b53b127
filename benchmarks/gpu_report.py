"""Results of `gpu_check.py` as JSON and as a table in Markdown."""

from __future__ import annotations

import datetime
import json
import platform
import re
from pathlib import Path
from typing import Any

import numpy as np


def environment(cupy: Any) -> dict[str, Any]:
    """The device and the versions that results belong to."""
    properties = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.runtime.getDevice())
    name = properties["name"]
    return {
        "device": name.decode() if isinstance(name, bytes) else str(name),
        "memory": int(properties["totalGlobalMem"]),
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "driver": cupy.cuda.runtime.driverGetVersion(),
        "runtime": cupy.cuda.runtime.runtimeGetVersion(),
        "cupy": cupy.__version__,
        "numpy": np.__version__,
        "torch": _torch_version(),
        "python": platform.python_version(),
    }


def _torch_version() -> str | None:
    try:
        import torch
    except ImportError:
        return None
    return str(torch.__version__)


def write(results: dict[str, Any], folder: Path) -> list[Path]:
    """Write `DATE-DEVICE.json` and `.md` to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    about = results["environment"]
    device = re.sub(r"[^a-z0-9]+", "-", about["device"].lower()).strip("-")
    when = about["date"][:16].replace(":", "")
    paths = [folder / f"{when}-{device}.{ending}" for ending in ("json", "md")]
    paths[0].write_text(json.dumps(results, indent=1) + "\n")
    paths[1].write_text(markdown(results))
    return paths


def markdown(results: dict[str, Any]) -> str:
    """The results as text."""
    about = results["environment"]
    versions = ", ".join(f"{k} {about[k]}" for k in ("driver", "runtime", "cupy", "numpy", "torch", "python"))
    failed = [line for line in results["verified"] if line["wrong"]]
    skipped = [line for line in results["verified"] if line["skipped"]]
    lines = [
        f"# {about['device']}, {about['date'][:10]}",
        "",
        f"{versions}; seed {results['seed']}; a launch by CuPy alone takes {_launch(results)} of the host.",
        "",
        f"{len(results['verified']) - len(failed) - len(skipped)} comparisons with NumPy agreed, {len(failed)} did "
        f"not, {len(skipped)} were left out.",
        *(f"* {_place(line)}: {line['wrong']}" for line in failed),
        *(f"* {_place(line)}: left out: {line['skipped']}" for line in skipped),
    ]
    if results["measured"]:
        lines += ["", *_table(results["measured"])]
    return "\n".join(lines) + "\n"


def _launch(results: dict[str, Any]) -> str:
    seconds = results["launch"]
    return "unknown time" if seconds is None else f"{1e6 * seconds:.1f} us"


def _place(line: dict[str, Any]) -> str:
    return f"{line['program']}, {line['lengths']}, {line['rows']} rows"


def _table(measured: list[dict[str, Any]]) -> list[str]:
    """Medians; GB/s are of the bytes that must be read and written once."""
    head = ("program", "lengths", "rows", "components", "longest")
    head += ("us", "GB/s", "copy GB/s", "of a copy", "PyTorch us", "host us")
    rows = [" | ".join(head), " | ".join(["---"] * len(head))]
    for line in measured:
        ours, copy, torch = line["ours"], line["copy"], line.get("torch")
        cells = [line["program"], line["lengths"], *(str(line[k]) for k in ("rows", "components", "longest"))]
        cells += [f"{1e6 * ours['median']:.1f}", _rate(ours), _rate(copy)]
        cells.append(f"{copy['median'] / ours['median']:.0%}" if ours["median"] else "-")
        cells.append(f"{1e6 * torch['median']:.1f}" if torch else line["torch_missing"])
        cells.append(f"{1e6 * line['host']:.1f}")
        rows.append(" | ".join(cells))
    return [f"| {row} |" for row in rows]


def _rate(times: dict[str, Any]) -> str:
    return "-" if times["gb_per_s"] is None else f"{times['gb_per_s']:.0f}"
