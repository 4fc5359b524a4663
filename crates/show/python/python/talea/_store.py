"""Stores of what nodes sampled."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Optional, Union

from . import _talea
from ._results import Usage


class Store:
    """A store: ``sqlite:PATH``, ``prometheus:http://HOST:PORT``, or a server of ``talea serve``."""

    def __init__(
        self,
        address: str,
        *,
        token_file: Optional[Union[str, "os.PathLike[str]"]] = None,
        ca: Optional[Union[str, "os.PathLike[str]"]] = None,
    ) -> None:
        self._place = {"address": address, "token_file": token_file, "ca": ca}
        _talea.check_store(self._place)

    def __repr__(self) -> str:
        return f"talea.Store({self._place['address']!r})"

    def usage(
        self,
        by: Union[str, Sequence[str]] = ("executable",),
        *,
        last: Optional[str] = None,
        node: Optional[str] = None,
        job: Optional[str] = None,
        user: Optional[int] = None,
        executable: Optional[str] = None,
        library: Optional[str] = None,
        phase: Optional[str] = None,
        limit: int = 30,
    ) -> Usage:
        """Use of the cores in a period: shares of all samples, and core seconds.

        ``by`` names the columns that separate rows: node, job, user, executable, library,
        function, phase, core, activity. ``last`` is the period up to now, such as ``"24h"``. In
        names ``*`` stands for any characters and ``?`` for one.
        """
        args = {
            "by": [by] if isinstance(by, str) else list(by),
            "last": last,
            "node": node,
            "job": job,
            "user": user,
            "executable": executable,
            "library": library,
            "phase": phase,
            "limit": limit,
        }
        return Usage(json.loads(_talea.usage(self._place, args)))
