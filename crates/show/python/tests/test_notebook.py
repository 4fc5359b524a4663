"""The notebook of the documentation, executed on the fixed recording."""

from __future__ import annotations

from pathlib import Path

import nbformat
from nbclient import NotebookClient

CHECKOUT = Path(__file__).resolve().parents[4]
NOTEBOOK = CHECKOUT / "docs/notebook/talea.ipynb"


def test_the_notebook_runs(folder: Path) -> None:
    (folder / "halo").rename(folder / "talea-app")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells), "outputs are not committed"
    client = NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}})
    client.execute()
    shown = [one for cell in notebook.cells for one in cell.get("outputs", [])]
    kinds = {kind for one in shown for kind in one.get("data", {})}
    assert {"image/png", "text/html"} <= kinds, kinds
    text = "".join(one.get("text", "") for one in shown)
    assert "halo.c:295" in text, text
