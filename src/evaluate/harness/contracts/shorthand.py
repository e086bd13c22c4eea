"""The shorthand of the native form: SHAPES, DTYPES and make_inputs(shape, dtype, device, seed)."""

from ..codec import dtype_name
from .base import Case, as_json, name_from
from .cpu import widen_parameter
from .native import NamedReference
from .tolerance import parse_dtype


class Shorthand(NamedReference):
    """Every shape with every dtype; `dtype` reaches make_inputs as a torch.dtype."""

    def read_cases(self):
        _, shapes = self.list_for_device("SHAPES")
        self.shapes = shapes
        self.known_shapes = [*(self.optional("SHAPES") or ()), *(self.optional("SMALL_SHAPES") or ())]
        dtypes = self._dtypes()
        cases = []
        for dtype in dtypes:
            for shape in shapes:
                call = {"shape": shape, "dtype": dtype}
                name = name_from({"shape": shape}).removeprefix("shape=")
                if len(dtypes) > 1:
                    name = f"{name},{dtype_name(dtype)}"
                cases.append(Case(name, {"shape": as_json(shape), "dtype": dtype_name(dtype)}, 1.0, call))
        return cases

    def _dtypes(self):
        listed = self.optional("DTYPES")
        if not isinstance(listed, (list, tuple)) or not listed:
            raise self.failure("DTYPES must be a list with at least one dtype")
        try:
            dtypes = [parse_dtype(item) for item in listed]
        except ValueError as error:
            raise self.failure(f"DTYPES: {error}") from None
        if self.device.type == "cpu":
            asked, dtypes = dtypes, [widen_parameter(dtype) for dtype in dtypes]
            self.widened = dtypes != asked
        return list(dict.fromkeys(dtypes))

    def call_make_inputs(self, case, seed):
        return self.module.make_inputs(case.call["shape"], case.call["dtype"], str(self.device), seed)
