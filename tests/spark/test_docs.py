"""The examples of docs/spark.md."""

import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

DOCS = Path(__file__).parents[2] / "docs" / "spark.md"


def test_the_examples_run(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One after another, as a reader would type them, in an empty directory."""
    # Spark takes a relative path from where its own process was started, so each is made an absolute one.
    text = re.sub(r'((?:parquet|json)\(|checkpoint=)"', rf'\1"{tmp_path}/', DOCS.read_text())
    example: dict[str, Any] = {"__name__": "example"}
    for block in re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        exec(compile(block, str(DOCS), "exec"), example)
    said = capsys.readouterr()
    assert [line for line in said.out.splitlines() if line.endswith(("acked", "left"))] == [
        "1000 acked",
        "1000 acked",
        "0 left",
        "30 acked",
    ]
    assert "already_finished" in said.err
    example["process"](spark.read.parquet(f"{tmp_path}/orders"), 0)
    frame = spark.range(3).selectExpr("id", "0L AS batch_id")
    for _ in range(2):
        example["overwrite"](frame)
    assert spark.read.parquet(f"{tmp_path}/ratings_by_batch").count() == 3
