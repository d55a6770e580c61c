"""The extra ``spark``, there or not."""

import subprocess
import sys

import pytest


def test_the_core_does_not_import_pyspark() -> None:
    """Whoever does not use Spark neither needs it nor waits for it."""
    program = (
        "import sys, fsshelter_py, fsshelter_py.cli; sys.exit('pyspark' in sys.modules or 'pyarrow' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_without_pyspark_one_line_names_the_extra() -> None:
    """A module that is not there is told with what to install."""
    program = "import sys; sys.modules['pyspark'] = None; import fsshelter_py.spark"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert "pip install 'fsshelter_py[spark]'" in ran.stderr.splitlines()[-1]


def test_spark_is_tested_here() -> None:
    """Says in the summary when it is not."""
    pytest.importorskip("pyspark", reason="no test of Spark was run: the extra spark is not installed")
