from sorr.estimators import reporter
from sorr.estimators.base import Reporter
from sorr.solvers import Step


def test_within_the_patience_one_line_is_written(capsys, monkeypatch):
    clock = iter([0.0, 1.0, 2.5, 3.0, 5.0])
    monkeypatch.setattr("sorr.estimators.base.monotonic", lambda: next(clock))
    report = Reporter("Model")
    for number in range(4):  # at 1, 2.5, 3 and 5 seconds
        report(Step(number, "trim", 0.25, 12.0))
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "[Model] 2 s: start 1, trim: objective 0.25 after 12 passes over the data",
        "[Model] 5 s: start 3, trim: objective 0.25 after 12 passes over the data",
    ]


def test_nobody_is_told_what_was_not_asked_for():
    assert reporter("Model", 0) is None
