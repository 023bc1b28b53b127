"""Processes that run one program on data of their own, each a rank of a group: what `ragged.all_to_all` goes between.

A group is entered, and is that of the calls inside:

    with rg.ranks.mpi() as group:
        received = rg.all_to_all(tokens)

The engines are those that exist: MPI (`mpi`), a process group of `torch.distributed` (`torch_group`), NCCL between GPUs
beside one of these (`nccl`), and threads of this process (`run`), for tests and for trying a program out.
"""

from ragged_dialect.ranks.group import Group as Group
from ragged_dialect.ranks.group import current as current
from ragged_dialect.ranks.mpi import mpi as mpi
from ragged_dialect.ranks.nccl import nccl as nccl
from ragged_dialect.ranks.threads import run as run
from ragged_dialect.ranks.torch_distributed import torch_group as torch_group

__all__ = ["Group", "current", "mpi", "nccl", "run", "torch_group"]
