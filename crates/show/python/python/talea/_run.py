"""Runs that ``talea run`` recorded."""

from __future__ import annotations

import json
import os
from typing import Any, Optional, Union

from . import _talea
from ._results import Graph, Matrix, Result, Sampled
from ._talea import Table

Path = Union[str, "os.PathLike[str]"]
Time = Union[int, str]


class Run:
    """A run directory. Views are computed when they are asked for; times are nanoseconds."""

    def __init__(self, path: Path) -> None:
        self._run = _talea.Run(path)

    @property
    def path(self) -> str:
        """The path by which it was opened."""
        return os.fspath(self._run.path)

    def __fspath__(self) -> str:
        return self.path

    def __repr__(self) -> str:
        return f"talea.open({self.path!r})"

    @property
    def calls(self) -> Table:
        """Call sites by call path, most time first: calls, times in nanoseconds, bytes."""
        return self._run.calls()

    @property
    def call_groups(self) -> Table:
        """The same summed by line of the source and procedure."""
        return self._run.call_groups("line")

    @property
    def routines(self) -> Table:
        """The same summed by calling routine."""
        return self._run.call_groups("routine")

    @property
    def classes(self) -> Table:
        """Classes of threads that behave alike."""
        return self._run.classes()

    @property
    def structure(self) -> list[Result]:
        """Loops, sequences and calls as a tree, one for each class; times in nanoseconds."""
        return self.structure_of()

    def structure_of(
        self, rank: Optional[int] = None, thread: Optional[int] = None
    ) -> list[Result]:
        """The same of each thread of a rank, or of one of its threads."""
        return [Result(one) for one in json.loads(self._run.structure(rank, thread))]

    @property
    def graph(self) -> Graph:
        """The event flow graph of the thread that stands for the largest class."""
        return self.graph_of()

    def graph_of(self, rank: Optional[int] = None, thread: Optional[int] = None) -> Graph:
        """The same of the first thread of a rank, or of one of its threads."""
        return Graph(json.loads(self._run.graph(rank, thread)) or {})

    @property
    def growth(self) -> Result:
        """Nodes and edges of the event flow graph over time, and when its structure was steady."""
        return self.growth_of()

    def growth_of(self, rank: Optional[int] = None, thread: Optional[int] = None) -> Result:
        """The same of the threads of a rank, or of one of its threads."""
        return Result(json.loads(self._run.growth(rank, thread)))

    def collection(
        self,
        rank: Optional[int] = None,
        thread: Optional[int] = None,
        keep: int = 10,
        seed: int = 1,
    ) -> Result:
        """Iterations that smart collection kept or would keep, and totals of call sites.

        Without `rank` a thread of the largest class is used; without `thread`, the first thread of
        the rank. At most `keep` iterations of a kind are kept.
        """
        if keep < 5:
            raise ValueError(f"keep: expected at least 5 iterations, got {keep}")
        return Result(json.loads(self._run.collection(rank, thread, (keep, seed))) or {})

    @property
    def stats(self) -> Result:
        """Counts and sizes of the recording; sizes in bytes, shares 0 to 1."""
        return Result(json.loads(self._run.stats()))

    @property
    def matrix(self) -> Matrix:
        """Messages and bytes from rank to rank."""
        return Matrix(json.loads(self._run.matrix()))

    @property
    def hosts(self) -> list[Result]:
        """Hosts and the placement of their ranks."""
        return [Result(one) for one in json.loads(self._run.hosts())]

    @property
    def gaps(self) -> list[dict[str, Any]]:
        """Data that are missing, estimated or unsupported, with reasons."""
        gaps: list[dict[str, Any]] = json.loads(self._run.gaps())
        return gaps

    @property
    def samples(self) -> Table:
        """Samples one by one, with function, line and call stack."""
        return self._run.samples()

    @property
    def sampled(self) -> list[Sampled]:
        """Samples of each process, counted by function and by line."""
        return [Sampled(one) for one in json.loads(self._run.sampled(None))]

    def events(
        self,
        rank: int,
        thread: int = 0,
        world: int = 0,
        *,
        begin: Optional[Time] = None,
        end: Optional[Time] = None,
    ) -> Table:
        """Calls of a thread in their order; ``args`` is JSON text.

        Calls that end before ``begin`` or begin after ``end`` are left out: nanoseconds, or text
        such as ``"1.5s"``.
        """
        return self._run.events(rank, thread, world, begin, end)

    def iterations(
        self,
        loop: Optional[Union[int, str]] = None,
        rank: Optional[int] = None,
        thread: Optional[int] = None,
    ) -> Table:
        """Iterations of a loop on each thread; begin and duration in nanoseconds.

        ``loop`` is the label of a loop in ``structure``, or its number in ``graph``; without it
        each thread's main loop.
        """
        return self._run.iterations(loop, rank, thread)
