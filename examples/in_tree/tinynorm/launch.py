"""How kernels are launched."""

import triton


def block_size(cols, at_most=1024):
    """The power of two that holds a row, or the largest allowed."""
    return min(triton.next_power_of_2(cols), at_most)
