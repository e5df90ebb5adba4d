"""Databases as a release wrote them, kept as text, and what a program must make of them.

``python -m tests.serving.journals.record 0.1.0`` was run with the code of that release, before its successor changed the
tables: it plays two experiments and writes release-0.1.0.{sqlite.sql,postgres.sql,json} beside this file. A release that
changes the tables again is recorded likewise; what is recorded is never made anew.
"""

import contextlib
import hashlib
import json
import secrets
import sqlite3
import sys
import tempfile
from pathlib import Path
from unittest import mock

from rankone.serving import Database, Experiment, transactions
from rankone.serving.storage.postgres import PostgresStorage
from rankone.serving.storage.schema import statements
from rankone.web.server.tokens import create_token
from tests.serving.helpers import Audience, Clock

FOLDER = Path(__file__).parent
TABLES = ("rankone_version", "rankone_experiments", "rankone_journal", "rankone_snapshots", "rankone_tokens")


@contextlib.contextmanager
def same_noise(seed):
    """Draw the secrets of decisions from a seed: what is written is then the same every time."""
    drawn = iter(range(10**9))

    def token_bytes(count):
        return hashlib.shake_128(f"{seed} {next(drawn)}".encode()).digest(count)

    with mock.patch.object(secrets, "token_bytes", token_bytes):
        yield


def play(path):
    """Live through everything that a journal of 0.1.0 can hold."""
    clock = Clock()
    with Database(path, durability="off") as database, same_noise("recorded"):
        home = Experiment("homepage", 3, 3, "uts", db=database, seed=7, window=600, clock=clock)
        audience = Audience(cols=(0.8, 0.4), silent=0.2)
        late = home.ask(key="first", source="page")
        for _ in range(40):
            audience.step(home)
            clock.pass_seconds(20)
        home.tell(late, True, source="page")
        for _ in range(4):
            home.tell(home.ask(source="bot"), True, source="bot")
        clock.pass_seconds(700)
        held = home.ask(2)
        home.tell(held[0], True, source="bot")
        home.exclude(source="bot", why="a robot")
        home.add_row("row new")
        home.retire_col("col 2")
        home.stop()
        home.tell(home.ask(source="after <stop> \u00fc"), False)
        home.resume()
        for _ in range(30):
            audience.step(home)
            clock.pass_seconds(20)
        policy = "rank1elim-kl:horizon=2000"
        shop = Experiment("shop", ["A", "B", "C"], ["1", "2"], policy, db=database, seed=8, max_open=9, clock=clock)
        audience = Audience(seed=1, void=0.1)
        for _ in range(110):
            audience.step(shop) if len(audience.waiting) < 9 else shop.void(audience.waiting.pop(0))
        clock.pass_seconds(7200)
        shop.ask(count=9, key="nine")  # what is old makes room
        clock.jump(-3600)
        clock.pass_seconds(60)
        shop.void_open(60)
        shop.ask(2, key="again")
        shop.stop("A", "1", why="enough")
        create_token(database, ["ask", "tell"], "shop", note="the shop's page", days=30, rate=50, now=1_800_000_000)
        create_token(database, ["admin"], now=1_800_000_000)


def facts(experiment):
    """What an experiment says of itself, and the checksum at its end."""
    report = experiment.report()
    return {
        "outcomes": report.outcomes,
        "stopped": experiment.look(lambda fold: fold.stopped),
        "best": [report.best_row, report.best_col],
        "rows": [line.name for line in report.rows],
        "cols": [line.name for line in report.cols],
        "seq": experiment.look(lambda fold: fold.seq),
        "chain": experiment.look(lambda fold: fold.chain.hex()),
    }


def go_on(db):
    """Continue the experiments of a database: what is decided next, and the checksums then."""
    found, clock = {}, Clock(now=20_000_000_000)
    with Database(db, durability="off") as database, same_noise("continued"):
        for name in database.names():
            with Experiment(name, db=database, clock=clock) as experiment:
                before, decided = facts(experiment), []
                for number in range(20):
                    if number == 10 and before["stopped"]:
                        experiment.resume()
                    decision = experiment.ask(source="later" if number % 5 == 0 else None)
                    experiment.tell(decision, number % 3 == 0, source="later")
                    clock.pass_seconds(60)
                    decided.append([decision.id, decision.row, decision.col, decision.filler])
                found[name] = {"before": before, "decided": decided, "after": facts(experiment)}
    return found


def for_sqlite(path):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return "\n".join(connection.iterdump()) + "\n"


def for_postgres(path):
    """The same rows, with the tables as this program makes them in PostgreSQL."""
    lines = [f"{PostgresStorage.dialect.text(statement)};" for statement in statements()]
    with contextlib.closing(sqlite3.connect(path)) as connection:
        for table in TABLES:
            for row in connection.execute(f"SELECT * FROM {table}"):
                lines.append(f"INSERT INTO {table} VALUES ({', '.join(map(_literal, row))});")
    return "\n".join(lines) + "\n"


def _literal(value):
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return f"'\\x{value.hex()}'"
    return str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"


def record(release):
    transactions._SNAPSHOT_EVERY, transactions._BYTES_PER_EVENT = 60, 10**6
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rankone.db"
        play(path)
        with contextlib.closing(sqlite3.connect(path)) as connection:  # one snapshot will do
            connection.execute("DELETE FROM rankone_snapshots WHERE seq < (SELECT max(seq) FROM rankone_snapshots)")
            connection.commit()
        (FOLDER / f"release-{release}.sqlite.sql").write_text(for_sqlite(path))
        (FOLDER / f"release-{release}.postgres.sql").write_text(for_postgres(path))
        (FOLDER / f"release-{release}.json").write_text(json.dumps(go_on(path), indent=1) + "\n")


if __name__ == "__main__":
    record(sys.argv[1])
