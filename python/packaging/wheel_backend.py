"""Builds the wheel of the package shardsim for `pip install .`, as PEP 517 has it.

CMake compiles the module for the Python that pip runs in, in build/wheel, and the wheel takes it with the data that the
programs read. `--config-settings built=FOLDER` takes the module of a build that is there already (-DSHARDSIM_PYTHON=ON).
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LEAST_CMAKE = "3.25"


def _version() -> str:
    found = re.search(r"project\(shardsim VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))
    assert found, "CMakeLists.txt states no version"
    return found.group(1)


def _module_name() -> str:
    return "_core" + str(sysconfig.get_config_var("EXT_SUFFIX"))


def _run(*words: str) -> None:
    try:
        subprocess.run(words, cwd=ROOT, check=True)
    except FileNotFoundError:
        sys.exit(f"error: {words[0]} is not there. Install CMake {LEAST_CMAKE} or newer, and the packages of "
                 f"`scripts/packages.sh build` with pybind11-dev.")
    except subprocess.CalledProcessError as error:
        sys.exit(f"error: `{' '.join(words)}` failed with exit code {error.returncode}; what it printed says why.")


def _compiled() -> Path:
    folder = ROOT / "build" / "wheel"
    _run("cmake", "--preset", "release", "-B", str(folder), "-DSHARDSIM_PYTHON=ON",
         f"-DPython_EXECUTABLE={sys.executable}")
    _run("cmake", "--build", str(folder), "--target", "shardsim_python", "shardsim_simgrid")
    return folder


def _finished(folder: str) -> Path:
    built = Path(folder).absolute()
    if not (built / "python" / "shardsim" / _module_name()).is_file():
        sys.exit(f"error: {built}: no module {_module_name()} in python/shardsim. Name a folder that was built with "
                 f"-DSHARDSIM_PYTHON=ON for {sys.executable}, or leave `built` out.")
    return built


def _files(built: Path) -> Iterator[tuple[str, Path]]:
    """Yields for each file of the wheel its name there, and where it is now."""
    package = built / "python" / "shardsim"
    for source in sorted((ROOT / "python").glob("shardsim/**/*")):
        if source.suffix in (".py", ".pyi", ".typed"):
            yield str(source.relative_to(ROOT / "python")), source
    yield f"shardsim/{_module_name()}", package / _module_name()
    yield "shardsim/shardsim_simgrid.so", built / "shardsim_simgrid.so"
    if (built / "share" / "vega.js").is_file():
        yield "shardsim/share/shardsim/vega.js", built / "share" / "vega.js"
    for folder in ("scenarios", "plots"):
        for source in sorted((ROOT / folder).rglob("*")):
            if source.is_file():
                yield f"shardsim/share/shardsim/{source.relative_to(ROOT)}", source


def _metadata() -> str:
    return "\n".join([
        "Metadata-Version: 2.1",
        "Name: shardsim",
        f"Version: {_version()}",
        "Summary: simulator of the training of sharded recommendation models on GPU clusters",
        "Requires-Python: >=3.9",
        "Provides-Extra: frames",
        'Requires-Dist: pandas; extra == "frames"',
        'Requires-Dist: xarray; extra == "frames"',
        "",
    ])


def _tag() -> str:
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    return f"{python}-{python}-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"


class _Wheel:
    """A zip whose RECORD lists what was added, with dates that do not change from build to build."""

    def __init__(self, path: Path) -> None:
        self._zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1)
        self._record: list[str] = []

    def add(self, name: str, content: bytes) -> None:
        entry = zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0))
        entry.external_attr = 0o644 << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        self._zip.writestr(entry, content)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        self._record.append(f"{name},sha256={digest},{len(content)}")

    def finish(self, record: str) -> None:
        self._zip.writestr(record, "\n".join([*self._record, f"{record},,", ""]))
        self._zip.close()


def build_wheel(wheel_directory: str, config_settings: Mapping[str, str] | None = None,
                metadata_directory: str | None = None) -> str:
    built = (config_settings or {}).get("built")
    folder = _finished(built) if built else _compiled()
    name = f"shardsim-{_version()}-{_tag()}.whl"
    info = f"shardsim-{_version()}.dist-info"
    wheel = _Wheel(Path(wheel_directory) / name)
    for inside, source in _files(folder):
        wheel.add(inside, source.read_bytes())
    wheel.add(f"{info}/METADATA", _metadata().encode())
    wheel.add(f"{info}/LICENSE", (ROOT / "LICENSE").read_bytes())
    wheel.add(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: shardsim\nRoot-Is-Purelib: false\nTag: {_tag()}\n".encode())
    wheel.finish(f"{info}/RECORD")
    return name


def build_sdist(sdist_directory: str, config_settings: Mapping[str, str] | None = None) -> str:
    """The files that git knows, as an archive that pip can build a wheel of."""
    name = f"shardsim-{_version()}"
    path = os.path.join(sdist_directory, name + ".tar.gz")
    _run("git", "archive", "--format=tar.gz", f"--prefix={name}/", "-o", path, "HEAD")
    return os.path.basename(path)
