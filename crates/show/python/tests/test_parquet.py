"""The questions of ``docs/parquet.md``: the command, DuckDB and Polars have equal answers."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Callable

import duckdb
import pandas
import polars
import pyarrow.dataset
import pytest

import talea

CHECKOUT = Path(__file__).resolve().parents[4]
Command = Callable[..., Any]
Row = dict[str, Any]


def blocks(language: str) -> list[str]:
    """Blocks of code of the document, in its order."""
    text = (CHECKOUT / "docs/parquet.md").read_text()
    found = re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)
    assert len(found) == 3
    return found


@pytest.fixture
def answers(command: Command) -> list[list[Row]]:
    """Rows of each question, which DuckDB and Polars agree on."""
    command("convert", "halo", "run.parquet", text=True)
    names: dict[str, Any] = {}
    both = []
    for sql, code in zip(blocks("sql"), blocks("python")):
        exec(code, names)
        rows = names.pop("answer").to_dicts()
        assert rows == duckdb.sql(sql).pl().to_dicts()
        both.append(rows)
    return both


def test_times_by_site_and_rank_are_those_of_show(
    answers: list[list[Row]], command: Command
) -> None:
    shown = command("show", "halo", "calls", "--by", "path", "--json")
    expected = [
        {
            "site_id": site["id"],
            "procedure": site["procedure"],
            "site": site["place"],
            "rank": rank,
            "time_ns": time,
        }
        for site in sorted(shown, key=lambda site: site["id"])
        for rank, time in enumerate(site["rank_times"])
        if site["rank_counts"][rank] > 0
    ]
    assert answers[0] == expected and len(expected) > 40


def test_slowest_iterations_are_those_of_the_run(
    answers: list[list[Row]], command: Command
) -> None:
    rows = talea.open("halo").iterations().to_dicts()
    rows.sort(key=lambda row: (-row["duration_ns"], row["rank"], row["thread"], row["iteration"]))
    expected = [{key: row[key] for key in answers[1][0]} for row in rows[:10]]
    assert answers[1] == expected
    # The main loop of the structure has as many. Its time is exact, those of single calls are not.
    tree = command("show", "halo", "structure", "--json")[0]["tree"]
    loops = [node for node in tree["children"] if node["kind"] == "loop"]
    main = max(loops, key=lambda loop: loop["time_ns"])
    durations = [row["duration_ns"] for row in rows if row["rank"] == 0]
    assert main["iterations"] == len(durations)
    assert main["time_ns"] == pytest.approx(sum(durations), rel=0.02)


def test_calls_of_slow_iterations_are_those_of_events(
    answers: list[list[Row]], command: Command
) -> None:
    rows = talea.open("halo").iterations().to_dicts()
    expected = []
    for rank in range(4):
        own = [row for row in rows if row["rank"] == rank]
        slowest = max(own, key=lambda row: (row["duration_ns"], -row["iteration"]))
        end = slowest["begin_ns"] + slowest["duration_ns"]
        lines = command("events", "halo", "--rank", str(rank), "--json-lines", text=True)
        sums: dict[tuple[str, str], list[int]] = {}
        for line in map(json.loads, lines.splitlines()):
            if slowest["begin_ns"] <= line["begin_ns"] < end:
                both = sums.setdefault((line["call"], line["site"]), [0, 0])
                both[0] += 1
                both[1] += line["duration_ns"]
        expected += [
            {"rank": rank, "procedure": call, "site": site, "events": events, "time_ns": time}
            for (call, site), (events, time) in sorted(sums.items())
        ]
    assert answers[2] == expected


def test_every_reader_sees_all_tables(command: Command) -> None:
    command("convert", "halo", "run.parquet", text=True)
    for table in ["calls", "messages", "iterations", "sites", "sums"]:
        frame = polars.scan_parquet(f"run.parquet/{table}").collect()
        rows = frame.drop("first_rank", strict=False)
        arrow = pyarrow.dataset.dataset(f"run.parquet/{table}", partitioning="hive").to_table()
        assert arrow.select(rows.columns).to_pylist() == rows.to_dicts()
        assert len(pandas.read_parquet(f"run.parquet/{table}")) == len(rows) > 0
        found = duckdb.sql(f"from read_parquet('run.parquet/{table}/**/*.parquet')").pl()
        assert found.select(rows.columns).to_dicts() == rows.to_dicts()
    calls = duckdb.sql("from read_parquet('run.parquet/calls/*/*.parquet')").pl()
    assert set(calls["first_rank"]) == {0}
    sent = calls.group_by("rank").agg(polars.col("bytes").sum()).sort("rank")
    shown = command("show", "halo", "calls", "--json")
    assert sent["bytes"].sum() == sum(site["bytes"] or 0 for site in shown)
    cells = command("show", "halo", "matrix", "--json")["cells"]
    messages = polars.read_parquet("run.parquet/messages")
    for sender, receiver, size, count in cells:
        own = messages.filter(rank=sender, to_rank=receiver)
        assert (own["bytes"].sum(), len(own)) == (size, count)
    assert len(messages) == sum(cell[3] for cell in cells)


def test_another_folder_is_refused(command: Command, folder: Path) -> None:
    (folder / "own.parquet").mkdir()
    assert "give another name" in command("convert", "halo", "own.parquet", fails=True)
    assert not any((folder / "own.parquet").iterdir())
