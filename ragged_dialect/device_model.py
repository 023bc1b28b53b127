"""What code for GPUs takes for granted of every device: each number once, with its source."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DeviceModel:
    """What kernels, their launchers and the emulator assume of a device.

    Kernels are wrong where a fact of the architecture does not hold, and only slow where a choice does not: those
    that say *estimate* have not been measured on a GPU, those that say *ptxas* by what it makes of the kernels of
    the schedule programs (registers, spills), those that say *H100* were measured on one. What no field says is
    computed from these where it is used.
    """

    # The architecture.
    warp: int = 32  # threads; PTX ISA: WARP_SZ, on every architecture so far
    access_bytes: int = 16  # PTX ISA: vectors have at most 128 bits, and are aligned to their size, as buffers are
    block_threads: int = 1024  # CUDA C++ Programming Guide: most threads of a block
    shared_bytes: int = 48 * 1024  # CUDA C++ Programming Guide: static shared memory of a block, on every device
    registers: int = 65_536  # CUDA C++ Programming Guide: those of a multiprocessor
    register_bytes: int = 4  # PTX ISA: .b32
    resident_blocks: int = 32  # CUDA C++ Programming Guide: most blocks on a multiprocessor, sm_80 and sm_90
    bounded_blocks: int = 16  # CUDA C++ Programming Guide: the least of resident_blocks since sm_75
    multiprocessors: int = 128  # estimate: 108 on an A100, 132 on an H100 (NVIDIA's white papers)

    # Occupancy: threads that fit on a multiprocessor, which bounds the registers of each.
    resident: int = 1024  # ptxas: with the registers of fewer threads it keeps too few loads in flight
    resident_many: int = 768  # ptxas: it spills 4 to 52 bytes in 16 of 1,300 kernels with the registers of `resident`
    resident_long: int = 512  # ptxas: as above, for elements of 64 bits
    resident_split: int = 384  # ptxas: as above, of products of f32, whose numbers are split
    resident_least: int = 256  # ptxas: attention (f32, head dim 96) and softmaxes in f64 take up to 255 registers
    values_in_flight: int = 40  # estimate: that a walk over rows has registers for at `resident_many`
    accumulators: int = 8  # estimate: of short elements, that a thread has registers for beside what it loads
    accumulated_bytes: int = 32  # estimate: of accumulators, above which a walk over rows has `resident_long` threads

    # Work of a thread and of a block.
    threads: int = 256  # estimate: of a block; 4 of them fill a multiprocessor at `resident`
    fewest_threads: int = 64  # estimate: of a block for a short component; fewer, and resident_blocks bounds occupancy
    unroll: int = 4  # estimate: loads of a thread that are in flight together
    thread_items: int = 8  # estimate: of a thread at a time, where less is mostly barriers and searches
    boundary_rows: int = 4  # estimate: rows read at once where components end: code grows with each
    batches: int = 2  # estimate: times a thread has all that it can have in flight, to pay for finding its components
    tile: int = 4096  # estimate: elements of a tile, 16 for each of `threads`
    part_tiles: int = 4  # estimate: tiles of a part of a reduction; each part leaves results to be combined
    map_waves: int = 16  # estimate: of `blocks`, more of which take long to find out that their gate is closed
    component_rows: int = 16  # estimate: worked on at once, a quarter of the rows of a sentence or a bag of words
    dynamic_extent: int = 64  # estimate: that of an inner loop which is not known
    contract_rows: int = 128  # H100: of a block that multiplies matrices; with 64 rows and columns half as fast, by L2
    contract_columns: int = 32  # ptxas: of a warp; with 64 of its rows they are 64 registers of sums
    contract_step: int = 32  # H100: of what is summed at once; with steps of 64, for which there is no room, 4% faster
    contract_part: int = 512  # estimate: of what is summed by a block at least, where a sum is made in parts
    contract_stages: int = 4  # H100: of 3 to 6 steps at once none is faster; with 2 they take 5% longer
    attention_queries: int = 64  # H100: of a block; with 128, sequences of thousands take 9% less, of 60 15% more
    attention_kept: int = 96  # ptxas: registers of a thread for two blocks of 16 rows, or for cotangents together
    attention_scored: int = 64  # ptxas: the same for two blocks, with scores of their own; of 72 some are spilled
    attention_split: int = 512  # ptxas: head dim times keys of a tile, at most, for numbers of f32
    attention_capped: int = 3072  # ptxas: as above, with a softcap and doubled queries; of 4096 24 bytes are spilled
    attention_derived: int = 32  # H100: rows of a tile for cotangents, of f32 half; 16 or 64 take a tenth longer
    scan_rows: int = 128  # H100: of a tile of a scan; those of a component are added up one after the other
    grouped_keys: int = 64  # H100: that one thread counts and places; 16 and 256 take as long
    grouped_counts: int = 1024  # H100: of a pass over keys; 4,000 take twice as long in one as in two
    store_weight: float = 1.5  # estimate: what a coalesced store is worth, where a coalesced load is 1

    # Time.
    launch_bytes: int = 1 << 16  # estimate: what a block reads while a kernel starts: 20 bytes a ns, some 3 us

    @property
    def blocks(self) -> int:
        """Blocks that keep a device busy: as many as it has running at once."""
        return self.multiprocessors * self.resident_blocks


DEVICE = DeviceModel()
"""The one model: kernels are compiled for all devices of an architecture."""
