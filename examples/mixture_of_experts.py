# %% [markdown]
# # Mixture of experts: tokens go to the experts that want them
#
# A router gives every token to two of several small networks. Which token goes where is data, so that experts have as
# many tokens as they happen to get. Here they are components of a ragged array: no expert has a capacity, no token is
# dropped, nothing is padded.
#
# Run it as a script, or cell by cell in an editor that knows `# %%`.

# %%
from __future__ import annotations

from typing import Any

import numpy as np

import ragged_dialect as rg

TOKENS, HIDDEN, INNER, EXPERTS, CHOICES = 512, 32, 64, 16, 2

# %% [markdown]
# ## The layer
#
# `top_k` chooses the experts, `group_by` has the places of every expert's tokens, `take` brings the tokens there
# (dispatch), `ragged_dot` multiplies each expert's tokens with its weights, and `ungroup` brings what they made of them
# back (combine).


# %%
def layer(tokens: Any, router: Any, gate: Any, up: Any, down: Any) -> Any:
    """The tokens, [tokens, hidden], each the weighted sum of what its experts make of it."""
    scores, experts = rg.top_k(tokens @ router, CHOICES)
    weights = rg.softmax(scores, axis=1)
    places = rg.group_by(rg.merge(experts, 0), EXPERTS)  # [experts, ragged] of choices, two for every token
    own = rg.take(tokens, places // CHOICES)
    made = rg.ragged_dot(rg.nn.silu(rg.ragged_dot(own, gate)) * rg.ragged_dot(own, up), down)
    back = rg.ungroup(made, places)
    return (back.reshape(-1, CHOICES, HIDDEN) * weights[:, :, None]).sum(axis=1)


rng = np.random.default_rng(0)


def numbers(*shape: int) -> Any:
    """Weights of about the size that keeps numbers of the size they have."""
    return (rng.standard_normal(shape) / np.sqrt(shape[-2])).astype(np.float32)


weights = (
    numbers(HIDDEN, EXPERTS),
    numbers(EXPERTS, HIDDEN, INNER),
    numbers(EXPERTS, HIDDEN, INNER),
    numbers(EXPERTS, INNER, HIDDEN),
)
tokens = rng.standard_normal((TOKENS, HIDDEN)).astype(np.float32)
found = rg.jit(layer)(tokens, *weights)
print("result:", found.shape, found.dtype)

# %% [markdown]
# ## The same as a loop over experts
#
# NumPy sorts, cuts and adds one expert after the other.


# %%
def loop(tokens: Any, router: Any, gate: Any, up: Any, down: Any) -> Any:
    """The layer without raggedness."""
    scores = tokens @ router
    chosen = np.argsort(-scores, axis=1, kind="stable")[:, :CHOICES]
    shares = np.exp(np.take_along_axis(scores, chosen, 1))
    shares /= shares.sum(1, keepdims=True)
    out = np.zeros_like(tokens)
    for expert in range(EXPERTS):
        rows, choice = np.nonzero(chosen == expert)
        gated = tokens[rows] @ gate[expert]
        made = (gated / (1 + np.exp(-gated)) * (tokens[rows] @ up[expert])) @ down[expert]
        out[rows] += shares[rows, choice, None] * made
    return out


error = float(abs(found - loop(tokens, *weights)).max())
print(f"largest difference from the loop: {error:.1e}")
assert error < 1e-5

# %% [markdown]
# `rg.nn.moe` is this layer as one function, which takes the router's scores.

# %%
router, *rest = weights
np.testing.assert_allclose(rg.nn.moe(tokens, tokens @ router, *rest, k=CHOICES), found, rtol=1e-5, atol=1e-5)

# %% [markdown]
# ## It trains
#
# The gradient is a ragged program too: what comes back from an expert's tokens is added up where they are from, in the
# same order on any number of threads. The router gets its own through the weights of the choices.


# %%
def loss(weights: Any, tokens: Any, target: Any) -> Any:
    """How far the layer is from what it shall make of the tokens."""
    return ((layer(tokens, *weights) - target) ** 2.0).sum() / TOKENS


target = np.tanh(tokens[:, ::-1])
step = rg.value_and_grad(loss)
losses = []
for _ in range(20):
    value, gradients = step(weights, tokens, target)
    weights = tuple(weight - 0.05 * gradient for weight, gradient in zip(weights, gradients, strict=True))
    losses.append(float(value))
print(f"loss: {losses[0]:.2f} at first, {losses[-1]:.2f} after {len(losses)} steps")
assert losses[-1] < 0.8 * losses[0]
