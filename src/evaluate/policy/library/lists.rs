//! The lists: what is allowed of torch and triton, and which tensor methods compute.
//! Set in columns by hand: one word a line would be 400 lines.

use super::foreign;
use crate::evaluate::policy::imports::below;

/// Exactly these paths.
#[rustfmt::skip]
const TORCH: &[&str] = &[
    // Allocation and constants.
    "arange", "as_strided", "as_tensor", "empty", "empty_like", "empty_strided",
    "full", "full_like", "ones", "ones_like", "scalar_tensor", "tensor", "zeros", "zeros_like",
    // Views and shapes.
    "atleast_1d", "atleast_2d", "broadcast_shapes", "broadcast_to", "chunk", "flatten", "movedim",
    "numel", "permute", "reshape", "split", "squeeze", "swapaxes", "t", "transpose", "unsqueeze",
    "view_as_real",
    // Checks of arguments.
    "_assert", "_check",
    // Types, devices, layouts.
    "channels_last", "channels_last_3d", "contiguous_format", "device", "dtype", "finfo",
    "get_default_dtype", "iinfo", "is_floating_point", "is_grad_enabled", "is_tensor", "layout",
    "memory_format", "preserve_format", "promote_types", "result_type", "strided", "Size", "Tensor",
    "__version__", "BoolTensor", "ByteTensor", "FloatTensor", "HalfTensor", "IntTensor",
    "LongTensor",
    // The current device.
    "cuda.current_device", "cuda.device", "cuda.device_count", "cuda.device_of",
    "cuda.get_device_capability", "cuda.get_device_name", "cuda.get_device_properties",
    "cuda.is_available", "version.cuda", "version.hip",
    // Structure of modules and of functions with gradients.
    "enable_grad", "inference_mode", "no_grad", "nn.Buffer", "nn.Module", "nn.ModuleDict",
    "nn.ModuleList", "nn.Parameter", "nn.ParameterDict", "nn.ParameterList",
    "nn.parameter.Parameter",
];

/// These paths with everything below: a dtype has attributes of its own.
#[rustfmt::skip]
const DTYPES: &[&str] = &[
    "bfloat16", "bool", "complex128", "complex64", "double", "float", "float16", "float32",
    "float64", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz",
    "float8_e8m0fnu", "half", "int", "int16", "int32", "int64", "int8", "long", "short", "uint16",
    "uint32", "uint64", "uint8",
];

/// Parts of torch that compile, load, trace or configure.
#[rustfmt::skip]
pub(super) const TORCH_MACHINERY: [&str; 14] = [
    "torch.autograd", "torch.backends", "torch.classes", "torch.compile", "torch.compiler",
    "torch.cuda", "torch.distributed", "torch.jit", "torch.library", "torch.multiprocessing",
    "torch.ops", "torch.random", "torch.testing", "torch.utils",
];

/// These paths of triton, with everything below.
#[rustfmt::skip]
const TRITON: &[&str] = &[
    "Config", "InterpreterError", "JITFunction", "OutOfResources", "TensorWrapper",
    "__version__", "autotune", "cdiv", "constexpr_function", "experimental.gluon", "heuristics",
    "jit", "language", "next_power_of_2", "reinterpret", "runtime.Autotuner", "runtime.JITFunction",
    "runtime.driver.active", "runtime.jit.JITFunction", "set_allocator",
    "tools.experimental_descriptor", "tools.tensor_descriptor",
];

/// Tensor methods that compute; their in-place forms end in an underscore.
///
/// `add` and `split` are left out, because sets and strings have them too.
#[rustfmt::skip]
const COMPUTE: &[&str] = &[
    "abs", "absolute", "acos", "acosh", "addbmm", "addcdiv", "addcmul", "addmm", "addmv", "addr",
    "all", "allclose", "amax", "amin", "aminmax", "any", "arccos", "arcsin", "arctan", "argmax",
    "argmin", "argsort", "argwhere", "asin", "asinh", "atan", "atan2", "atanh", "backward",
    "baddbmm", "bernoulli", "bincount", "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor",
    "bmm", "ceil", "cholesky", "clamp", "clamp_max", "clamp_min", "clip", "copysign", "corrcoef",
    "cos", "cosh", "count_nonzero", "cov", "cross", "cummax", "cummin", "cumprod", "cumsum", "det",
    "diff", "digamma", "dist", "div", "divide", "dot", "eq", "equal", "erf", "erfc", "erfinv",
    "exp", "exp2", "expm1", "fix", "flip", "fliplr", "flipud", "float_power", "floor",
    "floor_divide", "fmax", "fmin", "fmod", "frac", "frexp", "gather", "ge", "gelu", "ger",
    "greater", "greater_equal", "gt", "hardshrink", "hardtanh", "heaviside", "histc", "hypot", "i0",
    "index_add", "index_copy", "index_fill", "index_put", "index_reduce", "index_select", "inner",
    "inverse", "isclose", "isfinite", "isinf", "isnan", "isneginf", "isposinf", "kron", "kthvalue",
    "ldexp", "le", "leaky_relu", "lerp", "less", "less_equal", "lgamma", "log", "log10", "log1p",
    "log2", "log_softmax", "logaddexp", "logaddexp2", "logcumsumexp", "logical_and", "logical_not",
    "logical_or", "logical_xor", "logit", "logsumexp", "lt", "lu", "masked_fill", "masked_scatter",
    "masked_select", "matmul", "matrix_exp", "matrix_power", "max", "maximum", "mean", "median",
    "min", "minimum", "mm", "moveaxis", "msort", "mul", "multinomial", "multiply", "mv", "mvlgamma",
    "nan_to_num", "nanmean", "nanmedian", "nanquantile", "nansum", "ne", "neg", "negative",
    "nextafter", "nonzero", "norm", "not_equal", "orgqr", "outer", "pinverse", "polygamma",
    "positive", "pow", "prelu", "prod", "put", "qr", "quantile", "rad2deg", "reciprocal", "relu",
    "relu6", "remainder", "renorm", "repeat_interleave", "roll", "rot90", "round", "rsqrt", "rsub",
    "scatter", "scatter_add", "scatter_reduce", "sgn", "sigmoid", "sign", "signbit", "silu", "sin",
    "sinc", "sinh", "slogdet", "smm", "softmax", "softplus", "sort", "sqrt", "square", "sspaddmm",
    "std", "sub", "subtract", "sum", "svd", "take", "take_along_dim", "tan", "tanh", "tensordot",
    "topk", "trace", "tril", "triu", "true_divide", "trunc", "unique", "unique_consecutive", "var",
    "vdot", "where", "xlogy",
];

/// Tensor methods through which a caller's tensor becomes something else.
#[rustfmt::skip]
const TRANSFORMING: [&str; 10] = [
    "as_subclass", "detach_", "register_hook", "requires_grad_", "resize_", "resize_as_",
    "retain_grad", "set_", "share_memory_", "t_",
];

/// Members of allowed standard modules that evaluate text or fetch attributes by name.
#[rustfmt::skip]
const BACK_DOORS: [&str; 17] = [
    "collections.abc.sys", "contextlib.redirect_stderr", "contextlib.redirect_stdout",
    "dataclasses.make_dataclass", "logging.FileHandler", "logging.currentframe", "operator.attrgetter", "operator.call",
    "operator.delitem", "operator.imatmul", "operator.matmul", "operator.methodcaller",
    "operator.setitem", "typing.ForwardRef", "typing.evaluate_forward_ref", "typing.get_type_hints",
    "typing_extensions.get_type_hints",
];

/// Decorators that change how a function is compiled or differentiated, not what it computes.
const DECORATORS: [&str; 5] = [
    "torch.amp.custom_bwd",
    "torch.amp.custom_fwd",
    "torch.compiler.disable",
    "torch.cuda.amp.custom_bwd",
    "torch.cuda.amp.custom_fwd",
];

/// Parts of torch with which a function brings its own gradient.
const GRADIENTS: [&str; 4] = [
    "torch.autograd.Function",
    "torch.autograd.function.Function",
    "torch.autograd.function.FunctionCtx",
    "torch.autograd.function.once_differentiable",
];

pub(super) fn torch_allowed(path: &str) -> bool {
    let Some(rest) = path.strip_prefix("torch.") else { return false };
    TORCH.contains(&rest) || DTYPES.iter().any(|dtype| below(rest, dtype))
}

pub(super) fn triton_allowed(path: &str) -> bool {
    let Some(rest) = path.strip_prefix("triton.") else { return false };
    TRITON.iter().any(|it| below(rest, it)) && !rest.contains("._") && !foreign::leaves_triton(path)
}

pub(in crate::evaluate::policy) fn may_decorate(path: &str) -> bool {
    DECORATORS.contains(&path)
}

pub(super) fn brings_a_gradient(path: &str) -> bool {
    GRADIENTS.contains(&path)
}

/// Whether `method` of a tensor computes.
pub(in crate::evaluate::policy) fn is_compute_method(method: &str) -> bool {
    let in_place = method.strip_suffix('_');
    COMPUTE.contains(&method)
        || in_place.is_some_and(|it| COMPUTE.contains(&it) || matches!(it, "add" | "copy"))
}

pub(super) fn changes_the_tensor(method: &str) -> bool {
    TRANSFORMING.contains(&method)
}

/// Whether a path into an allowed standard module leads out of it.
pub(super) fn opens_a_back_door(path: &str) -> bool {
    let mut parts = path.split('.').skip(1).peekable();
    let foreign =
        |part: &str| (part.starts_with('_') && part != "__version__") || foreign::is_module(part);
    BACK_DOORS.contains(&path)
        || (path != "collections.abc"
            && !path.starts_with("collections.abc.")
            && parts.any(foreign))
}
