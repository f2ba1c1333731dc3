"""Builds the optional C kernels; everything else about the package is in pyproject.toml.

Where there is no working compiler the package installs without the kernel and sums with NumPy.
"""

from __future__ import annotations

import sys
import sysconfig

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

# The limited API gives one binary for all Python versions from 3.11 on; free-threaded builds have none.
LIMITED_API = not sysconfig.get_config_var("Py_GIL_DISABLED")

# Never -ffast-math: it breaks compensated sums, and its start-up code flushes subnormal numbers to zero in
# the whole process. These options permit all that the kernel's loops need.
UNIX_OPTIONS = ["-O3", "-g0", "-fopenmp-simd", "-fno-math-errno", "-fno-trapping-math"]
MSVC_OPTIONS = ["/O2", "/fp:precise"]


class BuildKernel(build_ext):
    """Choose the options by compiler, and say plainly what happens when the kernel cannot be built."""

    def build_extension(self, ext: Extension) -> None:
        ext.extra_compile_args = MSVC_OPTIONS if self.compiler.compiler_type == "msvc" else UNIX_OPTIONS
        try:
            super().build_extension(ext)
        except Exception as error:
            print(
                f"scorebars: the C kernel was not built ({type(error).__name__}: {error}). "
                "The package works without it, several times slower on large data.",
                file=sys.stderr,
            )
            raise


setup(
    ext_modules=[
        Extension(
            f"scorebars.engines.{name}",
            sources=[f"src/scorebars/engines/{name}.c"],
            depends=[f"src/scorebars/engines/{header}.h" for header in ("_extension", "_normal")],
            py_limited_api=LIMITED_API,
            optional=True,
        )
        for name in ("_kernel", "_bins", "_scores")
    ],
    cmdclass={"build_ext": BuildKernel},
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if LIMITED_API else {},
)
