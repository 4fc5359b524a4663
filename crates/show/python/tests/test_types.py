"""Types of the interface, and documentation of every part of it."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import talea

HERE = Path(__file__).resolve().parent

PROGRAM = """
import pandas
import polars
import talea

run = talea.open("halo")
calls: pandas.DataFrame = run.calls.to_pandas()
frame: polars.DataFrame = run.iterations("loop").to_polars()
one: talea.Metrics = talea.metrics(run)
several: list[talea.Metrics] = talea.metrics(run, "trace.prv", weak=True)
entries: talea.Table = run.matrix.entries
rows: talea.Table = talea.Store("sqlite:t.db").usage(by=["library"]).rows
curves: talea.Table = talea.fold(run, region="iteration").curves
"""

WRONG = ["talea.open(3)", "talea.open('x').events()", "talea.fold('x', points='many')"]


def mypy(*words: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "mypy", "--strict", *words]
    return subprocess.run(command, capture_output=True, text=True)


def test_the_package_and_a_program_are_typed(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = mypy("-p", "talea")
    assert done.returncode == 0, done.stdout
    done = mypy(str(program))
    assert done.returncode == 0, done.stdout


def test_wrong_programs_are_refused(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("\n".join(["import talea", *WRONG]) + "\n")
    done = mypy(str(program))
    assert done.stdout.count("error:") == len(WRONG), done.stdout


def test_stubs_name_what_is_there() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "talea._talea"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout


def test_everything_public_is_documented() -> None:
    for name in talea.__all__:
        if name == "__version__":
            continue
        thing = getattr(talea, name)
        assert inspect.getdoc(thing), name
        if not inspect.isclass(thing) or issubclass(thing, Exception):
            continue
        for key, member in vars(thing).items():
            if not key.startswith("_"):
                assert inspect.getdoc(member), f"{name}.{key}"
