import pytest

pytest.importorskip("pandas", reason="tables are an extra")

import numpy as np
import pandas as pd

from sorr import RankedRangeClassifier
from sorr.auditing import TableError, dump_model, fit
from sorr.auditing.fit import fit_rows, take_rows
from tests.auditing.tables import clear, line, mixed, rows, three_classes
from tests.slow import slow


@pytest.fixture(scope="module", params=["forest", "linear", *slow("boosting")])
def judged(request):
    return fit_rows(rows(clear()), model=request.param)


def test_flagged_rows_are_dropped_and_the_model_is_the_named_one(judged):
    judgement = judged.judgement
    np.testing.assert_array_equal(judged.dropped, judgement.flagged_)
    assert judged.dropped[:30].sum() >= 24
    assert judged.dropped[30:].sum() <= 3
    assert judgement.verdict_ != "none"
    kinds = {
        "forest": "ExtraTreesClassifier",
        "linear": "RankedRangeClassifier",
        "boosting": "HistGradientBoostingClassifier",
    }
    assert type(judged.model).__name__ == kinds[judged.name]


def test_the_model_predicts_from_raw_rows(judged):
    frame = judged.rows.frame
    expected = judged.model.predict(judged.X)
    np.testing.assert_array_equal(judged.pipeline.predict(frame), expected)


def test_predictions_of_trees_are_those_of_trees_that_have_not_seen_the_row(judged):
    wrong = (judged.prediction != judged.rows.y).mean()
    if judged.is_linear:
        np.testing.assert_array_equal(judged.prediction, judged.model.predict(judged.X))
    else:
        np.testing.assert_array_equal(judged.prediction, judged.held_out)
    assert 26 / 432 <= wrong <= 50 / 432  # the wrong labels


def test_a_linear_model_of_the_kept_rows_is_at_hand(judged):
    assert (judged.line is judged.model) == judged.is_linear
    kept = ~judged.dropped
    assert (judged.line.predict(judged.X[kept]) == judged.rows.y[kept]).mean() > 0.9


def test_a_linear_model_without_the_flagged_rows_has_learned_from_the_others():
    fitted = fit_rows(rows(clear()), model="linear")
    kept = ~fitted.dropped
    again = RankedRangeClassifier(m=0, C=float(kept.sum())).fit(fitted.X[kept], fitted.rows.y[kept])
    np.testing.assert_allclose(fitted.model.coef_, again.coef_, rtol=1e-4, atol=1e-6)
    assert len(fitted.losses) == 432
    np.testing.assert_array_equal(fitted.counts, np.bincount(fitted.groups, fitted.dropped))


def test_without_evidence_nothing_is_dropped():
    rng = np.random.default_rng(0)
    frame = mixed(n=200, flipped=0)
    frame["y"] = rng.permutation(frame["y"])
    fitted = fit_rows(rows(frame), model="linear")
    assert fitted.judgement.verdict_ == "none"
    assert not fitted.dropped.any()


def test_a_number_is_one_of_all_rows_and_a_share_one_of_each_class():
    assert fit_rows(rows(mixed()), model="linear", m=9).counts.tolist() == [9]
    share = fit_rows(rows(mixed()), model="linear", m=0.1)
    np.testing.assert_array_equal(share.counts, np.floor(0.1 * np.bincount(share.class_of_row)))
    np.testing.assert_array_equal(share.losses, share.model.losses_)
    assert share.judgement is not None  # for the probabilities
    assert fit_rows(rows(line(), "price"), model="linear", m=0.05).counts.tolist() == [10]


@pytest.mark.parametrize("model", ["linear", "boosting", *slow("auto", "forest")])
def test_numbers_are_judged_by_every_model(model):
    fitted = fit_rows(rows(line(), "price"), model=model)
    assert fitted.name == model
    assert fitted.classes == []
    assert fitted.dropped[:6].all()
    assert fitted.dropped.sum() <= 9  # trees miss the ends of a line
    np.testing.assert_array_equal(fitted.dropped, fitted.judgement.flagged_)
    np.testing.assert_array_equal(fitted.held_out, fitted.judgement.suggested_)


def test_with_a_number_of_rows_a_linear_model_of_numbers_drops_the_largest_losses():
    fitted = fit_rows(rows(line(), "price"), model="linear", m=9)
    assert fitted.dropped.sum() == 9
    assert fitted.losses[fitted.dropped].min() >= fitted.losses[~fitted.dropped].max()
    assert fitted.judgement.flagged_.sum() == 6


@pytest.mark.parametrize(
    ("target", "options", "message"),
    [
        ("y", {"m": 0.05}, "m=0.05 needs a linear model, but the model is model='auto', which"),
        ("y", {"m": 8, "model": "forest"}, "needed model='linear', or no m$"),
        ("y", {"model": "forrest"}, "model='forrest' is not known; did you mean 'forest'"),
        ("y", {"model": None}, "model='NoneType' is not known; needed one of 'auto', 'forest'"),
        ("age", {"m": 5}, "m=5 needs a linear model, but the model is model='auto', which drops"),
    ],
)
def test_a_model_that_does_not_suit_is_refused_with_the_way_out(target, options, message):
    frame = mixed().assign(age=lambda it: it["age"].fillna(40.0))
    with pytest.raises(TableError, match=message):
        fit_rows(rows(frame, target), **options)


def test_many_categories_are_sparse_and_judged_like_others():
    frame = mixed(n=240)
    for i in range(6):
        frame[f"c{i}"] = [f"v{(7 * j + i) % (8 + i)}" for j in range(len(frame))]
    thin = fit_rows(rows(frame), model="forest")
    assert hasattr(thin.X, "toarray")
    full = fit_rows(rows(frame), model="boosting")
    assert not hasattr(full.X, "toarray")
    assert len(full.pipeline.predict(frame)) == 240


def test_of_many_rows_a_forest_learns_from_a_part_that_has_every_class(monkeypatch):
    index = np.repeat([0, 1], [5000, 3])
    part = take_rows(index, np.arange(5003), 100, 0)
    assert 100 <= len(part) <= 102
    assert np.bincount(index[part])[1] >= 2
    monkeypatch.setattr(fit, "_MAX_TREE_ROWS", 60)
    small = fit_rows(rows(three_classes(n=120)), model="forest").model
    assert max(len(drawn) for drawn in small.estimators_samples_) <= 60


def test_progress_goes_forward_however_many_steps_there_are():
    told = []
    tell = fit._in_halves(lambda done, total, text: told.append((done, total, text)))
    for _ in range(3):
        for i in range(5):
            tell(i, 4, "a step")
    done = [it[0] for it in told]
    assert done == sorted(done)
    assert done[-1] < 0.9
    assert fit._in_halves(None) is None


def test_a_certificate_is_made_unless_it_would_take_much_memory(monkeypatch):
    assert fit_rows(rows(mixed()), model="linear", m=0.05).model.gap_ < 1e-6
    monkeypatch.setattr(fit, "_LARGEST_CURVATURE", 240 * 2**2 - 1)
    assert not fit_rows(rows(mixed()), model="linear", m=0.05).model.certify


@pytest.mark.parametrize("model", ["forest", *slow("linear")])
def test_the_saved_model_does_not_depend_on_the_number_of_threads(model):
    pytest.importorskip("skops", reason="model files are an extra")
    table = rows(clear(n=120, flipped=10))
    contents = [dump_model(fit_rows(table, model=model, jobs=jobs).pipeline) for jobs in (1, 2)]
    assert contents[0] == contents[1]


@pytest.mark.parametrize("model", ["forest", *slow("auto", "boosting")])
def test_rows_of_an_entity_do_not_predict_each_other(model):
    rng = np.random.default_rng(0)
    places, labels = rng.normal(size=(60, 3)), rng.choice(["a", "b"], 60)
    entity = np.repeat(np.arange(60), 4)
    X = places[entity] + 0.01 * rng.normal(size=(240, 3))
    frame = pd.DataFrame(X, columns=["p", "q", "r"]).assign(who=entity, y=labels[entity])
    seen = fit_rows(rows(frame, ignore=("who",)), model=model)
    apart = fit_rows(rows(frame, group_folds="who"), model=model)
    assert (seen.held_out == frame["y"]).mean() > 0.8
    assert (apart.held_out == frame["y"]).mean() < 0.7
