"""``sorr reproduce``: measure the tables and figures of the paper again."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sorr.cli.console import EXIT_CODES, FAILED, STOPPED, make_table, report_errors
from sorr.cli.options import Debug, Jobs

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from sorr.experiments import Experiment, Plan

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
    """How models are fitted and chosen."""

    paper = "paper"
    ours = "ours"
    both = "both"


@report_errors
def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="Experiments of --list, or 'all'.", show_default=False),
    ] = None,
    protocol: Annotated[
        Protocol,
        typer.Option(
            help="paper: as in the authors' released scripts. ours: with an exact optimiser, and "
            "every choice made on validation data."
        ),
    ] = Protocol.both,
    splits: Annotated[
        int | None,
        typer.Option(
            min=1, help="Number of splits of the data, or of runs.", show_default="as in --list"
        ),
    ] = None,
    jobs: Jobs = 1,
    out: Annotated[
        Path | None,
        typer.Option(
            file_okay=False,
            help="Folder for tables, figures and rows.",
            show_default="reproduction, or reproduction-quick",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Small, fast run: under a minute per experiment.")
    ] = False,
    draw: Annotated[
        bool, typer.Option("--draw", help="Measure nothing. Draw what was measured before.")
    ] = False,
    show: Annotated[bool, typer.Option("--list", help="List the experiments and exit.")] = False,
    debug: Debug = False,  # noqa: ARG001 - read by report_errors
) -> None:
    """Reproduce tables and figures of the paper, beside the printed numbers.

    Each measurement is saved at once. You can stop at any time: the same command continues. If a
    data file or a package is missing, the experiment is named and skipped, and the others go on.
    """
    from rich.console import Console

    screen = Console()
    if show:
        screen.print(_list_experiments())
        return
    experiments = _find_experiments(names or [])
    protocols = ("paper", "ours") if protocol is Protocol.both else (protocol.value,)
    folder = out or Path("reproduction-quick" if quick else "reproduction")
    work = _Work(folder, jobs, draw, screen, Console(stderr=True))
    if find_spec("matplotlib") is None:
        work.say('Figures need matplotlib, which is not installed: pip install "sorr[plot]"')
    incomplete = []
    for experiment in experiments:
        plan = experiment.plan(protocols, splits, quick)
        if not set(plan.protocols) <= set(protocols):
            work.say(f"{experiment.name} has only this protocol: {', '.join(plan.protocols)}")
        if not work.finish(experiment, plan):
            incomplete.append(experiment.name)
    if incomplete:
        work.say(f"Incomplete: {', '.join(incomplete)}. See the messages above.")
        raise typer.Exit(FAILED)


def _list_experiments() -> Table:
    from sorr.experiments import EXPERIMENTS, get_experiment

    titles = ("name", "what it shows", "protocols", "splits")
    experiments = [get_experiment(name) for name in EXPERIMENTS]
    rows = [
        (experiment.name, experiment.title, ", ".join(experiment.protocols), str(experiment.splits))
        for experiment in experiments
    ]
    return make_table(titles, rows, is_narrow=False)


def _find_experiments(names: Sequence[str]) -> list[Experiment]:
    from sorr.experiments import EXPERIMENTS, get_experiment

    if not names:
        raise typer.BadParameter("none given; needed names of --list, or all", param_hint="NAME")
    wanted = [each for name in names for each in (EXPERIMENTS if name == "all" else [name])]
    try:
        return [get_experiment(name) for name in dict.fromkeys(wanted)]
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="NAME") from None


@dataclass(frozen=True)
class _Work:
    """Where experiments write, and where messages go."""

    folder: Path
    jobs: int
    redraw: bool
    screen: Console
    errors: Console

    def say(self, text: str) -> None:
        self.errors.print(text, markup=False, highlight=False, soft_wrap=True)

    def finish(self, experiment: Experiment, plan: Plan) -> bool:
        """Measure and draw an experiment. Return whether it is complete."""
        from sorr.experiments import RefusedError

        try:
            paths = self._measure(experiment, plan)
        except KeyboardInterrupt:
            self.say(f"Stopped: {self._kept(experiment, plan)}. The same command continues.")
            raise typer.Exit(STOPPED) from None
        except (OSError, ImportError) as error:
            self._explain(experiment, error)
            self.say(f"{self._kept(experiment, plan)}; --draw draws them.")
        except RefusedError as error:
            self._explain(experiment, error)
        except Exception as error:  # a bug must not stop the experiments that follow
            self.say("".join(traceback.format_exception(error)))
            self._explain(experiment, error)
        else:
            return self._print(experiment, plan, paths)
        return False

    def _measure(self, experiment: Experiment, plan: Plan) -> list[Path]:
        from sorr.cli.progress import track
        from sorr.experiments import draw, run

        if self.redraw:
            return draw(experiment, plan, self.folder)
        with track(experiment.name, self.errors) as progress:
            return run(experiment, plan, self.folder, jobs=self.jobs, progress=progress)

    def _print(self, experiment: Experiment, plan: Plan, paths: Sequence[Path]) -> bool:
        from sorr.cli.console import print_page

        if not paths:
            self.say(f"{experiment.name}: nothing to draw in {self.folder}")
        if len(origins := self._origins(experiment, plan)) > 1:
            self.say(
                f"{experiment.name}: its rows were measured by {'; '.join(sorted(origins))}. To "
                "measure all of them with the installed version, choose another folder with --out."
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
        return {
            " ".join(f"{name} {version}" for name, version in row["versions"].items())
            for row in rows
        }

    def _explain(self, experiment: Experiment, error: Exception) -> None:
        notes = "".join(f" ({note})" for note in getattr(error, "__notes__", []))
        self.say(f"{experiment.name}: {error}{notes}")

    def _kept(self, experiment: Experiment, plan: Plan) -> str:
        from sorr.experiments import row_file

        file = row_file(experiment, plan, self.folder)
        return f"{len(file.read())} rows of {experiment.name} are kept in {file.path}"
