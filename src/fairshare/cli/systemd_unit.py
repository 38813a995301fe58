"""The systemd unit that starts a server: of root, for all users of a machine, or a user's own."""

import shutil
import sys
from pathlib import Path
from typing import Final

OF_ROOT: Final = """\
# A systemd unit for a machine that several people share. The server is root's; tasks run under the
# accounts of their users (run_as = "user"), who call through the Unix socket, without tokens.
# `fairshare init --users ann,bob` writes the configuration.
[Unit]
Description=fairshare, a cluster scheduler
After=network.target remote-fs.target nss-user-lookup.target

[Service]
Environment=PYTHONUNBUFFERED=1
ExecStart={program} serve --conf {conf}
# Containers outlive the server: only its own process is ended, and after a crash the next server
# finds them again.
KillMode=process
KillSignal=SIGTERM
TimeoutStopSec=60
Restart=on-failure
RestartSec=1
# A wrong configuration stays wrong: exit code 2 is not tried again.
RestartPreventExitStatus=2
# /run/fairshare holds the socket, which all users of the machine reach.
RuntimeDirectory=fairshare
RuntimeDirectoryMode=0755
RuntimeDirectoryPreserve=restart
# /var/lib/fairshare holds the journal, which only root reads, and the users' working directories
# below it, to which they pass through.
StateDirectory=fairshare
StateDirectoryMode=0711
# The server divides memory and processors among containers in control groups below its own.
Delegate=yes
LimitNOFILE=65536
TasksMax=infinity
# Containers inherit these: nothing in them gains rights by sudo or a setuid program, and they
# cannot change /usr and /boot. Home directories stay open, as tasks run in them.
NoNewPrivileges=yes
ProtectSystem=yes
ProtectKernelModules=yes
RestrictSUIDSGID=yes

[Install]
WantedBy=multi-user.target
"""
OF_A_USER: Final = """\
# A systemd unit for the server of one user: systemctl --user enable --now fairshare.
# `loginctl enable-linger` keeps it running when the user logs out.
[Unit]
Description=fairshare, a cluster scheduler

[Service]
Environment=PYTHONUNBUFFERED=1
ExecStart={program} serve --conf {conf}
KillMode=process
Restart=on-failure
RestartSec=1
RestartPreventExitStatus=2
Delegate=yes

[Install]
WantedBy=default.target
"""


def unit_text(program: Path, conf: Path, *, of_root: bool) -> str:
    """The unit, as systemd reads it."""
    form = OF_ROOT if of_root else OF_A_USER
    return form.format(program=quoted(str(program)), conf=quoted(str(conf)))


def this_program() -> Path:
    """The `fairshare` that runs now, or the one beside its interpreter."""
    beside = Path(sys.executable).with_name("fairshare")
    found = shutil.which(sys.argv[0]) if Path(sys.argv[0]).name == "fairshare" else None
    return Path(found).absolute() if found else beside


def quoted(text: str) -> str:
    """A word of ExecStart: systemd takes % and $ for its own.

    >>> quoted("model=A 100%")
    '"model=A 100%%"'
    """
    text = text.replace("\\", "\\\\").replace('"', '\\"')
    text = text.replace("%", "%%").replace("$", "$$")
    return f'"{text}"' if set(text) & set(" \t\"'\\;") else text
