from types import SimpleNamespace

import pytest

pytest.importorskip("pandas", reason="tables are an extra")

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from sorr.auditing import findings
from sorr.auditing.findings import (
    Copies,
    Drift,
    Entities,
    FarRows,
    GivenAway,
    MissingValues,
    NearCopies,
    Spellings,
    find_all,
)
from sorr.auditing.fit import fit_rows
from sorr.auditing.leaks import Leak
from tests.auditing.tables import mixed, rows


def fitted(frame, y, task="classification", written=None, leaks=()):
    """Return what finders read of a fit: the columns scaled, texts as one column for each value."""
    frame = pd.DataFrame(frame)
    parts, sources = [], []
    for name in frame.columns:
        if pd.api.types.is_numeric_dtype(frame[name]):
            column = frame[name].fillna(frame[name].median())
            parts.append((column - column.median()) / (column.std() or 1.0))
            sources.append(SimpleNamespace(column=name))
        else:
            for value in frame[name].dropna().unique():
                parts.append((frame[name] == value).astype(float))
                sources.append(SimpleNamespace(column=name))
    table = SimpleNamespace(
        frame=frame,
        y=np.asarray(y),
        task=task,
        numbers=np.arange(len(frame)),
        roles=SimpleNamespace(target="label"),
        written=written,
        leaks=leaks,
        columns=(),
        fold_groups=None,
    )
    return SimpleNamespace(rows=table, X=np.column_stack(parts), sources=sources)


def cloud(n=200, seed=0, columns=5):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, columns)), columns=list("abcdefgh")[:columns])
    return frame, rng.choice(["no", "yes"], n)


def only(finder, table):
    found = list(finder.find(table))
    assert len(found) == 1
    return found[0]


def names(finder, table):
    return [finding.name for finding in finder.find(table)]


# -- Spellings -------------------------------------------------------------------------------------


def test_other_spellings_are_a_problem_and_the_most_frequent_one_is_proposed():
    frame, y = cloud(20)
    y[:] = "no"
    y[:10] = "yes"
    written = y.copy().astype(object)
    written[[2, 5]], written[7] = "Yes ", "YES"
    finding = only(Spellings(), fitted(frame, y, written=written))
    assert finding.severity == "problem"
    assert finding.rows.tolist() == [2, 5, 7]
    assert "'yes' is also written 'Yes ' (2 rows) and 'YES' (1 row)" in finding.sentence
    assert "'no'" not in finding.sentence
    assert finding.columns == ("label",)


def test_labels_of_one_spelling_are_no_finding():
    frame, y = cloud(20)
    assert names(Spellings(), fitted(frame, y, written=y)) == []
    assert names(Spellings(), fitted(frame, y)) == []


# -- Copies ----------------------------------------------------------------------------------------


def with_copies(other_label=(), same_label=(), seed=0):
    frame, y = cloud(seed=seed)
    more = [*other_label, *same_label]
    flipped = np.where(y == "yes", "no", "yes")
    labels = np.concatenate([y, flipped[list(other_label)], y[list(same_label)]])
    return pd.concat([frame, frame.iloc[more]], ignore_index=True), labels


def test_copies_with_different_labels_are_a_problem():
    finding = only(Copies(), fitted(*with_copies(other_label=[3, 8])))
    assert (finding.name, finding.severity) == ("Copies with different labels", "problem")
    assert sorted(finding.rows.tolist()) == [3, 8, 200, 201]
    assert set(finding.rows[:2].tolist()) in ({3, 200}, {8, 201})
    assert "4 rows are equal" in finding.sentence
    assert "2 groups" in finding.sentence


def test_exact_copies_are_a_warning():
    finding = only(Copies(), fitted(*with_copies(same_label=[3, 8])))
    assert (finding.name, finding.severity) == ("Exact copies", "warning")
    assert sorted(finding.rows.tolist()) == [3, 8, 200, 201]
    assert finding.sentence.startswith("2 rows repeat another row exactly")


def test_copies_with_different_numbers_are_a_warning():
    frame, y = with_copies(other_label=[3])
    finding = only(Copies(), fitted(frame, np.where(y == "yes", 1.5, 0.5), "regression"))
    assert (finding.name, finding.severity) == ("Copies with different targets", "warning")


def test_rows_without_copies_are_no_finding():
    assert names(Copies(), fitted(*cloud())) == []


def test_equal_rows_of_few_categories_are_no_copies():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "class": rng.choice(["1st", "2nd", "3rd", "crew"], 1000, p=[0.15, 0.13, 0.32, 0.4]),
            "age": rng.choice(["adult", "child"], 1000, p=[0.95, 0.05]),
            "sex": rng.choice(["male", "female"], 1000, p=[0.8, 0.2]),
        }
    )
    y = rng.choice(["died", "survived"], 1000, p=[0.7, 0.3])
    assert names(Copies(), fitted(frame, y)) == []
    assert names(NearCopies(), fitted(frame, y)) == []


def test_the_rare_age_of_two_people_does_not_make_them_copies():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": np.floor(rng.gamma(9.0, 4.0, 800)),
            "sex": rng.choice(["male", "female"], 800),
            "class": rng.choice(["1st", "2nd", "3rd"], 800),
        }
    )
    assert names(Copies(), fitted(frame, rng.choice(["died", "survived"], 800))) == []


def test_copies_of_rare_rows_are_found_where_common_rows_are_equal_by_chance():
    rng = np.random.default_rng(0)
    common = rng.integers(1, 3, (300, 6))
    rare = rng.integers(1, 30, (100, 6))
    values = np.vstack([common, rare, rare[:5]]).astype(float)
    found = only(Copies(), fitted(pd.DataFrame(values, columns=list("abcdef")), ["y"] * 405))
    assert set(range(400, 405)) <= set(found.rows.tolist())
    assert found.rows.min() >= 300


@settings(max_examples=20, deadline=None)
@given(st.permutations(range(5)), st.integers(0, 10))
def test_the_order_of_rows_and_columns_and_the_names_of_labels_do_not_matter(columns, seed):
    frame, y = with_copies(other_label=[3, 8], same_label=[5, 20], seed=seed)
    order = np.random.default_rng(seed).permutation(len(y))
    shuffled = frame.iloc[order, list(columns)].reset_index(drop=True)
    renamed = np.where(y == "yes", "1", "9")[order]
    first = {it.name: set(it.rows.tolist()) for it in Copies().find(fitted(frame, y))}
    second = {it.name: set(order[it.rows]) for it in Copies().find(fitted(shuffled, renamed))}
    assert first == second
    assert first["Exact copies"] == {5, 20, 202, 203}
    assert first["Copies with different labels"] == {3, 8, 200, 201}


def test_rows_with_numbers_that_almost_agree_are_near_copies():
    frame, y = cloud()
    shifted = frame.iloc[:4] + 0.001 * np.random.default_rng(1).normal(size=(4, 5))
    labels = np.concatenate([y, np.where(y[:4] == "yes", "no", "yes")])
    finding = only(NearCopies(), fitted(pd.concat([frame, shifted], ignore_index=True), labels))
    assert finding.severity == "note"
    assert sorted(finding.rows.tolist()) == [0, 1, 2, 3, 200, 201, 202, 203]
    assert "In 4 pairs the labels differ" in finding.sentence


def test_a_row_with_one_other_value_is_a_near_copy():
    frame, y = cloud()
    edited = frame.iloc[:2].copy()
    edited["c"] += [2.0, -3.0]
    table = fitted(pd.concat([frame, edited], ignore_index=True), [*y, *y[:2]])
    assert sorted(only(NearCopies(), table).rows.tolist()) == [0, 1, 200, 201]


@pytest.mark.parametrize("columns", [1, 2, 5])
def test_close_rows_of_a_dense_cloud_are_no_near_copies(columns):
    assert names(NearCopies(), fitted(*cloud(800, columns=columns))) == []


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_near_copies_are_found_in_more_rows_than_neighbours_are_looked_for(monkeypatch, form):
    monkeypatch.setattr("sorr.auditing.likeness._MAX_NEAR", 2_000)
    frame, y = cloud(6_000, columns=8)
    shifted = frame.iloc[:20] + 0.001 * np.random.default_rng(1).normal(size=(20, 8))
    table = fitted(pd.concat([frame, shifted], ignore_index=True), [*y, *y[:20]])
    table.X = form(table.X)
    found = set(only(NearCopies(), table).rows.tolist())
    assert len(found & set(range(6_000, 6_020))) >= 19
    assert len(found) <= 42


# -- Far rows --------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_row_far_from_all_others_is_a_warning_with_its_columns(form):
    frame, y = cloud()
    frame.loc[17, ["b", "d"]] = [14.0, -12.0]
    frame.loc[30, "a"] = 40.0
    table = fitted(frame, y)
    table.X = form(table.X)
    finding = only(FarRows(), table)
    assert (finding.severity, finding.rows.tolist()) == ("warning", [30, 17])
    assert finding.columns == ("a", "b", "d")
    assert "2 rows are far from all others" in finding.sentence


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("draw", ["normal", "uniform"])
def test_rows_of_a_clean_cloud_are_not_far(draw, seed):
    values = getattr(np.random.default_rng(seed), draw)(size=(400, 5))
    frame = pd.DataFrame(values, columns=list("abcde"))
    assert names(FarRows(), fitted(frame, np.zeros(400))) == []


@pytest.mark.parametrize("draw", ["exponential", "lognormal"])
def test_hardly_one_row_in_a_hundred_is_far_where_tails_are_heavy(draw):
    n_far = 0
    for seed in range(5):
        values = getattr(np.random.default_rng(seed), draw)(size=(400, 5))
        table = fitted(pd.DataFrame(values, columns=list("abcde")), np.zeros(400))
        n_far += sum(len(finding.rows) for finding in FarRows().find(table))
    assert n_far <= 0.01 * 5 * 400


def test_a_column_that_is_zero_in_nearly_all_rows_does_not_make_the_others_far():
    frame, y = cloud(1000)
    frame["rare"] = 0.0
    frame.loc[[3, 500], "rare"] = 1.0
    assert names(FarRows(), fitted(frame, y)) == []


def test_many_distant_rows_are_a_group_and_not_outliers():
    frame, y = cloud()
    frame.iloc[:30] = 30 * np.random.default_rng(1).normal(size=(30, 5))
    assert names(FarRows(), fitted(frame, y)) == []


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csr_matrix])
def test_far_rows_are_found_in_more_rows_than_neighbours_are_looked_for(monkeypatch, form):
    monkeypatch.setattr("sorr.auditing.likeness._MAX_NEAR", 2_000)
    frame, y = cloud(6_000)
    frame.loc[[50, 5_000], ["a", "b"]] = [[20.0, 15.0], [-15.0, 22.0]]
    table = fitted(frame, y)
    table.X = form(table.X)
    assert set(only(FarRows(), table).rows.tolist()) == {50, 5_000}


def test_few_rows_have_no_tail():
    assert names(FarRows(), fitted(*cloud(20))) == []


# -- Along the file --------------------------------------------------------------------------------


def test_a_share_that_rises_along_the_file_is_a_warning():
    rng = np.random.default_rng(0)
    y = np.where(rng.random(1000) < np.linspace(0.1, 0.6, 1000), "yes", "no")
    finding = only(Drift(), fitted(cloud(1000)[0], y))
    assert (finding.name, finding.severity) == ("Changes along the file", "warning")
    assert finding.sentence.count("the share of") == 1
    assert "in rows 1 to 100 and" in finding.sentence
    assert finding.columns == ("label",)


def test_a_share_that_rises_and_falls_again_is_found():
    rng = np.random.default_rng(0)
    share = np.where(np.abs(np.arange(900) - 450) < 150, 0.6, 0.25)
    y = np.where(rng.random(900) < share, "yes", "no")
    assert names(Drift(), fitted(cloud(900)[0], y)) == ["Changes along the file"]


def test_a_mean_that_drifts_is_a_warning():
    y = np.random.default_rng(0).exponential(size=500) + np.linspace(0, 1.5, 500)
    finding = only(Drift(), fitted(cloud(500)[0], y, "regression"))
    assert finding.severity == "warning"
    assert "the mean of 'label' is" in finding.sentence


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_a_sorted_file_is_a_note(task):
    y = np.repeat([0, 1, 2], 50) if task == "classification" else np.arange(150.0)[::-1]
    finding = only(Drift(), fitted(cloud(150)[0], y, task))
    assert finding.severity == "note"
    assert finding.name.startswith("Sorted by")


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_a_shuffled_sample_hardly_ever_drifts(seed):
    # Each table has a chance of one in a hundred; the cap on the size makes it far smaller here.
    y = np.random.default_rng(seed).choice(["a", "b", "c"], 5_000, p=[0.5, 0.3, 0.2])
    frame = pd.DataFrame({"a": np.zeros(5_000)})
    assert names(Drift(), fitted(frame, y)) == []


def test_renaming_labels_does_not_change_a_drift():
    rng = np.random.default_rng(0)
    y = np.where(rng.random(400) < np.linspace(0.1, 0.6, 400), "yes", "no")
    frame = cloud(400)[0]
    first, second = (
        only(Drift(), fitted(frame, labels)) for labels in (y, np.where(y == "yes", "0", "1"))
    )
    assert (first.name, first.severity) == (second.name, second.severity)


# -- Columns ---------------------------------------------------------------------------------------


def test_a_recoding_is_a_problem_and_another_leak_a_warning():
    leaks = (
        Leak("code", True, 0.0, 0.3, np.array([], dtype=np.intp)),
        Leak("late", False, 0.02, 0.3, np.array([4, 9])),
    )
    recoding, late = GivenAway().find(fitted(*cloud(), leaks=leaks))
    assert (recoding.severity, recoding.columns) == ("problem", ("code",))
    assert "0 % of the labels wrong" in recoding.sentence
    assert "30.0 %" in recoding.sentence
    assert "left out" in recoding.sentence
    assert (late.severity, late.columns, late.rows.tolist()) == ("warning", ("late",), [4, 9])
    assert "2 rows contradict it" in late.sentence


def test_an_error_that_is_not_zero_is_not_written_as_zero():
    leak = Leak("code", True, 0.0001, 0.3, np.array([7]))
    finding = only(GivenAway(), fitted(*cloud(), leaks=(leak,)))
    assert "alone leaves less than 0.1 % of the labels wrong" in finding.sentence
    assert "1 row contradicts it." in finding.sentence


def test_without_a_leak_nothing_is_given_away():
    assert names(GivenAway(), fitted(*cloud())) == []


def test_columns_that_are_mostly_empty_are_a_note():
    frame, _ = cloud()
    frame.loc[:149, "b"], frame.loc[:20, "c"] = np.nan, np.nan
    finding = only(MissingValues(), fitted(frame, np.tile(["no", "yes"], 100)))
    assert (finding.severity, finding.columns) == ("note", ("b",))
    assert "'b' (75 %)" in finding.sentence


def test_missing_values_that_depend_on_the_class_are_a_warning_with_their_rows():
    frame, _ = cloud()
    y = np.tile(["no", "yes"], 100)
    frame.loc[0:120:2, "c"] = np.nan
    finding = only(MissingValues(), fitted(frame, y))
    assert (finding.severity, finding.columns) == ("warning", ("c",))
    assert finding.rows.tolist() == list(range(0, 121, 2))
    assert "61 % of the rows with 'no', but in 0 % of the others" in finding.sentence


def test_missing_values_that_depend_on_a_number_are_a_warning():
    frame, _ = cloud()
    y = np.random.default_rng(1).permutation(200).astype(float)
    frame.loc[y > 140, "c"] = np.nan
    finding = only(MissingValues(), fitted(frame, y, "regression"))
    assert "a high 'label'" in finding.sentence


def test_values_missing_at_random_are_no_finding():
    frame, y = cloud()
    frame.loc[np.random.default_rng(1).choice(200, 60, replace=False), "c"] = np.nan
    assert names(MissingValues(), fitted(frame, y)) == []


# -- All -------------------------------------------------------------------------------------------


def test_a_clean_table_has_no_finding():
    assert find_all(fitted(*cloud())) == []


def test_problems_come_first_and_each_finding_says_how_to_act():
    frame, y = with_copies(other_label=[30], same_label=[80])
    frame.loc[50, ["a", "b"]] = [14.0, -12.0]
    frame["empty"] = np.where(np.arange(len(frame)) < 20, 1.0, np.nan)
    found = find_all(fitted(frame, y))
    assert [it.severity for it in found] == ["problem", "warning", "warning", "note"]
    for finding in found:
        assert finding.sentence.endswith(".")
        assert finding.action.endswith(".")
        assert finding.rows.dtype == np.intp


def test_a_new_finder_is_a_class_and_a_line(monkeypatch):
    class Always:
        def find(self, fitted):
            yield findings.Finding("Rows", "note", f"{len(fitted.rows.y)} rows.", "Nothing to do.")

    monkeypatch.setattr(findings, "FINDERS", (Always(),))
    assert [it.sentence for it in find_all(fitted(*cloud()))] == ["200 rows."]


def test_findings_of_a_real_fit_name_the_rows_of_its_table():
    frame = mixed(n=160)
    frame.loc[40, "noise"] = 60.0
    frame = pd.concat([frame, frame.iloc[[50, 51]]], ignore_index=True)
    found = {it.name: it for it in find_all(fit_rows(rows(frame), model="linear"))}
    assert sorted(found["Exact copies"].rows.tolist()) == [50, 51, 160, 161]
    assert found["Rows far from all others"].rows.tolist() == [40]
    assert found["Rows far from all others"].columns[0] == "noise"


def test_keys_that_repeat_are_told_unless_rows_are_held_out_by_them():
    frame = mixed().assign(patient_id=np.arange(240) // 4 + 1000)
    finding = only(Entities(), fit_rows(rows(frame), model="linear", m=0))
    assert finding.columns == ("patient_id",)
    assert finding.severity == "warning"
    by_patient = fit_rows(rows(frame, group_folds="patient_id"), model="linear", m=0)
    assert list(Entities().find(by_patient)) == []


def test_a_recoding_that_somebody_asks_for_is_not_said_to_be_left_out():
    frame = mixed().assign(code=lambda it: it["y"].map({"yes": "J", "no": "N"}))
    left = only(GivenAway(), fit_rows(rows(frame), model="linear", m=0))
    assert left.sentence.endswith("so it is left out.")
    asked = only(GivenAway(), fit_rows(rows(frame, category=("code",)), model="linear", m=0))
    assert asked.sentence.endswith("so that no label looks wrong.")


@pytest.mark.parametrize("seed", range(4))
def test_rows_of_a_few_flags_agree_by_chance(seed):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        rng.choice(["y", "n"], (220, 11)), columns=[f"flag {i}" for i in range(11)]
    )
    table = fitted(frame, rng.choice(["a", "b"], 220))
    assert list(Copies().find(table)) == []
    assert list(NearCopies().find(table)) == []


def test_a_row_that_is_very_far_is_a_warning():
    frame, y = cloud()
    for value, severity in ((6.0, "note"), (60.0, "warning")):
        frame.loc[0, ["a", "b", "c"]] = value
        assert only(FarRows(), fitted(frame, y)).severity == severity
