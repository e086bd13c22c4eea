"""Memory before and after a tensor that nobody may write to, and that no right answer can be read from."""

# As far as a kernel may be off by a tile of the largest size.
GUARD = 1 << 16
_PATTERN = 0xFF  # NaN in every floating-point format


class RedZones:
    """The guarded tensor lies in `memory`, a flat uint8 tensor, at GUARD and has `size` bytes; what is around it
    is filled here."""

    def __init__(self, label, memory, size):
        self.label = label
        self._before, self._after = memory[:GUARD], memory[GUARD + size :]
        self._before.fill_(_PATTERN)
        self._after.fill_(_PATTERN)

    def is_touched(self):
        """A tensor of one bool: asking is left to who has several."""
        return (self._before != _PATTERN).any() | (self._after != _PATTERN).any()

    def evidence(self):
        """What was written, in words."""
        after = (self._after != _PATTERN).nonzero().flatten()
        before = (self._before != _PATTERN).nonzero().flatten()
        count = after.numel() + before.numel()
        where = f"{int(after[0]) + 1} bytes past its end" if after.numel() else ""
        if not where:
            where = f"{GUARD - int(before[-1])} bytes before its start"
        return f"wrote outside of {self.label}: {count} bytes around it changed, the nearest {where}"


def breach(zones):
    """Evidence of the first zones that were written to, or None."""
    touched = [zone.is_touched() for zone in zones]
    # One transfer for all of them.
    if not touched or not bool(sum(touched[1:], touched[0].int())):
        return None
    return next(zone.evidence() for zone, hit in zip(zones, touched) if bool(hit))
