"""Looks at a site in Chromium, as on a desktop and a phone: what is broken, missing, from elsewhere, or too wide."""

from __future__ import annotations

import contextlib
import functools
import http.server
import json
import re
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urldefrag

from selenium.webdriver import Chrome, ChromeOptions, ChromeService
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

WIDTHS = {"desktop": 1280, "phone": 390}
FLAGS = """
--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
--disable-component-update --disable-sync --disable-dev-shm-usage
"""
# Pictures are awaited; what is too wide is named by the innermost element that sticks out.
LOOK = """
const root = document.documentElement, out = {};
const pictures = [...document.images];
await Promise.all(pictures.map(picture => { picture.loading = 'eager'; return picture.decode().catch(() => {}); }));
out.missing = pictures.filter(picture => !picture.naturalWidth).map(picture => picture.getAttribute('src'));
const beyond = e => e.getBoundingClientRect().right > root.clientWidth + 1;
const wide = [...document.body.querySelectorAll('*')].filter(beyond).slice(-1).map(e => e.outerHTML.slice(0, 80));
out.wide = root.scrollWidth > root.clientWidth ? [root.scrollWidth, ...wide] : [];
out.links = [...document.querySelectorAll('a[href]')].map(a => a.href);
out.places = [...document.querySelectorAll('[id], [name]')].flatMap(e => [e.id, e.getAttribute('name')]);
return out;
"""


def programs() -> tuple[str, str] | None:
    """Chromium and its driver, if both are here."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    return (browser, driver) if browser and driver else None


@contextlib.contextmanager
def served(site: Path) -> Iterator[str]:
    """The site's address on this machine."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 the standard library's name
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@contextlib.contextmanager
def chromium(folder: Path) -> Iterator[Chrome]:
    """A browser with a profile of its own in `folder`."""
    found = programs()
    assert found
    options = ChromeOptions()
    options.binary_location = found[0]
    for flag in (*FLAGS.split(), f"--user-data-dir={folder}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = Chrome(options=options, service=ChromeService(found[1]))
    try:
        yield driver
    finally:
        driver.quit()


def look(site: Path, folder: Path) -> list[str]:
    """All that is wrong with the pages of a site."""
    with served(site) as address, chromium(folder) as driver:
        names = sorted(path.relative_to(site).as_posix() for path in site.glob("**/*.html"))
        seen = {address + name: _visit(driver, address, name) for name in names}
    wrong = [finding for _, findings in seen.values() for finding in findings]
    return wrong + [finding for page in seen for finding in _dead(page, address, seen, site)]


def search(site: Path, folder: Path, questions: list[str]) -> list[list[str]]:
    """The pages that the site's search finds for each question, best first."""
    found = []
    with served(site) as address, chromium(folder) as driver:
        for question in questions:
            driver.get(f"{address}index.html?q={quote(question)}")
            WebDriverWait(driver, 20).until(_is_done)
            links = driver.find_elements(By.CLASS_NAME, "md-search-result__link")
            pages = [str(link.get_attribute("href")).removeprefix(address) for link in links]
            found.append([urldefrag(page)[0].partition("?")[0] for page in pages])
    return found


def _is_done(driver: Chrome) -> bool:
    """Whether the search says how much it has found."""
    said = driver.find_element(By.CLASS_NAME, "md-search-result__meta").text
    return bool(re.match("[0-9]|No ", said))


def _visit(driver: Chrome, address: str, name: str) -> tuple[dict[str, Any], list[str]]:
    """What a page has, and what is wrong with it."""
    findings: list[str] = []
    shown: dict[str, Any] = {}
    for device, width in WIDTHS.items():
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": device == "phone"}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        if not shown:
            driver.get(address + name)
        shown = driver.execute_script(f"return (async () => {{{LOOK}}})()")
        findings += [f"{name}: too wide on a {device}: {shown['wide']}"] * bool(shown["wide"])
    findings += [f"{name}: no picture: {picture}" for picture in shown["missing"]]
    return shown, findings + [f"{name}: {line}" for line in _told(driver, address)]


def _told(driver: Chrome, address: str) -> Iterator[str]:
    """Errors on the console, and what was asked of others."""
    for entry in driver.get_log("browser"):  # type: ignore[no-untyped-call]
        if entry["level"] == "SEVERE":
            yield f"console: {entry['message']}"
    for entry in driver.get_log("performance"):  # type: ignore[no-untyped-call]
        message = json.loads(entry["message"])["message"]
        url = (
            message["params"].get("request", {}).get("url", "")
            if message["method"] == "Network.requestWillBeSent"
            else ""
        )
        if url.startswith(("http:", "https:", "ws:", "wss:")) and not url.startswith(address):
            yield f"asks elsewhere: {url}"


def _dead(page: str, address: str, seen: dict[str, tuple[dict[str, Any], list[str]]], site: Path) -> Iterator[str]:
    """Links of a page to what isn't in the site, or isn't at that place."""
    for link in sorted({link for link in seen[page][0]["links"] if link.startswith(address)}):
        target, _, place = unquote(link).partition("#")
        target += "index.html" if target.endswith("/") else ""
        there = target in seen or (site / target.removeprefix(address)).is_file()
        if not there or (place and target in seen and place not in seen[target][0]["places"]):
            yield f"{page.removeprefix(address)}: leads nowhere: {link.removeprefix(address)}"
