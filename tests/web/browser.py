"""A real Chromium for tests of pages: fixtures to import, and what such tests share.

RANKONE_SCREENSHOTS=folder keeps the pictures.
"""

import os
import re
import shutil
from pathlib import Path

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
REQUIRED = os.environ.get("RANKONE_REQUIRE_CHROMIUM") == "1"
needs_chromium = pytest.mark.skipif(not CHROMIUM and not REQUIRED, reason="Chromium is not installed")

ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
PATIENCE = 120_000  # milliseconds: a busy machine is no failure
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
HOSTILE = [
    '<img src=x onerror="window.hacked=1">',
    "<script>window.hacked=1</script>",
    "'];window.hacked=1;//",
    "${window.hacked=1}",
    "{{constructor.constructor('window.hacked=1')()}}",
    "javascript:window.hacked=1",
    "__proto__",
    "constructor",
    "hasOwnProperty",
    "datum.value",
    "&lt;b&gt;bold&lt;/b&gt;",
    "a" * 256,
]


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE)
    assert CHROMIUM, "RANKONE_REQUIRE_CHROMIUM=1, but Chromium is not installed"
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield found
        found.close()


@pytest.fixture
def open_page(browser):
    """Open an address; fail on any error or warning in the page and on any request that leaves the service."""
    contexts = []

    def open_page(url, size=DESKTOP, allowed=(), **options):
        context = browser.new_context(viewport=size, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.problems = []
        page.on("pageerror", lambda error: page.problems.append(str(error)))
        page.on("console", lambda message: message.type in ("error", "warning") and page.problems.append(message.text))
        home = re.match(r"https?://[^/]+|file://.*", url)[0]  # a page in a file is alone with itself
        page.on(
            "request", lambda asked: asked.url.startswith((home, "data:", *allowed)) or page.problems.append(asked.url)
        )
        page.goto(url)
        return page

    yield open_page
    for context in contexts:
        for page in context.pages:
            page.screenshot(path=_picture(), full_page=True) if _picture() else None
            # A test may have asked for these two: a token that is not valid, a service that has ended.
            assert [text for text in page.problems if not re.search("401|ERR_CONNECTION_REFUSED", text)] == []
        context.close()


def _picture():
    folder = os.environ.get("RANKONE_SCREENSHOTS")
    if not folder:
        return None
    Path(folder).mkdir(parents=True, exist_ok=True)
    name = os.environ["PYTEST_CURRENT_TEST"].partition("::")[2].partition(" ")[0]
    return Path(folder) / f"{name}.png"


def shown(page, name):
    from playwright.sync_api import expect

    page.get_by_role("button", name=name, exact=True).click()
    expect(page).to_have_title(f"{name} · rankone")
    page.wait_for_selector("#status:not(.bad)")


def figure(page, name):
    return page.locator("#figures div", has=page.get_by_text(name, exact=True)).locator("dd").inner_text()
