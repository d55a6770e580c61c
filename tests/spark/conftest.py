"""What the Spark tests share: one session, since each takes some seconds to start."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Iterator
from typing import Any

import pytest

# Without the extra nothing here can be imported; test_extra.py says so in the summary.
collect_ignore_glob = [] if importlib.util.find_spec("pyspark") else ["test_[!e]*.py", "test_e[!x]*.py"]

# Spark's workers run the python3 of the PATH where nobody says otherwise, which need not be that of the tests.
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A small session of two cores, in which a task is tried three times. Others run in processes of their own."""
    from pyspark.sql import SparkSession

    if "JAVA_HOME" not in os.environ and shutil.which("java") is None:
        pytest.skip("there is no Java to run Spark with")
    builder = SparkSession.builder.master("local[2,3]").appName("tests")
    for key, value in {
        "spark.driver.memory": "512m",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
