"""What the programs need on this machine: Java, Hadoop's jars from Maven Central, Spark, Flink.

Everything is kept in one folder, `build/hadoop`, and fetched once.
"""

import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Collection
from pathlib import Path

HERE = Path(__file__).parent
PROJECT = HERE.parents[1]
FOLDER = PROJECT / "build/hadoop"
SPARK = "pyspark==4.0.1"
FLINK = "apache-flink-libraries==1.20.1"
FLINK_EXAMPLES = "org.apache.flink:flink-examples-streaming:1.20.0"
"""Maven Central does not have them in the version of the rest."""
QUIET = ("--quiet", "--disable-pip-version-check")
COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"
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
    def flink(self) -> Path:
        """The folder of Flink's jars, which it calls `lib`."""
        return self.folder / "flink"

    @property
    def flink_examples(self) -> Path:
        """The folder of the jar of its examples."""
        return self.folder / "flink-examples"

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

    def fetch(self, more: Collection[str] = ()) -> None:
        """Fetch what is missing of Hadoop, and of `more`: `spark`, `tez`, `flink`; raises Missing,
        and CalledProcessError when a download fails."""
        for program, package in (("java", "openjdk-17-jre-headless"), ("mvn", "maven")):
            if shutil.which(program) is None:
                raise Missing(
                    f"{program} is not installed; on Debian and Ubuntu: apt install {package}"
                )
        self.folder.mkdir(parents=True, exist_ok=True)
        self._fetch_jars(HERE / "pom.xml", self.jars, "Hadoop's jars (90 MB)")
        if "tez" in more:
            self._fetch_jars(HERE / "tez.xml", self.tez, "Tez (90 MB)")
        if "flink" in more and self._begins("flink", FLINK, "Flink (230 MB)"):
            self._fetch_flink()
            self._ends("flink", FLINK)
        if "spark" in more and self._begins("spark", SPARK, "Spark (430 MB)"):
            _run(sys.executable, "-m", "venv", "--clear", str(self.folder / "venv"))
            _run(str(self.spark_python), "-m", "pip", "install", *QUIET, SPARK)
            self._ends("spark", SPARK)

    def _begins(self, name: str, wanted: str, what: str) -> bool:
        """Whether something is missing, or another version of it is there; says so."""
        complete = self.folder / f"{name}-complete"
        if complete.exists() and complete.read_text() == wanted:
            return False
        print(f"Fetching {what}", flush=True)
        return True

    def _ends(self, name: str, wanted: str) -> None:
        (self.folder / f"{name}-complete").write_text(wanted)

    def _fetch_flink(self) -> None:
        """Flink's jars are in a package for Python, its examples on Maven Central."""
        for folder in (self.flink, self.flink_examples):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        only = ("--no-deps", "--no-binary", ":all:", "--dest", str(self.flink))
        _run(sys.executable, "-m", "pip", "download", *QUIET, *only, FLINK)
        (package,) = self.flink.glob("*.tar.gz")
        with tarfile.open(package) as archive:
            for member in archive:
                path = Path(member.name)
                if path.parent.name == "lib" and path.suffix == ".jar":
                    member.name = path.name
                    archive.extract(member, self.flink, filter="data")
        package.unlink()
        target = f"-DoutputDirectory={self.flink_examples}"
        _run("mvn", "-q", "-B", COPY, f"-Dartifact={FLINK_EXAMPLES}", target)

    def _fetch_jars(self, project: Path, target: Path, what: str) -> None:
        """Copy what a project of Maven depends on into a folder, unless it was done."""
        name = "jars" if target == self.jars else target.name
        if not self._begins(name, project.read_text(), what):
            return
        shutil.rmtree(target, ignore_errors=True)
        copy = f"-DoutputDirectory={target}"
        _run("mvn", "-q", "-B", "-f", str(project), "dependency:copy-dependencies", copy)
        self._ends(name, project.read_text())

    @property
    def java_home(self) -> str:
        """JAVA_HOME, which launch contexts of MapReduce and Spark name."""
        given = os.environ.get("JAVA_HOME")
        return given or str(Path(shutil.which("java") or "java").resolve().parents[1])


def _run(*arguments: str) -> None:
    subprocess.run(arguments, check=True, stdin=subprocess.DEVNULL)


def unavailable() -> str:
    """Why no real cluster can be started here; empty: one can. With CI the jars are fetched."""
    installation = Installation()
    if installation.ready:
        return ""
    if not os.environ.get("CI"):
        return "Hadoop is not installed here: make hadoop fetches it (Java 17 and Maven needed)"
    try:
        installation.fetch()
    except Missing as missing:
        return str(missing)
    except subprocess.CalledProcessError:
        return "Hadoop's jars cannot be fetched from Maven Central"
    return ""
