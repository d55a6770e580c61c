"""What the tests of the page share."""

from collections.abc import Iterator

import pytest

from tests.ui.fed import Fed


@pytest.fixture
def fed() -> Iterator[Fed]:
    """A topology that runs, and waits for its input."""
    made = Fed()
    with made.hosted:
        yield made
