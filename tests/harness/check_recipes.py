"""Runs candidates against their contract in Triton's interpreter, and tells how many are right.

    TRITON_INTERPRET=1 python check_recipes.py CONTRACT CANDIDATES [CASE …]

CONTRACT is a native test.py, CANDIDATES a folder of sources that define `kernel_function`, CASE a
further case as JSON. Prints each candidate that fails, ends with status 1 if there is one.
"""
import importlib.util
import json
import pathlib
import sys

import torch


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem.replace(".", "_"), path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def close(output, expected, tolerance):
    if output.shape != expected.shape or output.dtype != expected.dtype:
        return False
    return torch.allclose(output, expected, **tolerance)


def main(contract, candidates, *more):
    contract = load(pathlib.Path(contract))
    cases = list(contract.SMALL_CASES) + [json.loads(case) for case in more]
    prepared = []
    for case in cases:
        params = {name: value for name, value in case.items() if name not in ("name", "weight")}
        inputs = contract.make_inputs(device="cpu", seed=3, **params)
        prepared.append((params, inputs, contract.reference(*inputs)))
    right, paths = 0, sorted(pathlib.Path(candidates).glob("*.py"))
    for path in paths:
        try:
            module = load(path)
            for params, inputs, expected in prepared:
                output = module.kernel_function(*inputs)
                if not close(output, expected, contract.TOLERANCE[params["dtype"]]):
                    raise ValueError(f"wrong on {params}")
        except Exception as error:
            print(f"{path.name}: {path.read_text().splitlines()[0]}: {type(error).__name__}: {error}"[:400])
        else:
            right += 1
    print(f"{right} of {len(paths)} candidates are right on {len(cases)} cases")
    return right != len(paths)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
