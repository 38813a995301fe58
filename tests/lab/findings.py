"""The findings: what a user does, and what has to be printed.

The lines are those of a shell. `@ann` before a line runs it as ann, in her home directory, with her
environment; other lines are root's, and ROOT is this checkout. `/etc/fairshare` is what `fairshare
init --users ann,bob` writes, for 4 vcores and 8 GB, and the server of it runs.
"""

from typing import NamedTuple


class Finding(NamedTuple):
    """One finding. Every regular expression in `wanted` has to be found in what the lines print,
    and none of `refused`."""

    name: str
    title: str
    lines: str
    wanted: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()


FINDINGS = (
    Finding(
        "A1",
        "a task of a user's whole share starts though small tasks of another one never end",
        """
        @bob fairshare submit --array 1-4000%4 --memory 512m -- bash -c 'sleep 0.$((RANDOM%9+1))'
        @ann fairshare run --memory 4g --vcores 2 -- echo ann is in
        @bob fairshare kill --queue bob --yes
        """,
        ("ann is in",),
    ),
    Finding(
        "A2",
        "a user moves into and submits to the own queue alone",
        """
        @ann A=$(fairshare submit -- sleep 60); fairshare move $A bob; fairshare kill $A
        @ann fairshare run --queue bob -- hostname
        """,
        (r"ann.*(not have|no) permission to submit to (queue )?(root\\.)?bob",),
        ("moved",),
    ),
    Finding(
        "A3",
        "access lists without administrators are a trap, and no user administers the machine",
        """
        @ann fairshare admin drain local
        cp -r /etc/fairshare open
        sed -i '/yarn.admin.acl/,/value/d' open/yarn-site.xml
        python - <<'END'
        import re
        from pathlib import Path
        site = Path("open/yarn-site.xml")
        pattern = r"<property>\\s*<name>yarn.admin.acl.*?</property>"
        site.write_text(re.sub(pattern, "", site.read_text(), flags=re.S))
        END
        fairshare lint open
        """,
        ("ann.*administer", r"yarn\.admin\.acl"),
        ("drains",),
    ),
    Finding(
        "A4",
        "a server of root that would be root's shell for every account does not start",
        """
        fairshare serve --conf ROOT/examples/three-teams --state a4 --port 0 --no-hadoop
        """,
        ("--trust-local-users",),
        ("listens",),
    ),
    Finding(
        "A5",
        "what exceeds its time or its memory is not tried again",
        """
        @ann fairshare submit --wait --time-limit 1s -- sleep 100; fairshare status
        @ann fairshare submit --wait --memory 128m -- python3 -c 'b = bytearray(300 * 2**20)'
        @ann fairshare history
        @ann fairshare submit --wait --time-limit 1s --max-attempts 2 -- sleep 99
        """,
        ("TIMEOUT", "OUT_OF_MEMORY", "--memory", "failed 2 times"),
        ("failed [34] times", r"-104\b"),
    ),
    Finding(
        "A6",
        "a program that asks for the number of processors gets those of its container",
        """
        @ann fairshare run --vcores 1 -- sh -c 'echo threads $OMP_NUM_THREADS $MKL_NUM_THREADS'
        """,
        ("threads 1 1",),
    ),
    Finding(
        "B1",
        "an interpreter that users cannot execute is named",
        """
        cp -r /etc/fairshare closed
        chmod 700 $HOME; python -m venv --without-pip $HOME/own
        echo ROOT/src > $(ls -d $HOME/own/lib/python*/site-packages)/path.pth
        PACKAGES=$(python -c 'import msgspec, os; print(os.path.dirname(msgspec.__path__[0]))')
        echo $PACKAGES >> $(ls -d $HOME/own/lib/python*/site-packages)/path.pth
        $HOME/own/bin/python -m fairshare doctor --conf /etc/fairshare
        """,
        ("closed to other accounts", "usr/bin/python3 -m venv"),
    ),
    Finding(
        "B2",
        "a task for a GPU on a machine without one reads so",
        "@ann fairshare submit --gpus 1 -- hostname",
        (r"GPU",),
        (r"\?", "maximum-allocation"),
    ),
    Finding(
        "B3",
        "the example of shares of the how-to is for machines with and without GPUs",
        r"""
        cp -r /etc/fairshare shares
        python - <<'END'
        import re
        from pathlib import Path
        page = Path("ROOT/docs/how-to/share-one-machine.md").read_text()
        (example,) = re.findall("```xml\\n(.*?)```", page, re.S)
        Path("shares/fair-scheduler.xml").write_text(example)
        END
        fairshare lint --strict shares
        sed -i 's/^gpus = .*/gpus = [ "0", "1" ]/' shares/fairshare.toml
        fairshare lint --strict shares
        """,
        ("(?s)0 errors, 0 warnings, 0 traps.*0 errors, 0 warnings, 0 traps",),
    ),
    Finding(
        "B4",
        "a user has a default queue",
        """
        @ann FAIRSHARE_QUEUE=bob fairshare run -- hostname
        @ann mkdir -p .config/fairshare; echo 'queue = "bob"' > .config/fairshare/config.toml
        @ann fairshare run -- hostname; rm .config/fairshare/config.toml
        """,
        ("(?s)not in bob.*not in bob",),
    ),
    Finding(
        "B5",
        "a table that is there twice is the only error, with both lines",
        r"""
        cp -r /etc/fairshare twice
        printf '\n[engine]\nvcores = 2\n' >> twice/fairshare.toml
        fairshare lint twice
        """,
        (r"\[engine\].*line", "1 error"),
        ("Cannot declare", "no resource type"),
    ),
    Finding(
        "B6",
        "a token is made by the server that runs, and by each user for the own account",
        """
        fairshare admin token create ann
        test -e $HOME/.local/state/fairshare && echo junk of root
        @bob fairshare admin token create bob; test -e .local/state/fairshare && echo junk of bob
        @bob fairshare login --help
        """,
        ("login",),
        ("junk",),
    ),
    Finding(
        "B8",
        "a third user is admitted by one command",
        """
        useradd --create-home carol
        @carol fairshare run -- hostname
        fairshare admin user add carol
        sleep 2
        @carol fairshare run -- echo carol is in
        """,
        ("carol.*(no queue|has no)|no queue.*carol", "carol is in"),
    ),
    Finding(
        "B9",
        "a state directory serves with GPUs and without, and a wait for a GPU names its holder",
        """
        fairshare init gpus --users ann,bob --vcores 4 --memory 4g --gpu none --port 8099 \
            --socket /run/gpus.sock --state /var/lib/gpus
        fairshare serve --conf gpus --background --no-hadoop
        fairshare shutdown --url unix:/run/gpus.sock
        sed -i 's/^gpus = .*/gpus = [ "0", "1" ]/' gpus/fairshare.toml
        fairshare serve --conf gpus --background --no-hadoop
        @bob fairshare submit --url unix:/run/gpus.sock --count 2 --gpus 1 -- sleep 60
        @ann fairshare submit --url unix:/run/gpus.sock --gpus 1 -- sleep 60 > waits; sleep 1
        @ann fairshare why --url unix:/run/gpus.sock $(cat waits)
        fairshare shutdown --url unix:/run/gpus.sock --stop-containers
        """,
        ("(?s)listening.*listening", r"Of the 2 yarn.io/gpu there bob has 2"),
        ("choose another folder",),
    ),
    Finding(
        "B10",
        "init --force keeps what it replaces",
        """
        cp -r /etc/fairshare force; echo '<!-- mine -->' >> force/fair-scheduler.xml
        fairshare init force --users ann --force
        grep -h mine force/fair-scheduler.xml~*
        """,
        ("<!-- mine -->",),
    ),
    Finding(
        "B13",
        "a queue has a maximum time, and what says nothing gets its default",
        r"""
        cp /etc/fairshare/fairshare.toml before
        printf '\n[time_limits.queues.ann]\ndefault_s = 1\nmaximum_s = 60\n' > more
        cat more >> /etc/fairshare/fairshare.toml
        fairshare admin refresh-queues
        @ann fairshare submit --time-limit 2m -- hostname
        @ann fairshare submit --wait -- sleep 30
        cp before /etc/fairshare/fairshare.toml; fairshare admin refresh-queues
        """,
        ("may run for 60 s at most", "time limit of 1 s"),
    ),
    Finding(
        "B15",
        "doctor examines the machine, and says what to do",
        "fairshare doctor --conf /etc/fairshare",
        ("control groups?", "interpreter|Python", "socket"),
        ("Traceback",),
    ),
    Finding(
        "B16",
        "the options of a batch script are read, and what is not honoured is named",
        r"""
        @ann printf '#!/bin/sh\n#SBATCH --mem=300M -J train\n' > t.sh
        @ann printf '#SBATCH -A lab -c 1\necho done\n' >> t.sh
        @ann chmod +x t.sh; fairshare submit --wait ./t.sh
        @ann fairshare history
        """,
        ("-A", "train"),
    ),
    Finding(
        "B17",
        "Slurm's options are understood",
        """
        @ann fairshare run --mem 300M -c 1 -t 1:00 -p ann -J short -- echo understood
        @ann fairshare submit -n 2 --wait --gpus 1 -- hostname
        """,
        ("understood", "GPU"),
        ("No such option",),
    ),
    Finding(
        "B18",
        "a duration may be that of a clock",
        "@ann fairshare run --time-limit 00:01:00 -- echo in time",
        ("in time",),
    ),
    Finding(
        "B19",
        "apps shows one's own, and Slurm's words lead to ours",
        """
        @ann fairshare apps --me >/dev/null && echo mine
        @ann fairshare squeue; fairshare sbatch; fairshare scancel 1
        """,
        ("mine", "squeue.*apps", "sbatch.*submit", "scancel.*kill"),
    ),
    Finding(
        "B20",
        "submitted, started, waited and elapsed are four things",
        """
        @ann fairshare submit -- sleep 1 > nap; fairshare wait $(cat nap)
        @ann fairshare status $(cat nap); fairshare history $(cat nap)
        """,
        ("(?i)submitted", "(?i)started", "(?i)waited", "(?m)^(Time|Elapsed) "),
    ),
    Finding(
        "B23",
        "one address for a task in all verbs",
        """
        @ann fairshare submit --count 2 -- sh -c 'echo I am $FAIRSHARE_TASK_INDEX; sleep 9' > two
        sleep 1
        @ann fairshare logs $(cat two)/1; fairshare kill $(cat two)/1; fairshare kill $(cat two)
        """,
        ("I am 1", r"killed application_\d+_\d+/1"),
        ("there is nothing at",),
    ),
    Finding(
        "B24",
        "an application that is held can be moved",
        """
        @ann A=$(fairshare submit --hold -- sleep 9); fairshare move $A ann; fairshare kill $A
        """,
        (),
        ("no running attempt",),
    ),
    Finding(
        "B27",
        "TMPDIR is a private directory that ends with its container",
        """
        @ann fairshare run -- sh -c 'echo $TMPDIR; touch $TMPDIR/x' > place
        @ann D=$(cat place); test -e "$D" || echo gone $D
        """,
        (r"gone /",),
    ),
    Finding(
        "B28",
        "run has the caller's whole environment",
        """
        @ann WANDB_API_KEY=k fairshare run -- sh -c 'echo key $WANDB_API_KEY'
        """,
        ("key k",),
    ),
    Finding(
        "B29",
        "what waits or runs is changed without being submitted again",
        """
        @ann fairshare submit --array 1-9%1 -- sleep 5 > many
        @ann fairshare update $(cat many) --at-once 2 --time-limit 9s; fairshare kill $(cat many)
        """,
        (),
        ("Error", "No such"),
    ),
    Finding(
        "B30",
        "joblib computes in containers",
        """
        @ann python - <<'END'
        from joblib import Parallel, delayed, parallel_config
        import fairshare.client.joblib
        with parallel_config(backend="fairshare"):
            print("sum", sum(Parallel(n_jobs=2)(delayed(abs)(n) for n in range(-3, 0))))
        END
        """,
        ("sum 6",),
    ),
    Finding(
        "B31",
        "a call that exceeds its memory names the parameter",
        """
        @ann python - <<'END'
        from fairshare import Executor
        def large(): return len(bytearray(600 * 2**20))
        with Executor(resources={"memory-mb": 256}) as pool:
            try: pool.submit(large).result()
            except Exception as error: print(type(error).__name__, error)
        END
        """,
        ("CallFailed.*resources=",),
    ),
    Finding(
        "B32",
        "a program of Ray is refused where Ray is not installed",
        """
        python -c 'import ray' 2>/dev/null && echo 'fairshare[ray] is here, and nothing is refused'
        @ann python -c 'import ray' 2>/dev/null || fairshare submit --ray -- python3 x.py
        """,
        (r"fairshare\[ray\]",),
        ("Traceback",),
    ),
)
