"""Tables: columns, units, other libraries, iterations and samples."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas
import polars
import pyarrow
import pytest

import talea


@pytest.fixture
def run(folder: Path) -> talea.Run:
    return talea.open("halo")


def test_columns_have_types_units_and_descriptions(run: talea.Run) -> None:
    calls = run.calls
    assert calls.columns[:2] == ["id", "procedure"]
    assert {"time", "min", "median", "max", "rank_times"} <= {
        name for name, unit in calls.units.items() if unit == "ns"
    }
    assert calls.units["bytes"] == "bytes"
    assert calls.units["share"] == "1"
    assert "count" not in calls.units
    assert calls.descriptions["time"] == "Time on all ranks."
    assert set(calls.descriptions) == set(calls.columns)
    schema = calls.to_pyarrow().schema
    assert schema.field("time").type == pyarrow.uint64()
    assert schema.field("time").metadata[b"unit"] == b"ns"
    assert schema.field("path").type == pyarrow.list_(pyarrow.string())
    assert repr(calls).startswith(f"<talea.Table of {len(calls)} rows: id, procedure")


def test_every_library_sees_the_same_rows(run: talea.Run) -> None:
    for table in (run.calls, run.events(0), run.matrix.entries, talea.cluster(run).clusters):
        rows = table.to_dicts()
        assert len(table) == len(rows) > 0
        assert list(rows[0]) == table.columns
        assert table.to_pyarrow().to_pylist() == rows
        assert table.to_polars().to_dicts() == rows
        assert polars.DataFrame(table).equals(table.to_polars())
        frame = table.to_pandas()
        assert isinstance(frame, pandas.DataFrame)
        assert list(frame.columns) == table.columns and len(frame) == len(rows)


def test_a_stream_can_be_taken_twice_and_dropped(run: talea.Run) -> None:
    table = run.events(0)
    capsule = table.__arrow_c_stream__()
    del capsule
    assert table.to_polars().equals(table.to_polars())
    assert pyarrow.schema(table).names == table.columns


def test_large_tables_have_several_parts(run: talea.Run) -> None:
    from talea._talea import table

    rows = [{"from": at, "to": 0, "bytes": 2**63 + at, "messages": 1} for at in range(40_000)]
    made = table("matrix", rows)
    assert made.to_dicts() == rows
    assert made.to_pyarrow().column("bytes").num_chunks == 3
    assert made.to_pyarrow().column("bytes")[-1].as_py() == 2**63 + 39_999


def test_values_of_another_kind_are_null_or_refused() -> None:
    from talea._talea import table

    rows = [{"from": "x", "to": -1, "bytes": 2**64 - 1, "messages": 1.5}, {}]
    made = table("matrix", rows).to_dicts()
    assert made[0] == {"from": None, "to": None, "bytes": 2**64 - 1, "messages": None}
    assert set(made[1].values()) == {None}
    with pytest.raises(TypeError):
        table("matrix", [{"from": object()}])
    with pytest.raises((OverflowError, talea.Error)):
        table("matrix", [{"from": 2**70}])
    with pytest.raises(talea.Error, match="found `nothing`"):
        table("nothing", [])


def test_tables_without_rows_have_columns() -> None:
    from talea._talea import table

    made = table("clusters", [])
    assert len(made) == 0 and made.to_dicts() == []
    assert made.to_polars().columns == made.columns
    assert made.to_polars().schema["time_ns"] == polars.Float64


def test_absent_numbers_are_null(run: talea.Run) -> None:
    clusters = talea.cluster(run).clusters
    assert clusters.to_polars()["ipc"].null_count() == len(clusters)
    assert clusters.to_polars().schema["ipc"] == polars.Float64


def loops(node: dict[str, Any]) -> list[tuple[str, int]]:
    own = [(node["label"], node["iterations"])] if node["kind"] == "loop" else []
    return own + [one for child in node["children"] for one in loops(child)]


def numbers(node: dict[str, Any]) -> dict[int, int]:
    """Iterations of each loop by its number."""
    own = {node["loop_id"]: node["iterations"]} if node["kind"] == "loop" else {}
    for child in node["children"]:
        own |= numbers(child)
    return own


def test_iterations_are_those_of_the_structure(run: talea.Run) -> None:
    known = loops(run.structure[0]["tree"])
    label, count = known[0]
    by_label = run.iterations(label, rank=0)
    assert len(by_label) == count == 24
    frame = run.iterations(label).to_polars()
    assert frame["rank"].unique().sort().to_list() == [0, 1, 2, 3]
    assert len(frame) == 4 * count
    for _, one in frame.group_by("rank"):
        assert one["iteration"].to_list() == list(range(count))
        # Each iteration ends where the next one begins.
        ends = one["begin_ns"] + one["duration_ns"]
        assert ends[:-1].to_list() == one["begin_ns"][1:].to_list()
    graph = run.graph
    # The structure has the same numbers.
    structure = run.structure[0]
    assert structure["representative"] == graph["rank"]
    of_graph = {loop["id"]: loop["iterations"] for loop in graph["graph"]["loops"]}
    of_tree = numbers(structure["tree"])
    assert of_tree and of_tree.items() <= of_graph.items()
    for loop in graph["graph"]["loops"]:
        rows = run.iterations(loop["id"], rank=graph["rank"])
        assert len(rows) == loop["iterations"]
    main = run.iterations(rank=0).to_dicts()
    assert main and sum(one["events"] for one in main) <= len(run.events(0))
    assert run.iterations().units == {"begin_ns": "ns", "duration_ns": "ns"}


def test_samples_are_those_that_are_counted(run: talea.Run) -> None:
    samples = run.samples.to_polars()
    assert len(samples) == sum(process["samples"] for process in run.sampled)
    for process in run.sampled:
        own = samples.filter(polars.col("rank") == process["rank"])
        counts = dict(own["function"].drop_nulls().value_counts().iter_rows())
        functions = process.functions.to_dicts()
        expected = {
            one["function"]: one["self"]
            for one in functions
            if one["self"] > 0 and one["function"] != "(unknown)"
        }
        assert counts == expected
        assert process.lines.to_polars()["samples"].sum() == len(own["function"].drop_nulls())
    stacks = samples.select("stack", "function").iter_rows()
    assert all(stack[0] == name for stack, name in stacks if name)


def test_curves_are_the_counters(run: talea.Run) -> None:
    folded = talea.fold(run, overlay=True)
    curves = folded.curves.to_polars()
    first = folded["counters"][0]
    chosen = polars.col("part") == folded["name"], polars.col("counter") == first["name"]
    own = curves.filter(*chosen)
    assert own["rate"].to_list() == first["rate"]["value"]
    assert own["rate_low"].to_list() == first["rate"]["low"]
    assert own["accumulated"].to_list() == first["accumulated"]["value"]
    assert (own["at"][0], own["at"][-1]) == (0.0, 1.0)
    assert curves["part"].n_unique() == 1 + len(folded["parts"])
    assert folded.stack.columns[0] == "from"


def test_accessors_have_the_rows_of_the_result(run: talea.Run) -> None:
    matrix = run.matrix
    first = matrix.entries.to_dicts()[0]
    assert list(first.values()) == matrix["cells"][0]
    assert matrix.collectives.to_dicts() == matrix["collectives"]
    assert run.graph.nodes.to_dicts() == run.graph["graph"]["nodes"]
    assert run.graph.edges.to_dicts() == run.graph["graph"]["edges"]
    assert talea.regions(run).table.to_dicts() == talea.regions(run)["regions"]
    tracks = talea.track(run, windows=4)
    assert tracks.frames.to_dicts() == tracks["frames"]
    metrics = talea.metrics(run)
    assert metrics.table.to_dicts() == metrics["metrics"]


def test_no_optional_library_is_imported(folder: Path) -> None:
    program = (
        "import sys, talea; run = talea.open('halo'); run.calls.to_dicts(); run.structure;"
        "talea.fold(run); found = {'numpy', 'pandas', 'polars', 'pyarrow'} & set(sys.modules);"
        "sys.exit(str(found) if found else 0)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize(
    ("library", "method", "install"),
    [
        ("pandas", "to_pandas", "pip install pandas pyarrow"),
        ("pyarrow", "to_pandas", "pip install pandas pyarrow"),
        ("polars", "to_polars", "pip install polars"),
        ("pyarrow", "to_pyarrow", "pip install pyarrow"),
    ],
)
def test_missing_libraries_are_named(
    run: talea.Run, monkeypatch: pytest.MonkeyPatch, library: str, method: str, install: str
) -> None:
    calls = run.calls
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError, match=install):
        getattr(calls, method)()
