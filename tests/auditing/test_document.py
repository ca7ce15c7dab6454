"""An audit as JSON: what the schema says, for every kind of audit."""

import json
from importlib.resources import files

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
jsonschema = pytest.importorskip("jsonschema")

import sorr  # noqa: E402
from sorr.auditing import audit_table  # noqa: E402
from sorr.auditing.document import VERSION  # noqa: E402
from sorr.auditing.rows import Roles  # noqa: E402
from tests.auditing.hostile import quickly  # noqa: E402
from tests.auditing.tables import clear, line, mixed, table  # noqa: E402
from tests.auditing.test_sentences import decided  # noqa: E402
from tests.slow import slow  # noqa: E402


@pytest.fixture(scope="module")
def schema():
    text = (files("sorr.auditing") / "document.schema.json").read_text(encoding="utf-8")
    return json.loads(text)


@pytest.fixture(scope="module")
def first():
    return sorr.audit(clear(), "y")


@pytest.fixture
def check(schema):
    """Return a check of a report against the schema; it returns the object."""
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)

    def check(report):
        found = json.loads(json.dumps(report.to_dict(), allow_nan=False))
        errors = [f"{it.json_path}: {it.message}" for it in validator.iter_errors(found)]
        assert errors == []
        return found

    return check


def test_the_schema_has_the_version_of_the_document(schema):
    assert schema["properties"]["version"]["const"] == VERSION


def test_every_name_has_a_description_or_speaks_for_itself(schema):
    plain = {"task", "verdict", "dropped_share", "warnings", "notes"}
    for name, entry in schema["properties"].items():
        assert name in plain or "description" in entry, name


@pytest.mark.parametrize("model", ["linear", *slow("auto", "forest", "boosting")])
def test_classes_by_every_named_model(check, model):
    roles = Roles("y", group=("jacket",))
    found = check(quickly(audit_table, table(clear()), roles, model=model))
    assert (found["sweep"] is None) == (model != "linear")
    assert set(found["dropped_by"]) == {"y", "jacket"}


def test_numbers(check):
    found = check(audit_table(table(line()), "price"))
    assert found["task"] == "regression"
    assert [it["label"] for it in found["wrong"]] == [None]


def test_a_messy_table_with_missing_values_and_labels(check):
    frame = mixed().assign(
        day=pd.date_range("2024-01-01", periods=240).astype(str),
        name=[f"=row {i}" for i in range(240)],
    )
    frame.loc[[60, 61], "y"] = None
    frame.loc[5, "age"] = np.inf
    found = check(audit_table(table(frame, lines=np.arange(240) + 2), Roles("y", id_column="name")))
    assert [it["row"] for it in found["without_label"]] == [60, 61]
    assert all(it["id"].startswith("=row") for it in found["suspects"])


def test_too_few_rows_to_judge(check):
    found = check(audit_table(table(clear(n=40, flipped=3)), "y"))
    assert found["evidence"] is None


def test_probabilities_and_frames(check):
    frame = clear()
    even = pd.DataFrame({"no": np.full(432, 0.5), "yes": np.full(432, 0.5)})
    found = check(sorr.audit(frame, "y", probabilities=even))
    assert found["model"] == "probabilities"
    assert found["fingerprint"].startswith("432x7-v")


@pytest.mark.slow
def test_a_second_round(check, first):
    decisions = decided(first, ["relabel", "keep", "remove", "unsure"])
    found = check(sorr.audit(clear(), "y", decisions=decisions))
    assert found["decided"] == {"relabel": 1, "keep": 1, "remove": 1, "unsure": 1}


def test_a_wrong_document_would_be_refused(schema, first):
    report = first.to_dict()
    for spoil in ({"version": 2}, {"tiers": {"3": 1}}, {"suspects": [{}]}, {"more": 1}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(report | spoil, schema)
