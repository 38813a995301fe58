"""Builds the program that supervises containers, where there is a C compiler.

pyproject.toml has everything else. Without a compiler the installation succeeds, and
`fairshare.engines.local.supervisor` does the same work in Python.
"""

from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext
from setuptools.errors import LinkError

SOURCES = "src/fairshare/engines/local/native"
FLAGS = ["-O2", "-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra"]


class BuildProgram(build_ext):
    """Builds a program instead of a module."""

    def get_ext_filename(self, fullname):
        return str(Path(*fullname.split(".")))

    def build_extension(self, ext):
        target = Path(self.get_ext_fullpath(ext.name))
        objects = self.compiler.compile(
            ext.sources, output_dir=self.build_temp, extra_postargs=FLAGS, depends=ext.depends
        )
        target.parent.mkdir(parents=True, exist_ok=True)
        try:  # a static program starts in half the time, and needs no C library
            self._link(objects, target, ["-static"])
            self.distribution.program = "static"
        except LinkError:  # this machine has no static C library
            self._link(objects, target, [])
            self.distribution.program = "dynamic"

    def _link(self, objects, target, options):
        self.compiler.link_executable(
            objects, target.name, output_dir=str(target.parent), extra_postargs=options
        )


class PlatformWheel(bdist_wheel):
    """The program needs a processor, and no particular Python. A static one runs on every Linux,
    with glibc and with musl; without one (there was no compiler) the wheel is for any machine."""

    def get_tag(self):
        _, machine = super().get_tag()[2].split("_", 1)
        program = getattr(self.distribution, "program", "")
        platforms = {
            "static": f"manylinux_2_17_{machine}.musllinux_1_1_{machine}",
            "dynamic": f"linux_{machine}",
        }
        return "py3", "none", platforms.get(program, "any")


setup(
    cmdclass={"build_ext": BuildProgram, "bdist_wheel": PlatformWheel},
    ext_modules=[
        Extension(
            "fairshare.engines.local.native.fs-supervisor",
            sources=sorted(map(str, Path(SOURCES).glob("*.c"))),
            depends=[f"{SOURCES}/supervisor.h"],
            optional=True,
        )
    ],
)
