"""Which Python runs the calls of this program, and how it finds this program's modules.

On this machine that is the interpreter of this process, with its paths. Elsewhere it is the
engine's, and modules beside the program's script travel by value.
"""

import contextlib
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType

import cloudpickle
import msgspec

from fairshare.api.cluster import Cluster
from fairshare.client.caller import shares_files
from fairshare.client.errors import InterpreterUnusable
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

    def environment(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Variables of calls with those of a user, so that calls find the modules."""
        own = environment.get(_PATHS, "")
        paths = ":".join((*self.path, own) if own else self.path)
        return {**environment, **({_PATHS: paths} if paths else {})}

    @contextlib.contextmanager
    def pickling(self) -> Iterator[None]:
        """Within it, modules beside the script are pickled by value, if they have to be."""
        if not self.by_value:
            yield
            return
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
    if not shares_files(cluster):
        return Interpreter(python, by_value=True)
    if python is not None:
        check_interpreter(python)
    return Interpreter(python or sys.executable or None, paths_of_modules())


def check_interpreter(python: str) -> None:
    """Raise InterpreterUnusable unless a Python of this machine can run pickled calls: it has
    cloudpickle, and the same minor version, as functions travel in its byte code."""
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
    paths = sysconfig.get_paths()
    own = {sys.prefix, paths["stdlib"], paths["platstdlib"], paths["scripts"]}
    return any(Path(path).is_relative_to(one) for one in own if one not in _SHARED)
