"""SwiGLU as an autograd function: one elementwise kernel forward, one backward."""

import torch
import triton
import triton.language as tl


@triton.jit
def _forward_kernel(gate_ptr, up_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    gate = tl.load(gate_ptr + at, mask=mask, other=0.0).to(tl.float32)
    up = tl.load(up_ptr + at, mask=mask, other=0.0).to(tl.float32)
    y = gate * tl.sigmoid(gate) * up
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=mask)


@triton.jit
def _backward_kernel(dy_ptr, gate_ptr, up_ptr, dgate_ptr, dup_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    dy = tl.load(dy_ptr + at, mask=mask, other=0.0).to(tl.float32)
    gate = tl.load(gate_ptr + at, mask=mask, other=0.0).to(tl.float32)
    up = tl.load(up_ptr + at, mask=mask, other=0.0).to(tl.float32)
    gated = tl.sigmoid(gate)
    dgate = dy * up * gated * (1 + gate * (1 - gated))
    dup = dy * gate * gated
    tl.store(dgate_ptr + at, dgate.to(dgate_ptr.dtype.element_ty), mask=mask)
    tl.store(dup_ptr + at, dup.to(dup_ptr.dtype.element_ty), mask=mask)


class _SwiGLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, gate, up):
        gate, up = gate.contiguous(), up.contiguous()
        y = torch.empty_like(gate)
        n = gate.numel()
        _forward_kernel[(triton.cdiv(n, 256),)](gate, up, y, n, BLOCK=256, num_warps=4)
        ctx.save_for_backward(gate, up)
        return y

    @staticmethod
    def backward(ctx, dy):
        gate, up = ctx.saved_tensors
        dy = dy.contiguous()
        dgate, dup = torch.empty_like(gate), torch.empty_like(up)
        n = gate.numel()
        _backward_kernel[(triton.cdiv(n, 256),)](dy, gate, up, dgate, dup, n, BLOCK=256, num_warps=4)
        return dgate, dup


def kernel_function(gate, up):
    return _SwiGLU.apply(gate, up)
