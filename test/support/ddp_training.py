"""One of two processes that train together: `python ddp_training.py RANK FILE`. Prints `equal` where the gradient that
DistributedDataParallel averages over both is the mean of those of each alone."""

import sys

import numpy as np
import torch

import ragged_dialect as rg

LENGTHS = ([2, 0, 3], [0, 4])


class Pool(torch.nn.Module):
    """Ragged attention pooling to a number per document."""

    def __init__(self) -> None:
        super().__init__()
        self.query = torch.nn.Parameter(torch.linspace(-1, 1, 3))

    def forward(self, words: rg.RaggedArray) -> torch.Tensor:
        """The sums of the pooled words."""
        weights = rg.softmax(words @ self.query, axis=1)
        return (weights[..., None] * words).sum(axis=(1, 2))


def documents(rank: int) -> rg.RaggedArray:
    """Documents of one process."""
    count = sum(LENGTHS[rank])
    made = np.random.default_rng(rank).standard_normal((count, 3)).astype(np.float32)
    return rg.from_lengths(torch.from_numpy(made), LENGTHS[rank])


def gradient(model: torch.nn.Module, rank: int) -> list[float]:
    """The gradient of the sum of all results."""
    model.zero_grad()
    model(documents(rank)).sum().backward()
    (parameter,) = model.parameters()
    assert parameter.grad is not None
    return parameter.grad.tolist()


if __name__ == "__main__":
    rank = int(sys.argv[1])
    torch.distributed.init_process_group("gloo", init_method=f"file://{sys.argv[2]}", rank=rank, world_size=2)
    found = gradient(torch.nn.parallel.DistributedDataParallel(Pool()), rank)
    alone = np.mean([gradient(Pool(), k) for k in range(2)], axis=0)
    np.testing.assert_allclose(found, alone, rtol=1e-5)
    torch.distributed.destroy_process_group()
    print("equal")
