"""Bad input: each error is a ``talea.Error`` with the command's text, none a panic."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, Callable

import pytest

import talea

Command = Callable[..., Any]


def text_of(call: Callable[[], object]) -> str:
    with pytest.raises(talea.Error) as caught:
        call()
    return str(caught.value)


def test_missing_paths_are_not_found(command: Command) -> None:
    calls: list[tuple[Callable[[], object], list[str]]] = [
        (lambda: talea.open("nowhere"), ["show", "nowhere"]),
        (lambda: talea.fold("nowhere"), ["fold", "nowhere"]),
        (lambda: talea.regions("nowhere"), ["fold", "nowhere", "--list"]),
        (lambda: talea.cluster("nowhere.prv"), ["cluster", "nowhere.prv"]),
        (lambda: talea.cluster("nowhere.csv"), ["cluster", "nowhere.csv"]),
        (lambda: talea.track("halo", "nowhere"), ["track", "halo", "nowhere"]),
        (lambda: talea.metrics("halo", "nowhere"), ["metrics", "halo", "nowhere"]),
        (lambda: talea.Store("sqlite:nowhere.db"), ["usage", "--store", "sqlite:nowhere.db"]),
    ]
    for call, words in calls:
        with pytest.raises(FileNotFoundError) as caught:
            call()
        assert isinstance(caught.value, talea.MissingError)
        assert isinstance(caught.value, talea.Error)
        assert str(caught.value) == command(*words, fails=True)


def test_errors_are_those_of_the_command(command: Command, folder: Path) -> None:
    (folder / "empty").mkdir()
    (folder / "text.prv").write_text("no trace\n")
    (folder / "other.txt").write_text("no trace\n")
    run = talea.open("halo")
    calls: list[tuple[Callable[[], object], list[str]]] = [
        (lambda: talea.open("empty"), ["show", "empty"]),
        (lambda: talea.open("text.prv"), ["show", "text.prv"]),
        (lambda: talea.metrics("text.prv"), ["metrics", "text.prv"]),
        (lambda: talea.metrics("other.txt"), ["metrics", "other.txt"]),
        (lambda: talea.fold(run, region="nothing"), ["fold", "halo", "--region", "nothing"]),
        (lambda: talea.fold(run, counters=["PAPI_X"]), ["fold", "halo", "--counter", "PAPI_X"]),
        (lambda: talea.fold(run, models=["x = ("]), ["fold", "halo", "--model", "x = ("]),
        (
            lambda: talea.cluster(run, dimensions="NOTHING"),
            ["cluster", "halo", "--dimensions", "NOTHING"],
        ),
        (lambda: talea.track(run), ["track", "halo"]),
        (lambda: talea.track(run, windows=1), ["track", "halo", "--windows", "1"]),
        (
            lambda: talea.metrics(run, begin="2s", end="3s"),
            ["metrics", "halo", "--from", "2s", "--to", "3s"],
        ),
        (lambda: run.structure_of(rank=9), ["show", "halo", "structure", "--rank", "9"]),
        (
            lambda: run.graph_of(rank=0, thread=7),
            ["show", "halo", "graph", "--rank", "0", "--thread", "7"],
        ),
        (lambda: run.events(rank=9), ["events", "halo", "--rank", "9"]),
        (lambda: run.events(0, thread=5), ["events", "halo", "--rank", "0", "--thread", "5"]),
        (lambda: run.events(0, world=3), ["events", "halo", "--rank", "0", "--world", "3"]),
        (
            lambda: run.events(0, begin="2s", end="1s"),
            ["events", "halo", "--rank", "0", "--from", "2s", "--to", "1s"],
        ),
        (lambda: talea.Store("halo.db"), ["usage", "--store", "halo.db"]),
    ]
    for call, words in calls:
        assert text_of(call) == command(*words, fails=True), words


def test_options_out_of_range_are_refused(folder: Path) -> None:
    run = talea.open("halo")
    assert "expected points from 11 to 20001" in text_of(lambda: talea.fold(run, points=3))
    assert "rank or overlay" in text_of(lambda: talea.fold(run, rank=0, overlay=True))
    assert "expected mad, sigma=N" in text_of(lambda: talea.fold(run, outliers="x"))
    assert "expected eps auto" in text_of(lambda: talea.cluster(run, eps=float("nan")))
    assert "expected eps auto" in text_of(lambda: talea.cluster(run, eps="x"))
    assert "min_points" in text_of(lambda: talea.cluster(run, min_points=0))
    assert "expected ranks=8" in text_of(lambda: talea.cluster(run, subset="x"))
    assert "factors" in text_of(lambda: talea.cluster(run, factors=[-1.0]))
    assert "edges auto" in text_of(lambda: talea.cluster(run, edges="x"))
    assert "per_task auto" in text_of(lambda: talea.track(run, windows=3, per_task="x"))
    assert "found both" in text_of(lambda: talea.metrics(run, begin=1, with_init=True))
    assert "expected a number" in text_of(lambda: talea.metrics(run, expressions={"x": "a +"}))
    assert "expected" in text_of(lambda: run.events(0, begin="soon"))
    assert "halo.c:295-309" in text_of(lambda: run.iterations("nothing"))
    assert "number 99" in text_of(lambda: run.iterations(99))


@pytest.mark.parametrize(
    "call",
    [
        lambda run: run.events("one"),
        lambda run: run.events(1.5),
        lambda run: run.iterations([]),
        lambda run: talea.open(None),
        lambda run: talea.open(b"halo"),
        lambda run: talea.fold(None),
        lambda run: talea.fold(run, points="many"),
        lambda run: talea.cluster(run, eps=[1]),
        lambda run: talea.cluster(run, unknown=1),
        lambda run: talea.metrics(run, begin=1.5),
        lambda run: talea.track(),
        lambda run: talea.Store(7),
    ],
)
def test_values_of_wrong_types_are_type_errors(folder: Path, call: Callable[..., object]) -> None:
    run = talea.open("halo")
    with pytest.raises(TypeError):
        call(run)


@pytest.mark.parametrize("number", [-1, 2**32, 2**64, 10**40])
def test_numbers_that_are_no_ranks_are_refused(folder: Path, number: int) -> None:
    run = talea.open("halo")
    for call in (
        lambda: run.events(number),
        lambda: run.structure_of(rank=number),
        lambda: talea.fold(run, rank=number),
    ):
        with pytest.raises((OverflowError, TypeError)):
            call()


def test_a_damaged_run_has_gaps(folder: Path) -> None:
    trace = folder / "halo/trace.talea"
    whole = trace.read_bytes()
    for length in (0, 7, 100, len(whole) // 2, len(whole) - 1):
        trace.write_bytes(whole[:length])
        try:
            run = talea.open("halo")
            assert run.gaps
            run.stats
            run.calls
        except talea.Error as error:
            assert "halo" in str(error)
    for at in range(0, len(whole), 997):
        bytes_ = bytearray(whole)
        bytes_[at] ^= 0x55
        trace.write_bytes(bytes_)
        try:
            run = talea.open("halo")
            run.stats
            run.calls
            run.events(0)
        except talea.Error:
            pass


def test_a_run_without_samples_says_how_to_take_some(command: Command, folder: Path) -> None:
    for file in (folder / "halo/samples").iterdir():
        file.unlink()
    (folder / "halo/samples").rmdir()
    run = talea.open("halo")
    expected = command("show", "halo", "samples", fails=True)
    assert text_of(lambda: run.samples) == text_of(lambda: run.sampled) == expected
    assert "--sample 100Hz" in expected


def test_other_threads_run_while_it_computes(folder: Path) -> None:
    """Threads on one run: each has the answer, and none waits for the lock forever."""
    run = talea.open("halo")
    found: list[int] = []

    def count() -> None:
        found.append(len(run.calls) + len(talea.fold(run)["counters"]))

    threads = [threading.Thread(target=count) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(found) == 4 and len(set(found)) == 1


def test_usage_refuses_what_is_no_dimension(store: str) -> None:
    asked = talea.Store(store)
    assert "expected a dimension (node, job" in text_of(lambda: asked.usage(by="colour"))
    assert "expected a limit" in text_of(lambda: asked.usage(limit=0))
    assert "expected" in text_of(lambda: asked.usage(last="soon"))
