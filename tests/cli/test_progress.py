import io
import time

import pytest

pytest.importorskip("rich", reason="the command line is an extra")

from rich.console import Console

from sorr.cli.progress import Pace, track


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def test_the_time_left_follows_from_the_pace_of_this_run(clock):
    pace = Pace(clock)
    pace.reach(40.0, 100.0)  # by an earlier run
    assert (pace.share, pace.left, str(pace)) == (0.4, None, "0:00:00")
    clock.now += 10.0
    pace.reach(60.0, 100.0)  # 20 in 10 seconds: 40 in 20
    assert (pace.left, str(pace)) == (20.0, "0:00:10, 0:00:20 left")


def test_the_time_left_runs_down_between_two_reports_and_not_below_zero(clock):
    pace = Pace(clock)
    pace.reach(0.0, 2.0)
    clock.now += 3600.0
    pace.reach(1.0, 2.0)
    clock.now += 600.0
    assert str(pace) == "1:10:00, 0:50:00 left"
    clock.now += 36000.0
    assert pace.left == 0.0


def test_nothing_to_do_is_all_done(clock):
    pace = Pace(clock)
    pace.reach(0.0, 0.0)
    assert pace.share == 1.0


def test_without_a_terminal_there_is_a_line_every_few_seconds_and_one_at_the_end(clock):
    text = io.StringIO()
    with track("table1", Console(file=text, width=40), clock) as update:
        update(0.0, 100.0, "")
        for second in range(1, 13):
            clock.now += 1.0
            update(float(second), 100.0, f"ours monk [AoRR] k=0.5 and a long setting {second}")
        update(100.0, 100.0, "the last")
    assert text.getvalue().splitlines() == [
        "table1:   0%, 0:00:00",
        "table1:   5%, 0:00:05, 0:01:35 left  ours monk [AoRR] k=0.5 and a long setting 5",
        "table1:  10%, 0:00:10, 0:01:30 left  ours monk [AoRR] k=0.5 and a long setting 10",
        "table1: 100%, 0:00:12  the last",
    ]


def test_on_a_terminal_there_is_a_bar_with_name_percentage_times_and_the_last_cell(clock):
    text = io.StringIO()
    console = Console(file=text, width=100, force_terminal=True, color_system=None)
    with track("table1", console, clock) as update:
        update(0.0, 4.0, "")
        clock.now += 60.0
        update(1.0, 4.0, "ours monk [AoRR] 3")
        console.print("done so far")  # draws the bar again
    shown = text.getvalue()
    assert "table1 ━" in shown
    assert " 25% 0:01:00, 0:03:00 left ours monk [AoRR] 3" in shown


def test_a_short_run_can_stay_without_a_line(clock):
    text = io.StringIO()
    with track("reading", Console(file=text, width=40), clock, after=2.0) as update:
        update(0.0, 4.0, "")
        clock.now += 1.0
        update(4.0, 4.0, "")
    assert text.getvalue() == ""


def test_a_longer_run_has_its_lines_from_then_on(clock):
    text = io.StringIO()
    with track("reading", Console(file=text, width=40), clock, after=2.0) as update:
        for second in range(5):
            update(float(second), 4.0, "rows")
            clock.now += 1.0
    assert text.getvalue().splitlines() == [
        "reading:  50%, 0:00:02, 0:00:02 left  rows",
        "reading: 100%, 0:00:04  rows",
    ]


@pytest.mark.parametrize("transient", [False, True])
def test_a_passing_bar_is_wiped_out_at_the_end(clock, transient):
    text = io.StringIO()
    console = Console(file=text, width=100, force_terminal=True, color_system=None)
    with track("audit", console, clock, transient=transient) as update:
        update(1.0, 1.0, "")
    assert text.getvalue().endswith("\x1b[1A\x1b[2K") == transient


def test_a_step_that_tells_nothing_is_named_after_a_while():
    text = io.StringIO()
    with track("fit", Console(file=text, width=40), after=0.01):
        end = time.monotonic() + 10.0
        while not text.getvalue() and time.monotonic() < end:
            time.sleep(0.005)
    assert text.getvalue() == "fit: 0:00:00\n"


def test_the_last_label_is_shown_after_a_while(clock):
    text = io.StringIO()
    with track("fit", Console(file=text, width=40), clock, after=0.01) as update:
        update(1.0, 4.0, "starts")
        end = time.monotonic() + 10.0
        while not text.getvalue() and time.monotonic() < end:
            time.sleep(0.005)
        clock.now += 1.0
        update(2.0, 4.0, "polish")
    assert text.getvalue() == "fit:  25%, 0:00:00  starts\n"


def test_the_end_is_told_once(clock):
    text = io.StringIO()
    with track("reading", Console(file=text, width=40), clock) as update:
        update(0.0, 2.0, "")
        for _ in range(3):
            clock.now += 1.0
            update(2.0, 2.0, "")
    assert text.getvalue().count("100%") == 1
