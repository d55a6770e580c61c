"""The page as an HTTP client sees it."""

import json
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from fsshelter_py import Bolt, Emit, Spout, TopologyFailedError, run_no_restart
from fsshelter_py.ui import Page, serve
from tests.shapes import Number, linked
from tests.ui.fed import NASTY, Fed

WAIT = 30.0


@pytest.fixture
def client() -> Iterator[httpx.Client]:
    with httpx.Client(trust_env=False, timeout=WAIT) as client:
        yield client


def events(response: httpx.Response) -> Iterator[tuple[str, Any]]:
    """The name and the data of each event, as they come."""
    name = ""
    for line in response.iter_lines():
        field, _, value = line.partition(": ")
        if field == "event":
            name = value
        elif field == "data":
            yield name, json.loads(value)


def test_the_page_fetches_nothing_from_elsewhere(fed: Fed, client: httpx.Client) -> None:
    """It is one file, its scripts and styles in it, and the browser is told to keep to that."""
    with serve(fed.hosted, port=0) as page:
        shown = client.get(page.url)

    assert shown.headers["content-type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in shown.headers["content-security-policy"]
    links = re.findall(r"""(?:src|href|url)\s*[=(]\s*["']?([^"'\s>)]+)""", shown.text)
    assert set(links) == {"data:,", "/stats", "#arrow"}
    # The name that SVG is made by is never fetched.
    assert set(re.findall(r"https?://[^\"']+", shown.text)) == {"http://www.w3.org/2000/svg"}


def test_stats_are_json(fed: Fed, client: httpx.Client) -> None:
    """In all and by component, for programs."""
    with serve(fed.hosted, port=0) as page:
        stats = client.get(f"{page.url}stats").json()
        assert stats["topology"] == "fed"
        assert [c["component"] for c in stats["components"]] == ["source", "doubler", NASTY]
        assert stats["last_error"] is None


def test_who_watches_is_told_the_graph_and_then_the_counts_to_the_last(fed: Fed, client: httpx.Client) -> None:
    """The last ones are those at the end, after which the stream of events ends too."""
    with serve(fed.hosted, port=0) as page, client.stream("GET", f"{page.url}events") as response:
        told = events(response)
        name, graph = next(told)
        assert name == "graph"
        assert [node["component"] for node in graph["nodes"]] == ["source", "doubler", NASTY]
        assert [edge["anchored"] for edge in graph["edges"]] == [True, False]

        fed.feed(3)
        assert any(stats["emitted"] == 3 for name, stats in told if name == "stats")
        fed.feed(4)
        fed.end()
        *_, (name, last) = told

    assert (last["state"], last["emitted"], last["ok"]) == ("stopped", 7, True)
    assert [c["executed"] for c in last["components"]] == [0, 7, 7]


def test_it_ends_with_the_run(fed: Fed) -> None:
    """No thread is left, and the address is free again."""
    page = serve(fed.hosted, port=0)
    serving = [thread for thread in threading.enumerate() if thread.name == "fsshelter-ui"]
    fed.end()

    for thread in serving:
        thread.join(WAIT)
    assert len(serving) == 1
    assert not serving[0].is_alive()
    Page(port=port_of(page)).close()


def test_closing_it_leaves_the_run_alone(fed: Fed, client: httpx.Client) -> None:
    """Though somebody watches; and it may be shown again."""
    page = serve(fed.hosted, port=0)
    with client.stream("GET", f"{page.url}events") as response:
        told = events(response)
        next(told)
        page.close()
        *_, (_, last) = told
    assert last["state"] in ("starting", "running")
    assert fed.hosted.state in ("starting", "running")
    with serve(fed.hosted, port=port_of(page)) as again:
        assert client.get(again.url).status_code == 200


def test_an_address_in_use_is_told_at_once(fed: Fed) -> None:
    """To the caller, and no thread is started."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        before = threading.active_count()
        with pytest.raises(OSError, match="in use"):
            serve(fed.hosted, port=taken.getsockname()[1])
        assert threading.active_count() == before


def test_a_page_with_nothing_to_show_is_closed_too() -> None:
    """As when the topology file turns out to be wrong."""
    with Page(port=0) as page:
        pass
    Page(port=port_of(page)).close()


def test_the_error_of_a_topology_that_failed_is_told(client: httpx.Client) -> None:
    """As its class and message."""

    def next_number(_: object) -> Number:
        raise RuntimeError("the source\nis gone")

    def ignore(number: Number, emit: Emit[None]) -> None:
        pass

    waiting = threading.Event()
    topology = linked((Spout.run_unreliable(lambda ctx: waiting.wait() and next_number(ctx)), Bolt.run(ignore)))
    with run_no_restart(topology) as hosted, serve(hosted, port=0) as page:
        with client.stream("GET", f"{page.url}events") as response:
            told = events(response)
            next(told)
            waiting.set()
            *_, (_, last) = told
        with pytest.raises(TopologyFailedError):
            hosted.wait(WAIT)
    assert last["state"] == "failed"
    assert "the source\nis gone" in last["last_error"]


def test_ipv6_addresses_stand_in_brackets() -> None:
    """As browsers take them."""
    try:
        page = Page("::1", 0)
    except OSError:
        pytest.skip("this machine has no IPv6")
    with page:
        assert page.url == f"http://[::1]:{port_of(page)}/"


def test_without_starlette_one_line_names_the_extra() -> None:
    """And neither the core nor the command imports it."""
    program = (
        "import sys; sys.modules['starlette'] = sys.modules['uvicorn'] = None; import fsshelter_py.cli, fsshelter_py.ui"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert "pip install 'fsshelter_py[ui]'" in ran.stderr.splitlines()[-1]


def port_of(page: Page) -> int:
    """The port that it has, or had."""
    return int(page.url.rstrip("/").rpartition(":")[2])
