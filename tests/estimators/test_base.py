"""Progress on standard error, and errors that leave no trace."""

import pytest

from sorr._progress import print_reports
from sorr.estimators import print_steps, rollback_on_error
from sorr.estimators.base import prefix_errors
from sorr.solvers import Step


@pytest.fixture
def clock(monkeypatch):
    seconds = iter([0.0, 1.0, 2.5, 3.0, 5.0])
    monkeypatch.setattr("sorr.estimators.base.monotonic", lambda: next(seconds))


@pytest.mark.usefixtures("clock")
def test_within_two_seconds_one_line_is_printed(capsys):
    progress = print_steps("Model", verbose=1)
    for number in range(4):  # at 1, 2.5, 3 and 5 seconds
        progress(Step(number, "trim", 0.25, 12.0))
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "[Model] 2 s: start 1, trim: objective 0.25 after 12 passes over the data",
        "[Model] 5 s: start 3, trim: objective 0.25 after 12 passes over the data",
    ]


@pytest.mark.usefixtures("clock")
def test_at_the_second_level_every_line_is_printed(capsys):
    report = print_reports("Model", verbose=2)
    for number in range(4):
        report(number + 0.5, 4, "labels")
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 4
    assert lines[-1] == "[Model] 5 s: labels (3.5 of 4)"


@pytest.mark.parametrize("make_callback", [print_steps, print_reports])
def test_without_verbose_there_is_no_callback(make_callback):
    assert make_callback("Model", 0) is None


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_gives_an_object_its_old_attributes_back(error):
    class Model:
        def fit(self):
            with rollback_on_error(self):
                self.changed, self.new = 4, 5
                del self.deleted
                raise error

    model = Model()
    model.kept, model.changed, model.deleted = 1, 2, 3
    with pytest.raises(error):
        model.fit()
    assert vars(model) == {"kept": 1, "changed": 2, "deleted": 3}


def test_an_error_keeps_its_class_behind_a_prefix():
    with pytest.raises(TypeError, match=r"^m_samples: m is a list"), prefix_errors("m_samples"):
        raise TypeError("m is a list")
