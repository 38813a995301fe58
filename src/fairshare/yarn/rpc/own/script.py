"""The script that runs a launch context, as a NodeManager writes it. Pure.

Runs within containers: standard library only. Source: Hadoop 3.4.1, ContainerLaunch
(expandEnvironment, sanitizeEnv, orderEnvByDependencies, UnixShellScriptBuilder).
"""

import re
from collections.abc import Iterable, Mapping

_REFERENCE = re.compile(r"\\.|\$\{([A-Za-z_][A-Za-z0-9_]*)|\$([A-Za-z_][A-Za-z0-9_]*)", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def replaced(text: str, log_directory: str, opens: str) -> str:
    """`text` with what a NodeManager replaces: `<LOG_DIR>`, `<CPS>`, `<ADD_OPENS>`, `{{NAME}}`.

    >>> replaced("{{JAVA_HOME}}/bin/java <ADD_OPENS> 1><LOG_DIR>/out", "/logs", "-x")
    '$JAVA_HOME/bin/java -x 1>/logs/out'
    """
    for name, value in (("<LOG_DIR>", log_directory), ("<CPS>", ":"), ("<ADD_OPENS>", opens)):
        text = text.replace(name, value)
    return text.replace("{{", "$").replace("}}", "")


def references(value: str) -> list[str]:
    r"""The variables that a value in double quotes refers to.

    >>> references("$PWD:${CLASSPATH}/x:\\$HOME")
    ['PWD', 'CLASSPATH']
    """
    found = (match[1] or match[2] for match in _REFERENCE.finditer(value))
    return [name for name in found if name]


def ordered(variables: Mapping[str, str]) -> list[str]:
    """The names, each behind those that its value refers to, else as they came.

    >>> ordered({"A": "$B", "B": "$C", "C": "1", "D": "$D"})
    ['C', 'B', 'A', 'D']
    """
    done: dict[str, None] = {}
    begun: set[str] = set()
    for first in variables:
        waiting = [first]
        while waiting:
            name = waiting[-1]
            begun.add(name)
            needed = [
                other
                for other in references(variables[name])
                if other in variables and other not in begun
            ]
            if needed:
                waiting.append(needed[0])
            else:
                done[waiting.pop()] = None
    return list(done)


def script(
    commands: Iterable[str],
    given: Mapping[str, str],
    fixed: Mapping[str, str],
    log_directory: str,
    opens: str,
) -> str:
    """The text of the script: `given` variables may refer to each other and to the `fixed` ones."""
    lines = ["#!/bin/bash", "set -o pipefail"]
    lines += [f"export {name}={_quoted(value)}" for name, value in fixed.items()]
    variables = {
        name: replaced(value, log_directory, opens)
        for name, value in given.items()
        if _NAME.fullmatch(name) and name not in fixed
    }
    lines += [f'export {name}="{variables[name]}"' for name in ordered(variables)]
    command = " ".join(replaced(one, log_directory, opens) for one in commands)
    lines.append(f'exec /bin/bash -c "{command}"')
    return "\n".join(lines) + "\n"


def _quoted(value: str) -> str:
    return "'" + value.replace("'", "'\\''") + "'"
