"""The page in a real browser: it moves, sorts, searches, fits a phone, and runs no foreign text."""

import re

import pytest

from sorr.auditing.page import page
from tests.auditing.browser import started
from tests.auditing.hostile import COLUMN, SCRIPT, YES, hostile_report

SHOWN = """[...document.querySelectorAll("#table tbody tr")]
    .filter(row => !row.hidden).map(row => row.cells[0].textContent.trim())"""
ENTERED = """[...document.querySelectorAll('#table tr[data-state="more"]')]
    .filter(row => !row.hidden).length"""
POSITION = """({
    curve: document.querySelector("[data-curve]").getAttribute("d"),
    cut: document.querySelector("[data-cut]").getAttribute("x1"),
    mark: document.querySelector("#mark circle").getAttribute("cx"),
    height: document.querySelector("#mark circle.robust").getAttribute("cy"),
    rings: document.querySelectorAll(".dot.out").length,
    rows: document.querySelector('[data-now="rows"]').textContent,
    counts: [...document.querySelectorAll("[data-count]")].map(it => it.textContent),
    value: document.getElementById("m").getAttribute("aria-valuetext"),
    status: document.getElementById("shown").textContent,
    alt: document.querySelector(".panel svg").getAttribute("aria-label"),
})"""
CONTRASTS = """(() => {
    const parse = (text) => {
        const [r, g, b, a = 1] = text.match(/[\\d.]+/g).map(Number);
        return text.startsWith("color(") ? [r * 255, g * 255, b * 255, a] : [r, g, b, a];
    };
    const light = ([r, g, b]) => [r, g, b]
        .map(it => it / 255)
        .map(it => it <= 0.04045 ? it / 12.92 : ((it + 0.055) / 1.055) ** 2.4)
        .reduce((sum, it, i) => sum + it * [0.2126, 0.7152, 0.0722][i], 0);
    const ground = (it) => {
        for (; it; it = it.parentElement) {
            const colour = parse(getComputedStyle(it).backgroundColor);
            if (colour[3] === 1) return colour;
        }
        return [255, 255, 255, 1];
    };
    const found = {};
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const it = walker.currentNode.parentElement;
        if (!walker.currentNode.textContent.trim() || !it.getClientRects().length) continue;
        const style = getComputedStyle(it);
        const isDrawn = it instanceof SVGElement;
        const [a, b] = [light(parse(isDrawn ? style.fill : style.color)), light(ground(it))];
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        const name = `${it.tagName}.${it.getAttribute("class")}`;
        found[name] = Math.min(found[name] ?? 99, ratio);
    }
    return found;
})()"""
SIZES = """[...document.querySelectorAll("body *")]
    .filter(it => [...it.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()))
    .filter(it => it.getClientRects().length && !it.closest("script, .unseen"))
    .map(it => parseFloat(getComputedStyle(it).fontSize))"""
TARGETS = """[...document.querySelectorAll("button, select, input, summary, nav a")]
    .filter(it => it.getClientRects().length)
    .map(it => { const box = it.getBoundingClientRect(); return [box.width, box.height]; })"""


@pytest.fixture(scope="module")
def report():
    return hostile_report()


@pytest.fixture(scope="module")
def address(report, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(page(report), encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="module")
def _browser():
    with started() as browser:
        yield browser


@pytest.fixture
def browser(_browser, address):
    """Return a browser that shows the page afresh, on a desk, by day."""
    _browser.resize(1280)
    _browser.prefer(colour="light", motion="reduce")
    _browser.load(address)
    return _browser


def test_the_page_loads_without_a_word_or_a_request(browser, address):
    assert browser.trouble == []
    assert browser.requests == [address]
    assert browser.run("document.documentElement.classList.contains('js')")


def test_an_error_would_be_seen(browser):
    browser.run("console.error('so it is'); setTimeout(() => { throw new Error('indeed') })")
    browser.run("new Promise(done => setTimeout(done, 50))")
    assert len(browser.trouble) == 2


def test_a_foreign_script_would_be_refused(browser):
    browser.run(
        """document.body.append(Object.assign(document.createElement("script"),
           {textContent: "window.__pwned = 5"}))"""
    )
    assert browser.run("window.__pwned") is None
    browser.run("new Promise(done => setTimeout(done, 50))")
    assert "Content Security Policy" in str(browser.trouble)


def test_keys_move_the_slider_and_all_that_hangs_on_it(browser, report):
    before = browser.run(POSITION)
    assert before["rings"] == report.n_dropped
    assert len(browser.run(SHOWN)) == len(report.order)
    assert browser.run("document.getElementById('back').disabled")
    browser.run("document.getElementById('m').focus()")
    browser.press("ArrowRight", 3)
    after = browser.run(POSITION)
    errors = before.pop("height"), after.pop("height")
    assert {key for key in before if before[key] == after[key]} == set()
    sweep = report.linear.sweep
    position, chosen = (sweep.points[sweep.chosen + i] for i in (3, 0))
    assert (errors[0] == errors[1]) == (position.kept_error == chosen.kept_error)
    assert after["rings"] == position.dropped.sum()
    assert after["rows"] == f"{position.dropped.sum()} rows"
    assert len(browser.run(SHOWN)) > len(report.order)
    entered = (position.dropped & ~report.fitted.dropped).sum()
    assert browser.run(ENTERED) == entered
    first = browser.run(SHOWN)[: int(entered)]
    assert all(int(rank) > len(report.order) for rank in first)  # what changes comes first
    browser.press("Home")
    assert browser.run(POSITION)["rings"] == 0
    assert browser.run("document.querySelector('tr[data-state=back] .pill').textContent") == (
        "kept here"
    )
    browser.click("#back")
    assert browser.run(POSITION) == before | {"height": errors[0]}
    assert browser.run("document.activeElement.id") == "m"
    assert browser.trouble == []


def test_filters_show_what_changes_and_what_is_left_out(browser, report):
    browser.run("document.getElementById('m').focus()")
    browser.press("End")

    def filtered(value):
        browser.run(
            f"""(() => {{ const it = document.getElementById("filter"); it.value = "{value}";
                it.dispatchEvent(new Event("change")); }})()"""
        )
        return int(re.search(r"of ([\d,]+) rows shown", browser.run(POSITION)["status"])[1])

    points, tier = report.linear.sweep.points, report.ranking.tier
    last, listed = points[-1].dropped, report.fitted.dropped | (tier > 0)
    assert filtered("here") == last.sum()
    assert filtered("look") == (tier == 1).sum()
    assert filtered("changes") == (last != report.fitted.dropped).sum()
    assert filtered("listed") == (last | listed).sum()
    ever = sum(it.dropped for it in points) > 0
    assert filtered("all") == (ever | listed).sum()


def test_more_rows_are_shown_on_demand(browser, report):
    browser.run("document.getElementById('m').focus()")
    browser.press("End")
    few = len(browser.run(SHOWN))
    assert few == 25
    assert report.linear.sweep.points[-1].dropped.sum() > 35
    browser.click("#more")
    assert len(browser.run(SHOWN)) > few
    assert browser.run("document.activeElement.tagName") == "SUMMARY"


def test_headings_sort_by_click_and_by_key(browser, report):
    ranks = browser.run(SHOWN)
    assert ranks == [str(i + 1) for i in range(len(report.order))]
    browser.click("th[data-key=loss] button")
    losses = dict(zip(ranks, report.suspects["loss"], strict=True))
    down = browser.run(SHOWN)
    assert [losses[it] for it in down] == sorted(losses.values(), reverse=True)
    sorts = """[...document.querySelectorAll("th[aria-sort]")]
        .map(it => [it.dataset.key, it.getAttribute("aria-sort")])"""
    assert browser.run(sorts) == [["loss", "descending"]]
    browser.press("Enter")  # the button still has the focus
    assert browser.run(SHOWN) == down[::-1]
    assert browser.run(sorts) == [["loss", "ascending"]]
    browser.run("document.querySelector('th[data-key=row] button').focus()")
    browser.press(" ")
    assert browser.run(sorts) == [["row", "ascending"]]
    rows = dict(zip(ranks, report.suspects["row"], strict=True))
    assert [rows[it] for it in browser.run(SHOWN)] == sorted(rows.values())
    keys = ("tier", "state", "line", "id", "given", "suggested", "probability", "often", "reason")
    for key in keys:
        browser.click(f"th[data-key={key}] button")
        assert len(browser.run(SHOWN)) == len(report.order)
        assert browser.run(sorts)[0][0] == key
    assert browser.trouble == []


def test_search_finds_rows_by_any_text_in_them(browser, report):
    wanted = report.suspects.loc[2, "id"]
    browser.run("document.getElementById('search').focus()")
    browser.type(wanted.upper())
    assert browser.run(SHOWN) == ["3"]
    assert browser.run(POSITION)["status"].startswith("1 of 1 rows shown")
    browser.type("no such thing")
    assert browser.run(SHOWN) == []
    browser.run("document.getElementById('search').select()")
    browser.type(" ")
    assert len(browser.run(SHOWN)) == len(report.order)


def test_values_unfold(browser):
    browser.click("#table tbody summary")
    names = browser.run(
        "[...document.querySelectorAll('#table details[open] dt')].map(it => it.textContent)"
    )
    assert names[0] == COLUMN
    assert len(names) == 3


def test_what_a_table_says_is_shown_and_not_run(browser):
    assert browser.run("window.__pwned") is None
    assert browser.run("document.images.length") == 0
    assert browser.run("document.scripts.length") == 2
    texts = browser.run("document.body.innerText")
    assert SCRIPT in browser.run("document.querySelector('td.id').textContent")
    assert YES in texts
    assert COLUMN in texts


def test_the_page_fits_a_phone(browser):
    browser.resize(375, 812, mobile=True)
    assert browser.run("document.documentElement.scrollWidth") <= 375
    assert min(browser.run(SIZES)) >= 12
    assert min(height for _, height in browser.run(TARGETS)) >= 24
    assert min(width for width, _ in browser.run(TARGETS)) >= 24
    browser.run("document.querySelectorAll('details').forEach(it => it.open = true)")
    assert browser.run("document.documentElement.scrollWidth") <= 375
    reason = browser.run(
        "(() => { const box = document.querySelector('#table .why').getBoundingClientRect();"
        "return [box.left, box.right]; })()"
    )
    assert reason[0] >= 0
    assert reason[1] <= 375


@pytest.mark.parametrize("colour", ["light", "dark"])
def test_text_stands_out_by_day_and_by_night(browser, colour):
    browser.prefer(colour=colour, motion="reduce")
    browser.run("document.getElementById('m').focus()")
    browser.press("End")
    ratios = browser.run(CONTRASTS)
    assert len(ratios) > 20
    assert {name: it for name, it in ratios.items() if it < 4.5} == {}
    browser.press("Home")
    assert min(browser.run(CONTRASTS).values()) >= 4.5


def test_the_page_is_dark_at_night(browser):
    ground = "getComputedStyle(document.body).backgroundColor"
    line = "getComputedStyle(document.querySelector('.cut.m')).stroke"
    day = browser.run(ground), browser.run(line)
    browser.prefer(colour="dark", motion="reduce")
    night = browser.run(ground), browser.run(line)
    assert day[0] == "rgb(255, 255, 255)"
    assert sum(map(int, re.findall(r"\d+", night[0]))) < 120
    assert day[1] != night[1]


def test_the_slider_stays_in_sight_of_the_table(browser):
    browser.run("document.querySelector('#table tbody tr:nth-child(6)').scrollIntoView()")
    top = browser.run("document.querySelector('.dial').getBoundingClientRect().top")
    assert 0 <= top < 5


def test_tab_leads_from_the_link_to_the_suspects_to_the_slider(browser):
    browser.press("Tab")
    assert browser.run("document.activeElement.className") == "skip"
    assert browser.run("document.activeElement.getBoundingClientRect().left") >= 0
    outline = browser.run("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    browser.press("Enter")
    assert browser.run("location.hash") == "#suspects"
    stops = []
    for _ in range(3):
        browser.press("Tab")
        stops.append(browser.run("document.activeElement.id || document.activeElement.className"))
    assert stops == ["search", "filter", "scroll cards broad"]


def test_a_mark_tells_its_row(browser):
    browser.click("#dots g.dot.out use")
    assert re.match(
        r"Row \d+: given ", browser.run("document.getElementById('pointed').textContent")
    )


def test_without_its_script_the_page_shows_the_choice_of_the_audit(browser, address, report):
    browser.load(address, scripts=False)
    assert not browser.run("document.documentElement.classList.contains('js')")
    assert len(browser.run(SHOWN)) == len(report.order)
    assert browser.run("document.querySelectorAll('.dot.out').length") == report.n_dropped
    assert browser.run("document.querySelector('.dial').getClientRects().length") == 0


@pytest.fixture(scope="module")
def forest():
    return hostile_report("forest")


@pytest.fixture
def grove(_browser, forest, tmp_path):
    """Return a browser that shows the page of a forest, which has no slider."""
    path = tmp_path / "forest.html"
    path.write_text(page(forest), encoding="utf-8")
    _browser.resize(1280)
    _browser.prefer(colour="light", motion="reduce")
    _browser.load(path.as_uri())
    return _browser


def test_a_page_without_a_slider_works_as_well(grove, forest):
    assert grove.trouble == []
    assert grove.run("document.documentElement.classList.contains('js')")
    assert grove.run("document.getElementById('m')") is None
    shown = grove.run(SHOWN)
    assert shown == [str(i + 1) for i in range(len(forest.order))]
    status = "document.getElementById('shown').textContent"
    assert grove.run(status) == f"{len(shown)} of {len(shown)} rows shown."
    grove.click("th[data-key=row] button")
    assert grove.run(SHOWN) != shown
    grove.click("#dots g.dot.out use")
    assert re.match(r"Row \d+: ", grove.run("document.getElementById('pointed').textContent"))
    grove.run("document.getElementById('search').focus()")
    grove.type(forest.suspects.loc[1, "id"].upper())
    assert grove.run(SHOWN) == ["2"]
    grove.resize(375, 812, mobile=True)
    assert grove.run("document.documentElement.scrollWidth") <= 375
    assert min(grove.run(CONTRASTS).values()) >= 4.5
    assert grove.run("window.__pwned") is None
    assert grove.trouble == []
