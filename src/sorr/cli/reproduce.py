"""``sorr reproduce``: the paper's tables and figures, measured here."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sorr.cli.console import EXIT_CODES, guarded
from sorr.cli.options import Debug, Jobs

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from sorr.experiments import Experiment, Plan

__all__ = ["EXAMPLES", "reproduce"]

EXAMPLES = f"""\
{EXIT_CODES}

\b
Examples:
  sorr reproduce --list
  sorr reproduce table1 --quick
  sorr reproduce all --jobs -1
  sorr reproduce table2 --protocol ours --splits 5 --out tables
"""


class Protocol(StrEnum):
    """Whose way to fit and to choose."""

    paper = "paper"
    ours = "ours"
    both = "both"


@guarded
def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="Which of the list; or 'all'.", show_default=False),
    ] = None,
    protocol: Annotated[
        Protocol,
        typer.Option(
            help="As the authors' released scripts do it, or with an exact optimiser and "
            "every choice made on validation data."
        ),
    ] = Protocol.both,
    splits: Annotated[
        int | None,
        typer.Option(
            min=1, help="How many splits of the data, or runs.", show_default="those of the list"
        ),
    ] = None,
    jobs: Jobs = 1,
    out: Annotated[
        Path | None,
        typer.Option(
            file_okay=False,
            help="The folder for tables, figures and rows.",
            show_default="reproduction, or reproduction-quick",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Less of everything: each in less than a minute.")
    ] = False,
    draw: Annotated[
        bool, typer.Option("--draw", help="Measure nothing; draw what has been measured.")
    ] = False,
    show: Annotated[bool, typer.Option("--list", help="Print what there is, and end.")] = False,
    debug: Debug = False,  # noqa: ARG001 - read by what guards it
) -> None:
    """Measure tables and figures of the paper, beside the printed numbers.

    Each measurement is kept in the folder at once: stop at any moment, and the same command goes
    on from there. What cannot be measured, for want of a file of data or a package, is named and
    left out; the rest goes on.
    """
    from rich.console import Console

    screen = Console()
    if show:
        screen.print(_list())
        return
    experiments = _named(names or [])
    protocols = ("paper", "ours") if protocol is Protocol.both else (protocol.value,)
    folder = out or Path("reproduction-quick" if quick else "reproduction")
    work = _Work(folder, jobs, draw, screen, Console(stderr=True))
    if find_spec("matplotlib") is None:
        work.say('Figures need matplotlib, which is missing: pip install "sorr[plot]"')
    left_out = []
    for experiment in experiments:
        plan = experiment.plan(protocols, splits, quick)
        if not set(plan.protocols) <= set(protocols):
            work.say(f"{experiment.name} has one protocol only: {', '.join(plan.protocols)}")
        if not work.finish(experiment, plan):
            left_out.append(experiment.name)
    if left_out:
        work.say(f"Not all is there of: {', '.join(left_out)}. The reasons are above.")
        raise typer.Exit(1)


def _list() -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from sorr.experiments import EXPERIMENTS, get_experiment

    table = Table("name", "what it shows", "protocols", "splits", box=SIMPLE_HEAD)
    for name in EXPERIMENTS:
        found = get_experiment(name)
        table.add_row(name, found.title, ", ".join(found.protocols), str(found.splits))
    return table


def _named(names: Sequence[str]) -> list[Experiment]:
    from sorr.experiments import EXPERIMENTS, get_experiment

    if not names:
        raise typer.BadParameter("none given; needed some of --list, or all", param_hint="NAME")
    wanted = [each for name in names for each in (EXPERIMENTS if name == "all" else [name])]
    try:
        return [get_experiment(name) for name in dict.fromkeys(wanted)]
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="NAME") from None


@dataclass(frozen=True)
class _Work:
    """Where experiments write, and what is told to whom."""

    folder: Path
    jobs: int
    redraw: bool
    screen: Console
    aside: Console

    def say(self, text: str) -> None:
        self.aside.print(text, markup=False, highlight=False, soft_wrap=True)

    def finish(self, experiment: Experiment, plan: Plan) -> bool:
        """Measure and draw an experiment, and tell whether all of it is there."""
        from sorr.experiments import RefusedError

        try:
            paths = self._measure(experiment, plan)
        except KeyboardInterrupt:
            kept = self._kept(experiment, plan)
            self.say(f"Stopped: {kept}. The same command goes on from there.")
            raise typer.Exit(130) from None
        except (OSError, ImportError) as error:
            self._explain(experiment, error)
            self.say(f"{self._kept(experiment, plan)}; --draw draws what is there.")
        except RefusedError as error:
            self._explain(experiment, error)
        except Exception as error:  # a fault of ours must not stop the experiments that follow
            self.say("".join(traceback.format_exception(error)))
            self._explain(experiment, error)
        else:
            return self._print(experiment, plan, paths)
        return False

    def _measure(self, experiment: Experiment, plan: Plan) -> list[Path]:
        from sorr.cli.progress import watched
        from sorr.experiments import draw, run

        if self.redraw:
            return draw(experiment, plan, self.folder)
        with watched(experiment.name, self.aside) as progress:
            return run(experiment, plan, self.folder, jobs=self.jobs, progress=progress)

    def _print(self, experiment: Experiment, plan: Plan, paths: Sequence[Path]) -> bool:
        from sorr.cli.console import print_page

        if not paths:
            self.say(f"{experiment.name}: there is nothing to draw in {self.folder}")
        if len(origins := self._origins(experiment, plan)) > 1:
            several = "; ".join(sorted(origins))
            self.say(
                f"{experiment.name}: its rows were measured by {several}. Another --out has all "
                "of them measured by the one that is installed."
            )
        for path in paths:
            if self.screen.is_terminal and path.suffix == ".md":
                print_page(path.read_text(encoding="utf-8"), self.screen)
        for path in paths:
            self.screen.print(str(path), markup=False, highlight=False, soft_wrap=True)
        return bool(paths)

    def _origins(self, experiment: Experiment, plan: Plan) -> set[str]:
        from sorr.experiments import row_file

        rows = row_file(experiment, plan, self.folder).read()
        return {" ".join(f"{name} {it}" for name, it in row["versions"].items()) for row in rows}

    def _explain(self, experiment: Experiment, error: Exception) -> None:
        notes = "".join(f" ({note})" for note in getattr(error, "__notes__", []))
        self.say(f"{experiment.name}: {error}{notes}")

    def _kept(self, experiment: Experiment, plan: Plan) -> str:
        from sorr.experiments import row_file

        file = row_file(experiment, plan, self.folder)
        return f"{len(file.read())} rows of {experiment.name} are kept in {file.path}"
