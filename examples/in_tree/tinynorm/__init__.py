"""Normalisation kernels."""

from .kernels.rms_norm import rms_norm

__all__ = ["rms_norm"]
