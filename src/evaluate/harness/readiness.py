"""What a child does before its GPU turn, so that the turn is left with launches and little else.

Creating and ending contexts, taking memory and loading binaries share locks in the driver. With a dozen
children some of them are always at it, and whoever has the turn would wait for them.
"""
import torch
from triton.runtime.driver import driver

# Of an output's size: two that are alive between calls, and one that a candidate takes for itself.
BLOCKS = 3
# Others need memory too: the referee, and children that are ready as well.
_SHARE_OF_FREE = 4
# An autotuned kernel may have hundreds of configurations; the call loads what is missing.
_MOST_BINARIES = 64


def reserve(device, sizes, further):
    """Has torch keep free blocks for outputs of `sizes` bytes and for one of `further` bytes; returns whether it
    does. Without them the call takes what it needs itself."""
    wanted = [size for size in sizes for _ in range(BLOCKS)] + [further]
    free, _ = torch.cuda.mem_get_info(device)
    if sum(wanted) > free // _SHARE_OF_FREE:
        return False
    try:
        held = [torch.empty(size, dtype=torch.uint8, device=device) for size in wanted if size]
    except torch.OutOfMemoryError:
        torch.cuda.empty_cache()
        return False
    del held
    return True


def load(binaries, device):
    """Loads what was compiled: `binaries` are (kernel, path, bytes of shared memory). Triton, which loads a
    binary at its first launch, finds it done."""
    utils = driver.active.utils
    load_binary, loaded = utils.load_binary, {}

    def remembered(name, binary, shared, index):
        key = name, binary, shared, index
        return loaded[key] if key in loaded else load_binary(name, binary, shared, index)

    utils.load_binary = remembered
    index = torch.device(device).index or 0
    for name, path, shared in binaries[:_MOST_BINARIES]:
        with open(path, "rb") as file:
            binary = file.read()
        loaded[name, binary, shared, index] = load_binary(name, binary, shared, index)
