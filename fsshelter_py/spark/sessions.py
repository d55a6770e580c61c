"""Whose Spark session it is: the one a host was given, else an active one, else one of our own, stopped after use.

Thread contract: any thread may call these functions; a lock guards the count of those who use the session we made.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from pyspark.errors import PySparkRuntimeError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.session import _monkey_patch_RDD

from fsshelter_py.conf import Conf
from fsshelter_py.errors import SourceError

__all__ = ["SESSION", "acquire", "active", "enter", "is_connect", "own_view", "release"]

SESSION: Final = "spark.session"
"""The option under which a host hands its session to the components of a topology."""

_lock = threading.Lock()
_made: SparkSession | None = None
_users = 0


def acquire(conf: Conf, name: str) -> SparkSession:
    """The session to use, until ``release``. name: of the application, where one has to be made.

    Raises ``SourceError`` where there is no Java to make one with.
    """
    global _made, _users
    with _lock:
        given: SparkSession | None = conf.get(SESSION)
        if _made is None:
            found = given or active()
            if found is not None:
                return found
            _made = _start(name)
        elif given is not None and given is not _made:
            return given
        _users += 1
        return _made


def release(session: SparkSession) -> None:
    """The session is not used any more; one we made is stopped with its last user."""
    global _made, _users
    with _lock:
        made = _made
        if made is None or session is not made:
            return
        _users -= 1
        if not _users:
            _made = None
            made.stop()


def active() -> SparkSession | None:
    """The program's session, from whichever thread; None if there is none, or it was stopped."""
    try:
        session = SparkSession.active()
    except (PySparkRuntimeError, AssertionError):
        return None
    if is_connect(session):
        return session
    return session if session.sparkContext._jsc is not None else None


def is_connect(session: Any) -> bool:
    """Whether it is a session of Spark Connect, which has no JVM in this process."""
    return type(session).__module__.startswith("pyspark.sql.connect")


def own_view(session: SparkSession, settings: dict[str, str]) -> SparkSession:
    """The session with settings of our own, which the user's does not see; it shares temporary views and the rest.

    Spark Connect's is given as it is: a second session there would need an end of its own.
    """
    if is_connect(session):
        return session
    view = SparkSession(session.sparkContext, session._jsparkSession.cloneSession())
    _monkey_patch_RDD(session)  # pyspark lets the session made last have every RDD's toDF
    for key, value in settings.items():
        view.conf.set(key, value)
    return view


def enter(frame: DataFrame) -> None:
    """Let Spark plan and run the DataFrame in this thread with its own session's settings, as Spark's actions do.

    Without an active session some operators take their settings from the default one, and without the local properties
    those of the executors have none. The thread must be one of ours.
    """
    session: Any = frame.sparkSession
    session._jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(frame._jdf.sparkSession())
    for key, value in session.conf.getAll.items():
        if key.startswith("spark."):
            session.sparkContext.setLocalProperty(key, value)


def _start(name: str) -> SparkSession:
    if not (os.environ.get("SPARK_REMOTE") or os.environ.get("SPARK_CONNECT_MODE_ENABLED")):
        _find_java()
    builder = SparkSession.builder.appName(name).config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    if "SPARK_CONF_DIR" not in os.environ:
        quiet = f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties').as_uri()}"
        builder = builder.config("spark.driver.extraJavaOptions", quiet)
    with _undisturbed_interrupt(), _own_python():
        return builder.getOrCreate()


def _find_java() -> None:
    """Without this Spark fails with ``JAVA_GATEWAY_EXITED`` and the trace of a shell script."""
    home = os.environ.get("JAVA_HOME") or None
    if home is not None and not os.access(os.path.join(home, "bin", "java"), os.X_OK):
        raise SourceError(f"Spark needs Java, and JAVA_HOME is {home}, where there is no bin/java: set it right")
    if home is None and shutil.which("java") is None:
        raise SourceError(
            "Spark needs Java 17 or newer, and there is no java on the PATH: install it (on Debian and Ubuntu: "
            "openjdk-17-jre-headless), or set JAVA_HOME"
        )


@contextmanager
def _own_python() -> Iterator[None]:
    """Workers on this machine run this Python, with its packages, rather than the python3 of the PATH.

    Not where something says what Spark to use, or how: that may be a cluster, with a Python of its own.
    """
    if any(name in os.environ for name in ("PYSPARK_PYTHON", "SPARK_HOME", "SPARK_CONF_DIR", "PYSPARK_SUBMIT_ARGS")):
        yield
        return
    os.environ["PYSPARK_PYTHON"] = sys.executable
    try:
        yield
    finally:
        del os.environ["PYSPARK_PYTHON"]


@contextmanager
def _undisturbed_interrupt() -> Iterator[None]:
    """A new Spark context takes SIGINT for itself in the main thread; give it back to who had it."""
    handler: Callable[..., Any] | int | None = None
    if threading.current_thread() is threading.main_thread():
        handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if handler is not None:
            signal.signal(signal.SIGINT, handler)
