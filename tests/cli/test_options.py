import inspect
from typing import get_type_hints

import pytest

pytest.importorskip("typer", reason="the command line is an extra")

import typer

from sorr.cli import app as application
from sorr.cli.options import as_drop


@pytest.mark.parametrize(
    ("text", "drop"), [("auto", "auto"), ("0.1", 0.1), ("20", 20), ("0", 0), ("1", 1), (".5", 0.5)]
)
def test_how_many_to_leave_out_is_a_word_a_share_or_a_number(text, drop):
    assert as_drop(text) == drop
    assert type(as_drop(text)) is type(drop)


@pytest.mark.parametrize(
    "text", ["", "Auto", "1.0", "0.0", "-1", "-0.1", "1.5", "nan", "inf", "10%", "1e3", "٣"]
)
def test_any_other_is_refused_with_the_three_ways_to_say_it(text):
    with pytest.raises(typer.BadParameter, match="needed auto, a share between 0 and 1"):
        as_drop(text)


def commands():
    return [info.callback for info in application.app.registered_commands]


def options():
    """Return, for each name of an option, what each command makes of it."""
    found = {}
    for command in commands():
        hints = get_type_hints(command, include_extras=True)
        for name in inspect.signature(command).parameters:
            info = hints[name].__metadata__[0]
            if isinstance(info, typer.models.OptionInfo):
                flag = (info.param_decls or (f"--{name}",))[0]
                found.setdefault(flag, {})[command.__name__] = hints[name]
    return found


def test_an_option_means_the_same_wherever_it_is():
    for flag, meanings in options().items():
        if flag not in ("--out", "--target"):  # a folder or a file; with a file or not
            assert len(set(map(repr, meanings.values()))) == 1, flag


def test_each_command_can_show_where_an_error_comes_from():
    assert set(options()["--debug"]) == {command.__name__ for command in commands()}


def test_each_command_that_writes_files_overwrites_only_if_told():
    writers = set(options()["--out"])
    assert set(options()["--force"]) == writers - {"reproduce"}  # which goes on where it stopped
