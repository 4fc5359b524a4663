"""Every result equals the ``--json`` of the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable

import pytest

import talea

Command = Callable[..., Any]


def without_seconds(result: dict[str, Any]) -> dict[str, Any]:
    """Without the time that the analysis itself took."""
    return {key: value for key, value in result.items() if key != "seconds"}


def test_views_are_those_of_show(command: Command) -> None:
    run = talea.open("halo")
    show = lambda view, *words: command("show", "halo", view, *words, "--json")  # noqa: E731
    assert run.structure == show("structure")
    assert run.structure_of(rank=2) == show("structure", "--rank", "2")
    assert run.graph == show("graph")
    assert run.graph_of(rank=1) == show("graph", "--rank", "1")
    assert run.growth == show("growth")
    assert run.growth_of(rank=1) == show("growth", "--rank", "1")
    assert run.collection() == show("collection")
    assert run.collection(rank=1, keep=6, seed=3) == show(
        "collection", "--rank", "1", "--keep", "6", "--seed", "3"
    )
    with pytest.raises(ValueError, match="at least 5"):
        run.collection(keep=4)
    assert run.stats == show("stats")
    assert run.matrix == show("matrix")
    assert run.hosts == show("hosts")
    assert run.sampled == show("samples")
    assert run.gaps == show("stats")["gaps"]


def test_tables_are_the_rows_of_show(command: Command) -> None:
    run = talea.open(Path("halo"))
    show = lambda view, *words: command("show", "halo", view, *words, "--json")  # noqa: E731
    assert run.calls.to_dicts() == show("calls", "--by", "path")
    assert run.call_groups.to_dicts() == show("calls", "--by", "line")
    assert run.routines.to_dicts() == show("calls", "--by", "routine")
    assert run.classes.to_dicts() == show("classes")
    assert len(run.calls) > 10


def test_events_are_those_of_events(command: Command) -> None:
    run = talea.open("halo")
    words = ["events", "halo", "--rank", "3", "--json-lines"]
    lines = [json.loads(line) for line in command(*words, text=True).splitlines()]
    rows = run.events(rank=3).to_dicts()
    for row in rows:
        row["args"] = json.loads(row["args"])
    assert rows == lines
    window = run.events(3, begin="100ms", end=200_000_000)
    assert 0 < len(window) < len(lines)
    lines = command(*words, "--from", "100ms", "--to", "200ms", text=True).splitlines()
    assert len(window) == len(lines)


def test_analyses_are_those_of_the_commands(command: Command, folder: Path) -> None:
    command("convert", "halo", "halo.prv", text=True)
    run = talea.open("halo")
    for one in (run, "halo.prv"):
        path = "halo" if one is run else "halo.prv"
        assert talea.regions(one) == command("fold", path, "--list", "--json")[0]
        assert talea.metrics(one) == command("metrics", path, "--json")
        found = talea.cluster(one)
        assert without_seconds(found) == without_seconds(command("cluster", path, "--json"))
        assert talea.fold(one) == command("fold", path, "--json")
    found = talea.fold(run, overlay=True, without_mpi=True, points=101)
    words = ["fold", "halo", "--overlay", "--without-mpi", "--points", "101", "--json"]
    assert found == command(*words)
    assert talea.track(run, windows=4) == command("track", "halo", "--windows", "4", "--json")
    both = command("track", "halo", "halo.prv", "--json")
    assert talea.track(run, "halo.prv") == both
    both = command("metrics", "halo", "halo.prv", "--by", "cluster", "--json")
    assert talea.metrics(run, "halo.prv", clusters=True) == both
    own = talea.metrics(run, expressions={"share": "1 / 4"})
    assert own == command("metrics", "halo", "--expr", "share = 1 / 4", "--json")
