"""All commands of `penstock`, and what they have in common."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock import __version__
from penstock.cli.commands.changes import serve, subscribe, subscriptions
from penstock.cli.commands.define import alter, create, drop, explain, init
from penstock.cli.commands.maintain import audit, doctor, optimize, pause, refresh, repair, resume, run, tick
from penstock.cli.commands.observe import alerts, diagnose, graph, health, history, info, stats, status, versions
from penstock.cli.commands.sql import sql
from penstock.cli.context.ctrl_c import Commands

app = typer.Typer(
    name="penstock",
    cls=Commands,
    no_args_is_help=True,
    # Plain help: examples can be copied, and rich is not even imported for it.
    rich_markup_mode=None,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Begin with: penstock init my-warehouse",
)

app.command("init")(init.init)
app.command("sql")(sql.sql)
app.command("doctor")(doctor.doctor)
app.command("create")(create.create)
app.command("alter")(alter.alter)
app.command("drop")(drop.drop)
app.command("refresh")(refresh.refresh)
app.command("run")(run.run)
app.command("serve")(serve.serve)
app.command("tick")(tick.tick)
app.command("pause")(pause.pause)
app.command("resume")(resume.resume)
app.command("optimize")(optimize.optimize)
app.command("repair")(repair.repair)
app.command("status")(status.status)
app.command("diagnose")(diagnose.diagnose)
app.command("history")(history.history)
app.command("stats")(stats.stats)
app.command("alerts")(alerts.alerts)
app.command("health")(health.health)
app.command("versions")(versions.versions)
app.command("subscribe")(subscribe.subscribe)
app.command("subscriptions")(subscriptions.subscriptions)
app.command("graph")(graph.graph)
app.command("info")(info.info)
app.command("explain")(explain.explain)
app.command("audit")(audit.audit)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"penstock {__version__}")
        raise typer.Exit


@app.callback()
def penstock(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Stream tables for Apache Spark.

    Write a query and a freshness target; Penstock keeps a Delta table equal to the query, computing only what changed.
    """
