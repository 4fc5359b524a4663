"""Results: dictionaries with the keys of the command's ``--json``, and tables of their rows.

``talea schema VIEW`` prints the meaning and the unit of each key.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ._talea import Table, table


def _table(kind: str, rows: Sequence[Any], names: Sequence[str] = ()) -> Table:
    return table(kind, rows, list(names))


class Result(dict[str, Any]):
    """A dictionary with the keys of the command's ``--json``."""


class Matrix(Result):
    """Communication from rank to rank (``talea schema matrix``)."""

    @property
    def entries(self) -> Table:
        """Sender, receiver, bytes and number of messages; one row for each pair of ranks."""
        names = ("from", "to", "bytes", "messages")
        return _table("matrix", [dict(zip(names, cell)) for cell in self["cells"]])

    @property
    def collectives(self) -> Table:
        """Calls and contributed bytes of collective operations; one row for each procedure."""
        return _table("collectives", self["collectives"])


class Graph(Result):
    """The event flow graph of one thread (``talea schema graph``)."""

    @property
    def nodes(self) -> Table:
        """Calls, or chains of calls, with visits and times in nanoseconds."""
        return _table("nodes", self["graph"]["nodes"])

    @property
    def edges(self) -> Table:
        """Transitions between nodes, with the computation between them in nanoseconds."""
        return _table("edges", self["graph"]["edges"])


class Sampled(Result):
    """Samples of one process, counted (``talea schema samples``)."""

    @property
    def functions(self) -> Table:
        """Functions by number of samples."""
        return _table("functions", self["functions"])

    @property
    def lines(self) -> Table:
        """Lines of the source by number of samples."""
        return _table("lines", self["lines"])


class Regions(Result):
    """Regions of one input (``talea schema fold-list``)."""

    @property
    def table(self) -> Table:
        """Regions by falling time in nanoseconds; ``region`` is the argument of ``talea.fold``."""
        return _table("regions", self["regions"])


class Folded(Result):
    """A folded region (``talea schema fold``)."""

    def _groups(self) -> Iterator[dict[str, Any]]:
        yield self
        yield from self["parts"]

    @property
    def curves(self) -> Table:
        """Rates of counters over the region: counts a second with their 95 % band.

        One row for each part, counter and place; places are shares of the region, 0 to 1.
        """
        rows = []
        for group in self._groups():
            for counter in group["counters"]:
                rate, sums = counter["rate"], counter["accumulated"]["value"]
                last = max(len(rate["value"]) - 1, 1)
                for place, value in enumerate(rate["value"]):
                    rows.append(
                        {
                            "part": group["name"],
                            "counter": counter["name"],
                            "counter_unit": counter["unit"],
                            "at": place / last,
                            "rate": value,
                            "rate_low": _at(rate["low"], place),
                            "rate_high": _at(rate["high"], place),
                            "accumulated": _at(sums, place),
                        }
                    )
        return _table("curves", rows)

    @property
    def stack(self) -> Table:
        """The routine at each place of the region, over all instances."""
        return _table("stack", self["stack"])


def _at(values: Sequence[Any], place: int) -> Any:
    return values[place] if place < len(values) else None


class Clusters(Result):
    """Clusters of computation (``talea schema cluster``)."""

    @property
    def clusters(self) -> Table:
        """Clusters by time; durations in nanoseconds."""
        return _table("clusters", self["clusters"])


class Tracks(Result):
    """Clusters through runs or windows (``talea schema track``)."""

    @property
    def frames(self) -> Table:
        """Runs, or windows of one run; times in nanoseconds."""
        return _table("frames", self["frames"])


class Metrics(Result):
    """Efficiency and metrics of one input (``talea schema metrics``)."""

    @property
    def table(self) -> Table:
        """Metrics with their units and values."""
        return _table("metrics", self["metrics"])


class Usage(Result):
    """Use of cores in a time (``talea schema usage``)."""

    @property
    def rows(self) -> Table:
        """Shares of all samples with their 95 % interval, and core seconds."""
        return _table("usage", self["rows"], self["by"])
