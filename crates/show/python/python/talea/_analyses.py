"""Analyses of runs and traces, with the options and defaults of the commands.

An input is a ``Run``, or the path of a run directory or a trace (``.prv``, ``.prv.gz``). Of an
input the part between ``MPI_Init`` and ``MPI_Finalize`` is analysed; ``begin`` and ``end``
(nanoseconds, or text such as ``"1.5s"``) or ``with_init`` change that.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Optional, Union, overload

from . import _talea
from ._results import Clusters, Folded, Metrics, Regions, Tracks
from ._run import Run, Time

Input = Union[Run, str, "os.PathLike[str]"]


def _part(begin: Optional[Time], end: Optional[Time], with_init: bool) -> dict[str, object]:
    return {"begin": begin, "end": end, "with_init": with_init}


def _paths(inputs: Sequence[Input]) -> list[str]:
    return [os.fspath(one) for one in inputs]


def regions(
    input: Input,
    *,
    begin: Optional[Time] = None,
    end: Optional[Time] = None,
    with_init: bool = False,
) -> Regions:
    """Regions that can be folded, by falling time in nanoseconds."""
    lists = json.loads(_talea.regions(_paths([input]), _part(begin, end, with_init)))
    return Regions(lists[0])


def fold(
    input: Input,
    *more: Input,
    region: Optional[str] = None,
    value: Optional[Union[int, str]] = None,
    without_mpi: bool = False,
    rank: Optional[int] = None,
    overlay: bool = False,
    counters: Sequence[str] = (),
    models: Sequence[str] = (),
    outliers: str = "mad",
    groups: bool = False,
    score: bool = False,
    points: int = 501,
    begin: Optional[Time] = None,
    end: Optional[Time] = None,
    with_init: bool = False,
) -> Folded:
    """The behaviour inside one execution of a region, from samples of many.

    Rates are counts a second, places are shares of the region from 0 to 1. ``region`` is
    ``iteration``, a routine, ``cluster:N`` and so on (``talea.regions`` lists them); without it the
    main one.
    """
    args = {
        "region": region,
        "value": None if value is None else str(value),
        "without_mpi": without_mpi,
        "rank": rank,
        "overlay": overlay,
        "counters": list(counters),
        "models": list(models),
        "outliers": outliers,
        "groups": groups,
        "score": score,
        "points": points,
    }
    text = _talea.fold(_paths([input, *more]), args, _part(begin, end, with_init))
    return Folded(json.loads(text))


def cluster(
    input: Input,
    *,
    dimensions: Optional[str] = None,
    columns: Optional[Sequence[str]] = None,
    weight: Optional[str] = None,
    min_duration: Optional[Time] = None,
    factors: Sequence[float] = (),
    no_log: bool = False,
    edges: str = "auto",
    eps: Union[float, str] = "auto",
    min_points: Optional[int] = None,
    subset: Optional[str] = None,
    seed: int = 1,
    check: bool = False,
    begin: Optional[Time] = None,
    end: Optional[Time] = None,
    with_init: bool = False,
) -> Clusters:
    """Groups of similar stretches of computation; durations in nanoseconds."""
    args = _clustering(
        dimensions, columns, weight, min_duration, factors, no_log, edges, eps, min_points
    )
    args.update(subset=subset, seed=seed, check=check)
    text = _talea.cluster(os.fspath(input), args, _part(begin, end, with_init))
    return Clusters(json.loads(text))


def track(
    input: Input,
    *more: Input,
    windows: Optional[Union[int, str]] = None,
    per_task: str = "auto",
    dimensions: Optional[str] = None,
    columns: Optional[Sequence[str]] = None,
    weight: Optional[str] = None,
    min_duration: Optional[Time] = None,
    factors: Sequence[float] = (),
    no_log: bool = False,
    edges: str = "auto",
    eps: Union[float, str] = "auto",
    min_points: Optional[int] = None,
    begin: Optional[Time] = None,
    end: Optional[Time] = None,
    with_init: bool = False,
) -> Tracks:
    """Clusters followed over runs of different scales, or over windows of one run.

    ``windows`` is the number of windows, or the length of each as text (``"500ms"``).
    """
    args = _clustering(
        dimensions, columns, weight, min_duration, factors, no_log, edges, eps, min_points
    )
    part = _part(begin, end, with_init)
    return Tracks(json.loads(_talea.track(_paths([input, *more]), windows, per_task, args, part)))


def _clustering(
    dimensions: Optional[str],
    columns: Optional[Sequence[str]],
    weight: Optional[str],
    min_duration: Optional[Time],
    factors: Sequence[float],
    no_log: bool,
    edges: str,
    eps: Union[float, str],
    min_points: Optional[int],
) -> dict[str, object]:
    return {
        "dimensions": dimensions,
        "columns": None if columns is None else list(columns),
        "weight": weight,
        "min_duration": min_duration,
        "factors": list(factors),
        "no_log": no_log,
        "edges": edges,
        "eps": eps,
        "min_points": min_points,
        "subset": None,
        "seed": 1,
        "check": False,
    }


@overload
def metrics(
    input: Input,
    *,
    models: Sequence[Union[str, os.PathLike[str]]] = ...,
    expressions: Optional[Mapping[str, str]] = ...,
    weak: bool = ...,
    clusters: bool = ...,
    begin: Optional[Time] = ...,
    end: Optional[Time] = ...,
    with_init: bool = ...,
) -> Metrics: ...


@overload
def metrics(
    input: Input,
    second: Input,
    /,
    *more: Input,
    models: Sequence[Union[str, os.PathLike[str]]] = ...,
    expressions: Optional[Mapping[str, str]] = ...,
    weak: bool = ...,
    clusters: bool = ...,
    begin: Optional[Time] = ...,
    end: Optional[Time] = ...,
    with_init: bool = ...,
) -> list[Metrics]: ...


def metrics(
    input: Input,
    *more: Input,
    models: Sequence[Union[str, os.PathLike[str]]] = (),
    expressions: Optional[Mapping[str, str]] = None,
    weak: bool = False,
    clusters: bool = False,
    begin: Optional[Time] = None,
    end: Optional[Time] = None,
    with_init: bool = False,
) -> Union[Metrics, list[Metrics]]:
    """Factors of parallel efficiency, and metrics from counters; of several inputs a list.

    ``expressions`` are metrics of your own by name: ``{"ipc": "instructions / cycles"}``. Several
    inputs are compared with the first. ``clusters`` adds values of each cluster of computation.
    """
    args = {
        "models": [os.fspath(one) for one in models],
        "expressions": [f"{name} = {text}" for name, text in (expressions or {}).items()],
        "weak": weak,
        "clusters": clusters,
    }
    text = _talea.metrics(_paths([input, *more]), args, _part(begin, end, with_init))
    results = [Metrics(one) for one in json.loads(text)]
    return results if more else results[0]
