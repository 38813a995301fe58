"""What the programs need on this machine: Java, Hadoop's jars from Maven Central, Spark.

Everything is kept in one folder, `build/hadoop`, and fetched once.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
PROJECT = HERE.parents[1]
FOLDER = PROJECT / "build/hadoop"
SPARK = "pyspark==4.0.1"
SHELL_JAR = "hadoop-yarn-applications-distributedshell-*.jar"
FOLDER_VARIABLE = "FAIRSHARE_HADOOP"
"""Another folder for the installation, to share one among checkouts."""


class Missing(Exception):
    """Something that cannot be fetched is missing; says what to install."""


class Installation:
    """Hadoop's programs and Spark in a folder."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or Path(os.environ.get(FOLDER_VARIABLE) or FOLDER)

    @property
    def jars(self) -> Path:
        """The folder of all jars."""
        return self.folder / "lib"

    @property
    def tez(self) -> Path:
        """The folder of Tez."""
        return self.folder / "tez"

    @property
    def spark_python(self) -> Path:
        """The interpreter that has Spark."""
        return self.folder / "venv/bin/python"

    @property
    def spark(self) -> Path:
        """The folder of Spark."""
        return next((self.folder / "venv/lib").glob("python3*/site-packages/pyspark"))

    @property
    def ready(self) -> bool:
        """Whether Hadoop's jars were fetched completely, and Java is there."""
        return shutil.which("java") is not None and (self.folder / "jars-complete").exists()

    def fetch(self, *, spark: bool, tez: bool = False) -> None:
        """Fetch what is missing; raises Missing, and CalledProcessError when a download fails."""
        for program, package in (("java", "openjdk-17-jre-headless"), ("mvn", "maven")):
            if shutil.which(program) is None:
                raise Missing(
                    f"{program} is not installed; on Debian and Ubuntu: apt install {package}"
                )
        self.folder.mkdir(parents=True, exist_ok=True)
        self._fetch_jars(HERE / "pom.xml", self.jars, "Hadoop's jars (90 MB)")
        if tez:
            self._fetch_jars(HERE / "tez.xml", self.tez, "Tez (90 MB)")
        if not spark:
            return
        complete = self.folder / "spark-complete"
        if not complete.exists() or complete.read_text() != SPARK:
            _say("Fetching Spark (430 MB)")
            _run(sys.executable, "-m", "venv", "--clear", str(self.folder / "venv"))
            quiet = ("--quiet", "--disable-pip-version-check")
            _run(str(self.spark_python), "-m", "pip", "install", *quiet, SPARK)
            complete.write_text(SPARK)

    def _fetch_jars(self, project: Path, target: Path, what: str) -> None:
        """Copy what a project of Maven depends on into a folder, unless it was done."""
        name = "jars" if target == self.jars else target.name
        complete = self.folder / f"{name}-complete"
        wanted = project.read_text()
        if complete.exists() and complete.read_text() == wanted:
            return
        _say(f"Fetching {what}")
        shutil.rmtree(target, ignore_errors=True)
        copy = f"-DoutputDirectory={target}"
        _run("mvn", "-q", "-B", "-f", str(project), "dependency:copy-dependencies", copy)
        complete.write_text(wanted)

    @property
    def java_home(self) -> str:
        """JAVA_HOME, which launch contexts of MapReduce and Spark name."""
        given = os.environ.get("JAVA_HOME")
        return given or str(Path(shutil.which("java") or "java").resolve().parents[1])


def _run(*arguments: str) -> None:
    subprocess.run(arguments, check=True, stdin=subprocess.DEVNULL)


def _say(words: str) -> None:
    print(words, flush=True)


def unavailable() -> str:
    """Why no real cluster can be started here; empty: one can. With CI the jars are fetched."""
    installation = Installation()
    if installation.ready:
        return ""
    if not os.environ.get("CI"):
        return "Hadoop is not installed here: make hadoop fetches it (Java 17 and Maven needed)"
    try:
        installation.fetch(spark=False)
    except Missing as missing:
        return str(missing)
    except subprocess.CalledProcessError:
        return "Hadoop's jars cannot be fetched from Maven Central"
    return ""
