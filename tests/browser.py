"""A real browser for the tests of pages: `pytest_plugins = ["browser"]` gives a test `opened`."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Dialog, Page, Request, sync_playwright

Open = Callable[..., Page]
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    chromium = shutil.which("chromium")
    if not chromium:
        pytest.skip("needs a browser")
    with sync_playwright() as playwright:
        env: dict[str, str | float | bool] = {**os.environ, "HOME": str(tmp_path_factory.mktemp("browser"))}
        yield playwright.chromium.launch(executable_path=chromium, args=FLAGS, env=env)


@pytest.fixture
def opened(browser: Browser) -> Iterator[Open]:
    """Opens a page; whatever it did that no page of ours may do is told at the end."""
    trouble: list[str] = []
    contexts = []

    def refuse(dialog: Dialog) -> None:
        trouble.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def log(asked: Request) -> None:
        if not asked.url.startswith(("data:", *own)):
            trouble.append(f"request: {asked.url}")

    own: list[str] = []

    def show(where: Path | str, at: str = "", *, size: tuple[int, int] = (1280, 800), scheme: str = "light") -> Page:
        url = str(where) if isinstance(where, str) else where.as_uri()
        context = browser.new_context(
            viewport={"width": size[0], "height": size[1]}, color_scheme="dark" if scheme == "dark" else "light"
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: trouble.append(f"error: {error}"))
        page.on("console", lambda said: trouble.append(f"console: {said.text}") if said.type == "error" else None)
        page.on("dialog", refuse)
        page.on("request", log)
        own.append(url)
        page.goto(url + at)
        page.wait_for_selector("[data-ready]")
        return page

    yield show
    for context in contexts:
        context.close()
    assert not trouble
