"""How a Python callable gets to a container and its result back, and which Python runs it there.

What is sent is the pickled triple of function, arguments and keyword arguments. Functions of the
main program, lambdas and closures travel by value. Those of a module that can be imported travel by
name, so that module has to be importable where the container runs too
(`cloudpickle.register_pickle_by_value(module)` makes it travel instead).

On this machine the interpreter is that of this process, with its paths. Elsewhere it is the
engine's, and modules beside the program's script travel by value.
"""

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import msgspec

from fairshare.api.cluster import Cluster
from fairshare.client.caller import runs_here
from fairshare.client.errors import InterpreterUnusable, NotPicklable
from fairshare.wording import cause

PATIENCE_S = 30
_QUESTION = "import sys, cloudpickle; print('%d.%d' % sys.version_info[:2])"
_PATHS = "PYTHONPATH"
_SHARED = ("/", "/usr", "/usr/local", "/opt")
"""Prefixes of interpreters below which there may be programs of users."""
_turn = threading.Lock()


class Interpreter(msgspec.Struct, frozen=True):
    """The Python of calls: its path (None: the engine's own), and directories of modules.

    `by_value`: modules beside the script travel by value, as there is no directory to find them.
    """

    python: str | None = None
    path: tuple[str, ...] = ()
    by_value: bool = False

    def environment(self, given: Mapping[str, str]) -> dict[str, str]:
        """Variables of calls with those of a user, so that calls find the modules."""
        own = given.get(_PATHS, "")
        paths = ":".join((*self.path, own) if own else self.path)
        return {**given, **({_PATHS: paths} if paths else {})}

    @contextlib.contextmanager
    def pickling(self) -> Iterator[None]:
        """Within it, modules beside the script are pickled by value, if they have to be."""
        if not self.by_value:
            yield
            return
        import cloudpickle  # only what sends calls waits for its import

        with _turn:
            known = cloudpickle.list_registry_pickle_by_value()
            modules = [each for each in modules_beside_script() if each.__name__ not in known]
            for module in modules:
                cloudpickle.register_pickle_by_value(module)
            try:
                yield
            finally:
                for module in modules:
                    cloudpickle.unregister_pickle_by_value(module)


def choose_interpreter(cluster: Cluster, python: str | None = None) -> Interpreter:
    """The interpreter of calls on a cluster; `python` is the wish of the user.

    Raises InterpreterUnusable if the wished one is on this machine and cannot run calls.
    """
    if not runs_here(cluster):
        return Interpreter(python, by_value=True)
    if python is not None:
        check_interpreter(python)
    return Interpreter(python or sys.executable or None, paths_of_modules())


def check_interpreter(python: str) -> None:
    """Raise InterpreterUnusable unless a Python of this machine can run pickled calls: it has
    cloudpickle, and the same minor version, as functions travel in its byte code."""
    import subprocess  # only a wish for another interpreter waits for its import

    if not Path(python).is_absolute():
        raise InterpreterUnusable(f"{python!r} is not an absolute path of a Python interpreter")
    try:
        done = subprocess.run(
            [python, "-c", _QUESTION],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InterpreterUnusable(f"{python} cannot be run: {cause(error)}") from error
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it says nothing"])[-1]
        raise InterpreterUnusable(
            f"{python} cannot run calls, which need Python with cloudpickle: {last}"
        )
    own = f"{sys.version_info[0]}.{sys.version_info[1]}"
    if done.stdout.strip() != own:
        raise InterpreterUnusable(
            f"{python} is Python {done.stdout.strip()}, and this program runs on {own}: functions"
            " travel between equal minor versions only"
        )


def paths_of_modules() -> tuple[str, ...]:
    """The directories of `sys.path` that are not the interpreter's own, such as the script's."""
    paths = (str(Path(entry or ".").absolute()) for entry in sys.path)
    return tuple(
        dict.fromkeys(
            path for path in paths if ":" not in path and not _is_own(path) and Path(path).exists()
        )
    )


def modules_beside_script(modules: Mapping[str, ModuleType] = sys.modules) -> Sequence[ModuleType]:
    """The modules that were loaded from the directory of the program's script, or below it."""
    script = getattr(modules.get("__main__"), "__file__", None)
    folder = Path(script).absolute().parent if script else Path.cwd()
    if _is_own(str(folder)):
        return ()
    beside = []
    for name, module in list(modules.items()):
        file = getattr(module, "__file__", None) or ""
        below = file.endswith(".py") and Path(file).is_relative_to(folder) and not _is_own(file)
        if below and name not in ("__main__", "__mp_main__") and module.__name__ == name:
            beside.append(module)
    return beside


def _is_own(path: str) -> bool:
    """Whether a path is part of the interpreter's installation."""
    if any(part in ("site-packages", "dist-packages") for part in Path(path).parts):
        return True
    import sysconfig  # which only calls need

    paths = sysconfig.get_paths()
    own = {sys.prefix, paths["stdlib"], paths["platstdlib"], paths["scripts"]}
    return any(Path(path).is_relative_to(one) for one in own if one not in _SHARED)


Item = TypeVar("Item")


def pickled(function: Callable[..., object], *arguments: object, **keywords: object) -> bytes:
    """What to send as a task's `callable`; raises NotPicklable."""
    return _dumped((function, arguments, keywords))


def _dumped(what: object, named: str = "the callable") -> bytes:
    try:
        data = _bytes_of(what)
    except Exception as error:  # pickling runs the code of whatever hangs on the callable
        raise NotPicklable(
            f"{named} cannot be sent to a container ({type(error).__name__}: {error}):"
            " open files, locks and connections have to be made inside of the call"
        ) from error
    return data


def _bytes_of(what: object) -> bytes:
    import cloudpickle  # no verb but those that send calls waits for its import

    data: bytes = cloudpickle.dumps(what)
    return data


def pickled_apart(
    function: Callable[..., object], *arguments: object, **keywords: object
) -> tuple[bytes, bytes]:
    """The function, and what it is called with: many calls of one function then send it once.

    An object that is in both arrives as two. Raises NotPicklable.
    """
    sent = _dumped(function, f"the function {name_of(function)}")
    try:
        return sent, _bytes_of((arguments, keywords))
    except Exception:  # which of them it is, is found out only then
        for number, argument in enumerate(arguments, 1):
            _dumped(argument, f"argument {number} of {name_of(function)}, {_kind(argument)},")
        for name, argument in keywords.items():
            _dumped(argument, f"the argument {name} of {name_of(function)}, {_kind(argument)},")
        return sent, _dumped((arguments, keywords), f"the arguments of {name_of(function)}")


def name_of(function: Callable[..., object]) -> str:
    """The name of a function, as a user would write it."""
    return str(getattr(function, "__name__", "") or type(function).__name__)


def _kind(value: object) -> str:
    kind = type(value).__name__
    return f"an {kind}" if kind[:1] in "aeiouAEIOU" else f"a {kind}"


def unpickled(data: bytes, container: str) -> Any:
    """The result that a container kept; raises NotPicklable.

    Loading it runs what is in it: this trusts the task whose result it is, and all that can write
    its folder (docs/security.md).
    """
    import pickle  # which no verb without a call needs

    try:
        return pickle.loads(data)  # noqa: S301 - see above
    except Exception as error:
        raise NotPicklable(
            f"the result of {container} cannot be read here ({type(error).__name__}: {error}):"
            " return plain data, or objects of a module that this program can import too"
        ) from error


def call_by_index(
    function: Callable[[Item], object], items: Sequence[Item]
) -> Callable[[], object]:
    """A callable for a whole group: each task calls `function` with the item of its own number.

    The inner function travels by value and names nothing of this package, not even in its
    annotations, so fairshare need not be importable over there.
    """

    def call() -> object:
        return function(items[int(os.environ["FAIRSHARE_TASK_INDEX"])])

    return call
