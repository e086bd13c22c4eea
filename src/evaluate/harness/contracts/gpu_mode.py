"""gpu-mode tasks: task.yml beside reference.py with ref_kernel, generate_input, check_implementation."""

import inspect

import yaml

from ..nest import map_tensors
from .base import Case, Contract, Problem, as_json, interpret_verdict, make_unique, name_from, seed_everything
from .cpu import NOTE, widen_parameter, widen_tensors
from .gpu_mode_modules import provide_modules
from .relocate import cuda_means
from .source import import_file, read_text
from .tolerance import Tolerance


class GpuMode(Contract):
    """custom_kernel(data), where data is everything that generate_input returns, as one argument."""

    kind = "gpu_mode"
    destinations_allowed = True
    has_own_comparison = True

    def __init__(self, path, device):
        super().__init__(path, device)
        self.entries = ["custom_kernel"]
        task = self._task()
        provide_modules(path.parent, task.get("files") or [], self.foreign)
        with cuda_means(self.device):
            self.module = import_file(path, "kernelbrain_contract")
        for name in ("ref_kernel", "generate_input", "check_implementation"):
            if not callable(getattr(self.module, name, None)):
                raise self.failure(f"reference.py lacks {name}, which a gpu-mode task defines")
        self.tolerance = Tolerance()
        self._takes_seed = self._accepts_seed()
        self.cases = make_unique(self._read_cases(task))
        if self.device.type == "cpu" and "bfloat16" in read_text(path):
            self.notes.append(NOTE)

    def _task(self):
        """The task.yml beside reference.py."""
        file = next(
            (p for p in (self.path.with_name("task.yml"), self.path.with_name("task.yaml")) if p.exists()), None
        )
        if file is None:
            raise self.failure(f"there is no task.yml beside {self.path.name}: a gpu-mode task needs both")
        try:
            task = yaml.safe_load(read_text(file))
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            failure = self.failure(f"{file.name} is not valid YAML: {getattr(error, 'problem', None) or error}")
            failure.file, failure.line = file, mark.line + 1 if mark else None
            raise failure from None
        if not isinstance(task, dict):
            raise self.failure(f"{file.name} must be a mapping with tests or benchmarks")
        return task

    def _read_cases(self, task):
        """Benchmarks are what is timed; on the cpu device the tests, which are smaller."""
        order = ("tests", "benchmarks") if self.device.type == "cpu" else ("benchmarks", "tests")
        listed = next((task[name] for name in order if task.get(name)), None)
        if not isinstance(listed, list) or not all(isinstance(entry, dict) for entry in listed):
            raise self.failure("task.yml needs tests or benchmarks: a list of mappings, the parameters of a case")
        used = next(name for name in order if task.get(name))
        self.notes.append(f"cases are the {used} of task.yml")
        return [self._read_case(entry) for entry in listed]

    def _read_case(self, entry):
        call = {str(name): value for name, value in entry.items() if name != "seed"}
        if self.device.type == "cpu":
            call = {name: widen_parameter(value) for name, value in call.items()}
        return Case(name_from(call), {name: as_json(value) for name, value in call.items()}, 1.0, call)

    def _accepts_seed(self):
        parameters = inspect.signature(self.module.generate_input).parameters.values()
        return any(p.name == "seed" or p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters)

    def make(self, case, seed):
        seed_everything(seed)
        call = dict(case.call, seed=seed) if self._takes_seed else case.call
        with self.foreign(f"generate_input fails for case {case.name}"), cuda_means(self.device):
            data = self.module.generate_input(**call)
        return Problem([widen_tensors(data) if self.device.type == "cpu" else data])

    def reference(self, problem, arguments, parameters):
        with cuda_means(self.device):
            return self.module.ref_kernel(arguments[0])

    def timed(self, problem):
        if self.device.type == "cuda":
            return self.module.ref_kernel
        return lambda data: self.reference(problem, [data], {})

    def compare(self, problem, answer, expected):
        data = map_tensors(problem.arguments[0], lambda tensor: tensor.clone())
        with self.foreign("check_implementation fails"), cuda_means(self.device):
            return interpret_verdict(self.module.check_implementation(data, answer))
