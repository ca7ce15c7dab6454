import pytest

pytest.importorskip("pandas", reason="tables are an extra")

import numpy as np

from sorr.auditing import dump_model, fit
from sorr.auditing.fit import fit_rows
from tests.auditing.tables import line, mixed, rows


def test_as_many_rows_are_left_out_as_seem_wrong():
    fitted = fit_rows(rows(mixed(n=600, flipped=60)))
    np.testing.assert_array_equal(fitted.counts, np.rint(fitted.share.count_))
    assert fitted.dropped.sum() == fitted.counts.sum() > 0
    assert fitted.m == "auto"


def test_a_number_is_one_of_all_rows_and_a_share_one_of_each_class():
    assert fit_rows(rows(mixed()), m=9).counts.tolist() == [9]
    share = fit_rows(rows(mixed()), m=0.1)
    np.testing.assert_array_equal(share.counts, np.floor(0.1 * np.bincount(share.class_of_row)))
    assert fit_rows(rows(line(), "price"), m=0.05).counts.tolist() == [10]


def test_a_certificate_is_made_unless_it_would_take_much_memory(monkeypatch):
    assert fit_rows(rows(mixed()), m=0.05).model.gap_ < 1e-6
    monkeypatch.setattr(fit, "_LARGEST_CURVATURE", 240 * 2**2 - 1)
    assert not fit_rows(rows(mixed()), m=0.05).model.certify


def test_the_saved_model_does_not_depend_on_the_number_of_threads():
    pytest.importorskip("skops", reason="model files are an extra")
    table = rows(mixed())
    contents = [dump_model(fit_rows(table, m=0.05, jobs=jobs).pipeline) for jobs in (1, 2)]
    assert contents[0] == contents[1]
