"""The compiled half of the package: results as JSON text, rows as tables."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Optional, Union, final

import pandas
import polars
import pyarrow

__all__ = [
    "Run",
    "Table",
    "__version__",
    "check_store",
    "cluster",
    "fold",
    "metrics",
    "regions",
    "table",
    "track",
    "usage",
]
__version__: str

_Path = Union[str, PathLike[str]]
_Time = Union[int, str]

@final
class Table:
    """Rows with named columns; ``units`` and ``descriptions`` explain them.

    Other libraries take a table without a copy: ``polars.DataFrame(table)``,
    ``pyarrow.table(table)``, ``duckdb.sql("from table")``.
    """

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""

    @property
    def units(self) -> dict[str, str]:
        """Units by column: ``ns``, ``bytes``, ``s``; ``1`` for shares from 0 to 1."""

    @property
    def descriptions(self) -> dict[str, str]:
        """Meanings of the columns, a sentence each."""

    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: Optional[object] = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...
    def to_dicts(self) -> list[dict[str, Any]]:
        """The rows as dictionaries, without any other library."""

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a data frame of pandas; needs pandas and pyarrow."""

    def to_polars(self) -> polars.DataFrame:
        """The rows as a data frame of polars; needs polars."""

    def to_pyarrow(self) -> pyarrow.Table:
        """The rows as a table of pyarrow; needs pyarrow."""

@final
class Run:
    def __new__(cls, path: _Path) -> Run: ...
    @property
    def path(self) -> PathLike[str]: ...
    def calls(self) -> Table: ...
    def call_groups(self, by: str) -> Table: ...
    def classes(self) -> Table: ...
    def structure(self, rank: Optional[int], thread: Optional[int]) -> str: ...
    def graph(self, rank: Optional[int], thread: Optional[int]) -> str: ...
    def growth(self, rank: Optional[int], thread: Optional[int]) -> str: ...
    def collection(
        self, rank: Optional[int], thread: Optional[int], plan: tuple[int, int]
    ) -> str: ...
    def stats(self) -> str: ...
    def matrix(self) -> str: ...
    def hosts(self) -> str: ...
    def gaps(self) -> str: ...
    def sampled(self, rank: Optional[int]) -> str: ...
    def samples(self) -> Table: ...
    def events(
        self,
        rank: int,
        thread: int,
        world: int,
        begin: Optional[_Time],
        end: Optional[_Time],
    ) -> Table: ...
    def iterations(
        self, of: Optional[Union[int, str]], rank: Optional[int], thread: Optional[int]
    ) -> Table: ...

def table(
    kind: str, rows: Sequence[Mapping[str, Any]], names: Sequence[str] = ...
) -> Table: ...
def regions(inputs: Sequence[_Path], part: Mapping[str, object]) -> str: ...
def fold(
    inputs: Sequence[_Path], args: Mapping[str, object], part: Mapping[str, object]
) -> str: ...
def cluster(input: _Path, args: Mapping[str, object], part: Mapping[str, object]) -> str: ...
def track(
    inputs: Sequence[_Path],
    windows: Optional[Union[int, str]],
    per_task: str,
    args: Mapping[str, object],
    part: Mapping[str, object],
) -> str: ...
def metrics(
    inputs: Sequence[_Path], args: Mapping[str, object], part: Mapping[str, object]
) -> str: ...
def check_store(place: Mapping[str, object]) -> None: ...
def usage(place: Mapping[str, object], args: Mapping[str, object]) -> str: ...
