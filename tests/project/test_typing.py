"""Types as programs outside of the package see them: those of the installed one, by mypy."""

import importlib.util
import inspect
import os
import re
import shutil
import subprocess
import sys
import typing
from pathlib import Path

import pytest

import multimargin
from multimargin import datasets, distributed, inspection, selection, serving, tables, text

PROGRAM = Path(__file__).with_name("typed_program.py")
PACKAGE = Path(multimargin.__file__).parent

# What a type checker must find wrong, and in which words.
WRONG = """
from multimargin import MulticlassSVC, distributed, load_model, rounds

MulticlassSVC(C="1")  # arg-type
MulticlassSVC(gamma=1.0)  # call-arg
MulticlassSVC().predict_topk([[1.0]], k="5")  # call-overload
MulticlassSVC().fit([[1.0]])  # call-arg
number: int = MulticlassSVC().fit([[1.0]], [1]).dual_gap_  # assignment
text: str = MulticlassSVC().score([[1.0]], [1])  # assignment
load_model(3)  # arg-type
distributed.fit("model", [[1.0]], [1])  # arg-type
for a, b, c in rounds(4)[0]:  # misc
    pass
"""


def installed():
    return any(part in {"site-packages", "dist-packages"} for part in PACKAGE.parts)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What mypy says of the program and of the wrong one, each line as (file, line, words)."""
    if importlib.util.find_spec("mypy") is None:
        pytest.skip('mypy is missing (pip install "multimargin[test]")')
    if not installed():
        pytest.skip(f"{PACKAGE} is no installed package, whose types others would see")
    folder = tmp_path_factory.mktemp("typing")
    shutil.copy(PROGRAM, folder / "program.py")
    (folder / "wrong.py").write_text(WRONG)
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--show-error-codes"]
    done = subprocess.run(
        [*command, "program.py", "wrong.py"],
        cwd=folder,
        env={**os.environ, "MYPYPATH": "", "MYPY_FORCE_COLOR": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.stderr, done.stderr
    pattern = re.compile(r"(\S+?):(\d+): error: .*\[([\w-]+)\]$")
    errors = [match.groups() for line in done.stdout.splitlines() if (match := pattern.match(line))]
    assert errors, done.stdout
    return done.stdout, errors


def test_a_users_program_is_strictly_typed(found):
    said, errors = found
    assert {file for file, _, _ in errors} == {"wrong.py"}, said


def test_mistakes_are_seen(found):
    said, errors = found
    expected = {
        (str(number), line.rpartition("# ")[2])
        for number, line in enumerate(WRONG.splitlines(), 1)
        if "# " in line
    }
    assert {(line, code) for file, line, code in errors if file == "wrong.py"} == expected, said


def test_the_program_runs(tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "error", str(PROGRAM)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{multimargin.__version__}\n"
    assert not list(tmp_path.iterdir())


PUBLIC = {
    f"{module.__name__}.{name}": getattr(module, name)
    for module in (multimargin, distributed, datasets, inspection, selection, serving, tables, text)
    for name in module.__all__
}
# Ways to more data and their errors, of no other kind than what the program uses.
NOT_USED = {
    "create_app",  # Starlette's
    "FetchError",
    "SetUnavailableError",
    "fetch_set",
    "load_lshtc",
    "load_wordnet_tfidf",
    "load_wordnet_texts",
}


def test_the_program_uses_every_public_name():
    used = set(re.findall(r"\w+", PROGRAM.read_text()))
    left = {name.rpartition(".")[2] for name in PUBLIC} - NOT_USED - used
    assert not left, f"tests/project/typed_program.py does not use {sorted(left)}"


def public_functions():
    for name, value in PUBLIC.items():
        if inspect.isfunction(value):
            yield name, value
        elif inspect.isclass(value) and value.__module__.startswith("multimargin"):
            for attribute, method in inspect.getmembers(value, inspect.isfunction):
                # scikit-learn's are not typed, and declared again for type checkers alone.
                if not attribute.startswith("_") and method.__module__.startswith("multimargin"):
                    yield f"{name}.{attribute}", inspect.unwrap(method)


@pytest.mark.parametrize(("name", "function"), [*public_functions()])
def test_public_functions_say_what_they_take_and_return(name, function):
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name not in {"self", "cls"}:
            assert parameter.annotation is not parameter.empty, f"{name}: {parameter}"
    returned = inspect.signature(function).return_annotation
    if function.__name__ in {"plot", "plot_coverage", "to_frame"}:
        return  # things of libraries that need not be there
    assert returned not in {inspect.Signature.empty, "Any", typing.Any}, name
