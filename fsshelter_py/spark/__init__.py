"""Spark in, Spark out: DataFrames as spouts and sinks, and a Spark driver as the host.

Needs the extra ``spark``, and Java 17 or newer for sessions other than Spark Connect's. May import everything below
``testing``; nothing else of this package imports it, so that ``import fsshelter_py`` never imports pyspark.

columns, fitting, schema: between rows and tuples, both ways. sessions: whose session it is. plan: whether a DataFrame
gives the same rows again. partitions, read_ahead, pairs: rows into the driver. replay: those nacked. position,
progress, checkpoint: how far a run has come. row_source, spout: the batch spout. micro_batch, streaming: the streaming
one. sink: out again. hosting: in a driver.
"""

try:
    import pyspark  # noqa: F401, I001 - looked for first, being what the extra is about
    import pyarrow  # noqa: F401
    import pandas  # noqa: F401
except ImportError as error:
    raise ImportError(f"fsshelter_py.spark needs {error.name}: pip install 'fsshelter_py[spark]'") from None

from fsshelter_py.spark.hosting import host
from fsshelter_py.spark.sink import spark_sink
from fsshelter_py.spark.spout import spark_spout
from fsshelter_py.spark.streaming import spark_stream_spout

__all__ = ["host", "spark_sink", "spark_spout", "spark_stream_spout"]
