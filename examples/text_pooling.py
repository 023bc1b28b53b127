# %% [markdown]
# # Pooling text: one vector per document
#
# Python's manual has documents of some ten to some thousand words. Every word is a feature vector; a
# document becomes one vector: by the mean of its words, or by attention, which weighs the words by their
# likeness to a query. No document is padded: see `padded.py` for what that would cost. The same
# computation in MLIR is `attention_pooling.py`, whose data this is.
#
# Run it as a script, or cell by cell in an editor that knows `# %%`.

# %%
from __future__ import annotations

from typing import Any

import numpy as np
from attention_pooling import feature, numpy_pooling, read_corpus

import ragged_dialect as rg

corpus = read_corpus()
documents = rg.from_offsets(corpus.features, corpus.offsets)  # shares the memory of the features
print(documents)

# %% [markdown]
# ## Without a loop, without a mask
#
# Operators and reductions are NumPy's. A reduction of the ragged dim, here dim 1, gives a dense array
# with a row per document.

# %%
mean = documents.mean(axis=1)
highest = documents.max(axis=1)
print("mean and max:", type(mean).__name__, mean.shape, highest.shape)

# %% [markdown]
# ## Attention pooling, compiled as one program
#
# `rg.jit` traces the function once; the scores, the softmax and the weighted sum become one program.


# %%
@rg.jit
def pool(words: Any, query: Any) -> Any:
    """The pooled vectors, [documents, 64], and the weight of every word, [documents, ~]."""
    weights = rg.softmax(words @ query, axis=1)
    return (words * weights[:, :, None]).sum(axis=1), weights


query = 6 * feature("exception")
pooled, weights = pool(documents, query)
print("weights:", weights.shape, weights.dtype, "sum to", weights.sum(axis=1).min(), "or more")

expected, _ = numpy_pooling(corpus.features, corpus.offsets, query)
error = float(abs(pooled - expected).max())
print(f"largest difference from NumPy: {error:.1e}")
assert error < 1e-4

# %% [markdown]
# ## Other lengths need no other program
#
# The structure is data: the longest half of the documents, and a batch with an empty document, run the
# program that is there. A selection is a view, whose components are windows into all words, a layout
# of its own; `compact` copies them out.

# %%
long = rg.compact(documents[documents.lengths >= np.median(documents.lengths)])
with_empty = rg.concat([documents[:3], rg.from_lengths(corpus.features[:0], [0])])
print("documents:", len(documents), len(long), len(with_empty))
print("vector of the empty document:", set(pool(with_empty, query)[0][-1].tolist()))
pool(long, query)
print("programs compiled:", pool.compilations)
assert pool.compilations == 1

# %% [markdown]
# ## What the weights say
#
# `best` has the index of the heaviest word of every document.

# %%
best = weights.argmax(axis=1)
for document in np.argsort(-(pooled @ query), kind="stable")[:3]:
    word = corpus.words[corpus.offsets[document] + best[document]]
    print(f"  {corpus.names[document]:12} {word:12} {weights[document][best[document]]:.3f}")
