"""The page in a real browser, where there is one."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from fsshelter_py.ui import serve
from tests.ui.fed import NASTY, Fed

WAIT = 60.0
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    driver = shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.skip("the page was tried in no browser: there is no chromium, or no chromedriver")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    chrome = webdriver.Chrome(options=options, service=Service(driver))
    try:
        yield chrome
    finally:
        chrome.quit()


def complaints(browser: webdriver.Chrome) -> list[object]:
    """What its console has, once."""
    return list(browser.get_log("browser"))  # type: ignore[no-untyped-call]


class Shown:
    """What stands on the page."""

    def __init__(self, browser: webdriver.Chrome) -> None:
        self._browser = browser

    def text(self, selector: str) -> str:
        """The text of an element; none where there is no such element yet."""
        return str(self._browser.execute_script("return document.querySelector(arguments[0])?.textContent", selector))

    def cell(self, component: str, column: str) -> str:
        """A figure of the table."""
        return self.text(f'tr[data-component="{component}"] td[data-column="{column}"]')

    def until(self, is_so: Callable[[], bool]) -> None:
        """Wait until it is."""
        WebDriverWait(self._browser, WAIT, poll_frequency=0.1).until(lambda _: is_so())


def test_counts_move_while_the_topology_runs(fed: Fed, browser: webdriver.Chrome) -> None:
    """In the table, in the totals and in the graph; at last the page tells that the run has ended."""
    shown = Shown(browser)
    with serve(fed.hosted, port=0) as page:
        browser.get(page.url)
        shown.until(lambda: shown.text("#state") == "running")
        assert shown.cell("source", "emitted") == "0"

        fed.feed(3)
        shown.until(lambda: shown.cell("source", "emitted") == "3")
        fed.feed(1234)
        shown.until(lambda: shown.cell("doubler", "executed") == "1,237")
        assert shown.text("#totals div:nth-child(2)") == "emitted1,237"
        assert shown.text('svg [data-component="doubler"] .count').startswith("1237 · ")
        fed.end()
        shown.until(lambda: shown.text("#note") == "the run has ended")

    assert shown.text("#state") == "stopped"
    assert shown.cell("doubler", "executed") == "1,237"


def test_names_are_shown_as_they_are(fed: Fed, browser: webdriver.Chrome) -> None:
    """What looks like HTML in them is none; and the browser has nothing to complain of."""
    shown = Shown(browser)
    browser.get("about:blank")
    complaints(browser)  # of tests before
    with serve(fed.hosted, port=0) as page:
        browser.get(page.url)
        shown.until(lambda: shown.text("#state") == "running")
        cells = [cell.text for cell in browser.find_elements(By.CSS_SELECTOR, "tbody td:first-child")]
        titles = [shown.text(f"svg g:nth-of-type({n}) title") for n in (1, 2, 3)]
        assert cells == ["source", "doubler", NASTY]
        assert titles == ["spout source", "bolt doubler", f"bolt {NASTY}"]
        assert browser.find_elements(By.TAG_NAME, "img") == []
        assert complaints(browser) == []


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_the_page_is_no_wider_than_the_window(fed: Fed, browser: webdriver.Chrome, width: int) -> None:
    """What is wider, the graph or the table, scrolls by itself."""
    shown = Shown(browser)
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    with serve(fed.hosted, port=0) as page:
        browser.get(page.url)
        shown.until(lambda: shown.text("#state") == "running")
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
