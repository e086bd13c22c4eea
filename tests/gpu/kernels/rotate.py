"""Rotates pairs, in as many steps as a case asks for: arithmetic alone, so that time follows the number of steps."""
import torch
import triton
import triton.language as tl

# Steps that are made and taken back, of 1280: work that the answer does not show.
DETOUR = 0


@triton.jit
def _rotate(x_ptr, y_ptr, out_x_ptr, out_y_ptr, n, cosine, sine, forward, backward, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offs < n
    x = tl.load(x_ptr + offs, mask=inside, other=0.0)
    y = tl.load(y_ptr + offs, mask=inside, other=0.0)
    for _ in range(forward):
        x, y = x * cosine - y * sine, x * sine + y * cosine
    for _ in range(backward):
        x, y = x * cosine + y * sine, y * cosine - x * sine
    tl.store(out_x_ptr + offs, x, mask=inside)
    tl.store(out_y_ptr + offs, y, mask=inside)


def kernel_function(x, y, cosine, sine, steps):
    out_x, out_y = torch.empty_like(x), torch.empty_like(y)
    detour = steps * DETOUR // 1280
    grid = (triton.cdiv(x.numel(), 512),)
    _rotate[grid](x, y, out_x, out_y, x.numel(), cosine, sine, steps + detour, detour, BLOCK=512)
    return out_x, out_y
