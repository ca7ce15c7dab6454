import base64
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

from sorr.auditing import audit_example, audit_table
from sorr.auditing.page import figures, page, render, sections
from sorr.auditing.page.figures import FRAME, round_steps, svg_path
from sorr.auditing.page.words import percent, seen, short
from sorr.auditing.table import format_probability
from tests.auditing import hostile
from tests.auditing.hostile import FLIPPED, hostile_report, pd, quickly
from tests.auditing.tables import line, table, three_classes


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


def moves(text):
    return json.loads(
        re.search(r'<script type="application/json" id="moves">(.*?)</script>', text)[1]
    )


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


def test_the_page_is_small_and_asks_for_nothing(robots_page):
    assert len(robots_page.encode()) < 400_000
    outline = Outline(robots_page)
    assert [it["href"] for it in outline.of("link")] == ["data:,"]
    assert not outline.of("img", "iframe", "object", "embed", "base", "form")
    addresses = [it[name] for _, it in outline.elements for name in ("src", "href") if name in it]
    assert all(it.startswith(("#", "data:,")) for it in addresses)
    assert "@import" not in robots_page
    assert set(re.findall(r"url\(([^)]*)\)", robots_page)) <= {"#cut-0", "#cut-1"}
    assert "://" not in robots_page


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


def test_what_a_table_says_stays_text(evil, evil_page):
    outline = Outline(evil_page)
    assert len(outline.of("script")) == 2
    assert not outline.of("img", "bi")
    assert not [name for _, it in outline.elements for name in it if name.startswith("on")]
    assert hostile.SCRIPT in outline.text
    assert hostile.YES in outline.text
    assert hostile.COLUMN in outline.text
    assert "49<script>" not in outline.text
    assert evil.rows.name in outline.text


def test_what_the_script_reads_holds_no_markup(evil_page):
    data = re.search(r'id="moves">(.*?)</script>', evil_page)[1]
    assert not set(data) & set("<>&\u2028\u2029")
    assert moves(evil_page)["rows"]


@given(st.text())
def test_data_for_the_script_is_the_same_again_without_markup(text):
    data = render._inert({"text": text, "end": "</script>\u2028<!--"})
    assert not set(data) & set("<>&\u2028\u2029")
    assert json.loads(data) == {"text": text, "end": "</script>\u2028<!--"}


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


def test_the_table_lists_the_suspects_first(evil):
    table = sections.listing(evil)
    out = [it for it in table.rows if it.is_listed]
    assert [it.row for it in out] == evil.suspects["row"].tolist()
    assert table.rows[: len(out)] == out
    assert [it.tier for it in out] == evil.suspects["tier"].astype(str).tolist()
    keys = [it.key for it in table.columns if it.key != "state"]
    assert keys[:4] == ["rank", "tier", "row", "line"]
    assert ("loss" in keys) == ("often" in keys) == evil.fitted.is_linear
    values = dict(out[0].values)
    assert len(values) == 3
    assert values[hostile.COLUMN] == f"{evil.rows.frame[hostile.COLUMN][out[0].row]:.7g}"


def test_rows_know_at_which_positions_they_are_left_out(robots):
    for row in sections.listing(robots).rows:
        sweep = robots.linear.sweep
        left_out = [bool(it.dropped[row.row]) for it in sweep.points]
        assert [letter == "1" for letter in row.at] == left_out
        assert row.is_out == left_out[sweep.chosen]


def test_rows_that_only_other_positions_leave_out_are_there_and_hidden(robots_page, robots):
    outline = Outline(robots_page)
    states = [it for it in outline.of("tr") if "data-state" in it]
    assert sum("hidden" not in it for it in states) == len(robots.order)
    assert all(("hidden" in it) != ("data-listed" in it) for it in states)
    assert sum(it["data-state"] == "out" for it in states) == robots.n_dropped
    assert len(states) == len(moves(robots_page)["rows"])
    ever = np.any([it.dropped for it in robots.linear.sweep.points], axis=0)
    ever[robots.order] = True
    assert len(states) == ever.sum()


def test_a_long_table_is_cut_and_says_so(robots, monkeypatch):
    most = len(robots.order) + 15
    monkeypatch.setattr(sections, "_MAX_ROWS", most)
    table = sections.listing(robots)
    assert len(table.rows) == most
    assert sum(it.is_listed for it in table.rows) == len(robots.order)
    assert "that only other positions of the slider drop" in table.is_short
    assert "suspects.csv" not in table.is_short
    monkeypatch.setattr(sections, "_MAX_ROWS", 8)
    monkeypatch.setattr(sections, "_MIN_ROWS", 8)
    table = sections.listing(robots)
    assert [it.rank for it in table.rows if it.is_listed] == [1, 2, 3, 4, 5, 6]
    assert len(table.rows) == 8  # the slider has something to move as well
    assert "suspects.csv has all" in table.is_short
    assert table.is_short in page(robots)


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


def test_every_row_is_on_the_plane_and_suspects_wear_a_ring(robots):
    plane = figures.plane(robots)
    assert len(plane.dots) == len(robots.rows)
    out = robots.n_dropped
    assert sum(it.is_out for it in plane.dots) == out
    assert [it.is_out for it in plane.dots[-out:]] == [True] * out
    places = np.array([[float(it.x[:-1]), float(it.y[:-1])] for it in plane.dots])
    assert places.min() >= 0
    assert places.max() <= 100


def test_of_many_rows_each_kind_has_its_share_on_the_plane(robots, monkeypatch):
    monkeypatch.setattr(figures, "_MAX_DOTS", 200)
    plane = figures.plane(robots)
    assert len(plane.dots) == 200
    assert sum(it.is_out for it in plane.dots) == robots.n_dropped  # few: all of them
    assert plane.rows == len(robots.rows)
    monkeypatch.setattr(figures, "_MIN_SUSPECTS", 0)
    plane = figures.plane(robots)
    assert len(plane.dots) == 200
    assert sum(it.is_out for it in plane.dots) == 200 * robots.n_dropped // len(robots.rows)


def test_rows_far_away_are_drawn_at_the_edge_and_said_to_be(prices):
    X = prices.fitted.X.copy()
    row = int(np.flatnonzero(~prices.fitted.dropped)[0])
    X[row] = 1e9
    plane = figures.plane(replace(prices, fitted=replace(prices.fitted, X=X)))
    (dot,) = [it for it in plane.dots if it.title.startswith(f"Row {row}:")]
    assert dot.is_far
    assert {dot.x, dot.y} <= {"3%", "97%"}
    assert plane.far >= 1
    calm = np.array([float(it.x[:-1]) for it in plane.dots if not it.is_far])
    assert np.ptp(calm) > 50  # the others still fill the frame


def test_rows_that_are_alike_lie_around_each_other():
    where = np.repeat([[0.2, 0.2], [0.8, 0.8]], 20, axis=0)
    apart = figures._apart(where)
    assert len(np.unique(apart.round(6), axis=0)) == 40
    assert np.abs(apart - where).max() < 0.1
    spread = np.random.default_rng(0).random((50, 2))
    np.testing.assert_allclose(figures._apart(spread), spread)


def test_a_single_column_is_a_plane_of_one_direction():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"only": rng.normal(size=60), "y": rng.choice(["a", "b"], 60)})
    report = quickly(audit_table, table(frame), "y", model="linear", m=0)
    plane = figures.plane(report)
    assert plane.spread is None
    assert len({it.y for it in plane.dots}) > 20
    text = Outline(page(report)).text
    assert "0 of 60 rows were dropped, as asked" in text
    assert "The audit drops no row" in text
    assert report.sentence in text


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


def test_a_regression_is_told_in_its_own_words(prices):
    text = Outline(page(prices)).text
    assert "the number “price”" in text
    assert "Expected" in text
    assert "The number of rows to drop was given: 0.05 of all rows." in text
    assert "Mean absolute error" in page(prices)
    both = sections.learned(prices)
    assert both.matrices == both.confused == []
    assert [it.name for it in both.sizes][-1] == "all rows"
    assert "The probability that a target is wrong compares its error with those of" in text


def test_an_estimate_for_a_regression_has_a_line_of_its_own():
    report = quickly(audit_table, table(line(n=200, off=12)), "price", model="forest")
    (part,) = sections.estimates(report).parts
    low, high = report.fitted.judgement.share_interval_
    assert part.interval == f"{percent(low)} to {percent(high)}"
    text = page(report)
    assert "Each target is judged by its error, by models that have not seen its row." in text
    assert "How the model errs" in text
    assert f"{report.n_dropped} of 200 targets are probably wrong" in text
    assert report.fitted.dropped[:12].all()


def test_estimates_are_those_of_the_judge_and_need_evidence(robots):
    parts, judgement = sections.estimates(robots).parts, robots.fitted.judgement
    assert [it.name for it in parts] == ["no", "yes"]
    assert [it.rate for it in parts] == [percent(it) for it in judgement.share_]
    silent = replace(robots.fitted, judgement=replace(judgement, evidence_=-1.0))
    assert sections.estimates(replace(robots, fitted=silent)) is None


def test_the_page_says_what_the_judge_says(robots, grove):
    for report in (robots, grove):
        text = Outline(page(report)).text
        assert report.sentence in text
        assert report.headline in text
        assert "Tiers: 3 almost surely wrong, 2 probably wrong, 1 worth a look." in text
        rows = sections.listing(report).rows[: len(report.order)]
        assert [it.probability for it in rows] == [
            format_probability(it) for it in report.suspects["probability"]
        ]


def test_a_page_without_a_linear_model_has_none_of_its_sections(grove):
    text = page(grove)
    outline = Outline(text)
    ids = {it["id"] for _, it in outline.elements if "id" in it}
    assert not ids & {"ranked", "m", "back", "mark", "class"}
    assert {"suspects", "learned", "plane", "sure", "whom", "reading", "filter"} <= ids
    links = {it["href"][1:] for it in outline.of("a")}
    assert links <= ids
    for word in ("slider", "Plain fit", "Robust fit", "How often", "coefficient", "is linear"):
        assert word not in outline.text
    assert moves(text)["stages"] == []
    (matrix,) = sections.learned(grove).matrices
    assert sum(int(it.text) for _, cells in matrix.rows for it in cells) == 432
    assert len(text) < 200_000


def test_without_a_linear_model_many_classes_are_confused_in_one_column(grove, monkeypatch):
    monkeypatch.setattr(sections, "_MAX_CLASSES", 1)
    found = sections.learned(grove)
    assert found.matrices == found.slopes == []
    assert [len(counts) for _, _, counts in found.confused] == [1, 1]
    assert "confused most" in page(grove)


def test_a_verdict_that_is_silent_is_not_called_fine(grove):
    judgement = replace(grove.fitted.judgement, evidence_=-1.0)
    fitted = replace(grove.fitted, judgement=judgement, dropped=np.zeros(432, dtype=bool))
    report = replace(grove, fitted=fitted, is_wrong=None)
    text = Outline(page(report)).text
    assert "No sign of labels wrong at random" in text
    assert "no evidence does not mean that all labels are right" in text
    assert "probably wrong</h1>" not in page(report)
    assert [it.value for it in sections.tiles(report)][1] == "0"


def test_warnings_come_first_and_again_where_they_belong(evil):
    uneven = "90% of the rows with city <Ys> are dropped"
    warned = replace(evil)
    warned.__dict__["warnings"] = (uneven,)
    text = page(warned)
    assert text.count("90% of the rows with city &lt;Ys&gt; are dropped") == 2
    assert text.index("90% of the rows") < text.index("Contents")


def test_the_example_says_how_many_planted_labels_were_found(robots):
    planted = robots.planted
    tile = sections.tiles(robots)[-1]
    assert tile.value == f"{planted.found} of 30"
    assert "made wrong on purpose" in tile.name


def test_a_difference_that_may_be_chance_is_called_so(robots):
    first, *others = robots.linear.sweep.points
    by_far = replace(robots.linear.sweep, points=(replace(first, kept_error=0.4), *others))
    assert "chance" in sections.tiles(robots)[4].remark
    changed = replace(robots, linear=replace(robots.linear, sweep=by_far))
    assert "chance" not in sections.tiles(changed)[4].remark


def test_figures_tables_and_fields_have_names(evil, evil_page):
    outline = Outline(evil_page)
    figures = [it for it in outline.of("svg") if it.get("role") == "img"]
    assert len(figures) == (4 if evil.fitted.is_linear else 1)
    assert all(len(it["aria-label"]) > 20 for it in figures)
    assert len(outline.of("caption")) == len(outline.of("table"))
    assert all("scope" in it for it in outline.of("th"))
    ids = [it["id"] for _, it in outline.elements if "id" in it]
    assert len(ids) == len(set(ids))
    named = {it["aria-labelledby"] for it in outline.of("section")}
    assert named <= set(ids)
    headings = [int(tag[1]) for tag, _ in outline.elements if re.fullmatch("h[1-6]", tag)]
    assert headings[0] == 1
    assert headings.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(headings))
    assert len(outline.of("main")) == 1
    assert "lang" in outline.of("html")[0]


def test_suspects_of_the_hostile_table_are_the_wrong_labels(evil):
    assert set(np.flatnonzero(evil.fitted.dropped)) <= set(range(FLIPPED))
    assert evil.n_dropped >= FLIPPED / 2


def test_without_jinja_the_page_says_how_to_get_it(robots, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r'pip install "sorr\[audit\]"'):
        page(robots)
