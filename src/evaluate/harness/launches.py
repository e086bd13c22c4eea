"""Which kernels a call launches, and how autotuned ones get by without a GPU."""
from triton import knobs
from triton.runtime.autotuner import Autotuner
from triton.runtime.interpreter import GridExecutor
from triton.runtime.jit import JITFunction

_interpret = GridExecutor.__call__
_run = JITFunction.run


class Launches:
    """While it is entered, `names` collects the kernels that are launched, each once, in order.

    The compiled launcher calls the hook whichever way a launch takes; so does the interpreter's executor.
    With `muted` the launches do nothing: an answer that is right all the same came from somewhere else.
    """

    def __init__(self, muted=False):
        self.names = []
        self._muted = muted

    def _add(self, name):
        if name not in self.names:
            self.names.append(name)

    def _on_launch(self, metadata):
        self._add(metadata.data["name"])

    def __enter__(self):
        launches = self

        def interpret(executor, *args, **kwargs):
            launches._add(executor.fn.__name__)
            return None if launches._muted else _interpret(executor, *args, **kwargs)

        def compile_only(function, *args, grid, warmup, **kwargs):
            return _run(function, *args, grid=grid, warmup=True, **kwargs)

        GridExecutor.__call__ = interpret
        if self._muted:
            JITFunction.run = compile_only
        # One function for adding and removing: the chain compares.
        self._hook = self._on_launch
        knobs.runtime.launch_enter_hook.add(self._hook)
        return self

    def __exit__(self, *_):
        GridExecutor.__call__ = _interpret
        JITFunction.run = _run
        knobs.runtime.launch_enter_hook.remove(self._hook)


def take_first_configurations(note):
    """Lets @triton.autotune run in the interpreter, where nothing can be measured: the first
    configuration that its pruning leaves is taken. `note` is told once for each kernel."""
    noted = set()

    def run(self, *args, **kwargs):
        self.nargs = dict(zip(self.arg_names, args))
        config = _first_configuration(self, kwargs)
        self.best_config = config
        name = self.base_fn.__name__
        if len(self.configs) > 1 and name not in noted:
            noted.add(name)
            note(f"{name} was not tuned, which needs a GPU; it ran with its first configuration ({config})")
        if config.pre_hook is not None:
            config.pre_hook({**self.nargs, **kwargs, **config.all_kwargs()})
        try:
            return self.fn.run(*args, **kwargs, **config.all_kwargs())
        finally:
            self.nargs = None

    Autotuner.run = run


def _first_configuration(autotuner, kwargs):
    try:
        return autotuner.prune_configs(kwargs)[0]
    except Exception:  # pruning may ask for properties of a GPU
        return autotuner.configs[0]
