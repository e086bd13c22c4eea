"""The form of KernelBench and KernelAgent: Model, get_inputs, get_init_inputs."""

import copy
import dataclasses

import torch

from ..nest import map_tensors
from .base import Case, Contract, Problem, seed_everything
from .cpu import NOTE, widen_tensors
from .source import import_file, is_out_of_memory, read_text
from .tolerance import KERNEL_BENCH, Tolerance, parse

_CONSTANTS = (bool, int, float)


class KernelBench(Contract):
    """One case. A candidate is kernel_function, with weights bound by name, or a class ModelNew."""

    kind = "kernel_bench"
    holds_state = True

    def __init__(self, path, device):
        super().__init__(path, device)
        self.entries = ["kernel_function", "ModelNew"]
        self.module = import_file(path, "kernelbrain_contract")
        declared = getattr(self.module, "TOLERANCE", None)
        try:
            self.tolerance = Tolerance(None if declared is None else parse(declared), KERNEL_BENCH)
        except ValueError as error:
            raise self.failure(f"TOLERANCE: {error}") from None
        if declared is None:
            self.notes.append("tolerance as in KernelBench: 1e-4 for float32, 1e-2 for float16 and bfloat16")
        if self.device.type == "cpu" and "bfloat16" in read_text(path):
            self.notes.append(NOTE)
        self.mutates = self.positions("MUTATES")
        self.cases = [Case("default", {}, 1.0, {})]

    def make(self, case, seed):
        model, init = self._model(seed)
        parameters = {name: tensor.detach() for name, tensor in model.named_parameters()}
        parameters |= {name: tensor.detach() for name, tensor in model.named_buffers()}
        inputs = self._inputs(seed)
        self.check_positions(inputs)
        return Problem(inputs, {**parameters, **_constants(model)}, init, seed, model)

    def vary(self, problem, case, seed):
        return dataclasses.replace(problem, arguments=self._inputs(seed))

    def _model(self, seed):
        """Made on the CPU, as the candidate's is, so that the same seed gives the same weights."""
        with self.foreign("get_init_inputs fails"):
            seed_everything(seed)
            init = list(self.module.get_init_inputs())
        with self.foreign("Model(*get_init_inputs()) fails"):
            seed_everything(seed)
            model = self.module.Model(*init)
        if not isinstance(model, torch.nn.Module):
            raise self.failure("Model is not a torch.nn.Module")
        if self.device.type == "cpu" and any(tensor.dtype == torch.bfloat16 for tensor in model.state_dict().values()):
            model = model.float()
        return model.to(self.device), map_tensors(init, lambda tensor: tensor.to(self.device))

    def _inputs(self, seed):
        with self.foreign("get_inputs fails"):
            made = self._draw(seed)
            made = map_tensors(list(made), lambda tensor: tensor.to(self.device))
        return widen_tensors(made) if self.device.type == "cpu" else made

    def _draw(self, seed):
        """Draws on the device where that works: billions of values take a CPU a minute."""
        if self.device.type != "cpu":
            try:
                seed_everything(seed)
                with torch.device(self.device):
                    return self.module.get_inputs()
            except Exception as error:  # for instance a generator of the CPU
                if is_out_of_memory(error):
                    raise
        seed_everything(seed)
        return self.module.get_inputs()

    def reference(self, problem, arguments, parameters):
        tensors = {name: value for name, value in parameters.items() if isinstance(value, torch.Tensor)}
        for name, _ in problem.model.named_buffers():
            tensors[name] = tensors[name].clone()  # running statistics: what a candidate gets stays as it is
        return torch.func.functional_call(problem.model, tensors, tuple(arguments))

    def timed(self, problem):
        has_state = any(True for _ in problem.model.buffers())
        return copy.deepcopy(problem.model) if has_state else problem.model


def _constants(model):
    """Numbers and tuples of numbers that modules keep (eps, stride, …), by qualified name."""

    def plain(value):
        if isinstance(value, (tuple, list)):
            return bool(value) and all(isinstance(item, _CONSTANTS) for item in value)
        return isinstance(value, _CONSTANTS)

    found = {}
    for prefix, module in model.named_modules():
        for name, value in vars(module).items():
            if (
                not name.startswith("_")
                and name not in ("training", "call_super_init", "dump_patches")
                and plain(value)
            ):
                found[f"{prefix}.{name}" if prefix else name] = value
    return found
