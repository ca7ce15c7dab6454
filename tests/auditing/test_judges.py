"""What judges the rows: names, estimators of the user, and probabilities of other models."""

import numpy as np
import pytest

pd = pytest.importorskip("pandas")

from sklearn.ensemble import RandomForestClassifier  # noqa: E402
from sklearn.linear_model import LogisticRegression, Ridge  # noqa: E402
from sklearn.model_selection import cross_val_predict  # noqa: E402

import sorr  # noqa: E402
from sorr.auditing.judges import Judge, as_judge  # noqa: E402
from sorr.auditing.table import TableError  # noqa: E402


@pytest.fixture(scope="module")
def people():
    """Return a table with twenty wrong labels, and which they are."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(400, 3)).round(3), columns=["age", "height", "income"])
    label = np.where(frame["age"] - frame["income"] > 0, "yes", "no")
    wrong = np.arange(0, 400, 20)
    label[wrong] = np.where(label[wrong] == "yes", "no", "yes")
    names = [f"person {i}" for i in range(400)]
    return frame.assign(name=names, label=label), wrong


@pytest.fixture(scope="module")
def probabilities(people):
    frame, _ = people
    values = cross_val_predict(
        LogisticRegression(),
        frame[["age", "height", "income"]],
        frame["label"],
        method="predict_proba",
    )
    return pd.DataFrame(values, columns=["no", "yes"])


def test_an_estimator_of_the_user_judges_and_is_fitted(people):
    frame, wrong = people
    report = sorr.audit(frame, "label", model=RandomForestClassifier(50, random_state=0))
    assert report.judged_by == "RandomForestClassifier"
    assert isinstance(report.fitted.model, RandomForestClassifier)
    assert report.fitted.dropped[wrong].mean() > 0.7
    assert report.model.predict(frame.head(3)).shape == (3,)


def test_an_estimator_may_be_named_by_its_place(people):
    frame, wrong = people
    by_place = sorr.audit(frame, "label", model="sklearn.linear_model:LogisticRegression")
    by_hand = sorr.audit(frame, "label", model=LogisticRegression())
    assert by_place.suspects.equals(by_hand.suspects)
    assert by_place.fitted.name == "sklearn.linear_model:LogisticRegression"
    assert by_place.fitted.dropped[wrong].mean() > 0.7


def test_a_module_in_the_current_folder_is_found(tmp_path, monkeypatch):
    (tmp_path / "mine_of_test.py").write_text(
        "from sklearn.linear_model import LogisticRegression\nmodel = LogisticRegression(C=0.5)\n"
    )
    monkeypatch.chdir(tmp_path)
    judge = as_judge("mine_of_test:model")
    assert judge.estimator.C == 0.5
    assert not judge.is_named


@pytest.mark.parametrize("text", ["model = (", "raise RuntimeError('no')", "import no_such_thing"])
def test_a_module_that_does_not_load_is_the_users_own(tmp_path, monkeypatch, text):
    name = f"broken_of_test_{len(text)}"
    (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TableError, match="cannot be imported"):
        as_judge(f"{name}:model")


def test_a_regressor_of_the_user_judges_numbers():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = X @ [2.0, -1.0] + 0.1 * rng.normal(size=300)
    y[:6] += 30
    report = sorr.audit(X, y, model=Ridge())
    assert report.fitted.dropped[:6].all()
    assert report.judged_by == "Ridge"


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("forrest", "model='forrest' is not known; did you mean 'forest'"),
        ("no.such.module:model", r"cannot be imported \(ModuleNotFoundError"),
        ("sklearn.linear_model:Nothing", r"cannot be imported \(AttributeError"),
        ("os:path", "is a module; needed an estimator"),
        ("sklearn.pipeline:Pipeline", "cannot be made without arguments"),
        ("sorr.auditing:quote", "is a function; needed an estimator"),
        (3, "model='int' is not known"),
    ],
)
def test_what_is_no_model_is_refused(model, message):
    with pytest.raises(TableError, match=message):
        as_judge(model)


def test_a_number_of_rows_to_drop_needs_the_linear_model():
    with pytest.raises(TableError, match=r"m=0\.1 needs a linear model, but the model is"):
        as_judge(LogisticRegression(), 0.1)
    assert as_judge("linear", 0.1) == Judge("linear", "linear")


def test_probabilities_of_another_model_judge_without_a_fit(people, probabilities):
    frame, wrong = people
    report = sorr.audit(frame, "label", probabilities=probabilities)
    assert report.model is None
    assert report.fitted.dropped[wrong].mean() > 0.7
    assert report.verdict != "none"
    assert "instead of" not in report.meaning
    same = sorr.audit(frame, "label", probabilities=probabilities.to_numpy())
    assert same.suspects.equals(report.suspects)


def test_probabilities_are_matched_by_names_of_rows(people, probabilities):
    frame, _ = people
    named = probabilities.assign(name=frame["name"]).sample(frac=1, random_state=0)
    report = sorr.audit(frame, "label", probabilities=named, id_column="name")
    expected = sorr.audit(frame, "label", probabilities=probabilities, id_column="name")
    assert report.suspects.equals(expected.suspects)


def test_order_of_the_columns_of_probabilities_does_not_matter(people, probabilities):
    frame, _ = people
    turned = probabilities[["yes", "no"]].assign(more="text")
    report = sorr.audit(frame, "label", probabilities=turned)
    expected = sorr.audit(frame, "label", probabilities=probabilities)
    assert report.suspects.equals(expected.suspects)


def test_rows_without_a_label_need_no_probabilities_of_their_own(people, probabilities):
    frame, wrong = people
    frame = frame.copy()
    frame.loc[[1, 2], "label"] = None
    report = sorr.audit(frame, "label", probabilities=probabilities)
    assert len(report.unlabelled) == 2
    assert report.unlabelled["suggested"].isna().all()
    assert set(report.suspects["row"][:5]) <= set(wrong.tolist())


def _shorter(frame):
    return frame.head(10)


def _with_text(frame):
    return frame.astype(object).replace({frame.iloc[0, 0]: "many"})


def _negative(frame):
    return frame.assign(yes=lambda it: np.where(it.index == 3, -0.5, it["yes"]))


def _off(frame):
    return frame.assign(yes=lambda it: np.where(it.index == 3, 0.9, it["yes"]), no=0.9)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (_shorter, "probabilities has 10 rows, and the table 400"),
        (lambda it: it[["yes"]], "probabilities has no column named 'no', a class of the target"),
        (lambda it: it.to_numpy()[:, :1], r"probabilities has shape \(400, 1\)"),
        (_with_text, "holds values that are no numbers"),
        (_negative, "probabilities of row 3 are"),
        (_off, "needed numbers from 0 to 1 that add up to 1"),
    ],
)
def test_probabilities_that_do_not_fit_are_refused(people, probabilities, spoil, message):
    with pytest.raises(TableError, match=message):
        sorr.audit(people[0], "label", probabilities=spoil(probabilities))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda it: it.assign(name="somebody"), "names 'somebody' twice"),
        (lambda it: it.assign(name=[f"nobody {i}" for i in range(400)]), "has no row named"),
    ],
)
def test_names_that_do_not_fit_are_refused(people, probabilities, spoil, message):
    with pytest.raises(TableError, match=message):
        sorr.audit(people[0], "label", probabilities=spoil(probabilities), id_column="name")


def test_probabilities_cannot_judge_numbers():
    rng = np.random.default_rng(0)
    with pytest.raises(TableError, match="which is a number; needed classes"):
        sorr.audit(
            rng.normal(size=(100, 2)), rng.normal(size=100), probabilities=np.ones((100, 2)) / 2
        )


def test_probabilities_and_a_model_exclude_each_other(people, probabilities):
    with pytest.raises(TableError, match="judge by themselves; needed no model"):
        sorr.audit(people[0], "label", probabilities=probabilities, model="forest")
