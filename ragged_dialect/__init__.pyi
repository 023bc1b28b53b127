# The public names: one line each. `__init__.py` reads them off here, and loads a name on first use.

from ragged_dialect import nn as nn
from ragged_dialect import ranks as ranks
from ragged_dialect.arrays.convert.arrow_array import from_arrow as from_arrow
from ragged_dialect.arrays.convert.awkward_array import from_awkward as from_awkward
from ragged_dialect.arrays.convert.dlpack import from_dlpack as from_dlpack
from ragged_dialect.arrays.convert.lists import ragged as ragged
from ragged_dialect.arrays.convert.npz import load_npz as load_npz
from ragged_dialect.arrays.convert.npz import save_npz as save_npz
from ragged_dialect.arrays.convert.padded import from_padded as from_padded
from ragged_dialect.arrays.convert.padded import to_padded as to_padded
from ragged_dialect.arrays.convert.torch_nested import from_torch_nested as from_torch_nested
from ragged_dialect.arrays.core.array import RaggedArray as RaggedArray
from ragged_dialect.arrays.core.creation import assume_valid as assume_valid
from ragged_dialect.arrays.core.creation import empty_like as empty_like
from ragged_dialect.arrays.core.creation import from_lengths as from_lengths
from ragged_dialect.arrays.core.creation import from_offsets as from_offsets
from ragged_dialect.arrays.custom_ops.op import torch_op as torch_op
from ragged_dialect.arrays.index.counts import bincount as bincount  # an operation
from ragged_dialect.arrays.index.dims import reshape as reshape  # an operation
from ragged_dialect.arrays.index.dims import squeeze as squeeze  # an operation
from ragged_dialect.arrays.index.dims import transpose as transpose  # an operation
from ragged_dialect.arrays.index.dims import unsqueeze as unsqueeze  # an operation
from ragged_dialect.arrays.index.exchange import all_to_all as all_to_all  # an operation
from ragged_dialect.arrays.index.gather import boolean_mask as boolean_mask  # an operation
from ragged_dialect.arrays.index.gather import gather as gather  # an operation
from ragged_dialect.arrays.index.gather import split_before as split_before  # an operation
from ragged_dialect.arrays.index.getitem import select as select  # an operation
from ragged_dialect.arrays.index.getitem import take as take  # an operation
from ragged_dialect.arrays.index.levels import compact as compact  # an operation
from ragged_dialect.arrays.index.levels import like as like
from ragged_dialect.arrays.index.levels import merge as merge  # an operation
from ragged_dialect.arrays.index.levels import partition as partition  # an operation
from ragged_dialect.arrays.index.levels import split as split  # an operation
from ragged_dialect.arrays.index.making import from_row_ids as from_row_ids
from ragged_dialect.arrays.index.making import from_starts_lengths as from_starts_lengths
from ragged_dialect.arrays.index.making import narrow as narrow
from ragged_dialect.arrays.index.repeat import repeat as repeat  # an operation
from ragged_dialect.arrays.index.routing import group_by as group_by  # an operation
from ragged_dialect.arrays.index.routing import segment_sum as segment_sum  # an operation
from ragged_dialect.arrays.index.routing import ungroup as ungroup  # an operation
from ragged_dialect.arrays.index.windows import windows as windows  # an operation
from ragged_dialect.arrays.ops.along import local_index as local_index  # an operation
from ragged_dialect.arrays.ops.along import take_along_axis as take_along_axis  # an operation
from ragged_dialect.arrays.ops.attention import attention as attention
from ragged_dialect.arrays.ops.control import fori_loop as fori_loop
from ragged_dialect.arrays.ops.control import while_loop as while_loop
from ragged_dialect.arrays.ops.elementwise import astype as astype  # an operation
from ragged_dialect.arrays.ops.elementwise import clip as clip  # an operation
from ragged_dialect.arrays.ops.elementwise import erf as erf  # an operation
from ragged_dialect.arrays.ops.elementwise import rsqrt as rsqrt  # an operation
from ragged_dialect.arrays.ops.elementwise import where as where  # an operation
from ragged_dialect.arrays.ops.filled import arange as arange
from ragged_dialect.arrays.ops.filled import full as full
from ragged_dialect.arrays.ops.filled import ones as ones
from ragged_dialect.arrays.ops.filled import zeros as zeros
from ragged_dialect.arrays.ops.join import chunk as chunk
from ragged_dialect.arrays.ops.join import concat as concat
from ragged_dialect.arrays.ops.join import stack as stack
from ragged_dialect.arrays.ops.matmul import einsum as einsum
from ragged_dialect.arrays.ops.matmul import matmul as matmul  # an operation
from ragged_dialect.arrays.ops.matmul import ragged_dot as ragged_dot
from ragged_dialect.arrays.ops.matmul import transposed_matmul as transposed_matmul  # an operation
from ragged_dialect.arrays.ops.normalise import layer_norm as layer_norm  # an operation
from ragged_dialect.arrays.ops.normalise import log_softmax as log_softmax  # an operation
from ragged_dialect.arrays.ops.normalise import logsumexp as logsumexp  # an operation
from ragged_dialect.arrays.ops.normalise import rms_norm as rms_norm  # an operation
from ragged_dialect.arrays.ops.normalise import softmax as softmax  # an operation
from ragged_dialect.arrays.ops.scan import cumsum as cumsum  # an operation
from ragged_dialect.arrays.ops.scan import linear_recurrence as linear_recurrence  # an operation
from ragged_dialect.arrays.ops.sorting.quantile import median as median  # an operation
from ragged_dialect.arrays.ops.sorting.quantile import quantile as quantile
from ragged_dialect.arrays.ops.sorting.rankdata import rankdata as rankdata  # an operation
from ragged_dialect.arrays.ops.sorting.search import searchsorted as searchsorted  # an operation
from ragged_dialect.arrays.ops.sorting.sort import argsort as argsort  # an operation
from ragged_dialect.arrays.ops.sorting.sort import lexsort as lexsort
from ragged_dialect.arrays.ops.sorting.sort import sort as sort  # an operation
from ragged_dialect.arrays.ops.sorting.topk import top_k as top_k  # an operation
from ragged_dialect.arrays.ops.sorting.unique import contains as contains  # an operation
from ragged_dialect.arrays.ops.sorting.unique import difference as difference  # an operation
from ragged_dialect.arrays.ops.sorting.unique import intersection as intersection  # an operation
from ragged_dialect.arrays.ops.sorting.unique import union as union  # an operation
from ragged_dialect.arrays.ops.sorting.unique import unique as unique  # an operation
from ragged_dialect.arrays.ops.steps import scan as scan
from ragged_dialect.arrays.ops.ufuncs import absolute as absolute  # an operation
from ragged_dialect.arrays.ops.ufuncs import ceil as ceil  # an operation
from ragged_dialect.arrays.ops.ufuncs import cos as cos  # an operation
from ragged_dialect.arrays.ops.ufuncs import exp as exp  # an operation
from ragged_dialect.arrays.ops.ufuncs import expm1 as expm1  # an operation
from ragged_dialect.arrays.ops.ufuncs import floor as floor  # an operation
from ragged_dialect.arrays.ops.ufuncs import isfinite as isfinite  # an operation
from ragged_dialect.arrays.ops.ufuncs import isnan as isnan  # an operation
from ragged_dialect.arrays.ops.ufuncs import log as log  # an operation
from ragged_dialect.arrays.ops.ufuncs import log1p as log1p  # an operation
from ragged_dialect.arrays.ops.ufuncs import maximum as maximum  # an operation
from ragged_dialect.arrays.ops.ufuncs import minimum as minimum  # an operation
from ragged_dialect.arrays.ops.ufuncs import sign as sign  # an operation
from ragged_dialect.arrays.ops.ufuncs import sin as sin  # an operation
from ragged_dialect.arrays.ops.ufuncs import sqrt as sqrt  # an operation
from ragged_dialect.arrays.ops.ufuncs import square as square  # an operation
from ragged_dialect.arrays.ops.ufuncs import tanh as tanh  # an operation
from ragged_dialect.arrays.tracing.gradients import grad as grad
from ragged_dialect.arrays.tracing.gradients import jvp as jvp
from ragged_dialect.arrays.tracing.gradients import value_and_grad as value_and_grad
from ragged_dialect.arrays.tracing.gradients import vjp as vjp
from ragged_dialect.arrays.tracing.jit import jit as jit
from ragged_dialect.arrays.tracing.operation import compilations as compilations
from ragged_dialect.errors import AllocationError as AllocationError
from ragged_dialect.errors import ArgumentError as ArgumentError
from ragged_dialect.errors import AxisError as AxisError
from ragged_dialect.errors import CompileError as CompileError
from ragged_dialect.errors import DeviceError as DeviceError
from ragged_dialect.errors import DeviceMemoryError as DeviceMemoryError
from ragged_dialect.errors import EmulatorError as EmulatorError
from ragged_dialect.errors import LayoutError as LayoutError
from ragged_dialect.errors import MissingPackageError as MissingPackageError
from ragged_dialect.errors import PassError as PassError
from ragged_dialect.errors import RaggedError as RaggedError
from ragged_dialect.errors import RangeError as RangeError
from ragged_dialect.errors import RankError as RankError
from ragged_dialect.errors import RuntimeCheckError as RuntimeCheckError
from ragged_dialect.errors import TraceError as TraceError
from ragged_dialect.errors import VerifyError as VerifyError
from ragged_dialect.execution import compile as compile
from ragged_dialect.layout import Layout as Layout
from ragged_dialect.runtime.gpu_status import synchronize as synchronize
from ragged_dialect.runtime.memory import release_memory as release_memory

__version__: str
