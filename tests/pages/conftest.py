"""A browser for the tests."""

from tests.web.browser import browser, open_page  # noqa: F401 - fixtures
