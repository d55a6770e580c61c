"""A topology in a notebook."""

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).parents[2] / "docs" / "spark.ipynb"


@pytest.mark.usefixtures("spark")  # whoever has no Java is told by it
@pytest.mark.timeout(180)
def test_the_notebook_of_the_docs_runs(tmp_path: Path) -> None:
    """Cell after cell, in a kernel of its own, as a reader runs it."""
    if not (importlib.util.find_spec("nbclient") and importlib.util.find_spec("ipykernel")):
        pytest.skip("notebooks need nbclient and ipykernel, which are not installed")
    import nbclient
    import nbformat
    from jupyter_client.kernelspec import KernelSpec
    from jupyter_client.manager import AsyncKernelManager

    class Manager(AsyncKernelManager):  # type: ignore[misc,unused-ignore]
        """Starts this interpreter, whatever kernels are installed."""

        @property
        def kernel_spec(self) -> KernelSpec:
            command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
            return KernelSpec(argv=command, display_name="Python", language="python")

    read: Any = nbformat.read
    notebook = read(NOTEBOOK, as_version=4)
    client = nbclient.NotebookClient(
        notebook, timeout=120, kernel_manager_class=Manager, resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    text = "".join(output.get("text", "") for output in outputs if output.get("name") == "stdout")
    assert "1000 acked" in text
    assert not [output for output in outputs if output["output_type"] == "error"]
