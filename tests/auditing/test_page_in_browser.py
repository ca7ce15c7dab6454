"""The page in a real browser: people decide, undo, save, load and correct; foreign text is text."""

import csv
import io
import json
import os
import re
from pathlib import Path

import numpy as np
import pytest

from sorr.auditing import audit_table, read_table
from sorr.auditing.correction import correct_file
from sorr.auditing.decisions import COLUMNS, read_decisions
from sorr.auditing.page import page
from tests.auditing.browser import started
from tests.auditing.hostile import (
    COLUMN,
    FORMULA,
    NO,
    SCRIPT,
    TARGET,
    YES,
    hostile_file,
    hostile_report,
    quickly,
)
from tests.auditing.tables import line

STATE = """({
    current: Number(document.querySelector(".card.current")?.id.slice(5)),
    shown: [...document.querySelectorAll("#cards > .card")].map(it => Number(it.id.slice(5))),
    outcomes: Object.fromEntries([...document.querySelectorAll(".card.decided")]
        .map(it => [it.id.slice(5), it.querySelector(".outcome span:nth-of-type(2)").textContent])),
    tally: document.getElementById("tally").textContent,
    saved: document.getElementById("saved").textContent.trim(),
    told: document.getElementById("told").textContent,
    said: document.getElementById("said").textContent,
    lesson: document.getElementById("lesson").textContent,
    next: document.getElementById("next").textContent,
})"""
FOUND = """[...document.querySelectorAll("#table tbody tr")]
    .map(row => Number(row.cells[0].textContent.replaceAll(",", "")))"""
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
        if (it.closest("button:disabled")) continue;
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
TARGETS = """[...document.querySelectorAll("button, select, input:not(.unseen), summary, .chip")]
    .filter(it => it.getClientRects().length)
    .map(it => { const box = it.getBoundingClientRect(); return [box.width, box.height]; })"""
UNFOLD = """(() => {
    document.querySelectorAll("details").forEach(it => it.open = true);
    return new Promise(done => setTimeout(done, 80));
})()"""
REFUSED = """Object.defineProperty(window, "localStorage", {
    get() { throw new DOMException("no", "SecurityError"); }
})"""


@pytest.fixture(scope="module")
def report():
    return hostile_report()


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return hostile_file(tmp_path_factory.mktemp("table"))


@pytest.fixture(scope="module")
def address(report, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(page(report), encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="module")
def tab():
    with started() as browser:
        yield browser


@pytest.fixture
def browser(tab, address):
    """Return a browser that shows the page for the first time, on a desk, by day."""
    return show(tab, address)


def show(browser, address):
    browser.resize(1280)
    browser.prefer(colour="light", motion="reduce")
    browser.load(address)
    if browser.run("localStorage.length"):
        browser.run("localStorage.clear()")
        browser.load(address)
    return browser


@pytest.fixture
def suspects(report):
    """Return the numbers of the suspect rows, in the order of the cards."""
    return report.suspects["row"].tolist()


def decide_all(browser, keys):
    for key in keys:
        browser.press(key)


def test_the_page_loads_without_a_word_or_a_request(browser, address):
    assert browser.trouble == []
    assert browser.requests == [address]


def test_an_error_or_a_foreign_script_would_be_seen(browser):
    browser.run(
        """console.error("so it is");
        document.body.append(Object.assign(document.createElement("script"),
            {textContent: "window.__pwned = 5"})); 0"""
    )
    browser.run("new Promise(done => setTimeout(done, 50))")
    assert browser.run("window.__pwned") is None
    assert "so it is" in str(browser.trouble)
    assert "Content Security Policy" in str(browser.trouble)


@pytest.mark.parametrize("size", [(1280, 900, False), (390, 844, True)])
def test_the_first_suspect_is_on_the_first_screen(browser, size):
    browser.resize(size[0], size[1], mobile=size[2])
    top, button = browser.run(
        """["", " [data-key='1']"].map(it =>
            document.querySelector(".card.current" + it).getBoundingClientRect().bottom)"""
    )
    assert browser.run("scrollY") == 0
    assert button < size[1]
    if size[0] > 1000:
        assert top < size[1]


def test_five_keys_decide_and_move_on_and_undo_goes_back(browser, suspects):
    first = browser.run(STATE)
    assert first["current"] == suspects[0]
    assert first["shown"] == suspects[:5]
    assert first["tally"] == f"0 of {len(suspects)} decided"
    assert "almost surely wrong" in first["next"]
    browser.press("1")
    assert browser.run(STATE)["current"] == suspects[1]
    browser.press("2")
    assert browser.run("document.activeElement.tagName") == "SELECT"
    browser.press("3")  # typed in a field, it is no decision
    browser.press("Enter")
    decide_all(browser, "345")
    state = browser.run(STATE)
    outcomes = [state["outcomes"][str(row)] for row in suspects[:5]]
    assert outcomes[0].startswith("label changed to ")
    assert outcomes[1].startswith("label changed to ")
    assert outcomes[2:] == ["the label is right", "row removed", "unsure"]
    assert state["tally"] == f"5 of {len(suspects)} decided"
    assert state["current"] == suspects[5]
    assert len(state["shown"]) > 5
    assert state["said"] == f"Row {suspects[4]}: unsure."
    assert browser.run("document.activeElement.id") == f"card-{suspects[5]}"
    decide_all(browser, "uuu")
    state = browser.run(STATE)
    assert set(state["outcomes"]) == {str(row) for row in suspects[:2]}
    assert state["current"] == suspects[2]
    decide_all(browser, "uuu")
    assert browser.run(STATE)["outcomes"] == {}
    assert browser.run(STATE)["said"] == "Nothing to undo."
    assert browser.trouble == []


def test_keys_move_between_cards_and_leave_fields_and_shortcuts_alone(browser, suspects):
    decide_all(browser, "jjjjjj")
    assert browser.run(STATE)["current"] == suspects[6]
    decide_all(browser, "kk")
    assert browser.run(STATE)["current"] == suspects[4]
    for modifiers in (1, 2, 4):  # alt, control, command
        browser.press("1", modifiers=modifiers)
    assert browser.run(STATE)["outcomes"] == {}
    browser.run("document.getElementById('all').open = true")
    browser.run("document.getElementById('search').focus()")
    decide_all(browser, "13u")
    assert browser.run("document.getElementById('search').value") == "13u"
    assert browser.run(STATE)["outcomes"] == {}


def test_another_label_is_chosen_from_a_list_and_can_be_left(browser, report, suspects):
    browser.press("2")
    options = browser.run("[...document.querySelector('.ask select').options].map(it => it.value)")
    given, suggested = report.suspects.loc[0, ["given", "suggested"]]
    safe = {YES: YES, NO: NO, FORMULA: f"'{FORMULA}"}
    assert options == [safe[it] for it in (YES, NO, FORMULA) if it not in (given, suggested)] + [
        safe[suggested]
    ]
    browser.press("Escape")
    assert browser.run("document.querySelector('.ask')") is None
    assert browser.run("document.activeElement.id") == f"card-{suspects[0]}"
    browser.press("2")
    browser.click(".ask .primary")
    (third,) = {YES, NO, FORMULA} - {given, suggested}
    _, data = browser.saved_file("#take")
    decided = [it for it in csv.DictReader(io.StringIO(data.decode())) if it["decision"]]
    assert [(it["decision"], it["new_label"]) for it in decided] == [("relabel", safe[third])]


def test_a_decision_can_be_changed(browser, suspects):
    browser.press("1")
    browser.click(f"#card-{suspects[0]} .outcome button")
    assert browser.run(STATE)["outcomes"] == {}
    assert browser.run(STATE)["current"] == suspects[0]
    decide_all(browser, "3k4")
    assert browser.run(STATE)["outcomes"] == {str(suspects[0]): "the label is right"}
    assert browser.run(STATE)["said"] == f"Row {suspects[0]} is decided already."
    browser.press("2")
    browser.press("Enter")
    assert browser.run(STATE)["outcomes"][str(suspects[0])].startswith("label changed to ")


def test_a_held_key_decides_once_and_no_key_decides_what_is_not_shown(browser, suspects):
    event = {"type": "keyDown", "key": "4", "text": "4", "windowsVirtualKeyCode": ord("4")}
    for is_held in (False, True, True):
        browser.call("Input.dispatchKeyEvent", autoRepeat=is_held, **event)
    assert browser.run(STATE)["outcomes"] == {str(suspects[0]): "row removed"}
    browser.run("document.getElementById('cards').replaceChildren()")
    browser.press("4")
    assert browser.run(STATE)["tally"] == f"1 of {len(suspects)} decided"


def test_decisions_survive_a_reload(browser, address, suspects):
    decide_all(browser, "135")
    browser.load(address)
    state = browser.run(STATE)
    assert state["tally"] == f"3 of {len(suspects)} decided"
    assert state["saved"] == "· saved in this browser"
    assert state["current"] == suspects[3]
    assert state["shown"][:2] == [suspects[2], suspects[3]]  # what is unsure is asked again
    browser.click("#before")
    assert set(browser.run(STATE)["outcomes"]) == {str(row) for row in suspects[:3]}


@pytest.mark.slow
def test_what_others_put_into_the_storage_is_not_believed(browser, address, report):
    key = f"sorr:{report.fingerprint}"
    cells = ["x"] * 8
    bad = {
        "0": ["burn", "", cells],
        "1": ["relabel", "no such label", cells],
        "2": ["keep", "", [1]],
        "__proto__": ["keep", "", cells],
        "3": "keep",
    }
    browser.run(f"localStorage.setItem({json.dumps(key)}, {json.dumps(json.dumps(bad))})")
    browser.load(address)
    assert browser.run(STATE)["saved"] == "· saved in this browser"
    assert browser.run(STATE)["tally"].startswith("0 of")
    other = next(row for row in range(len(report.rows)) if row not in report.suspects["row"].values)
    bad = {
        other: ["relabel", FORMULA, ["7", "\r\n", "=1+1\n;@x", *["=2"] * 5]],
        "300": ["keep", "", cells],
    }
    browser.run(f"localStorage.setItem({json.dumps(key)}, {json.dumps(json.dumps(bad))})")
    browser.load(address)
    lines = list(csv.reader(io.StringIO(browser.saved_file("#take")[1].decode(), newline="")))
    assert len(lines) == len(report.suspects) + 2
    assert lines[-1][:8] == [str(other), "", "'=1+1 ;'@x", "'=2", "", "", "", ""]
    assert lines[-1][8:10] == ["relabel", f"'{FORMULA}"]
    browser.run(f"localStorage.setItem({json.dumps(key)}, '{{not json')")
    browser.load(address)
    assert browser.trouble == []


def test_a_used_suggestion_is_that_of_the_page_where_it_was_used(browser, address, report):
    rows, given, suggested = (report.suspects[it] for it in ("row", "given", "suggested"))
    (third,) = {YES, NO, FORMULA} - {given[0], suggested[0]}
    safe = {YES: YES, NO: NO, FORMULA: f"'{FORMULA}"}
    browser.press("1")
    browser.press("1")
    key = json.dumps(f"sorr:{report.fingerprint}")
    saved = json.loads(browser.run(f"localStorage.getItem({key})"))
    saved[str(rows[0])][2][4] = safe[third]  # another model suggested it
    browser.run(f"localStorage.setItem({key}, {json.dumps(json.dumps(saved))})")
    browser.load(address)
    lines = csv.DictReader(io.StringIO(browser.saved_file("#take")[1].decode()))
    assert [it["new_label"] for it in lines if it["decision"]] == [safe[third], ""]


def test_a_browser_that_saves_nothing_is_told(tab, address, suspects):
    show(tab, address)
    end = tab.before_load(REFUSED)
    try:
        tab.load(address)
        tab.press("1")
        state = tab.run(STATE)
    finally:
        end()
    assert state["saved"] == "· not saved"
    assert "Download decisions.csv before you close the page" in state["told"]
    assert state["tally"] == f"1 of {len(suspects)} decided"


def test_without_decisions_the_file_is_that_of_the_audit(browser, report):
    name, data = browser.saved_file("#take")
    assert name == "decisions.csv"
    assert data.decode() == report.suspects_csv()
    assert data.decode().splitlines()[0] == ",".join(COLUMNS)


@pytest.fixture
def decided(browser, tmp_path):
    """Return the file of a few decisions of each kind."""
    decide_all(browser, "1134")
    browser.press("2")
    browser.press("Enter")
    decide_all(browser, "514")
    path = tmp_path / "decisions.csv"
    path.write_bytes(browser.saved_file("#take")[1])
    return path


def test_the_file_of_decisions_is_read_back_as_decided(browser, report, decided, suspects):
    found = read_decisions(decided)
    words = ["relabel", "relabel", "keep", "remove", "relabel", "unsure", "relabel", "remove"]
    assert [it.row for it in found.decided] == suspects[:8]
    assert [it.word for it in found.decided] == words
    assert [row for row, _ in found.listed] == suspects
    matched = found.match(report.table)
    assert matched.target == TARGET
    labels = [it.label for it in matched.decisions.decided]
    assert labels[:2] == report.suspects["suggested"].tolist()[:2]
    given, suggested = report.suspects.loc[4, ["given", "suggested"]]
    assert {labels[4]} == {YES, NO, FORMULA} - {given, suggested}
    assert browser.trouble == []


def test_the_corrected_table_is_that_of_the_command_byte_by_byte(browser, decided, file):
    name, data = browser.saved_file("#correct")
    assert name == "i_.csv".replace("i_", "i_-corrected")
    found = correct_file(file, decided)
    assert data == whole_of(found)
    assert len(found.changes) == 6
    assert data != file.read_bytes()
    assert "2 rows less" in browser.run(STATE)["told"]


def test_a_loaded_file_gives_the_same_decisions(browser, address, decided, suspects):
    before = browser.run(STATE)["outcomes"]
    text = decided.read_text(encoding="utf-8")
    browser.run("localStorage.clear()")
    browser.load(address)
    browser.give_file("#load", b"\xef\xbb\xbf" + text.encode())
    state = browser.run(STATE)
    assert state["told"] == "8 decisions loaded from decisions.csv."
    assert state["outcomes"] == before
    browser.press("u")  # all of them are one step
    assert browser.run(STATE)["outcomes"] == {}
    table = text.splitlines()[1].rsplit(",", 1)[1]
    for separator in (";", "\t"):
        cells = [["Decision", "row", "table", "note"], ["KEEP", f"{suspects[1]}.0", table, 'a "b"']]
        cells.append(["", suspects[2], table, f"two\r\nlines{separator}more"])
        quoted = [
            separator.join('"{}"'.format(str(it).replace('"', '""')) for it in row) for row in cells
        ]
        browser.give_file("#load", "\r\n".join(quoted))
        assert browser.run(STATE)["told"] == "1 decision loaded from decisions.csv."
        assert browser.run(STATE)["outcomes"] == {str(suspects[1]): "the label is right"}
        browser.press("u")


@pytest.mark.slow
def test_bad_files_are_refused_with_the_line_and_change_nothing(browser, report, suspects):
    row, other = suspects[0], suspects[1]
    given = report.suspects.loc[0, "given"]
    wrong = YES if given != YES else NO
    good = f"{other},keep,,,\n"
    head = "row,decision,new_label,given,table\n"

    def quoted(text):
        return '"' + text.replace('"', '""') + '"'

    cases = {
        "row,what\n1,keep\n": "line 1: there is no column decision",
        f"{head}{good}{row},burn,,,\n": "line 3: “burn” is no decision",
        f"{head}{good}99999,keep,,,\n": "line 3: there is no row “99999”",
        f"{head}{good}-1,keep,,,\n": "line 3: there is no row “-1”",
        f"{head}{good}1e2,keep,,,\n": "line 3: there is no row “1e2”",
        f"{head}{good}{row},relabel,purple,,\n": "line 3: “purple” is no label of this table",
        f"{head}{good}{row},keep,,{quoted(wrong)},\n": "line 3: row",
        f"{head}{good}{row},keep,,,9x9-0123456789abcdef-1\n": "line 3: this decision belongs to",
        f"{head}{good}{other},remove,,,\n": "line 3: row",
        f"{head}{good}{row},keep\n": "line 3: 2 fields, but the header has 5",
        f'{head}{good}{row},"keep,,,\n': "line 3: a quote is not closed",
        f"{head}{good}{row},{quoted(SCRIPT)},,,\n": "line 3: “</script>",
        f"{head}{good}{row},\u202eburn\x07,,,\n": "line 3: “[U+202E]burn[U+0007]”",
        f"{head}{good}{row},keep,{quoted(given)},,\n": "line 3: there is a new label",
    }
    for text, message in cases.items():
        browser.give_file("#load", text, name="x<b>.csv")
        state = browser.run(STATE)
        assert state["told"].startswith(f"x<b>.csv was not loaded: {message}"), text
        assert state["told"].endswith("Nothing was taken over.")
        assert state["outcomes"] == {}
    browser.give_file("#load", "row,decision\n1,é\n".encode("latin-1"))
    assert "it is not UTF-8" in browser.run(STATE)["told"]
    assert browser.run("window.__pwned") is None
    assert browser.run("document.images.length") == 0
    assert browser.trouble == []


def test_what_a_loaded_file_says_of_other_rows_is_no_formula(browser, report, suspects):
    other = next(row for row in range(len(report.rows)) if row not in suspects)
    head = "row,id,reason,tier,decision"
    decided = "".join(f"{row},,,,keep\n" for row in suspects[7:])
    browser.give_file("#load", f'{head}\n{other},"=1\r\n+2","=3",9,keep\n{decided}')
    lines = list(csv.reader(io.StringIO(browser.saved_file("#take")[1].decode(), newline="")))
    assert lines[-1][:9] == [str(other), "", "'=1 +2", "", "", "", "", "", "keep"]
    assert browser.run(STATE)["next"] == "Next: 2 more rows almost surely wrong."


def test_decisions_on_other_rows_are_kept_and_corrected(browser, report, suspects, file, tmp_path):
    other = next(row for row in range(len(report.rows)) if row not in suspects)
    browser.give_file("#load", f"row,decision\n{other},remove\n")
    assert browser.run(STATE)["saved"] == "· saved in this browser, with 1 of other rows"
    path = tmp_path / "decisions.csv"
    path.write_bytes(browser.saved_file("#take")[1])
    (found,) = read_decisions(path).decided
    assert (found.row, found.word) == (other, "remove")
    assert browser.saved_file("#correct")[1] == whole_of(correct_file(file, path))


def test_the_expected_share_counts_what_was_known_as_five_rows(browser):
    script = (Path(page.__globals__["__file__"]).parent / "report.js").read_text(encoding="utf-8")
    source = re.search(r"function expectedShare\(.*?\n  }", script, re.DOTALL)[0]
    prior = re.search(r"const PRIOR = (\d+)", script)[1]

    def expected(*values):
        return browser.run(
            f"(() => {{ const PRIOR = {prior}; {source} return expectedShare{values}; }})()"
        )

    assert expected(0.2, 6, 20) == pytest.approx(7 / 25)
    assert expected(0.5, 6, 20) == pytest.approx(8.5 / 25)
    assert expected(0.2, 0, 20) == pytest.approx(1 / 25)
    assert expected(0.3, 0, 0) == pytest.approx(0.3)


def test_after_twenty_decisions_the_page_says_what_they_teach(browser, report):
    decide_all(browser, "1" * 13 + "5" + "3" * 5)
    assert browser.run(STATE)["lesson"] == (
        "After 20 decisions this page says what they teach about the rest."
    )
    browser.press("4")
    tiers = report.suspects["tier"].tolist()
    assert set(tiers[:20]) == {3}
    left = tiers.count(3) - 20
    share = (5 * report.expected_shares[3] + 14) / (5 + 19)
    assert browser.run(STATE)["lesson"] == (
        "Of the rows you checked in the tier “almost surely wrong”, 14 of 19 were wrong, so "
        f"expect about {round(share * left)} of the remaining {left}. About {round(10 * share)} in "
        "10 of the next rows are wrong: going on is worth it."
    )
    decide_all(browser, "3" * (len(tiers) - 20))
    state = browser.run(STATE)
    assert "None is left." in state["lesson"]
    assert state["next"] == ""
    decide_all(browser, "4")  # one key too many
    assert browser.run(STATE)["outcomes"] == state["outcomes"]


def test_chips_show_one_tier_or_open_a_section(browser, report):
    tiers = dict(zip(report.suspects["row"], report.suspects["tier"], strict=True))
    least = min(tiers.values())
    browser.click(f".chip[data-tier='{least}']")
    shown = browser.run(STATE)["shown"]
    assert {tiers[row] for row in shown} == {least}
    assert browser.run("document.querySelector('.chip[aria-pressed=true]').dataset.tier") == str(
        least
    )
    browser.click(f".chip[data-tier='{least}']")
    assert len(browser.run(STATE)["shown"]) == 5
    browser.click("a.chip[href='#columns']")
    browser.run("new Promise(done => setTimeout(done, 30))")
    assert browser.run("document.getElementById('columns').open")


def test_a_point_of_the_map_opens_its_card(browser, suspects):
    last = suspects[-1]
    x, y = browser.run(
        f"""(() => {{
            const data = JSON.parse(document.getElementById("data").textContent);
            const [, x, y] = data.dots.find(([at]) => data.rows[at][0] === {last});
            const map = document.querySelector("[data-map=small]");
            map.scrollIntoView({{block: "center", behavior: "instant"}});
            const box = map.getBoundingClientRect();
            return [box.left + x * box.width / 1000, box.top + y * box.width / 1000];
        }})()"""
    )
    at = {"x": x, "y": y, "button": "left", "clickCount": 1}
    browser.call("Input.dispatchMouseEvent", type="mousePressed", **at)
    browser.call("Input.dispatchMouseEvent", type="mouseReleased", **at)
    state = browser.run(STATE)
    assert state["current"] in suspects
    box = browser.run(
        "(() => { const it = document.querySelector('.card.current').getBoundingClientRect();"
        "return [it.top, it.bottom, innerHeight]; })()"
    )
    assert box[0] >= -1
    assert box[1] <= box[2] + 1
    assert f"row {state['current']} · " in browser.run(
        "document.getElementById('pointed').textContent"
    )


def test_all_rows_can_be_searched_sorted_and_filtered(browser, report, suspects):
    browser.run(UNFOLD)
    status = "document.getElementById('found').textContent"
    assert browser.run(FOUND) == list(range(50))
    assert browser.run(status) == "50 of 300 rows shown."
    browser.click("#more-rows")
    assert len(browser.run(FOUND)) == 250

    def filtered(field, value):
        browser.run(
            f"""(() => {{ const it = document.getElementById("{field}");
                it.value = {json.dumps(value)}; it.dispatchEvent(new Event("input")); }})()"""
        )
        return int(re.search(r"of (\d+) rows? shown", browser.run(status))[1])

    assert filtered("by-tier", "suspect") == len(suspects)
    assert filtered("by-tier", "3") == report.tiers[3]
    assert filtered("by-tier", "") == 300
    classes = list(report.fitted.classes)
    assert filtered("by-label", "1") == (report.rows.y == classes[1]).sum()
    assert filtered("by-label", "") == 300
    assert filtered("search", f"{SCRIPT}117") == 1
    assert browser.run(FOUND) == [117]
    assert filtered("search", "") == 300
    for i, finding in enumerate(report.findings):
        assert filtered("by-finding", str(i)) == len(np.unique(finding.rows))
    if report.findings:
        filtered("by-finding", "")
    browser.click("#table thead th:first-child button")
    assert browser.run(FOUND)[:3] == [299, 298, 297]
    heads = browser.run(
        "[...document.querySelectorAll('#table thead th')].map(it => it.textContent)"
    )
    at = heads.index(COLUMN)
    browser.click(f"#table thead th:nth-child({at + 1}) button")
    order = np.argsort(report.rows.frame[COLUMN].to_numpy(), kind="stable")
    shown = browser.run(FOUND)
    values = report.rows.frame[COLUMN].to_numpy()[shown]
    assert np.abs(values - np.sort(report.rows.frame[COLUMN])[: len(shown)]).max() < 1e-3
    assert shown[0] == order[0]
    browser.click("#table tbody button")
    assert browser.run(STATE)["current"] in suspects
    assert browser.trouble == []


def test_similar_rows_and_values_unfold(browser, report):
    where = """[".head", ".why", ".actions", ".beside summary"].map(it => {
        const box = document.querySelector(".card.current " + it).getBoundingClientRect();
        return [box.left, box.top, box.width, box.height];
    })"""
    before = browser.run(where)
    browser.click(".card.current .beside summary")
    browser.run("new Promise(done => setTimeout(done, 50))")
    after = browser.run(where)
    for old, new in zip(before[:3], after[:3], strict=True):  # a second click is no decision
        assert (old[0], old[2]) == (new[0], new[2])
    left, _, width, _ = before[3]
    assert left + width < after[2][0]
    similar = report.explain(report.order[:1])[0].similar
    found = browser.run(
        "[...document.querySelectorAll('.card.current .beside tbody th')].map(it => it.textContent)"
    )
    assert [int(it) for it in found] == [
        int(report.rows.numbers[i]) for i in (report.order[0], *similar)
    ]
    names = browser.run(
        "[...document.querySelectorAll('.card.current .values dt')].map(it => it.textContent)"
    )
    assert names[0] == COLUMN


def test_the_slider_moves_the_losses_of_a_linear_model(browser, report):
    browser.run(UNFOLD)
    told = """[document.querySelector('[data-now="rows"]').textContent,
        document.querySelector("[data-curve]").getAttribute("d"),
        document.querySelector("#mark circle").getAttribute("cx"),
        document.getElementById("m").getAttribute("aria-valuetext")]"""
    before = browser.run(told)
    browser.run("document.getElementById('m').focus()")
    browser.press("ArrowRight", 2)
    after = browser.run(told)
    assert all(a != b for a, b in zip(before, after, strict=True))
    point = report.linear.sweep.points[report.linear.sweep.chosen + 2]
    assert after[0] == f"{point.dropped.sum()} rows"
    browser.click("#back")
    assert browser.run(told) == before


def test_what_a_table_says_is_shown_and_not_run(browser):
    browser.run(UNFOLD)
    assert browser.run("window.__pwned") is None
    assert browser.run("document.images.length") == 0
    assert browser.run("document.scripts.length") == 4
    texts = browser.run("document.body.innerText")
    assert SCRIPT in texts
    assert YES in texts
    assert COLUMN in texts
    assert not re.search("[\u202a-\u202e\u2066-\u2069]", texts)


@pytest.mark.parametrize("colour", ["light", "dark"])
def test_the_page_fits_a_phone_and_can_be_read_by_day_and_by_night(browser, colour):
    browser.prefer(colour=colour, motion="reduce")
    decide_all(browser, "13")
    browser.press("2")
    browser.run(UNFOLD)
    ratios = browser.run(CONTRASTS)
    assert len(ratios) > 25
    assert {name: it for name, it in ratios.items() if it < 4.5} == {}
    browser.resize(375, 812, mobile=True)
    assert browser.run("document.documentElement.scrollWidth") <= 375
    assert min(browser.run(SIZES)) >= 12
    assert min(min(it) for it in browser.run(TARGETS)) >= 24
    assert browser.trouble == []


def test_tab_leads_from_the_link_to_the_first_card(browser):
    browser.press("Tab")
    assert browser.run("document.activeElement.className") == "skip"
    assert browser.run("document.activeElement.getBoundingClientRect().left") >= 0
    browser.press("Enter")
    browser.press("Tab")
    assert browser.run("document.activeElement.dataset.key") == "1"
    browser.press("Enter")
    assert browser.run(STATE)["tally"].startswith("1 of")


def test_without_its_script_the_page_lists_the_suspects(browser, address, suspects):
    browser.load(address, scripts=False)
    assert not browser.run("document.documentElement.classList.contains('js')")
    assert browser.run("document.querySelectorAll('.plain li').length") == len(suspects)
    assert browser.run("document.querySelector('.actions')") is None
    assert browser.run("document.getElementById('take').getClientRects().length") == 0
    assert browser.run("document.querySelector('[data-rings]').getAttribute('d').length") > 100


@pytest.mark.parametrize(("width", "colour"), [(1280, "light"), (390, "dark")])
def test_axe_finds_nothing(browser, width, colour):
    check_with_axe(browser, width, colour)


@pytest.mark.slow
@pytest.mark.parametrize(("width", "colour"), [(1280, "dark"), (390, "light")])
def test_axe_finds_nothing_in_other_colours(browser, width, colour):
    check_with_axe(browser, width, colour)


def check_with_axe(browser, width, colour):
    path = os.environ.get("SORR_AXE")
    if not path:
        pytest.skip("SORR_AXE does not name the file axe.min.js of axe-core")
    browser.resize(width, 844, mobile=width < 500)
    browser.prefer(colour=colour, motion="reduce")
    decide_all(browser, "13")
    browser.press("2")
    browser.run(UNFOLD)
    browser.run(Path(path).read_text(encoding="utf-8") + "; 0")
    found = browser.run("axe.run().then(it => it.violations.map(v => [v.id, v.nodes[0].html]))")
    assert found == []


def whole_of(correction):
    content = correction.content
    return content if isinstance(content, bytes) else b"".join(content)


# -- A target of numbers ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def prices(tmp_path_factory):
    """Return the file of a regression, and the address of its page."""
    folder = tmp_path_factory.mktemp("prices")
    file = folder / "prices.csv"
    text = line(n=200, off=12).round(2).to_csv(index=False, sep=";", decimal=",")
    file.write_text(text.rstrip(), newline="\r\n")
    report = quickly(audit_table, read_table(file), "price", model="forest")
    path = folder / "report.html"
    path.write_text(page(report), encoding="utf-8")
    return file, path.as_uri(), report


@pytest.mark.slow
def test_numbers_are_decided_and_corrected_as_the_file_writes_them(tab, prices, tmp_path):
    file, address, report = prices
    browser = show(tab, address)
    cut = (
        "[...document.querySelectorAll('.actions span')].map(it => it.scrollWidth > it.clientWidth)"
    )
    assert not any(browser.run(cut))
    browser.press("1")
    browser.press("2")
    for text in ("1,000", "1e999"):
        browser.type(text)
        browser.press("Enter")
        assert "Needed a number" in browser.run("document.querySelector('.ask').textContent")
        browser.run("document.querySelector('.ask input').select()")
    browser.type("321.5")
    browser.press("Enter")
    browser.press("2")
    browser.type("300")
    browser.press("Enter")
    decide_all(browser, "34")
    path = tmp_path / "decisions.csv"
    path.write_bytes(browser.saved_file("#take")[1])
    found = read_decisions(path).match(report.table).decisions.decided
    assert [it.word for it in found] == ["relabel"] * 3 + ["keep", "remove"]
    whole = whole_of(correct_file(file, path))
    assert browser.saved_file("#correct")[1] == whole
    assert b"321,5" in whole
    for rows in ([199], [198, 199], [197, 199], range(200)):  # the file ends without a line break
        text = "row,decision\n" + "".join(f"{row},remove\n" for row in rows)
        browser.run("localStorage.clear()")
        browser.load(address)
        browser.give_file("#load", text)
        path.write_bytes(browser.saved_file("#take")[1])
        whole = whole_of(correct_file(file, path))
        assert browser.saved_file("#correct")[1] == whole
        assert not whole.endswith(b"\n")
    assert browser.trouble == []


# -- A second round --------------------------------------------------------------------------------


@pytest.mark.slow
def test_decisions_of_the_last_round_go_into_both_downloads(tab, report, file, tmp_path):
    frame = report.suspects.assign(new_label="", table=report.fingerprint)
    words = ["keep", "relabel", "remove", "unsure"]
    frame["decision"] = [*words, *[""] * (len(frame) - 4)]
    second = hostile_report("forest", decisions=frame)
    path = tmp_path / "second.html"
    path.write_text(page(second), encoding="utf-8")
    show(tab, path.as_uri())
    stale = {int(frame["row"][0]): ["remove", "", ["x"] * 8]}  # of the first round, before the file
    key = json.dumps(f"sorr:{report.fingerprint}")
    tab.run(f"localStorage.setItem({key}, {json.dumps(json.dumps(stale))})")
    tab.load(path.as_uri())
    browser = tab
    rows = second.suspects["row"].tolist()
    known = frame["row"].tolist()[:4]
    state = browser.run(STATE)
    assert not set(known[:3]) & set(rows)
    assert known[3] in rows
    assert state["tally"] == f"1 of {len(rows)} decided"
    browser.press("4")
    decided = tmp_path / "decisions.csv"
    decided.write_bytes(browser.saved_file("#take")[1])
    found = {it.row: it.word for it in read_decisions(decided).decided}
    assert found == dict(zip(known, words, strict=True)) | {state["current"]: "remove"}
    assert browser.saved_file("#correct")[1] == whole_of(correct_file(file, decided))
    assert browser.trouble == []


@pytest.mark.slow
def test_a_later_round_without_a_suspect_still_has_its_downloads(tab, tmp_path):
    file, decided = tmp_path / "even.csv", tmp_path / "decided.csv"
    file.write_text("x,y\n" + "".join(f"{i},{'ab'[i >= 30]}\n" for i in range(60)))
    decided.write_text("row,given,decision,new_label\n0,a,relabel,b\n59,b,remove,\n")
    report = quickly(audit_table, read_table(file), "y", model="forest", decisions=decided)
    assert len(report.order) == 0
    path = tmp_path / "report.html"
    path.write_text(page(report), encoding="utf-8")
    browser = show(tab, path.as_uri())
    tally = "document.getElementById('tally').textContent"
    assert browser.run(tally) == "2 decided"
    saved = tmp_path / "saved.csv"
    saved.write_bytes(browser.saved_file("#take")[1])
    assert [(it.row, it.word) for it in read_decisions(saved).decided] == [
        (0, "relabel"),
        (59, "remove"),
    ]
    assert browser.saved_file("#correct")[1] == whole_of(correct_file(file, saved))
    decide_all(browser, "14jku")
    browser.give_file("#load", "row,decision\n3,keep\n")
    assert browser.run(tally) == "3 decided"
    assert browser.trouble == []
