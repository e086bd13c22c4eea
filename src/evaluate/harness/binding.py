"""How the arguments of a contract reach a candidate's entry.

A function gets the inputs by position. Weights of a contract's Model go to the parameters that
remain, by name: first the weight's whole name with `_` for `.` (`linear.weight` → `linear_weight`),
then its last part, if only one weight ends so (`weight`). `*args` gets those that are tensors, in the
Model's order. Among the weights are plain numbers that a Model keeps (`norm.eps`).

A class is built with the Model's own constructor arguments and seed, and gets its weights.
"""
import inspect
import json

import torch

from .codec import decode_argument
from .wire import Failure

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class Binder:
    """Makes calls of one candidate's entry. A built class is kept while its constructor's arguments stay."""

    def __init__(self, candidate):
        self._candidate = candidate
        self.path = candidate.path
        self._built = None, None

    def bind(self, inputs, tensor_of, device):
        """(call without arguments, positional arguments, weights by name)"""
        arguments = [decode_argument(argument, tensor_of) for argument in inputs["arguments"]]
        weights = {name: decode_argument(argument, tensor_of) for name, argument in inputs["parameters"].items()}
        entry = self._candidate.entry
        if isinstance(entry, type) and issubclass(entry, torch.autograd.Function):
            name = self._candidate.name
            raise Failure("entry", f"{name} is a function with gradients, which is called by its method: {name}.apply")
        if isinstance(entry, type):
            model = self._model(inputs, tensor_of, device)
            _copy_weights(model, weights)
            return lambda: model(*arguments), arguments, weights
        further, named = _place_weights(entry, self._candidate.name, len(arguments), weights)
        positional = [*arguments, *further]
        return lambda: entry(*positional, **named), arguments, weights

    def _model(self, inputs, tensor_of, device):
        key = json.dumps([inputs["case"], inputs["init"], inputs["init_seed"]])
        if self._built[0] != key:
            init = [decode_argument(argument, tensor_of) for argument in inputs["init"]]
            torch.manual_seed(inputs["init_seed"])
            model = self._candidate.entry(*init)
            if isinstance(model, torch.nn.Module):
                model = model.to(device)
            self._built = key, model
        return self._built[1]


def _copy_weights(model, weights):
    """Weights of the same name and shape are copied; what a class names otherwise stays as it was seeded."""
    if not isinstance(model, torch.nn.Module):
        return
    own = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    with torch.no_grad():
        for name, weight in weights.items():
            if name in own and isinstance(weight, torch.Tensor) and own[name].shape == weight.shape:
                own[name].copy_(weight)


def _place_weights(entry, name, taken, weights):
    """Weights that follow by position, and by keyword."""
    if not weights:
        return [], {}
    parameters = list(inspect.signature(entry).parameters.values())
    if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters):
        return [weight for weight in weights.values() if isinstance(weight, torch.Tensor)], {}
    remaining = [p for p in parameters if p.kind in _POSITIONAL][taken:]
    remaining += [p for p in parameters if p.kind is p.KEYWORD_ONLY]
    further, named = [], {}
    for parameter in remaining:
        weight = _weight_for(parameter.name, weights)
        if weight is not None and parameter.kind is parameter.POSITIONAL_ONLY:
            further.append(weights[weight])
        elif weight is not None:
            named[parameter.name] = weights[weight]
        elif parameter.default is parameter.empty:
            known = ", ".join(weights)
            raise Failure("entry", f"the parameter {parameter.name!r} of {name} is no input and names no weight"
                                   f" of the contract's Model (its weights: {known})")
    return further, named


def _tensors(weights):
    """Without the plain numbers that a Model keeps beside its weights."""
    return {name: weight for name, weight in weights.items() if isinstance(weight, torch.Tensor)}


def _weight_for(parameter, weights):
    for weight in weights:
        if weight.replace(".", "_") == parameter:
            return weight
    ending = [weight for weight in weights if weight.rpartition(".")[2] == parameter]
    return ending[0] if len(ending) == 1 else None
