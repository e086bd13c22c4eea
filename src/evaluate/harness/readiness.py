"""What a child does before its GPU turn, so that the turn is left with launches and little else.

Creating and ending contexts, taking memory and loading binaries share locks in the driver. With a dozen
children some of them are always at it, and whoever has the turn would wait for them.
"""
import torch
from triton.runtime.driver import driver

# Others need memory too: the referee, and children that are ready as well.
_SHARE_OF_FREE = 4
# An autotuned kernel may have hundreds of configurations; the call loads what is missing.
_MOST_BINARIES = 64
# Results that stay alive so that the allocator gives other addresses to the next calls, and their bytes together.
_ALIVE, _ALIVE_BYTES = 8, 4 << 30
_SPARE = 2


def kept_alive(sizes, repeat):
    """How many results of `repeat` calls, whose outputs have `sizes` bytes, stay alive at a time."""
    return max(1, min(_ALIVE, repeat, _ALIVE_BYTES // max(1, sum(sizes))))


def blocks_for(alive):
    """How many blocks of an output's size are poisoned so that none of these results lies in another one."""
    return alive + _SPARE


def reserve(device, sizes, plan):
    """Has torch keep memory for what a burst after `plan` needs, outputs of `sizes` bytes, copies of them and what is
    written to flush caches, in one block that it cuts. Without it the calls take what they need themselves."""
    # One copy more than is kept: where copies go that only take the time of one.
    blocks = blocks_for(kept_alive(sizes, plan["repeat"])) + (plan["keep"] and plan["keep"] + 1)
    rounded = [-(-size // _GRAIN) * _GRAIN for size in sizes]
    small = [size for size in rounded if 0 < size <= _SMALL]
    in_one = plan["flush_bytes"] + blocks * sum(size for size in rounded if size > _SMALL)
    free, _ = torch.cuda.mem_get_info(device)
    if in_one + blocks * sum(small) > free // _SHARE_OF_FREE:
        return False
    try:
        held = [torch.empty(size, dtype=torch.uint8, device=device) for size in [in_one, *blocks * small]]
    except torch.OutOfMemoryError:
        torch.cuda.empty_cache()
        return False
    del held
    return True


# Of torch's allocator, bytes: what sizes are multiples of, and up to where they are not cut from larger blocks.
_GRAIN, _SMALL = 512, 1 << 20


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
