"""Options of the passes that make kernels: what they refuse, and that every value of them works."""

from __future__ import annotations

import numpy as np
import pytest
from support.run_pass import transform

from ragged_dialect.errors import PassError
from ragged_dialect.lowering.convert_forall_to_gpu import ConvertForallToGpu
from ragged_dialect.lowering.ragged_map_parallel import RaggedMapParallel
from ragged_dialect.passes.base import RaggedPass
