import base64
import gzip
import hashlib
import json
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from sorr.auditing import audit_example, audit_table, read_table
from sorr.auditing.decisions import COLUMNS
from sorr.auditing.original import original_of
from sorr.auditing.page import figures, page, sections, workbench
from sorr.auditing.page.figures import FRAME, HEIGHT, round_steps, svg_path
from sorr.auditing.page.words import percent, seen, short
from tests.auditing import hostile
from tests.auditing.hostile import FLIPPED, hostile_report, pd, quickly
from tests.auditing.tables import line, mixed, table, three_classes


class Outline(HTMLParser):
    """What a browser would make of a page: its elements with their attributes, and its texts."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.texts, self.scripts = [], [], []
        self._inside = None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._inside = tag

    def handle_data(self, data):
        if self._inside == "script":
            self.scripts.append(data)
        elif self._inside != "style":
            self.texts.append(data)

    def handle_endtag(self, tag):
        self._inside = None if tag == self._inside else self._inside

    def of(self, *tags):
        return [attributes for tag, attributes in self.elements if tag in tags]

    @property
    def text(self):
        return " ".join(self.texts)


def embedded(text, name="data"):
    """Return what the script of the page reads."""
    found = re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', text)
    return json.loads(found[1])


def moves(text):
    return embedded(text, "moves")


@pytest.fixture(scope="module")
def robots():
    return quickly(audit_example, model="linear")


@pytest.fixture(scope="module")
def robots_page(robots):
    return page(robots)


@pytest.fixture(scope="module", params=["linear", "forest"])
def evil(request):
    return hostile_report(request.param)


@pytest.fixture(scope="module")
def evil_page(evil):
    return page(evil)


@pytest.fixture(scope="module")
def grove():
    """Return an audit by a forest, whose page has no slider."""
    return audit_example(model="forest")


@pytest.fixture(scope="module")
def prices():
    return quickly(audit_table, table(line()), "price", model="linear", m=0.05)


@pytest.fixture(scope="module")
def letters():
    return quickly(audit_table, table(three_classes()), "y", model="linear", m=0.04)


@pytest.mark.digits
def test_the_same_audit_gives_the_same_bytes(robots, robots_page):
    assert page(robots) == robots_page


def test_nothing_turns_the_direction_of_what_follows(evil_page):
    assert not re.search("[\u202a-\u202e\u2066-\u2069\u2028\u2029\x00-\x09\x0b-\x1f]", evil_page)
    assert "[U+202E]elif[U+202C].txt" in evil_page


def test_long_texts_are_cut_and_their_length_is_told(evil_page):
    assert "x" * 200 not in evil_page
    assert "(5,000 characters)" in evil_page
    assert "(300 characters)" in evil_page


@given(st.text())
def test_any_text_can_be_written_and_has_no_direction_of_its_own(text):
    shown = seen(text)
    shown.encode()
    assert seen(shown) == shown
    assert not re.search("[\u202a-\u202e\u2066-\u2069]", shown)
    assert len(short(text, 10)) < 10 * len("[U+10FFFF]") + 40


def test_what_is_drawn_at_first_is_the_choice_of_the_audit(robots, robots_page):
    data, sweep = moves(robots_page), robots.linear.sweep
    assert data["chosen"] == sweep.chosen
    assert len(data["stages"]) == len(sweep.points)
    drawn = [it["d"] for it in Outline(robots_page).of("path") if "data-curve" in it]
    assert drawn == [cut[0] for cut in data["stages"][sweep.chosen]["cuts"]]
    widths = [int(it["width"]) for it in Outline(robots_page).of("rect") if "data-clip" in it]
    sizes = np.bincount(robots.fitted.groups)
    np.testing.assert_allclose(widths, 1000 * np.sqrt(robots.fitted.counts / sizes), atol=0.51)


def test_counts_of_a_position_are_those_of_its_rows(robots):
    sweep = robots.linear.sweep
    panels, undrawn = figures.panels(robots, sweep)
    assert undrawn == 0
    for i, position in enumerate(sweep.points):
        texts = [panel.cuts[i].text for panel in panels]
        assert [int(it.split()[0]) for it in texts] == position.counts.tolist()
    stage = figures.stages(sweep, True)[sweep.chosen]
    assert stage.dropped == robots.n_dropped


def test_of_many_classes_those_with_the_most_rows_left_out_are_drawn(letters, monkeypatch):
    monkeypatch.setattr(figures, "_MAX_PANELS", 2)
    panels, undrawn = figures.panels(letters, letters.linear.sweep)
    assert len(panels) == 2
    assert undrawn == 1


def path_points(path):
    return np.array([list(map(float, pair.split())) for pair in path.strip("MZ").split("L")])


@given(
    st.lists(st.floats(0, 1), min_size=2, max_size=60),
    st.integers(0, 2**32 - 1),
)
def test_a_line_misses_none_of_its_points(heights, seed):
    x = np.sort(np.random.default_rng(seed).random(len(heights)))
    y = np.array(heights)
    drawn = path_points(svg_path(x, y))
    start, end = drawn[:-1], drawn[1:]
    for point in np.column_stack([x, y]) * FRAME:
        if len(drawn) == 1:
            gap = np.hypot(*(drawn[0] - point))
        else:
            way = end - start
            along = ((point - start) * way).sum(1) / np.maximum((way**2).sum(1), 1e-12)
            nearest = start + np.clip(along, 0, 1)[:, None] * way
            gap = np.hypot(*(nearest - point).T).min()
        assert gap <= 0.7 + np.sqrt(0.5) + 1e-6  # the tolerance, and whole numbers


def test_a_filled_line_closes_outside_of_the_frame():
    points = path_points(svg_path(np.array([0.1, 0.9]), np.array([-5.0, 0.5]), filled=True))
    assert points[0].tolist() == [-12, 1012]
    assert points[-1].tolist() == [1012, 1012]
    assert points[:, 1].min() == -12  # what is above the frame stays near it


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6), st.integers(2, 8))
def test_steps_are_round_even_and_few(low, width, most):
    steps = np.array(round_steps(low, low + width, most))
    assert 1 <= len(steps) <= most + 1
    slack = 1e-8 * width + 1e-9 * abs(low)
    assert (steps >= low - slack).all()
    assert (steps <= low + width + slack).all()
    if len(steps) > 2:
        np.testing.assert_allclose(np.diff(steps), steps[1] - steps[0], rtol=1e-6, atol=slack)


def test_rows_that_are_alike_lie_around_each_other():
    where = np.repeat([[0.2, 0.2], [0.8, 0.8]], 20, axis=0)
    apart = figures._apart(where)
    assert len(np.unique(apart.round(6), axis=0)) == 40
    assert np.abs(apart - where).max() < 0.1
    spread = np.random.default_rng(0).random((50, 2))
    np.testing.assert_allclose(figures._apart(spread), spread)


def test_coefficients_are_those_of_the_two_fits(robots):
    both = sections.learned(robots)
    (slopes,) = both.slopes
    names = [source.label for source in robots.fitted.sources]
    model, plain = robots.fitted.model, robots.linear.plain
    apart = np.abs(model.coef_ - plain.coef_).ravel()
    assert slopes.pairs[0].name == names[apart.argmax()]
    assert float(slopes.pairs[0].robust.replace("\N{MINUS SIGN}", "-")) == pytest.approx(
        model.coef_.ravel()[apart.argmax()], abs=0.006
    )
    assert slopes.pairs[-1].name == "(intercept)"
    assert len(slopes.pairs) == len(names) + 1
    assert both.towards == "yes"


def test_matrices_count_all_kept_rows(robots):
    plain, robust = sections.learned(robots).matrices
    for matrix in (plain, robust):
        total = sum(int(cell.text.replace(",", "")) for _, cells in matrix.rows for cell in cells)
        assert total == (~robots.fitted.dropped).sum()


def test_of_many_classes_the_pairs_confused_most_are_listed(letters, monkeypatch):
    monkeypatch.setattr(sections, "_MAX_CLASSES", 2)
    both = sections.learned(letters)
    assert both.matrices == []
    worst = max(
        letters.confusion(it)[~np.eye(3, dtype=bool)].max()
        for it in (letters.linear.plain, letters.fitted.model)
    )
    assert worst == max(map(int, both.confused[0][2]))
    assert "confused most" in page(letters)


def test_classes_have_coefficients_of_their_own(letters):
    outline = Outline(page(letters))
    assert [it["data-class"] for it in outline.of("div") if "data-class" in it] == ["0", "1", "2"]
    assert len([it for it in outline.of("option") if "selected" in it]) == 1


def test_estimates_are_those_of_the_judge_and_need_evidence(robots):
    parts, judgement = sections.estimates(robots).parts, robots.fitted.judgement
    assert [it.name for it in parts] == ["no", "yes"]
    assert [it.rate for it in parts] == [percent(it) for it in judgement.share_]
    silent = replace(robots.fitted, judgement=replace(judgement, evidence_=-1.0))
    assert sections.estimates(replace(robots, fitted=silent)) is None


def test_without_a_linear_model_many_classes_are_confused_in_one_column(grove, monkeypatch):
    monkeypatch.setattr(sections, "_MAX_CLASSES", 1)
    found = sections.learned(grove)
    assert found.matrices == found.slopes == []
    assert [len(counts) for _, _, counts in found.confused] == [1, 1]
    assert "confused most" in page(grove)


def test_suspects_of_the_hostile_table_are_the_wrong_labels(evil):
    assert set(np.flatnonzero(evil.fitted.dropped)) <= set(range(FLIPPED))
    assert evil.n_dropped >= FLIPPED / 2


def test_without_jinja_the_page_says_how_to_get_it(robots, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r'pip install "sorr\[audit\]"'):
        page(robots)


# -- The page as a whole ---------------------------------------------------------------------------


def test_the_page_is_small_and_asks_for_nothing(robots_page):
    assert len(robots_page.encode()) < 400_000
    outline = Outline(robots_page)
    assert [it["href"] for it in outline.of("link")] == ["data:,"]
    assert not outline.of("img", "iframe", "object", "embed", "base", "form")
    addresses = [it[name] for _, it in outline.elements for name in ("src", "href") if name in it]
    assert all(it.startswith(("#", "data:,")) for it in addresses)
    assert "@import" not in robots_page
    assert set(re.findall(r"url\(([^)]*)\)", robots_page)) <= {"#cut-0", "#cut-1"}
    assert re.findall(r"\w+://[^\"]*", robots_page) == ["http://www.w3.org/2000/svg"]


def test_the_policy_allows_the_one_script_and_the_one_style(evil_page):
    outline = Outline(evil_page)
    (policy,) = (it["content"] for it in outline.of("meta") if "http-equiv" in it)
    script = re.search(r"<script>(.*?)</script>", evil_page, re.DOTALL)[1]
    style = re.search(r"<style>(.*?)</style>", evil_page, re.DOTALL)[1]
    digests = [
        base64.b64encode(hashlib.sha256(it.encode()).digest()).decode() for it in (script, style)
    ]
    assert f"script-src 'sha256-{digests[0]}'" in policy
    assert f"style-src 'sha256-{digests[1]}'" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert not [it for _, it in outline.elements if "style" in it]
    assert "innerHTML" not in script
    assert "insertAdjacent" not in script


def test_what_a_table_says_stays_text(evil, evil_page):
    outline = Outline(evil_page)
    types = [it.get("type", "script") for it in outline.of("script")]
    kinds = {"script": 1, "application/json": 1 + evil.fitted.is_linear, "text/plain": 1}
    assert {it: types.count(it) for it in types} == kinds
    assert not outline.of("img")
    assert not [name for _, it in outline.elements for name in it if name.startswith("on")]
    assert hostile.SCRIPT in outline.text
    assert hostile.YES in outline.text
    assert hostile.COLUMN in outline.text
    assert "49<script>" not in outline.text
    assert evil.rows.name in outline.text


@given(st.text(alphabet=st.characters(codec=None, exclude_categories=())))
def test_data_for_the_script_is_the_same_again_without_markup(text):
    data = workbench.inert({"text": text, "end": "</script>\u2028<!--"})
    data.encode()
    assert not re.search("[<>&\u2028\u2029\u202a-\u202e\u2066-\u2069]", data)
    assert json.loads(data) == {"text": text, "end": "</script>\u2028<!--"}


def test_figures_tables_and_fields_have_names(evil, evil_page):
    outline = Outline(evil_page)
    figures = [it for it in outline.of("svg") if it.get("role") == "img"]
    assert len(figures) == (6 if evil.fitted.is_linear else 2)
    assert all(len(it["aria-label"]) > 20 for it in figures)
    assert len(outline.of("caption")) == len(outline.of("table"))
    assert all("scope" in it for it in outline.of("th"))
    ids = [it["id"] for _, it in outline.elements if "id" in it]
    assert len(ids) == len(set(ids))
    assert {it["aria-labelledby"] for it in outline.of("section")} <= set(ids)
    assert {it["href"][1:] for it in outline.of("a")} <= set(ids)
    headings = [int(tag[1]) for tag, _ in outline.elements if re.fullmatch("h[1-6]", tag)]
    assert headings[0] == 1
    assert headings.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(headings))
    assert len(outline.of("main")) == 1
    assert "lang" in outline.of("html")[0]


# -- The first screen ------------------------------------------------------------------------------


def test_the_first_lines_answer_in_order(grove):
    text = page(grove)
    answers = ["Audit of", grove.judged_by, grove.headline, grove.meaning, 'class="chips"']
    places = [text.index(it, text.index("<body>")) for it in answers]
    assert places == sorted(places)
    for tier, rows in grove.tiers.items():
        assert (f'data-tier="{tier}"' in text) == (rows > 0)


def test_chips_count_tiers_findings_and_columns_that_were_skipped(evil):
    chips = sections.chips(evil)
    tiers = {it.tier: int(it.number) for it in chips if it.tier}
    assert tiers == {tier: rows for tier, rows in evil.tiers.items() if rows}
    assert [it.text for it in chips if it.link == "columns"] == ["column skipped: id"]
    assert all(it.link in ("findings", "whom", "columns") for it in chips if not it.tier)


def test_without_evidence_the_page_is_short_and_does_not_call_labels_fine(grove):
    judgement = replace(grove.fitted.judgement, evidence_=-1.0)
    fitted = replace(grove.fitted, judgement=judgement, dropped=np.zeros(432, dtype=bool))
    report = replace(grove, fitted=fitted, is_wrong=None)
    text = page(report)
    ids = {it["id"] for _, it in Outline(text).elements if "id" in it}
    assert not ids & {"learned", "sure", "whom", "ranked", "map"}
    assert {"cards", "all", "columns", "method"} <= ids
    assert report.headline in Outline(text).text
    data = embedded(text)
    assert {data["rows"][it["at"]][5] for it in data["cards"]} <= {1}
    assert {it["pill"] for it in data["cards"]} <= {"worth a look"}


def test_a_page_without_a_suspect_says_so():
    frame = pd.DataFrame({"x": np.arange(60.0), "y": np.repeat(["a", "b"], 30)})
    report = audit_table(table(frame), "y", model="forest")
    assert len(report.order) == 0
    text = Outline(page(report)).text
    assert "No row stands out, so there is nothing to decide." in text
    assert "Download decisions.csv" not in text


# -- Cards and rows --------------------------------------------------------------------------------


def test_cards_are_the_suspects_with_the_cells_of_the_file(evil, evil_page):
    data = embedded(evil_page)
    rows = [data["rows"][it["at"]] for it in data["cards"]]
    assert [it[0] for it in rows] == evil.suspects["row"].tolist()
    assert [it[5] for it in rows] == evil.suspects["tier"].tolist()
    assert data["header"] == list(COLUMNS)
    assert data["table"] == evil.fingerprint
    assert [it["cells"][0] for it in data["cards"]] == evil.suspects["row"].astype(str).tolist()
    assert f"'{hostile.FORMULA}" in {it["cells"][3] for it in data["cards"]}
    assert [it["plain"] for it in data["labels"]] == list(evil.fitted.classes)


def test_a_card_has_its_reason_and_the_most_similar_rows(evil, evil_page):
    data = embedded(evil_page)
    (reason,) = evil.explain(evil.order[:1])
    card = data["cards"][0]
    assert [it["column"] for it in card["marks"]] == [short(it.column, 48) for it in reason.named]
    numbers = evil.rows.numbers[list(reason.similar)].tolist()
    assert [row for row, _, _ in card["similar"]] == numbers
    own = evil.rows.frame[reason.named[0].column].to_numpy()
    values = [float(it[2][0].replace("\N{MINUS SIGN}", "-")) for it in card["similar"]]
    np.testing.assert_allclose(values, own[list(reason.similar)], rtol=1e-3)


def mark(**changes):
    usual = {"usual": (10.0, 30.0), "scale": (0.0, 100.0), "common": "", "share": None}
    return workbench._mark(
        workbench.Named(**{"column": "age", "value": 80.0, "change": 1.0, **usual, **changes})
    )


def test_a_value_stands_beside_its_usual_range_on_a_bar():
    assert mark() == ("age", "80", "usual 10\N{EN DASH}30", (80, 10, 30))
    assert mark(value=200.0).bar == (100, 5, 15)
    assert mark(usual=(-5.0, 5.0)).usual == "usual \N{MINUS SIGN}5 to 5"
    assert mark(value=None) == ("age", "(missing)", "usual 10\N{EN DASH}30", None)
    category = mark(value="red", usual=None, scale=None, common="blue", share=0.03)
    assert category.bar is None
    assert category.usual.replace("\N{NO-BREAK SPACE}", " ") == (
        "usual blue (3 % of these rows have red)"
    )


def test_a_pill_tells_the_probability_only_where_it_is_right():
    wrong = "\N{NO-BREAK SPACE}% wrong"
    assert workbench._pill(3, 0.953) == f"95{wrong}"
    assert workbench._pill(3, 0.9999) == f"over 99{wrong}"
    assert workbench._pill(2, 0.6) == f"60{wrong}"
    assert workbench._pill(1, 0.01) == "worth a look"
    assert workbench._pill(0, 0.01) == "dropped"


def test_a_large_table_is_embedded_in_part_and_says_so(robots, monkeypatch):
    monkeypatch.setattr(workbench, "_MAX_ROWS", 100)
    monkeypatch.setattr(workbench, "_MAX_CARDS", 10)
    monkeypatch.setattr(workbench, "_MAX_CELLS", 300)
    monkeypatch.setattr(figures, "_MAX_DOTS", 80)
    text = page(robots)
    data = embedded(text)
    assert len(data["cards"]) == 10
    counts = {int(tier): it["rows"] for tier, it in data["tiers"].items()}
    assert counts == {tier: n for tier, n in robots.tiers.items() if n}
    assert len(data["dots"]) == 80
    assert len(data["rows"]) < 100
    assert "cards for the 10 most suspect of" in text
    assert f"Of 432 rows, the table has {len(data['rows'])}" in text
    assert "columns are shown" in text


def test_decisions_of_the_last_round_are_in_the_page():
    first = hostile_report("forest")
    frame = first.suspects.assign(decision="", new_label="", table=first.fingerprint)
    frame["decision"] = ["keep", "relabel", "remove", "unsure", *[""] * (len(frame) - 4)]
    report = hostile_report("forest", decisions=frame)
    text = page(report)
    data = embedded(text)
    known = {int(row): it["word"] for row, it in data["known"].items()}
    assert known == dict(zip(frame["row"][:4], frame["decision"][:4], strict=True))
    cards = {data["rows"][it["at"]][0] for it in data["cards"]}
    assert not cards & set(frame["row"][:3])
    assert report.since in Outline(text).text
    relabelled = data["known"][str(frame["row"][1])]
    safe = {it["plain"]: it["safe"] for it in data["labels"]}
    assert relabelled["label"] == safe[frame["suggested"][1]]
    assert set(map(str, frame["row"][:4])) <= set(data["copy"]["places"])


# -- The corrected copy and the command ------------------------------------------------------------


def test_the_copy_is_the_original_text_with_the_places_of_its_cells(evil, evil_page):
    packed = re.search(r'id="original">([^<]*)</script>', evil_page)[1]
    data = gzip.decompress(base64.b64decode(packed))
    assert data == evil.table.original
    places = embedded(evil_page)["copy"]["places"]
    rows = np.array([int(row) for row in places])
    found = original_of(evil.table, rows, hostile.TARGET, evil.fitted.classes)
    assert [places[str(row)] for row in rows] == found.places.tolist()


def test_labels_that_are_written_alike_come_with_the_command():
    frame = pd.DataFrame({"x": np.arange(60.0), "y": np.repeat(["=a", "'=a"], 30)})
    frame.loc[3, "y"] = "'=a"
    text = page(quickly(audit_table, table(frame), "y", model="forest"))
    assert embedded(text)["copy"] is None
    assert 'id="correct"' not in text


def test_a_round_is_told_by_its_decisions():
    known = {3: workbench.Known("keep", "", []), 5: workbench.Known("relabel", "a", [])}
    assert workbench._round({}) == ""
    assert re.fullmatch("-[0-9a-f]{8}", workbench._round(known))
    assert workbench._round(dict(reversed(known.items()))) == workbench._round(known)
    other = known | {5: workbench.Known("relabel", "b", [])}
    assert workbench._round(other) != workbench._round(known)


def test_numbers_of_a_target_are_written_alike():
    texts = [workbench._target_number(it) for it in (999.0, 9250.3, -1234.0, 10467.0, 0.25)]
    assert texts == ["999", "9,250", "\N{MINUS SIGN}1,234", "10,467", "0.25"]


def test_a_table_that_is_too_large_comes_with_the_command(evil, monkeypatch):
    monkeypatch.setattr(workbench, "original_of", lambda *_: None)
    text = page(evil)
    ids = {it["id"] for _, it in Outline(text).elements if "id" in it}
    assert not ids & {"original", "correct"}
    assert "too large to be corrected in the page" in text
    assert embedded(text)["copy"] is None


def named(evil, name, **changes):
    rows = replace(evil.rows, table=replace(evil.table, name=name, **changes))
    return replace(evil, fitted=replace(evil.fitted, rows=rows))


def test_the_command_quotes_names_for_a_shell(evil):
    def command(name, **changes):
        return workbench.command(named(evil, name, **changes), True)

    assert command("a.csv").text == "sorr apply a.csv decisions.csv --out a-corrected.csv"
    assert command("a.csv").why == ""
    assert command("it's; rm -rf *.csv.gz").text == (
        """sorr apply 'it'"'"'s; rm -rf *.csv.gz' decisions.csv --out """
        """'it'"'"'s; rm -rf _-corrected.csv.gz'"""
    )
    assert command("-x.csv").text.startswith("sorr apply ./-x.csv ")
    assert "\x1b" not in command("\x1b[31m.csv").text
    latin = "The file is not UTF-8. It was read as Latin-1."
    assert "keeps the encoding" in command("a.csv", notes=(latin,)).why
    assert "in its own format" in command("a.xlsx", separator=None).why


def test_the_corrected_file_has_a_name_and_never_a_path(evil):
    def name(given, **changes):
        return workbench._corrected_name(named(evil, given, **changes).table)

    assert name("../../etc/passwd.csv") == "passwd-corrected.csv"
    assert name("c:\\data\\a b.tsv.gz") == "a b-corrected.tsv"
    assert name("book.xlsx", separator=None) == "book-corrected.csv"
    assert not set(name('<x>|"?*.csv')) & set('<>|"?*')


# -- The map, and the sections ---------------------------------------------------------------------


def test_every_row_is_on_the_map_and_suspects_wear_a_ring(robots):
    plane = figures.plane(robots)
    assert len(plane.dots) == len(robots.rows)
    assert sum(it.is_suspect for it in plane.dots) == len(robots.order)
    assert all(it.is_suspect for it in plane.dots[-len(robots.order) :])
    assert all(0 <= it.x <= FRAME and 0 <= it.y <= HEIGHT for it in plane.dots)
    assert sum(kind.large.count("M") for kind in plane.kinds) == len(robots.rows)
    assert plane.rings[0].count("M") == len(robots.order)


def test_of_many_rows_the_most_suspect_are_on_the_map(robots, monkeypatch):
    monkeypatch.setattr(figures, "_MAX_DOTS", 200)
    monkeypatch.setattr(figures, "_MAX_SUSPECTS", 12)
    plane = figures.plane(robots)
    assert len(plane.dots) == 200
    drawn = [it.position for it in plane.dots if it.is_suspect]
    assert drawn[::-1] == robots.order[:12].tolist()


def test_rows_far_away_are_drawn_at_the_edge_and_said_to_be(prices):
    X = prices.fitted.X.copy()
    row = int(np.flatnonzero(~prices.fitted.dropped)[0])
    X[row] = 1e9
    plane = figures.plane(replace(prices, fitted=replace(prices.fitted, X=X)))
    (dot,) = [it for it in plane.dots if it.position == row]
    assert dot.x in (30, 970)
    assert plane.far >= 1
    calm = np.array([it.x for it in plane.dots if it.position != row])
    assert np.ptp(calm) > 500  # the others still fill the frame


def test_a_single_column_is_a_map_of_one_direction():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"only": rng.normal(size=60), "y": rng.choice(["a", "b"], 60)})
    report = quickly(audit_table, table(frame), "y", model="linear", m=0)
    plane = figures.plane(report)
    assert plane.spread is None
    assert len({it.y for it in plane.dots}) > 20
    assert report.sentence in Outline(page(report)).text


def test_a_regression_is_told_in_its_own_words(prices):
    text = Outline(page(prices)).text
    assert prices.headline in text
    assert "The number of rows to drop was given: 0.05 of all rows." in text
    assert "Mean absolute error" in page(prices)
    both = sections.learned(prices)
    assert both.matrices == both.confused == []
    assert [it.name for it in both.sizes][-1] == "all rows"
    assert "predictions are off by" in sections.held_out(prices)
    data = embedded(page(prices))
    assert data["isNumber"]
    assert data["labels"] == []
    assert set(workbench._PROBES) <= set(data["copy"]["written"])


def test_an_estimate_for_a_regression_has_a_line_of_its_own():
    report = quickly(audit_table, table(line(n=200, off=12)), "price", model="forest")
    (part,) = sections.estimates(report).parts
    low, high = report.fitted.judgement.share_interval_
    assert part.interval == f"{percent(low)} to {percent(high)}"
    text = page(report)
    assert "Each target is judged by its error, by models that have not seen its row." in text
    assert report.fitted.dropped[:12].all()


def test_the_page_says_what_the_judge_says(robots, grove):
    for report in (robots, grove):
        text = Outline(page(report)).text
        assert report.sentence in text
        assert report.headline in text
        assert "no evidence does not mean that all labels are right" in text


def test_a_page_without_a_linear_model_has_none_of_its_sections(grove):
    text = page(grove)
    outline = Outline(text)
    ids = {it["id"] for _, it in outline.elements if "id" in it}
    assert not ids & {"ranked", "m", "back", "mark", "class", "moves"}
    assert {"cards", "all", "map", "learned", "sure", "whom", "method", "files"} <= ids
    for word in ("slider", "Plain fit", "Robust fit", "coefficient", "is linear"):
        assert word not in outline.text
    (matrix,) = sections.learned(grove).matrices
    assert sum(int(it.text) for _, cells in matrix.rows for it in cells) == 432
    assert len(text) < 250_000


def test_warnings_have_a_chip_and_open_their_section(evil):
    warned = replace(evil)
    warned.__dict__["warnings"] = ("90% of the rows with city <Ys> are dropped",)
    text = page(warned)
    assert '<a class="chip" href="#whom"><b>1</b> warning</a>' in text
    assert '<details class="fold" id="whom" open>' in text
    assert "90% of the rows with city &lt;Ys&gt; are dropped" in text


def test_the_example_says_how_many_planted_labels_were_found(robots):
    known = robots.planted
    assert f"{known.found} of them were found" in sections.planted(robots)
    assert sections.planted(robots) in Outline(page(robots)).text


@pytest.mark.parametrize("kind", ["probabilities", "estimator"])
def test_a_model_of_the_user_or_its_probabilities_have_a_page_too(grove, kind):
    frame = grove.table.frame
    options = {"model": LogisticRegression()}
    if kind == "probabilities":
        sure = np.where(grove.fitted.held_out == "yes", 0.9, 0.1)
        options = {"probabilities": pd.DataFrame({"yes": sure, "no": 1 - sure})}
    report = audit_table(table(frame), "friendly", **options)
    text = page(report)
    assert report.judged_by in Outline(text).text
    assert "model.skops" not in text


def test_the_command_names_the_sheet_of_a_workbook_with_several(tmp_path):
    path = tmp_path / "two.xlsx"
    with pd.ExcelWriter(path) as book:
        pd.DataFrame({"a": [1]}).to_excel(book, sheet_name="notes", index=False)
        mixed().to_excel(book, sheet_name="of 2024", index=False)
    report = quickly(audit_table, read_table(path, sheet="of 2024"), "y", model="forest")
    assert "decisions.csv --out two-corrected.xlsx --sheet &#39;of 2024&#39;" in page(report)
