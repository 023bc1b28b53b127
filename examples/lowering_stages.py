# %% [markdown]
# # What a function becomes, stage by stage
#
# `fn.lower(*args)` traces a function and compiles it without running it: the ragged program, the IR after
# every stage, LLVM IR for the CPU, and PTX for a GPU. No GPU is needed.

# %%
from __future__ import annotations

from typing import Any

import numpy as np

import ragged_dialect as rg


@rg.jit
def centre(x: Any) -> Any:
    """Every component without its mean."""
    return x - x.mean(axis=1)[:, None]


x = rg.from_lengths(np.arange(8, dtype=np.float32), [3, 0, 5])
print(centre(x))

lowered = centre.lower(x)


def show(title: str, text: str, lines: int = 60) -> None:
    """A text under a title, cut where it gets long."""
    shown = text.strip().splitlines()
    rest = [f"... {len(shown) - lines} more lines"] if len(shown) > lines else []
    print("\n".join([f"\n==== {title} ({len(shown)} lines)", *shown[:lines], *rest]))


# %% [markdown]
# ## The ragged program
#
# What `ragged-opt`, `ragged-run` and the other tools read. The offsets are an argument: one program for all
# structures.

# %%
show("ragged program", lowered.source)

# %% [markdown]
# ## Every stage to LLVM on the CPU
#
# Fusion and checks are done on the ragged program; then loops over components appear, buffers, and
# at last the dialect `llvm`.

# %%
for name, text in lowered.stages.items():
    show(f"cpu: {name}", text, 24)

# %%
show("LLVM IR", lowered.llvm_ir(), 40)

# %% [markdown]
# ## The stages to a GPU
#
# The same until the buffers; then loops are mapped to blocks and threads, and leave as kernels.

# %%
for name in ("device", "map", "gpu"):
    show(f"gpu: {name}", lowered.gpu_stages[name], 24)

# %%
show("PTX for sm_90", lowered.ptx("sm_90"), 60)
