"""The report as a page in a real browser, opened from the disk: charts, keys, schemes, paper, odd names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from npulse.core.analysis import AnalysisOptions
from npulse.core.checkup.criteria_file import default_criteria
from npulse.core.dossier import gather
from npulse.core.report import render_whole
from npulse.core.run.discover import discover
from npulse.sample_runs import sample_path

from ..core.report.samples import with_charts

ATTACK = (
    "</title></style></script><script>window.owned=1</script>"
    "<img src=x onerror='window.owned=2'>\"'\u202e\x00"
)


CHARTS = {
    *("heat-precision", "heat-precision-1", "heat-precision-2"),  # error of layers x ranks, a map a round
    *("chart-layers", "chart-rounds"),  # cosine over both
    *("chart-headroom", "heat-overflow", "chart-operators", "rounds-n_overflow_origins"),
}


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Address of the sample run's report."""
    found = gather(discover(sample_path()), AnalysisOptions(jobs=1), default_criteria(), title="demo")
    path = tmp_path_factory.mktemp("report") / "demo.html"
    path.write_text("".join(render_whole(found, "html", version="0")), encoding="utf-8")
    return path.as_uri()


async def here(page: Any) -> str:
    """Id of the finding that the keys are at."""
    return str(await page.evaluate("document.activeElement.closest('.finding')?.id ?? ''"))


async def test_charts_are_there_and_nothing_is_asked_for(page: Any, seen: Any, demo: str) -> None:
    await page.goto(demo)
    assert await page.title() == "npulse report: demo"
    assert seen.errors == [] and seen.requests == [demo]
    sizes = await page.evaluate(
        """[...document.querySelectorAll('figure svg')].map(one => {
            const box = one.getBoundingClientRect();
            const n_shapes = one.querySelectorAll('rect, circle, polyline').length;
            const title = one.querySelector('title').textContent;
            return [one.closest('figure').id, box.width > 100 && box.height > 20, n_shapes, title];
        })"""
    )
    assert CHARTS <= {name for name, *_ in sizes}
    assert all(is_drawn and n_shapes > 1 and title for _, is_drawn, n_shapes, title in sizes)
    cells = await page.locator("#heat-precision .cell").count()
    assert cells > 20 and await page.locator("#heat-precision .cell title").count() == cells
    assert await page.locator("#chart-layers polyline").count() >= 2, "a line a round"
    marked = await page.locator("#memory pre.code .here").text_content()
    assert re.fullmatch(r"> 56 +AscendC::DataCopyPad\(.*\);", marked), "the source around the fault"


async def test_the_keys(page: Any, seen: Any, demo: str) -> None:
    await page.goto(demo)
    ids = await page.evaluate("[...document.querySelectorAll('.finding')].map(one => one.id)")
    await page.keyboard.press("j")
    assert await here(page) == ids[0]
    await page.keyboard.press("ArrowDown")
    assert await here(page) == ids[1]
    await page.keyboard.press("k")
    assert await here(page) == ids[0]
    was_open = await page.evaluate("document.activeElement.parentElement.open")
    await page.keyboard.press("Enter")
    assert await page.evaluate("document.activeElement.parentElement.open") is not was_open
    await page.keyboard.press("/")
    await page.keyboard.type("above-rounding")
    shown = await page.evaluate(
        "[...document.querySelectorAll('.finding:not([hidden])')].map(o => o.innerText)"
    )
    assert 0 < len(shown) < len(ids) and all("above-rounding" in words for words in shown)
    assert f"{len(shown)} of {len(ids)}" in await page.locator("#count").inner_text()
    await page.keyboard.press("Escape")
    assert await page.locator(".finding:not([hidden])").count() == len(ids)
    await page.keyboard.press("?")
    assert await page.locator("#keys").is_visible()
    await page.keyboard.press("o")
    assert await page.locator(".finding:not([open])").count() == 0
    assert seen.errors == []


async def test_light_and_dark(page: Any, demo: str) -> None:
    async def paper() -> int:
        shown = await page.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(int(one) for one in shown.removeprefix("rgb(").removesuffix(")").split(","))

    await page.emulate_media(color_scheme="light")
    await page.goto(demo)
    light = await paper()
    await page.keyboard.press("t")
    dark = await paper()
    assert light > 600 > 200 > dark
    await page.emulate_media(color_scheme="dark")
    await page.reload()
    assert await paper() == dark
    await page.keyboard.press("t")
    assert await paper() == light


async def test_on_paper_and_on_a_small_screen(page: Any, demo: str) -> None:
    await page.goto(demo)
    paper = await page.pdf(format="A4")
    assert paper.startswith(b"%PDF") and len(re.findall(rb"/Type\s*/Page\b", paper)) >= 2
    await page.emulate_media(media="print", color_scheme="dark")
    assert await page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not await page.locator("#filter").is_visible()
    await page.emulate_media(media="screen")
    await page.set_viewport_size({"width": 400, "height": 800})
    assert await page.evaluate("document.documentElement.scrollWidth") == 400


async def test_odd_names_do_nothing(page: Any, seen: Any, tmp_path: Path) -> None:
    path = tmp_path / "odd.html"
    path.write_text("".join(render_whole(with_charts(ATTACK), "html", version="0")), encoding="utf-8")
    await page.goto(path.as_uri())
    assert await page.evaluate("typeof window.owned") == "undefined"
    assert seen.errors == [] and seen.requests == [path.as_uri()]
    assert "<script>window.owned=1</script>" in await page.locator("h1").inner_text()
    assert await page.locator("img").count() == 0 and await page.locator("script").count() == 1


async def test_without_scripts_all_can_be_read(browser: Any, demo: str) -> None:
    context = await browser.new_context(java_script_enabled=False)
    page = await context.new_page()
    await page.goto(demo)
    folded = page.locator(".finding:not([open])").first
    await folded.locator("summary").first.click()
    assert await page.locator(".finding[open] .step").first.is_visible()
    assert not await page.locator("#filter").is_visible()
    await context.close()
