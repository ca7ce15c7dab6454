import re
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import expit, softmax
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from sorr import (
    ConstantModelWarning,
    NotConvergedWarning,
    RankedRangeClassifier,
    SeparableWarning,
)
from sorr.estimators import ranked_range
from sorr.losses import SquaredHinge, get_loss
from sorr.objectives import RankedRangeObjective
from sorr.solvers import Status, exhaustive, topsum
from tests.estimators.problems import three_classes, wrong_labels
from tests.slow import slow


def robust(**changes):
    """Return a classifier that drops a tenth of each class; ``m="auto"`` has its own section."""
    return RankedRangeClassifier(**({"random_state": 0, "C": 100.0, "m": 0.1} | changes))


# -- what is minimised --------------------------------------------------------------------------


def test_without_ranks_two_classes_are_logistic_regression():
    X, y, _ = wrong_labels()
    ours = robust(m=0).fit(X, y)
    peer = LogisticRegression(C=100.0 / len(y), tol=1e-10, max_iter=1000).fit(X, y)
    assert_allclose(ours.coef_, peer.coef_, rtol=1e-5)
    assert_allclose(ours.intercept_, peer.intercept_, rtol=1e-5)
    assert_allclose(ours.predict_proba(X), peer.predict_proba(X), rtol=1e-5)


def test_without_ranks_three_classes_are_multinomial_logistic_regression():
    X, y = three_classes()
    ours = robust(m=0).fit(X, y)
    peer = LogisticRegression(C=100.0 / len(y), tol=1e-10, max_iter=1000).fit(X, y)
    assert_allclose(ours.coef_, peer.coef_, rtol=1e-4)
    assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=1e-6)
    assert_allclose(ours.intercept_.sum(), 0, atol=1e-12)


@pytest.mark.parametrize("has_class_weights", [False, True])
@pytest.mark.parametrize("classes", [2, 3])
def test_by_default_the_ridge_is_that_of_logistic_regression(classes, has_class_weights):
    X, y = wrong_labels()[:2] if classes == 2 else three_classes()
    factors = dict(zip(np.unique(y), [2.0, 0.5, 1.0], strict=False))
    options = {"class_weight": factors} if has_class_weights else {}
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y))
    model = RankedRangeClassifier(m=0, tol=1e-10, **options).fit(X, y, weight)
    peer = LogisticRegression(tol=1e-10, max_iter=1000, **options).fit(X, y, weight)
    assert_allclose(model.coef_, peer.coef_, atol=1e-5)
    trimmed = RankedRangeClassifier(m=0.1, tol=1e-10, random_state=0, ranking="pooled").fit(X, y)
    kept = ~trimmed.outlier_mask_
    alone = LogisticRegression(tol=1e-10, max_iter=1000).fit(X[kept], y[kept])
    assert_allclose(trimmed.coef_, alone.coef_, atol=1e-5)


@pytest.mark.parametrize(("m", "k"), [(0, 0.9), (30, 100), (0.2, 0.6)])
def test_the_default_ridge_goes_by_the_rows_that_are_not_dropped(m, k):
    X, y, _ = wrong_labels()
    options = {"m": m, "k": k, "ranking": "pooled", "random_state": 0}
    kept = len(y) - (round(m * len(y)) if isinstance(m, float) else m)
    model, same = (RankedRangeClassifier(C=C, **options).fit(X, y) for C in ("auto", float(kept)))
    assert_allclose(model.coef_, same.coef_)


def test_without_ranks_the_hinge_is_a_support_vector_machine():
    X, y, _ = wrong_labels(n=80)
    ours = robust(m=0, loss="hinge").fit(X, y)
    peer = SVC(kernel="linear", C=100.0 / len(y), tol=1e-8).fit(X, y)
    assert_allclose(ours.coef_, peer.coef_, rtol=1e-3, atol=1e-3)


def test_within_classes_a_tiny_problem_matches_enumeration():
    X, y, _ = wrong_labels(n=16, d=2, rate=0.2, noise=1.0)
    sign = np.where(y == "yes", 1.0, -1.0)
    model = robust(m={"yes": 2, "no": 1}).fit(X, y)
    problem = RankedRangeObjective(X, sign, m={1.0: 2, -1.0: 1}, C=100.0, groups=sign)
    assert_allclose(model.objective_, exhaustive(problem).objective, rtol=1e-6)


def test_the_solvers_agree_where_they_all_apply():
    X, y, _ = wrong_labels(n=14, d=2, noise=1.0)
    objectives = [robust(m=0, solver=s, tol=1e-9).fit(X, y).objective_ for s in ("trim", "dca")]
    sign = np.where(y == "yes", 1.0, -1.0)
    problem = RankedRangeObjective(X, sign, C=100.0, groups=sign)
    objectives += [solve(problem, tol=1e-9).objective for solve in (topsum, exhaustive)]
    assert_allclose(objectives, objectives[0], rtol=1e-5)


def test_pooled_ranking_is_the_average_of_ranked_range():
    X, y, _ = wrong_labels()
    model = robust(m=40, k=200, ranking="pooled").fit(X, y)
    raw = model.decision_function(X) * np.where(y == "yes", 1, -1)
    kept = np.sort(np.logaddexp(0, -raw))[::-1][40:200]
    ridge = (model.coef_**2).sum() / 200
    assert_allclose(model.objective_, kept.mean() + ridge, rtol=1e-12)


def test_within_classes_each_class_is_ranked_by_itself():
    X, y, _ = wrong_labels()
    model = robust(m=0.1, k=0.7).fit(X, y)
    losses = np.logaddexp(0, -model.decision_function(X) * np.where(y == "yes", 1, -1))
    expected = (model.coef_**2).sum() / 200
    for index, name in enumerate(model.classes_):
        mine = np.sort(losses[y == name])[::-1]
        n = len(mine)
        m, k = int(0.1 * n), int(np.ceil(0.7 * n))
        expected += n / len(y) * mine[m:k].mean()
        assert (model.m_[index], model.k_[index]) == (m, k)
        assert_allclose(model.thresholds_[index], [mine[m - 1], mine[k - 1]])
        assert (model.outlier_mask_ & (y == name)).sum() == m
    assert_allclose(model.objective_, expected, rtol=1e-12)
    assert_allclose(model.losses_, losses)


def test_wrong_labels_are_left_out_and_the_model_is_that_of_the_right_ones():
    X, y, wrong = wrong_labels(n=400, noise=0.0)
    truth = np.where(wrong, np.where(y == "yes", "no", "yes"), y)
    planted = {name: int(wrong[y == name].sum()) for name in ("no", "yes")}
    model = robust(m=planted, C=1e4).fit(X, y)
    assert model.outlier_mask_[wrong].all()
    assert model.score(X, truth) > 0.98 > LogisticRegression().fit(X, y).score(X, truth)


def test_three_classes_find_wrong_labels_too():
    X, y = three_classes()
    wrong = np.flatnonzero(y == "a")[:10]
    y[wrong] = "b"
    model = robust(m={"b": 12}).fit(X, y)
    assert np.isin(wrong, np.flatnonzero(model.outlier_mask_)).mean() >= 0.8
    assert not model.outlier_mask_[y != "b"].any()
    assert model.coef_.shape == (3, 2)
    assert model.status_ is Status.CERTIFIED


def test_the_multiclass_hinge_is_certified_too():
    X, y = three_classes(n=120)
    model = robust(m=0.05, loss="hinge").fit(X, y)
    assert model.score(X, y) > 0.8
    assert model.gap_ < 1e-6
    assert model.status_ is Status.CERTIFIED
    raw = model.decision_function(X)
    index = np.searchsorted(model.classes_, y)
    expected = get_loss("multiclass_hinge").value(index, raw)
    assert_allclose(model.losses_, expected, atol=1e-9)  # corners: zero but for rounding


# -- masses -------------------------------------------------------------------------------------


@pytest.mark.parametrize("ranking", ["within_class", "pooled"])
def test_a_row_of_weight_two_is_two_rows(ranking):
    X, y, _ = wrong_labels(n=60, noise=1.0)
    weight = np.random.default_rng(1).integers(0, 4, size=60)
    repeated = robust(m=0.1, ranking=ranking).fit(X.repeat(weight, axis=0), y.repeat(weight))
    weighted = robust(m=0.1, ranking=ranking).fit(X, y, sample_weight=weight)
    assert_allclose(weighted.objective_, repeated.objective_, rtol=1e-9)
    assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-6)
    assert_array_equal(weighted.m_, repeated.m_)
    assert np.isnan(weighted.losses_[weight == 0]).all()
    assert (weighted.row_weights_[weight == 0] == 0).all()
    assert not weighted.outlier_mask_[weight == 0].any()


def test_weights_of_any_scale_give_the_same_model():
    X, y, _ = wrong_labels(n=100, noise=1.0)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, size=100)
    one, other = (robust().fit(X, y, sample_weight=scale * weight) for scale in (1.0, 1e-3))
    assert_allclose(one.coef_, other.coef_, rtol=1e-6)


@pytest.mark.parametrize("ranking", ["within_class", "pooled"])
def test_class_weights_multiply_the_mass_of_rows(ranking):
    X, y, _ = wrong_labels(n=100, noise=1.0)
    by_class = robust(m=0.1, ranking=ranking, class_weight={"yes": 3.0}).fit(X, y)
    weight = np.where(y == "yes", 3.0, 1.0)
    by_row = robust(m=0.1, ranking=ranking).fit(X, y, sample_weight=weight)
    if ranking == "within_class":  # where fractions of rows round before they are weighted
        assert_array_equal(by_class.m_, [(0.1 * (y == c).sum()) // 1 for c in ("no", "yes")])
        assert_allclose(list(by_class.minima_[0].dropped.values()), by_class.m_)
        assert_allclose(by_class.k_, [(y == c).sum() for c in ("no", "yes")])
    else:
        assert_allclose(by_class.coef_, by_row.coef_, rtol=1e-6)
    assert by_class.intercept_ > robust(m=0.1, ranking=ranking).fit(X, y).intercept_


def test_class_weights_and_sample_weights_multiply():
    X, y, _ = wrong_labels(n=100, noise=1.0)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, size=100)
    options = {"m": 0.1, "ranking": "pooled"}
    both = robust(class_weight={"yes": 3.0}, **options).fit(X, y, sample_weight=weight)
    product = weight * np.where(y == "yes", 3.0, 1.0)
    assert_allclose(both.coef_, robust(**options).fit(X, y, sample_weight=product).coef_, rtol=1e-6)


def test_huge_weights_are_masses_and_no_numbers_of_rows():
    X, y, _ = wrong_labels(n=60)
    huge = robust().fit(X, y, sample_weight=np.full(60, 1e19))
    assert_allclose(huge.m_, 1e18 * np.array([(y == c).sum() for c in ("no", "yes")]))


def test_balanced_class_weights_are_those_of_scikit_learn():
    X, y, _ = wrong_labels()
    y[:80] = "no"
    ours = robust(m=0, class_weight="balanced").fit(X, y)
    peer = LogisticRegression(C=100.0 / len(y), class_weight="balanced", tol=1e-10).fit(X, y)
    assert_allclose(ours.coef_, peer.coef_, rtol=1e-5)
    weight = np.where(y == "no", 2.0, 1.0)  # balanced by mass: weights of a class cancel
    heavy = robust(m=0, class_weight="balanced").fit(X, y, sample_weight=weight)
    assert_allclose(heavy.coef_, ours.coef_, rtol=1e-5)


# -- what a fit tells ---------------------------------------------------------------------------


def test_row_weights_sum_to_one_and_are_zero_for_rows_left_out():
    X, y, _ = wrong_labels()
    model = robust(m=0.1, k=0.6).fit(X, y)
    assert_allclose(model.row_weights_.sum(), 1)
    assert (model.row_weights_[model.outlier_mask_] == 0).all()
    loss_part = model.row_weights_ @ model.losses_
    assert_allclose(model.objective_, loss_part + (model.coef_**2).sum() / 200)


def test_the_outlier_score_is_positive_for_the_rows_left_out_and_for_no_other():
    X, y, _ = wrong_labels()
    for model in (robust(), robust(m=30, ranking="pooled"), robust(loss="hinge", m=0.05)):
        score = model.fit(X, y).outlier_score(X, y)
        assert_array_equal(score > 0, model.outlier_mask_)


def test_losses_of_rows_are_those_of_the_fit_and_the_logarithm_of_their_probability():
    X, y, _ = wrong_labels()
    model = robust().fit(X, y)
    assert_allclose(model.row_losses(X, y), model.losses_, rtol=1e-9)
    own = model.predict_proba(X)[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    assert_allclose(model.row_losses(X, y), -np.log(own), rtol=1e-6)


def test_the_outlier_score_of_a_new_row_grows_with_its_loss():
    X, y, _ = wrong_labels()
    model = robust().fit(X, y)
    along = model.coef_ * np.array([[-3.0], [0.0], [3.0]])
    assert (np.diff(model.outlier_score(along, ["yes"] * 3)) < 0).all()
    with pytest.raises(ValueError, match="'maybe', which is not a class of the fit"):
        model.outlier_score(along, ["yes", "no", "maybe"])
    with pytest.raises(ValueError, match="X has 3 rows, y 2"):
        model.outlier_score(along, ["yes", "no"])


@pytest.mark.parametrize("seed", [0, 1, *slow(*range(2, 8))])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rounding_does_not_make_outliers_of_rows_that_were_kept(seed, dtype):
    X, y = three_classes(n=150, seed=seed)
    X = np.hstack([X, np.random.default_rng(seed).normal(size=(150, 9))]).astype(dtype)
    model = robust(C=10.0).fit(X, y)
    assert_array_equal(model.outlier_score(X, y) > 0, model.outlier_mask_)
    each = [model.outlier_score(X[i : i + 1], y[i : i + 1])[0] for i in range(150)]
    assert_array_equal(np.array(each) > 0, model.outlier_mask_)


def test_what_is_asked_of_a_fitted_model_is_about_the_loss_of_the_fit():
    X, y, _ = wrong_labels(n=80)
    model = robust().fit(X, y)
    before, proba = model.outlier_score(X, y), model.predict_proba(X)
    model.set_params(loss="hinge")
    assert_array_equal(model.outlier_score(X, y), before)
    assert_array_equal(model.predict_proba(X), proba)
    X, y = three_classes(n=60)
    assert robust(loss="softmax").fit(X, y).predict_proba(X).shape == (60, 3)


def test_the_iterations_are_the_steps_after_the_starts():
    X, y, _ = wrong_labels()
    model = robust().fit(X, y)
    assert model.n_iter_ == sum(step.phase != "start" for step in model.trace_)


def test_without_a_certificate_there_is_no_gap():
    X, y, _ = wrong_labels()
    model = robust(certify=False).fit(X, y)
    assert (model.status_, model.gap_) == (Status.CONVERGED, np.inf)


def test_where_nothing_is_dropped_the_upper_threshold_is_infinite():
    X, y, _ = wrong_labels()
    model = robust(m={"yes": 5}).fit(X, y)
    assert_array_equal(np.isinf(model.thresholds_[:, 0]), [True, False])
    assert np.isfinite(model.outlier_score(X, y)).all()


def test_ties_at_the_cut_are_left_out_together_or_not_at_all():
    X = np.repeat([[0.0], [1.0]], 10, axis=0)
    y = np.repeat([0, 1], 10)
    y[:3] = 1  # three rows alike, all of them wrong
    for m, out in ((2, True), (1, False)):
        mask = robust(m={1: m}).fit(X, y).outlier_mask_
        assert_array_equal(mask[:3], [out] * 3)
        assert not mask[3:].any()


def test_the_minima_tell_what_is_dropped_of_each_class():
    X, y, _ = wrong_labels()
    model = robust(m=30, ranking="pooled").fit(X, y)
    best = model.minima_[0]
    assert best.objective == model.objective_
    assert set(best.dropped) == {"no", "yes"}
    for name in best.dropped:
        assert best.dropped[name] == (model.outlier_mask_ & (y == name)).sum()


def test_probabilities_are_those_of_the_loss():
    X, y, _ = wrong_labels()
    model = robust().fit(X, y)
    assert_allclose(model.predict_proba(X)[:, 1], expit(model.decision_function(X)))
    model = robust(loss=SquaredHinge()).fit(X, y)
    expected = np.clip((1 + model.decision_function(X)) / 2, 0, 1)
    assert_allclose(model.predict_proba(X)[:, 1], expected, atol=1e-12)
    X, y = three_classes()
    model = robust().fit(X, y)
    assert_allclose(model.predict_proba(X), softmax(model.decision_function(X), axis=1))


def test_a_hinge_has_no_probabilities_and_says_what_has():
    X, y, _ = wrong_labels(n=40)
    model = robust(loss="hinge").fit(X, y)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError) as raised:
        model.predict_proba(X)
    assert "needed a smooth loss, such as 'logistic'" in str(raised.value.__cause__)


@pytest.mark.parametrize("labels", [(0, 1), (-1, 1), (False, True), (2.0, 7.0), ("x", "y")])
def test_labels_may_be_of_any_kind(labels):
    X, y, _ = wrong_labels(labels=labels)
    model = robust().fit(X, y)
    assert model.predict(X).dtype == y.dtype
    assert_array_equal(model.classes_, labels)
    assert model.score(X, y) > 0.8


def test_dense_and_sparse_rows_give_the_same_model():
    X, y, _ = wrong_labels()
    X[np.abs(X) < 0.5] = 0
    dense = robust().fit(X, y)
    for form in (sparse.csr_array, sparse.csc_array, sparse.coo_array):
        model = robust().fit(form(X), y)
        assert_allclose(model.coef_, dense.coef_, rtol=1e-6)
        assert_allclose(model.outlier_score(form(X), y), dense.outlier_score(X, y), rtol=1e-6)


def test_single_precision_is_kept_and_gives_nearly_the_same_model():
    X, y, _ = wrong_labels()
    double, single = robust().fit(X, y), robust().fit(X.astype(np.float32), y)
    assert_allclose(single.coef_, double.coef_, rtol=1e-3)


# -- running ------------------------------------------------------------------------------------


def test_a_warm_start_continues_and_finds_no_worse():
    X, y, _ = wrong_labels()
    model = robust(warm_start=True).fit(X, y)
    before = model.objective_
    again = model.fit(X, y)
    assert again.trace_[0].phase == "start"
    assert_allclose([again.trace_[0].objective, again.objective_], before, rtol=1e-9)
    assert {step.start for step in again.trace_} == {0}


def test_a_warm_start_of_another_shape_begins_anew():
    X, y, _ = wrong_labels(n=120)
    model = robust(warm_start=True).fit(X, y)
    assert_allclose(model.fit(X[:, :2], y).coef_, robust().fit(X[:, :2], y).coef_, rtol=1e-5)
    model.set_params(fit_intercept=False).fit(X[:, :2], y)
    assert model.intercept_ == 0
    X, y = three_classes(n=120)
    assert model.set_params(fit_intercept=True).fit(X, y).coef_.shape == (3, 2)


@pytest.mark.digits
def test_the_same_seed_gives_the_same_bytes_whatever_the_number_of_jobs():
    X, y, _ = wrong_labels()
    models = [robust(random_state=3, n_jobs=jobs).fit(X, y) for jobs in (None, 1, 2)]
    for other in models[1:]:
        assert other.coef_.tobytes() == models[0].coef_.tobytes()
    generators = [np.random.RandomState(5), np.random.RandomState(5)]
    one, two = (robust(random_state=g).fit(X, y) for g in generators)
    assert one.coef_.tobytes() == two.coef_.tobytes()


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_interrupted_fit_leaves_the_estimator_as_it_was(monkeypatch, error):
    X, y, _ = wrong_labels()
    model = robust().fit(X, y)
    before = dict(vars(model))

    def interrupted(*_, **__):
        raise error

    monkeypatch.setattr(ranked_range, "trim", interrupted)
    with pytest.raises(error):
        model.fit(X[:, :2], np.where(y == "yes", 1, 0))
    assert vars(model) == before
    assert model.score(X, y) > 0.8


def test_an_interrupted_first_fit_leaves_nothing_behind(monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    model = robust()
    monkeypatch.setattr(ranked_range, "trim", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*wrong_labels(n=40)[:2])
    assert vars(model) == model.get_params()


def test_progress_is_reported_only_on_request(capsys):
    X, y, _ = wrong_labels(n=60)
    robust().fit(X, y)
    assert capsys.readouterr() == ("", "")
    robust(verbose=2).fit(X, y)
    assert re.match(r"\[RankedRangeClassifier\] \d+ s: start 0", capsys.readouterr().err)


def test_a_short_fit_reports_nothing_at_the_first_level(capsys):
    X, y, _ = wrong_labels(n=60)
    robust(verbose=1).fit(X, y)
    assert capsys.readouterr() == ("", "")


# -- warnings -----------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["trim", "dca"])
def test_a_constant_model_is_called_one(solver):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 2)), rng.integers(2, size=12)
    with pytest.warns(ConstantModelWarning, match="Constant model") as caught:
        model = robust(m=0, k=1, ranking="pooled", solver=solver).fit(X, y)
    assert model.status_ is Status.CONSTANT_MODEL
    assert caught[0].filename == __file__


@pytest.mark.parametrize("C", [1e12, np.inf])
def test_separable_rows_with_a_huge_c_are_called_separable(C):
    X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    with pytest.warns(SeparableWarning, match=re.escape(f"C={C:g} sets the size")) as caught:
        model = robust(m=0, C=C).fit(X, [0, 0, 1, 1])
    assert np.isfinite(model.coef_).all()
    assert caught[0].filename == __file__


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "modified_huber", "smooth_hinge"])
def test_where_the_margin_limits_coefficients_nothing_is_called_separable(loss):
    X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    model = robust(m=0, C=1e8, loss=loss).fit(X, [0, 0, 1, 1])
    assert_allclose(model.coef_, 1.0, rtol=1e-3)


def test_a_fit_that_did_not_end_says_so():
    options = {"m": 0.3, "k": 0.4, "n_starts": 1, "ranking": "pooled"}
    said = []
    for seed in range(6):  # one trimming step is enough for one or two: which depends on rounding
        X, y, _ = wrong_labels(n=1000, d=40, noise=4.0, seed=seed)
        assert robust(**options).fit(X, y).status_ is Status.CERTIFIED
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = robust(max_iter=1, **options).fit(X, y)
        assert (model.status_ is Status.NOT_FIXED) == bool(caught)
        said += caught
    assert {str(notice.filename) for notice in said} == {__file__}
    assert {notice.category for notice in said} == {NotConvergedWarning}
    assert "raise max_iter" in str(said[0].message)


def test_a_limit_of_outer_steps_is_one_of_the_papers_algorithm_too():
    X, y, _ = wrong_labels(n=400, d=6, noise=1.0)
    with pytest.warns(NotConvergedWarning, match="limit of iterations"):
        robust(m=0.2, solver="dca", max_iter=1).fit(X, y)


# -- m="auto" -----------------------------------------------------------------------------------


def automatic(**changes):
    return RankedRangeClassifier(**({"random_state": 0} | changes))


def flipped(n=600, seed=0, rate=0.2):
    """Return rows of two classes of which a fifth of the second is called the first."""
    X, y, _ = wrong_labels(n=n, rate=0.0, seed=seed, noise=0.3)
    wrong = (y == "yes") & (np.random.default_rng(seed).random(n) < rate)
    return X, np.where(wrong, "no", y), wrong


def overlapping(n=400, seed=0):
    """Return rows of two classes that overlap, none of them with a wrong label."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.where(rng.random(n) < expit(X @ [1.5, -1.0, 0.0]), "yes", "no")


def far_away(n=400, seed=0):
    """Return rows with a few that lie far from all others and have the wrong label."""
    X, y, _ = wrong_labels(n=n, rate=0.0, seed=seed, noise=0.3)
    X[:12] = 15 * np.linspace(2.0, -1.0, 3) + 0.1 * X[:12]
    y[:12] = "no"
    return X, y, np.arange(n) < 12


def dropped_by(model, weight=None):
    """Return the mass of the rows that a fit dropped."""
    return (model.outlier_mask_ * (1.0 if weight is None else weight)).sum()


def check_consistency(model, X, y, weight=None):
    """Check that all attributes tell of the same dropped rows."""
    mass = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=float)
    mask = model.outlier_mask_
    if len(model.m_) > 1:
        expected = [mass[mask & (y == name)].sum() for name in model.classes_]
        sizes = [mass[y == name].sum() for name in model.classes_]
    else:
        expected, sizes = [mass[mask].sum()], [mass.sum()]
    assert_allclose(model.m_, expected)
    assert_allclose(model.k_, sizes)
    assert np.isinf(model.thresholds_[:, 0]).all()
    assert (model.row_weights_[mask] == 0).all()
    assert_allclose(model.row_weights_.sum(), 1)
    counted = mass > 0
    assert_allclose(model.losses_[counted], model.row_losses(X, y)[counted], rtol=1e-5, atol=1e-7)
    assert np.isnan(model.losses_[~counted]).all()
    assert not mask[~counted].any()


def test_auto_is_the_default():
    assert RankedRangeClassifier().m == "auto"


@pytest.mark.parametrize("seed", [0, *slow(1, 2)])
def test_without_wrong_labels_the_default_drops_nothing_and_is_logistic_regression(seed):
    X, y = overlapping(seed=seed)
    model = automatic(C=100.0).fit(X, y)
    assert not model.outlier_mask_.any()
    assert model.judgement_.verdict_ == "none"
    assert_array_equal(model.m_, [0, 0])
    peer = LogisticRegression(C=100.0 / len(y), tol=1e-10, max_iter=1000).fit(X, y)
    assert_allclose(model.coef_, peer.coef_, rtol=1e-5)
    check_consistency(model, X, y)


def test_the_default_drops_exactly_what_the_judge_flags():
    X, y, wrong = flipped()
    model = automatic().fit(X, y)
    assert_array_equal(model.outlier_mask_, model.judgement_.flagged_)
    assert model.outlier_mask_[wrong].mean() > 0.75
    assert wrong[model.outlier_mask_].mean() > 0.8
    check_consistency(model, X, y)
    truth = np.where(wrong, "yes", y)
    assert model.score(X, truth) > LogisticRegression().fit(X, y).score(X, truth) + 0.01


def test_the_default_learns_from_what_is_kept_and_from_nothing_else():
    X, y, _ = flipped()
    model = automatic().fit(X, y)
    kept = ~model.outlier_mask_
    alone = automatic(m=0).fit(X[kept], y[kept])
    assert_allclose(model.coef_, alone.coef_, rtol=1e-4)
    assert_allclose(model.objective_, alone.objective_, rtol=1e-6)


def test_rows_far_from_all_others_that_contradict_them_are_dropped_too():
    X, y, far = far_away()
    model = automatic().fit(X, y)
    assert model.outlier_mask_[far].all()
    assert model.outlier_mask_.sum() < 20
    check_consistency(model, X, y)
    assert model.predict([[2.0, 0.0, -1.0]]) == ["yes"]


@pytest.mark.parametrize("n", [20, 49])
def test_with_fewer_than_fifty_rows_the_default_drops_nothing(n):
    X, y, _ = wrong_labels(n=n, rate=0.2)
    X[0] = 100.0
    model = automatic(C=10.0).fit(X, y)
    assert not model.outlier_mask_.any()
    assert "too few to judge" in model.judgement_.sentence
    assert_allclose(model.coef_, automatic(C=10.0, m=0).fit(X, y).coef_, rtol=1e-9)


def test_the_default_works_with_a_last_rank():
    X, y, _ = flipped()
    model = automatic(k=0.8).fit(X, y)
    sizes = np.array([(y == name).sum() for name in model.classes_])
    assert_allclose(model.k_, np.ceil(0.8 * sizes))
    mask = model.outlier_mask_
    assert_array_equal(mask, model.judgement_.flagged_)
    assert_array_equal(model.m_, [(mask & (y == name)).sum() for name in model.classes_])
    kept = (model.row_weights_ > 0).sum()
    assert kept == (model.k_ - model.m_).sum()
    for name in model.classes_:  # the smallest losses are not learnt from
        left = (y == name) & ~mask
        used = model.row_weights_[left] > 0
        assert model.losses_[left][used].min() >= model.losses_[left][~used].max()


def test_the_default_works_with_pooled_ranking():
    X, y, _ = flipped()
    within, pooled = (automatic(ranking=r).fit(X, y) for r in ("within_class", "pooled"))
    assert pooled.m_.shape == (1,)
    assert_array_equal(pooled.outlier_mask_, within.outlier_mask_)
    check_consistency(pooled, X, y)
    assert_allclose(pooled.coef_, within.coef_, rtol=1e-4)  # no rank matters among kept rows


def test_the_default_works_with_the_papers_algorithm():
    X, y, _ = flipped(n=300)
    trim, dca = (automatic(C=100.0, solver=solver).fit(X, y) for solver in ("trim", "dca"))
    assert dca.outlier_mask_.any()
    assert_array_equal(dca.outlier_mask_, trim.outlier_mask_)
    assert_allclose(dca.objective_, trim.objective_, rtol=1e-4)


def test_the_default_works_with_a_warm_start():
    X, y, _ = flipped()
    model = automatic(warm_start=True).fit(X, y)
    before, mask = model.objective_, model.outlier_mask_
    model.fit(X, y)
    assert_allclose(model.trace_[0].objective, before, rtol=1e-9)
    assert_array_equal(model.outlier_mask_, mask)


def test_a_row_of_weight_two_is_two_rows_to_the_default():
    X, y, wrong = flipped(n=400)
    weight = np.random.default_rng(1).integers(0, 3, size=400)
    model = automatic().fit(X, y, sample_weight=weight)
    check_consistency(model, X, y, weight)
    assert_array_equal(model.m_ % 1, 0)
    assert model.outlier_mask_[wrong & (weight > 0)].mean() > 0.7
    assert len(model.judgement_.wrong_) == (weight > 0).sum()


@pytest.mark.parametrize("ranking", ["within_class", "pooled"])
def test_auto_with_weights_that_are_no_numbers_of_copies(ranking):
    X, y, wrong = flipped()
    weight = np.random.default_rng(0).uniform(0.5, 1.5, size=len(y))
    model = automatic(ranking=ranking).fit(X, y, sample_weight=weight)
    assert_allclose(model.m_.sum(), weight[wrong].sum(), rtol=0.3)
    check_consistency(model, X, y, weight)


def test_class_weights_do_not_change_what_the_default_drops():
    X, y, _ = flipped()
    plain = automatic().fit(X, y)
    heavy = automatic(class_weight={"yes": 3.0}).fit(X, y)
    assert plain.outlier_mask_.any()
    assert_array_equal(heavy.outlier_mask_, plain.outlier_mask_)
    assert_allclose(heavy.m_, plain.m_)
    assert heavy.intercept_ > plain.intercept_


@pytest.mark.parametrize("data", [far_away, *slow(flipped)])
def test_sparse_and_single_precision_rows_are_judged_alike(data):
    X, y, wrong = data()
    double = automatic().fit(X, y)
    for form in (sparse.csr_array, sparse.csc_array, np.float32):
        rows = form(X) if form is not np.float32 else X.astype(np.float32)
        model = automatic().fit(rows, y)
        assert model.outlier_mask_[wrong].mean() > 0.75
        assert (model.outlier_mask_ != double.outlier_mask_).mean() < 0.01
        check_consistency(model, rows, y)


def test_wrong_labels_of_three_classes_are_found():
    X, y = three_classes(n=1500)
    X = X * 2.0  # less overlap
    wrong = (y == "a") & (np.random.default_rng(0).random(1500) < 0.2)
    y = np.where(wrong, "b", y)
    model = automatic().fit(X, y)
    assert model.outlier_mask_[wrong].mean() > 0.7
    assert wrong[model.outlier_mask_].mean() > 0.7
    assert model.m_.argmax() == 1
    check_consistency(model, X, y)


def test_without_wrong_labels_three_classes_drop_nothing():
    X, y = three_classes(n=600)
    model = automatic(C=100.0).fit(X, y)
    assert not model.outlier_mask_.any()
    assert_array_equal(model.m_, [0, 0, 0])


def test_a_class_keeps_two_rows_whatever_is_flagged():
    X, y, _ = wrong_labels(n=400, rate=0.0, noise=0.0)
    y[:] = "no"
    y[:3] = "yes"  # three rows in the midst of the others
    model = automatic(C=10.0).fit(X, y)
    assert (~model.outlier_mask_[:3]).sum() >= 2
    assert model.classes_.tolist() == ["no", "yes"]


@pytest.mark.digits
@pytest.mark.parametrize("data", [flipped, *slow(far_away)])
def test_auto_gives_the_same_bytes_whatever_the_number_of_jobs(data):
    X, y, _ = data()
    one, two = (automatic(n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    assert one.coef_.tobytes() == two.coef_.tobytes()
    assert one.judgement_.score_.tobytes() == two.judgement_.score_.tobytes()


def test_a_refit_forgets_the_judgement():
    X, y, _ = flipped(n=300)
    model = automatic().fit(X, y)
    assert hasattr(model, "judgement_")
    assert not hasattr(model.set_params(m=0.1).fit(X, y), "judgement_")


def test_the_old_name_is_refused_and_the_new_one_named():
    X, y, _ = flipped(n=60)
    with pytest.raises(ValueError, match="m='atuo' is not known; did you mean 'auto'"):
        automatic(m="atuo").fit(X, y)
    with pytest.raises(ValueError, match="m='estimate' is not known; needed one of 'auto'"):
        automatic(m="estimate").fit(X, y)
