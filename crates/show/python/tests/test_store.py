"""Use of cores, from a store."""

from __future__ import annotations

from typing import Any, Callable

import polars

import talea


def test_usage_is_that_of_usage(command: Callable[..., Any], store: str) -> None:
    asked = talea.Store(store)
    usage = ["usage", "--store", store, "--json"]
    assert asked.usage() == command(*usage)
    assert asked.usage(by=["library"]) == command(*usage, "--by", "library")
    found = asked.usage(by=["executable", "user", "activity"], limit=2, last="24h")
    words = ["--by", "executable,user,activity", "--limit", "2", "--last", "24h"]
    assert found == command(*usage, *words)
    assert asked.usage("node", node="no*") == command(*usage, "--by", "node", "--node", "no*")


def test_rows_have_a_column_for_each_dimension(store: str) -> None:
    usage = talea.Store(store).usage(by=["executable", "user"])
    table = usage.rows
    assert table.columns[:3] == ["executable", "user", "samples"]
    assert table.to_dicts() == usage["rows"]
    assert table.to_polars().schema["user"] == polars.UInt64
    assert table.units["core_seconds"] == "s"
    assert sum(one["samples"] for one in table.to_dicts()) == usage["matched_samples"] > 0
