"""Progress on standard error: how often a line is printed, and what it says."""

import pytest

from sorr._progress import print_reports
from sorr.estimators import print_steps
from sorr.solvers import Step


@pytest.fixture
def clock(monkeypatch):
    seconds = iter([0.0, 1.0, 2.5, 3.0, 5.0])
    monkeypatch.setattr("sorr._progress.monotonic", lambda: next(seconds))


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


@pytest.mark.usefixtures("clock")
def test_progress_goes_to_standard_error_only(capsys):
    print_reports("Model", verbose=2)(1, 2, "labels")
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("make_callback", [print_steps, print_reports])
def test_without_verbose_there_is_no_callback(make_callback):
    assert make_callback("Model", 0) is None
