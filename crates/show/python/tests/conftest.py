"""What the tests share: the command, a fixed recording, and traces made of it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable

import pytest

CHECKOUT = Path(__file__).resolve().parents[4]
GOLDEN = CHECKOUT / "crates/show/talea/tests/golden/halo"
TALEA = Path(os.environ.get("TALEA", CHECKOUT / "target/release/talea"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with the recording ``halo``; paths are relative to it."""
    shutil.copytree(GOLDEN, tmp_path / "halo")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def command(folder: Path) -> Callable[..., Any]:
    """The ``--json`` of a command; its text with ``text=True``, its error with ``fails=True``."""

    def run(*words: str, fails: bool = False, text: bool = False) -> Any:
        done = subprocess.run([TALEA, *words], cwd=folder, capture_output=True, text=True)
        if fails:
            assert done.returncode == 2, done.stderr
            return done.stderr.strip().splitlines()[-1].removeprefix("talea: error: ")
        assert done.returncode == 0, done.stderr
        return done.stdout if text else json.loads(done.stdout)

    return run


@pytest.fixture
def store(folder: Path) -> str:
    """Address of a store with samples of this user's processes."""
    words = ["agent", "--store", "sqlite:node.db", "--sampler", "own", "--rate", "100Hz"]
    words += ["--interval", "500ms", "--for", "2s", "--node", "node1", "--counters", "none"]
    words += ["--run-dir", str(folder)]
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        done = subprocess.run([TALEA, *words], cwd=folder, capture_output=True, text=True)
    finally:
        busy.kill()
        busy.wait()
    assert done.returncode == 0, done.stderr
    return "sqlite:node.db"
