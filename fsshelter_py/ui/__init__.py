"""A page in the browser that shows a hosted topology, as Storm's own interface shows one. Needs the extra ``ui``.

layout: where the graph's components and streams are drawn, pure. snapshot: what the page is told, as JSON. app: the
page, ``/stats`` and ``/events``. page: the socket and the thread that serve them. page.html: what the browser runs; it
fetches nothing from elsewhere.

May import everything below ``testing``, and of what stands beside it nothing.
"""

try:
    import starlette  # noqa: F401
    import uvicorn  # noqa: F401
except ImportError as error:
    raise ImportError(
        f"fsshelter_py.ui needs {error.name}, which is not installed: pip install 'fsshelter_py[ui]'"
    ) from None

from fsshelter_py.ui.page import Page, serve

__all__ = ["Page", "serve"]
