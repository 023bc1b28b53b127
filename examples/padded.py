# %% [markdown]
# # Padded and ragged
#
# A batch of sequences whose lengths differ is often padded to the longest one. This compares memory and
# time of a softmax and a weighted sum on both, for lengths as real ones are distributed: many short,
# few long.

# %%
from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import ragged_dialect as rg

COUNT, WIDTH = 256, 32
rng = np.random.default_rng(0)
lengths = np.minimum(rng.zipf(1.6, COUNT) + 4, 1000)
values = rng.standard_normal((lengths.sum(), WIDTH)).astype(np.float32)
sequences = rg.from_lengths(values, lengths)
print(sequences)

# %% [markdown]
# ## There and back
#
# `to_padded` fills up with a value, `from_padded` drops what is behind the lengths. A maximum that is too
# small is an error, unless truncation is asked for.

# %%
padded = rg.to_padded(sequences, 0)
back = rg.from_padded(padded, lengths)
assert (back.values == values).all()
print("padded:", padded.shape, "and back:", back.shape)
try:
    rg.to_padded(sequences, 0, 100)
except rg.RuntimeCheckError as error:
    print("refused:", error)
print("cut:", rg.to_padded(sequences, 0, 100, truncate=True).shape)

# %% [markdown]
# A mask works as well, and a padding value where no data has it.

# %%
mask = np.arange(padded.shape[1]) < lengths[:, None]
assert rg.from_padded(padded, mask=mask).lengths.tolist() == lengths.tolist()
filled = rg.to_padded(sequences, -1.0e30)
assert rg.from_padded(filled, pad_value=-1.0e30).lengths.tolist() == lengths.tolist()

# %% [markdown]
# ## Memory

# %%
print(f"ragged {sequences.nbytes / 2**20:.2f} MiB, padded {padded.nbytes / 2**20:.2f} MiB: "
      f"{padded.nbytes / sequences.nbytes:.1f} times")  # fmt: skip

# %% [markdown]
# ## Time
#
# The padded computation needs a mask, or its softmax is over the padding too. NumPy computes it
# for both: on padded arrays at once, on ragged ones component by component.


# %%
@rg.jit
def ragged_pool(words: Any, query: Any) -> Any:
    """Attention pooling of every sequence."""
    weights = rg.softmax(words @ query, axis=1)
    return (words * weights[:, :, None]).sum(axis=1)


def padded_pool(words: Any, mask: Any, query: Any) -> Any:
    """The same on padded sequences."""
    scores = np.where(mask, words @ query, -np.inf)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    return np.einsum("bnd,bn->bd", words, weights)


def looped_pool(components: list[Any], query: Any) -> Any:
    """The same on a list of sequences."""
    pooled = []
    for words in components:
        weights = np.exp(words @ query - (words @ query).max())
        pooled.append(weights @ words / weights.sum())
    return np.stack(pooled)


def median_time(run: Callable[[], Any]) -> float:
    """Milliseconds of a call, the median of nine after one to warm up."""
    run()
    times: list[float] = []
    for _ in range(9):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return 1e3 * float(np.median(times))


query = rng.standard_normal(WIDTH).astype(np.float32)
components = sequences.unbind()
pooled = ragged_pool(sequences, query)
for other in (padded_pool(padded, mask, query), looped_pool(components, query)):
    assert np.allclose(pooled, other, atol=1e-4)
ragged_ms = median_time(lambda: ragged_pool(sequences, query))
padded_ms = median_time(lambda: padded_pool(padded, mask, query))
looped_ms = median_time(lambda: looped_pool(components, query))
print(f"ragged {ragged_ms:.2f} ms, padded with NumPy {padded_ms:.2f} ms, a loop with NumPy {looped_ms:.2f} ms")
