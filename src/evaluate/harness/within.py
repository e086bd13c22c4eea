"""How long the parts of an answer took, for whoever wants to make evaluations faster: the parent logs them at debug
level, and nothing else is made of them."""
import time

_now = time.perf_counter_ns
_parts = []
_last = [0]


def begin():
    """At a request."""
    _parts.clear()
    _last[0] = _now()


def note(part):
    """What was done since the last note, or since the request came."""
    now = _now()
    _parts.append([part, round((now - _last[0]) / 1e6, 2)])
    _last[0] = now


def take():
    """[[part, milliseconds]…]"""
    return list(_parts)
