"""Measures what a GPU reaches at best. PROTOCOL.md says how; it runs no code but its own and torch's.

Started as `python -I calibrate.py` with a Unix stream socket as file descriptor 0.
"""

import pathlib
import sys
import time
import types

_STARTED = time.monotonic()  # importing torch counts, too

_package = types.ModuleType("kernelbrain_harness")
_package.__path__ = [str(pathlib.Path(__file__).resolve().parent)]
sys.modules["kernelbrain_harness"] = _package
sys.dont_write_bytecode = True

if __name__ == "__main__":
    from kernelbrain_harness.calibration import main

    main(_STARTED)
