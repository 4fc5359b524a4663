"""Recordings of parallel programs as values of Python.

    >>> import talea
    >>> run = talea.open("talea-app")
    >>> run.calls.to_pandas()

Rows are tables that pandas, polars, pyarrow and DuckDB take without a copy; trees and single
objects are dictionaries with the keys of the command's ``--json``. Times are nanoseconds, amounts
bytes, shares 0 to 1, unless a name says otherwise.
"""

from ._analyses import cluster, fold, metrics, regions, track
from ._errors import Error, MissingError
from ._results import (
    Clusters,
    Folded,
    Graph,
    Matrix,
    Metrics,
    Regions,
    Result,
    Sampled,
    Tracks,
    Usage,
)
from ._run import Path, Run
from ._store import Store
from ._talea import Table, __version__

__all__ = [
    "Clusters",
    "Error",
    "Folded",
    "Graph",
    "Matrix",
    "Metrics",
    "MissingError",
    "Regions",
    "Result",
    "Run",
    "Sampled",
    "Store",
    "Table",
    "Tracks",
    "Usage",
    "__version__",
    "cluster",
    "fold",
    "metrics",
    "open",
    "regions",
    "track",
]


def open(path: Path) -> Run:
    """Opens a run directory that ``talea run`` wrote."""
    return Run(path)
