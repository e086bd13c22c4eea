"""The referee: owns inputs and reference answers, judges what a candidate returned. PROTOCOL.md says how.

Started as `python -I referee.py` with a Unix stream socket as file descriptor 0.
"""

import gc
import pathlib
import sys
import types

# One package whatever the folder is called, and without the folder on sys.path, where its names could
# shadow a contract's own modules.
_package = types.ModuleType("kernelbrain_harness")
_package.__path__ = [str(pathlib.Path(__file__).resolve().parent)]
sys.modules["kernelbrain_harness"] = _package
sys.dont_write_bytecode = True

if __name__ == "__main__":
    gc.disable()  # what is imported stays: looking through it over and over takes time for nothing
    from kernelbrain_harness.court import main

    gc.freeze()
    gc.enable()
    main()
