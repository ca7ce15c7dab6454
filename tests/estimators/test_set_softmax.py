"""The classifier of label sets, from checks of scikit-learn to its relation with softmax."""

import pickle
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, sparse
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from sorr.estimators import LabelSetClassifier, NotConvergedWarning, set_softmax
from sorr.estimators.set_softmax import SetDecision, SetSoftmax, chance, distinct_sets
from sorr.metrics import topk_accuracy, topk_multilabel_accuracy
from sorr.solvers import Status


@parametrize_with_checks([LabelSetClassifier()])
def test_scikit_learn_finds_nothing_to_complain_about(estimator, check):
    check(estimator)


def labelled(n=120, d=4, n_labels=6, seed=0):
    """Return rows, and labels of which some go together."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    Y = X @ rng.normal(size=(d, n_labels)) + 0.5 * rng.normal(size=(n, n_labels)) > 0.7
    Y[:, 1] |= Y[:, 0]
    return X, Y.astype(int)


def three_classes(n=150, seed=0):
    rng = np.random.default_rng(seed)
    index = rng.integers(3, size=n)
    centres = np.array([[2.0, 0.0], [-1.0, 1.7], [-1.0, -1.7]])
    return centres[index] + rng.normal(size=(n, 2)), np.array(["a", "b", "c"])[index]


def test_probabilities_are_those_of_the_formula():
    X, Y = labelled()
    model = LabelSetClassifier(k=2, C=5.0).fit(X, Y)
    probability = model.predict_set_proba(X[:7])
    scores = X[:7] @ model.coef_.T + model.intercept_
    for row, score in zip(probability, scores, strict=True):
        logits = [score[labels].sum() for labels in model.sets_] + model.set_intercept_
        np.testing.assert_allclose(row, np.exp(logits) / np.exp(logits).sum(), atol=1e-12)
    np.testing.assert_allclose(model.intercept_, -X.mean(axis=0) @ model.coef_.T, atol=1e-12)


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_the_labels_that_are_predicted_are_the_most_likely_to_be_right(k):
    X, Y = labelled()
    model = LabelSetClassifier(k=k).fit(X, Y)
    predicted = model.predict(X)
    assert (predicted.sum(axis=1) == k).all()
    for row, chosen in zip(model.predict_set_proba(X), predicted, strict=True):
        chances = {}
        for labels in combinations(range(6), k):
            z = np.isin(np.arange(6), labels)
            is_right = (model.sets_ <= z).all(axis=1) | (model.sets_ >= z).all(axis=1)
            chances[labels] = row @ is_right
        assert chances[tuple(np.flatnonzero(chosen))] >= max(chances.values()) - 1e-9


@pytest.mark.parametrize("k", [1, 2, 4])
def test_all_ways_to_predict_agree(k):
    X, Y = labelled()
    model = LabelSetClassifier(k=k).fit(X[:80], Y[:80])
    predicted, scores = model.predict(X), model.decision_function(X)
    np.testing.assert_array_equal(scores > 0, predicted == 1)
    names = model.predict_topk(X)
    assert names.shape == (120, k)
    for row, labels in zip(names, predicted, strict=True):
        assert set(row.tolist()) == set(np.flatnonzero(labels).tolist())
    marginal = model.predict_set_proba(X) @ model.sets_
    ordered = np.take_along_axis(marginal, names, axis=1)
    assert (np.diff(ordered, axis=1) <= 1e-12).all()  # the most probable first
    accuracy = model.score(X, Y)
    n_right = (Y & predicted.astype(bool)).sum(axis=1)
    assert accuracy == np.mean(n_right == np.minimum(Y.sum(axis=1), k))
    assert accuracy == topk_multilabel_accuracy(Y, scores, k=k)
    assert not hasattr(model, "predict_proba")


def test_k_may_be_changed_without_another_fit():
    X, Y = labelled()
    model = LabelSetClassifier(k=1).fit(X, Y)
    for k in (1, 2, 3, 4, 5):
        other = LabelSetClassifier(k=k).fit(X, Y)
        model.set_params(k=k)
        np.testing.assert_array_equal(model.predict(X), other.predict(X))
        assert model.score(X, Y) == other.score(X, Y)
    model.k = 6
    with pytest.raises(ValueError, match="k=6 labels cannot be chosen among 6"):
        model.predict(X)


def test_one_class_for_each_row_is_softmax_regression():
    X, y = three_classes()
    model = LabelSetClassifier(C=20.0, tol=1e-12).fit(X, y)
    target = np.array([[name == label for label in "abc"] for name in y], dtype=float)
    centred = X - X.mean(axis=0)

    def loss(theta):
        coef, offset = theta[:6].reshape(2, 3), theta[6:]
        logits = centred @ coef + offset
        total = np.log(np.exp(logits).sum(axis=1))
        ridge = (coef**2).sum() / 40 + 0.5e-3 * (offset**2).sum()
        return (total - (logits * target).sum(axis=1)).mean() + ridge

    peer = optimize.minimize(loss, np.zeros(9), method="BFGS", options={"gtol": 1e-8})
    assert model.objective_ == pytest.approx(peer.fun, abs=1e-9)
    np.testing.assert_allclose(model.coef_.T.ravel(), peer.x[:6], atol=1e-4)  # by differences
    logits = centred @ peer.x[:6].reshape(2, 3) + peer.x[6:]
    np.testing.assert_allclose(model.decision_function(X), logits, atol=1e-3)
    np.testing.assert_array_equal(model.predict(X), np.array(list("abc"))[logits.argmax(axis=1)])
    for k in (1, 2):
        model.k = k
        np.testing.assert_allclose(model.score(X, y), topk_accuracy(y, logits, k)[0])
        assert model.predict_topk(X).shape == (150, k)
    assert (model.predict_topk(X)[:, 0] == model.predict(X)).all()


def test_two_classes_have_one_score():
    X, y = three_classes()
    is_two = y != "c"
    model = LabelSetClassifier().fit(X[is_two], y[is_two])
    scores = model.decision_function(X)
    assert scores.shape == (150,)
    np.testing.assert_array_equal(model.predict(X), np.where(scores > 0, "b", "a"))


def test_every_form_of_the_target_gives_the_same_model():
    X, Y = labelled()
    model = LabelSetClassifier(k=2).fit(X, Y)
    for form in (sparse.csr_array(Y), Y.astype(bool), Y.tolist()):
        other = LabelSetClassifier(k=2).fit(X, form)
        np.testing.assert_array_equal(other.coef_, model.coef_)
        predicted = other.predict(X)
        assert sparse.issparse(predicted) == sparse.issparse(form)
        dense = predicted.toarray() if sparse.issparse(form) else predicted
        np.testing.assert_array_equal(dense, model.predict(X))
        assert other.score(X, form) == model.score(X, Y)


def test_dense_and_sparse_rows_give_the_same_predictions():
    X, Y = labelled()
    X[X < 0] = 0
    dense, thin = (LabelSetClassifier(k=2, tol=1e-10).fit(A, Y) for A in (X, sparse.csr_array(X)))
    np.testing.assert_allclose(dense.coef_, thin.coef_, atol=1e-4)
    np.testing.assert_allclose(
        dense.predict_set_proba(X), thin.predict_set_proba(sparse.csr_array(X)), atol=1e-4
    )


def test_a_weight_is_a_number_of_copies():
    X, Y = labelled()
    weight = np.random.default_rng(3).integers(0, 3, size=len(X))
    many = np.repeat(np.arange(len(X)), weight)
    one = LabelSetClassifier(tol=1e-10).fit(X, Y, sample_weight=weight)
    other = LabelSetClassifier(tol=1e-10).fit(X[many], Y[many])
    np.testing.assert_array_equal(one.sets_, other.sets_)
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-5)
    np.testing.assert_allclose(one.set_intercept_, other.set_intercept_, atol=1e-4)


def test_the_order_of_rows_and_labels_does_not_matter():
    X, Y = labelled()
    rng = np.random.default_rng(0)
    rows, labels = rng.permutation(len(X)), rng.permutation(6)
    model = LabelSetClassifier(k=2, tol=1e-10).fit(X, Y)
    other = LabelSetClassifier(k=2, tol=1e-10).fit(X[rows], Y[rows][:, labels])
    np.testing.assert_allclose(other.coef_, model.coef_[labels], atol=1e-5)
    np.testing.assert_array_equal(other.predict(X), model.predict(X)[:, labels])


def test_a_warm_start_leads_to_the_same_model_in_fewer_steps():
    X, Y = labelled()
    cold = LabelSetClassifier(C=10.0, tol=1e-8).fit(X, Y)
    warm = LabelSetClassifier(C=9.0, tol=1e-8, warm_start=True).fit(X, Y)
    warm.set_params(C=10.0).fit(X, Y)
    assert warm.n_iter_ < cold.n_iter_
    np.testing.assert_allclose(warm.coef_, cold.coef_, atol=1e-3)
    # from other rows, which have other sets; and from other labels, which are no start
    for rows, columns in ((slice(60), slice(6)), (slice(None), slice(1, 6))):
        other = LabelSetClassifier(tol=1e-8, warm_start=True).fit(X[rows], Y[rows, columns])
        other.fit(X, Y)
        np.testing.assert_allclose(other.coef_, cold.coef_, atol=1e-3)


def test_rows_in_parts_are_the_rows_as_a_whole(monkeypatch):
    X, Y = labelled()
    model = LabelSetClassifier(k=3).fit(X, Y)
    whole = model.predict(X), model.predict_set_proba(X)
    for limit in ("_MAX_PROBABILITIES", "_MAX_CHANCES"):
        monkeypatch.setattr(set_softmax, limit, 50)
    np.testing.assert_array_equal(model.predict(X), whole[0])
    np.testing.assert_allclose(model.predict_set_proba(X), whole[1], atol=1e-12)


def test_rows_without_labels_and_labels_without_rows_are_taken():
    X, Y = labelled()
    Y[:5], Y[5:9] = 0, 1
    Y = np.column_stack([Y, np.zeros(len(Y), dtype=int)])
    model = LabelSetClassifier(k=2).fit(X, Y)
    assert not model.sets_[:, 6].any()
    assert model.coef_[6].tolist() == [0.0] * 4
    assert (~model.sets_.any(axis=1)).sum() == 1
    assert not model.predict(X)[:, 6].any()


def test_a_single_set_is_predicted_for_all_rows():
    X, Y = np.arange(6.0).reshape(3, 2), np.array([[1, 1, 0]] * 3)
    model = LabelSetClassifier(k=1).fit(X, Y)
    assert model.score(X, Y) == 1.0
    assert model.predict_set_proba(X).tolist() == [[1.0]] * 3
    model.k = 2
    np.testing.assert_array_equal(model.predict(X), Y)


@pytest.mark.parametrize("value", [0, 1])
def test_a_single_set_is_certified_where_shares_of_rows_are_rounded(value):
    X, Y = np.random.default_rng(0).normal(size=(60, 3)), np.full((60, 4), value)
    model = LabelSetClassifier(k=1).fit(X, Y)  # a warning would be an error
    assert model.gap_ <= 1e-6


def test_what_is_known_of_the_fit_is_kept():
    X, Y = labelled()
    model = LabelSetClassifier().fit(X, Y)
    assert model.status_ is Status.OPTIMAL
    assert 0 <= model.gap_ <= 1e-6
    assert model.n_iter_ > 1
    with pytest.warns(NotConvergedWarning, match="raise tol or max_iter"):
        LabelSetClassifier(max_iter=2).fit(X, Y)


def test_progress_is_reported_if_asked_for(capsys):
    X, Y = labelled()
    LabelSetClassifier(verbose=2).fit(X, Y)
    assert "[LabelSetClassifier]" in capsys.readouterr().err


def test_clones_pickles_and_searches_work():
    X, Y = labelled()
    model = LabelSetClassifier(k=2).fit(X, Y)
    copied = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copied.predict(X), model.predict(X))
    assert clone(model).get_params() == model.get_params()
    search = GridSearchCV(LabelSetClassifier(k=2), {"C": [0.1, 10.0]}, cv=KFold(3)).fit(X, Y)
    assert search.best_params_["C"] == 10.0


def test_a_fit_that_fails_leaves_the_model_as_it_was():
    X, Y = labelled()
    model = LabelSetClassifier(k=2).fit(X, Y)
    before = model.predict(X)
    with pytest.raises(ValueError, match="k=6 labels cannot be chosen among 6"):
        model.set_params(k=6).fit(X, Y)
    np.testing.assert_array_equal(model.set_params(k=2).predict(X), before)


@pytest.mark.parametrize(
    ("parameters", "error", "match"),
    [
        ({"C": np.inf}, ValueError, "not finite"),
        ({"C": -1.0}, ValueError, "C=-1.0"),
        ({"C": "10"}, TypeError, "needed a number"),
        ({"tol": 0.0}, ValueError, "tol=0.0"),
        ({"max_iter": 0}, ValueError, "max_iter=0"),
        ({"warm_start": 1}, TypeError, "True or False"),
        ({"verbose": True}, TypeError, "0, 1 or 2"),
        ({"k": 0}, ValueError, "k=0"),
        ({"k": 1.0}, TypeError, "float"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(parameters, error, match):
    X, Y = labelled()
    with pytest.raises(error, match=match):
        LabelSetClassifier(**parameters).fit(X, Y)


# -- The objective: gradients by differences, minima by other solvers, certified gaps --------------


def problem(n=60, d=4, n_labels=5, seed=0, C=3.0, weighted=True, form=np.asarray, shift=0.0):
    """Return an objective on labels that depend on the features, and the labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.linspace(0.5, 3, d) * (rng.random((n, d)) < 0.7)
    Y = X @ rng.normal(size=(d, n_labels)) + rng.normal(size=(n, n_labels)) > 0.8
    sets, index = distinct_sets(Y)
    weight = rng.uniform(0.2, 2, n) if weighted else None
    return SetSoftmax(form(X + shift), sets, index, weight, C), Y


def point(objective, seed=1):
    rng = np.random.default_rng(seed)
    return rng.normal(size=objective.shape), rng.normal(size=len(objective.sets))


def minimum(objective, tol=1e-12):
    start = np.zeros(objective.shape), np.zeros(len(objective.sets))
    return objective.minimise(*start, tol=tol, max_iter=2000)


def test_the_value_is_that_of_a_slow_loop():
    objective, Y = problem()
    coef, offset = point(objective)
    X, mass = objective.X, objective.mass
    value = (coef**2).sum() / 6 + 0.5e-3 * (offset**2).sum()
    for x, labels, share in zip(X, Y, mass, strict=True):
        logits, own = [], None
        for members, b in zip(objective.sets, offset, strict=True):
            logits.append(sum(x @ coef[:, j] for j in np.flatnonzero(members)) + b)
            if np.array_equal(members > 0, labels):
                own = logits[-1]
        value += share * (logsumexp(logits) - own)
    assert objective.value_and_gradient(coef, offset)[0] == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_the_gradient_is_that_of_differences(form):
    objective, _ = problem(n=30, form=form)
    coef, offset = point(objective)
    _, *slopes = objective.value_and_gradient(coef, offset)
    h = 1e-5
    for parameter, slope in zip((coef, offset), slopes, strict=True):
        for place in np.ndindex(parameter.shape):
            ends = []
            for step in (h, -h):
                kept = parameter[place]
                parameter[place] += step
                ends.append(objective.value_and_gradient(coef, offset)[0])
                parameter[place] = kept
            assert slope[place] == pytest.approx((ends[0] - ends[1]) / (2 * h), abs=1e-8)


@pytest.mark.parametrize("n_features", [1000, 3])
def test_dense_and_sparse_rows_have_the_same_minimum(n_features, monkeypatch):
    monkeypatch.setattr(set_softmax, "_MAX_CORRELATED_FEATURES", n_features)
    dense, _ = problem()
    thin, _ = problem(form=sparse.csr_array)
    coef, offset = point(dense)
    for one, other in zip(
        dense.value_and_gradient(coef, offset), thin.value_and_gradient(coef, offset), strict=True
    ):
        np.testing.assert_allclose(one, other, atol=1e-12)
    np.testing.assert_allclose(minimum(dense).coef, minimum(thin).coef, atol=1e-5)


def test_the_objective_of_rows_in_parts_is_that_of_all_rows(monkeypatch):
    objective, _ = problem()
    whole = objective.value_and_gradient(*point(objective))
    monkeypatch.setattr(set_softmax, "_MAX_CACHED_PROBABILITIES", 100)
    for one, other in zip(whole, objective.value_and_gradient(*point(objective)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)


def test_the_minimum_is_that_of_cvxpy():
    cp = pytest.importorskip("cvxpy", reason="the referee is optional")
    objective, _ = problem(n=25, d=3, n_labels=3)
    coef, offset = cp.Variable(objective.shape), cp.Variable(len(objective.sets))
    logits = objective.X @ coef @ objective.sets.T + np.ones((25, 1)) @ cp.reshape(
        offset, (1, len(objective.sets)), order="C"
    )
    own = cp.sum(cp.multiply(logits, np.eye(len(objective.sets))[objective.index]), axis=1)
    loss = objective.mass @ (cp.log_sum_exp(logits, axis=1) - own)
    ridge = cp.sum_squares(coef) / (2 * objective.C) + 0.5e-3 * cp.sum_squares(offset)
    best = cp.Problem(cp.Minimize(loss + ridge)).solve(solver="CLARABEL")
    result = minimum(objective)
    assert result.objective == pytest.approx(best, rel=1e-6)  # as far as the referee goes
    np.testing.assert_allclose(result.coef, coef.value, atol=1e-3)


@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-6, 1e-9])
@pytest.mark.parametrize("C", [0.1, 10.0, 1e4])
def test_the_gap_bounds_the_distance_to_the_minimum(tol, C):
    objective, _ = problem(C=C)
    best = minimum(objective).objective
    result = minimum(objective, tol)
    assert result.status is Status.OPTIMAL
    assert result.gap <= tol
    assert 0 <= result.objective - best + 1e-12 <= result.gap * result.objective + 2e-12
    for seed in range(5):
        value, *slopes = objective.value_and_gradient(*point(objective, seed))
        assert value - best <= objective.gap(value, *slopes) * value


def test_features_far_from_zero_make_no_difference():
    near, far = problem()[0], problem(shift=1e4)[0]
    np.testing.assert_allclose(minimum(near).coef, minimum(far).coef, atol=1e-6)


def test_too_few_steps_are_said_to_be_too_few():
    objective, _ = problem(C=100.0)
    start = np.zeros(objective.shape), np.zeros(len(objective.sets))
    result = objective.minimise(*start, tol=1e-9, max_iter=3)
    assert result.status is Status.UNCERTIFIED
    assert result.gap > 1e-9
    assert result.n_iter == 3


def test_the_minimum_is_a_start_that_takes_no_step():
    objective, _ = problem()
    result = minimum(objective)
    again = objective.minimise(result.coef, result.offset, tol=1e-10, max_iter=5)
    assert again.n_iter == 0


@pytest.mark.parametrize("n_labels", [1, 8, 9, 40])
def test_distinct_sets_are_those_of_a_slow_loop(n_labels):
    rng = np.random.default_rng(n_labels)
    base = rng.random((6, n_labels)) < 0.5
    Y = base[rng.integers(6, size=50)]
    sets, index = distinct_sets(Y)
    np.testing.assert_array_equal(sets[index], Y)
    assert len(sets) == len({tuple(row) for row in Y.tolist()})


# -- The decision, against a comparison of all sets by loops ---------------------------------------


@st.composite
def problems(draw):
    """Draw label sets, their probabilities with many ties, and a number of labels."""
    n_labels = draw(st.integers(2, 6))
    numbers = draw(st.sets(st.integers(0, 2**n_labels - 1), min_size=1, max_size=12))
    sets = np.array([[number >> j & 1 for j in range(n_labels)] for number in sorted(numbers)])
    size = 3 * len(sets)
    parts = draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))
    share = np.array(parts, dtype=float).reshape(3, -1)
    share[:, draw(st.integers(0, len(sets) - 1))] += 1
    share /= share.sum(axis=1, keepdims=True)
    return sets.astype(bool), share, draw(st.integers(1, n_labels - 1))


def many_labels(seed, n=40, n_labels=12, n_sets=60):
    """Return sets of two to five labels and probabilities of them."""
    rng = np.random.default_rng(seed)
    sets = rng.random((n_sets, n_labels)) < rng.uniform(0.15, 0.4)
    sets, _ = distinct_sets(sets)
    share = rng.dirichlet(np.full(len(sets), 0.3), size=n)
    return sets, share


def slow_chance(share, sets, chosen):
    total = 0.0
    for probability, labels in zip(share, sets, strict=True):
        true = set(np.flatnonzero(labels).tolist())
        total += probability * (chosen <= true or true <= chosen)
    return total


@given(problems())
def test_no_other_labels_are_more_likely_right(problem):
    sets, share, k = problem
    decide = SetDecision(sets, k)
    decision = decide(share)
    assert decide.is_exact
    assert (decision.sum(axis=1) == k).all()
    for row, chosen in zip(share, decision, strict=True):
        every = [set(labels) for labels in combinations(range(sets.shape[1]), k)]
        chances = [slow_chance(row, sets, labels) for labels in every]
        own = set(np.flatnonzero(chosen).tolist())
        assert slow_chance(row, sets, own) == pytest.approx(max(chances), abs=1e-9)
        # of those as likely, the more probable labels, and of these the ones that come first
        tied = [z for z, c in zip(every, chances, strict=True) if c > max(chances) - 1e-9]
        marginal = row @ sets
        sums = [sum(marginal[j] for j in sorted(labels)) for labels in tied]
        assert own == next(
            z for z, total in zip(tied, sums, strict=True) if total > max(sums) - 1e-9
        )


@given(problems())
def test_chances_are_those_of_a_slow_loop(problem):
    sets, share, k = problem
    chosen = SetDecision(sets, k)(share)
    slow = [
        slow_chance(row, sets, set(np.flatnonzero(labels).tolist()))
        for row, labels in zip(share, chosen, strict=True)
    ]
    np.testing.assert_allclose(chance(share, sets, chosen), slow, atol=1e-12)


@given(problems())
@settings(deadline=None)
def test_the_decision_for_rows_in_parts_is_that_for_all_rows(problem):
    sets, share, k = problem
    whole = SetDecision(sets, k)(share)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(set_softmax, "_MAX_CHANCES", 1)
        np.testing.assert_array_equal(SetDecision(sets, k)(share), whole)


@given(problems())
def test_a_single_label_is_found_by_exchange_as_well(problem):
    sets, share, _ = problem
    exact = SetDecision(sets, 1)(share)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(set_softmax, "_MAX_CANDIDATE_PAIRS", 0)
        search = SetDecision(sets, 1)
        assert not search.is_exact
        decision = search(share)
    np.testing.assert_allclose(
        chance(share, sets, decision), chance(share, sets, exact), rtol=0, atol=1e-9
    )


@pytest.mark.parametrize("k", [2, 3, 5, 8])
def test_exchange_comes_close_to_the_best_and_below_no_simple_choice(k, monkeypatch):
    is_best = []
    for seed in range(10):
        sets, share = many_labels(seed)
        exact = chance(share, sets, SetDecision(sets, k)(share))
        with monkeypatch.context() as patch:
            patch.setattr(set_softmax, "_MAX_CANDIDATE_PAIRS", 0)
            chosen = SetDecision(sets, k)(share)
        assert (chosen.sum(axis=1) == k).all()
        chances = chance(share, sets, chosen)
        search = set_softmax._Search(share, sets, k)
        for simple in search.starts():
            assert (simple.sum(axis=1) == k).all()
            assert (chances >= chance(share, sets, simple) - 1e-9).all()
        assert (chances <= exact + 1e-9).all()
        is_best.append(chances > exact - 1e-9)
    assert np.mean(is_best) > 0.9  # measured: 95 to 99 % of rows as spread out as these


def test_labels_that_fill_up_are_the_probable_ones():
    sets = np.array([[1, 0, 0, 0], [0, 0, 1, 1]], dtype=bool)
    decision = SetDecision(sets, 2)(np.array([[0.9, 0.1]]))
    assert decision.tolist() == [[True, False, True, False]]


def test_few_sets_of_many_labels_take_modest_memory():
    decide = SetDecision(np.ones((1, 30), dtype=bool), 6)  # 593,775 sets of 6 out of 30 labels
    assert not decide.is_exact
    assert decide(np.ones((2, 1))).sum(axis=1).tolist() == [6, 6]
