"""A mixture of experts whose experts are spread over processes: `mpiexec -n 4 python examples/expert_parallel.py`.

Needs `pip install ragged-dialect[mpi]`. Without `mpiexec` four threads of one process are the ranks. Every rank has
tokens of its own and some of the experts. Tokens go to the ranks of the experts that they choose, and come back:
nothing is padded, no expert has a capacity, and the result is that of one process, bit by bit. So are the gradients of
the experts; those of the router, which every rank has, are summed over the ranks. Exit code 1 when they differ.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

import ragged_dialect as rg

TOKENS, HIDDEN, INNER, EXPERTS, CHOICES = 96, 16, 32, 8, 2
RANKS_OF_THREADS = 4


def owned_by(ranks: int) -> tuple[int, ...]:
    """How many experts each rank has: as equal as it gets, [3, 3, 2] on three ranks, but [5, 3] on two."""
    return (5, 3) if ranks == 2 else tuple(EXPERTS // ranks + (rank < EXPERTS % ranks) for rank in range(ranks))


def made() -> tuple[Any, ...]:
    """Tokens, and weights of the router and of all experts."""
    rng = np.random.default_rng(0)
    sizes = [(TOKENS, HIDDEN), (HIDDEN, EXPERTS), *[(EXPERTS, HIDDEN, INNER)] * 2, (EXPERTS, INNER, HIDDEN)]
    return tuple((rng.standard_normal(size) / np.sqrt(size[-2])).astype(np.float32) for size in sizes)


@rg.jit(static=["owned"])
def layer(tokens: Any, weights: Any, owned: tuple[int, ...] | None = None) -> Any:
    """The tokens, each the weighted sum of what its experts make of it."""
    router, gate, up, down = weights
    return rg.nn.moe(tokens, tokens @ router, gate, up, down, k=CHOICES, owned=owned)


def loss(weights: Any, tokens: Any, owned: tuple[int, ...] | None) -> Any:
    """The sum over tokens of how large they become."""
    return (layer(tokens, weights, owned=owned) ** 2.0).sum()


def work(group: rg.ranks.Group) -> bool:
    """What each rank does; whether it came out as in one process."""
    tokens, router, *experts = made()
    owned, rank = owned_by(group.size), group.rank
    ends = np.cumsum([0, *owned])
    mine = slice(TOKENS * rank // group.size, TOKENS * (rank + 1) // group.size)
    weights = (router, *(weight[ends[rank] : ends[rank + 1]] for weight in experts))

    found = layer(tokens[mine], weights, owned=owned)
    gradients = rg.grad(lambda weights, tokens: loss(weights, tokens, owned))(weights, tokens[mine])
    everywhere, _ = group.rows(np.concatenate([gradients[0]] * group.size), [HIDDEN] * group.size)
    of_router = everywhere.reshape(group.size, HIDDEN, EXPERTS).sum(0)

    alone = layer(tokens, (router, *experts))
    whole = rg.grad(lambda weights, tokens: loss(weights, tokens, None))((router, *experts), tokens)
    same = np.array_equal(found, alone[mine]) and np.allclose(of_router, whole[0], rtol=1e-4, atol=1e-4)
    for own, all_ in zip(gradients[1:], whole[1:], strict=True):
        same = same and np.array_equal(own, all_[ends[rank] : ends[rank + 1]])
    told, _ = group.rows(np.array([int(same)] * group.size), [1] * group.size)
    if rank == 0:
        print(f"{group.size} ranks, experts {list(owned)}, {TOKENS} tokens: ", end="")
        print(
            "equal to one process, forward and backward"
            if told.all()
            else "expected what one process makes, got others"
        )
    return bool(told.all())


def main() -> int:
    """Run on the ranks that there are; the exit code."""
    if any(name in os.environ for name in ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS")):
        with rg.ranks.mpi() as group:
            return 0 if work(group) else 1
    return 0 if all(rg.ranks.run(RANKS_OF_THREADS, work)) else 1


if __name__ == "__main__":
    raise SystemExit(main())
