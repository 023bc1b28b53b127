"""PyTorch's products of groups, `torch._grouped_mm`, in a mixture of experts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from cases import CHOICES, EXPERTS, Case
from common import Array

from peers.tensors import array, tensor

VERSION = torch.__version__


def _moe(case: Case, experts: tuple[Array, ...]) -> Callable[[], Any]:
    """The tokens of every expert in a row; products take where each ends."""
    x = tensor(case.values)
    scores, gate, up, down = map(tensor, experts)

    def call() -> Any:
        best, chosen = scores.topk(CHOICES, 1)
        keys = chosen.reshape(-1)
        order = keys.argsort(stable=True)
        ends = torch.bincount(keys, minlength=EXPERTS).cumsum(0).to(torch.int32)
        own = x[order // CHOICES]
        inner = torch.nn.functional.silu(torch._grouped_mm(own, gate, offs=ends)) * torch._grouped_mm(
            own, up, offs=ends
        )
        made = torch._grouped_mm(inner, down, offs=ends)
        back = torch.empty_like(made)
        back[order] = made
        return array((back.view(len(x), CHOICES, -1) * best.softmax(1)[:, :, None]).sum(1))

    return call


OPERATIONS = {
    "moe": lambda case: _moe(case, case.experts),
    "moe, skewed": lambda case: _moe(case, case.skewed_experts),
}
