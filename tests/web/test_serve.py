"""How the service starts: which page to open, and a taken port in the one voice of errors."""

import socket

import pytest
from typer.testing import CliRunner

from rankone import Experiment
from rankone.cli import build_app
from rankone.errors import InputError
from rankone.web.server.options import ServerOptions
from rankone.web.server.serve import greeting, listen


def test_a_taken_port_is_an_error_in_one_voice(tmp_path):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        found = CliRunner().invoke(build_app(), ["serve", str(tmp_path / "x.db"), "--port", str(port)])
    assert isinstance(found.exception, InputError)
    assert f"Cannot listen on 127.0.0.1 port {port}: Address already in use. Try --port " in str(found.exception)


def test_an_address_of_another_machine_is_refused():
    with pytest.raises(InputError, match=r"Try --host 127\.0\.0\.1"):
        listen("192.0.2.1", 0)  # kept for examples: nobody has it


def test_the_first_line_says_which_page_and_which_database(tmp_path):
    db = str(tmp_path / "rankone.db")
    Experiment("homepage", ["A", "B"], ["x", "y"], db=db).close()
    said = greeting(ServerOptions(db), 8123)
    assert f"Open http://127.0.0.1:8123/ in a browser. Database {db}: 1 experiment." in said
    assert "Open http://localhost:80/ " in greeting(ServerOptions(db, "0.0.0.0"), 80)
    assert "Open http://[::1]:80/ " in greeting(ServerOptions(db, "::1"), 80)


def test_nobody_listens_is_said_before_anything_else():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    found = CliRunner().invoke(build_app(), ["simulate-traffic", url, "demo", "-p", "needle:2x2"])
    assert found.exit_code == 1
    assert "The truth" not in found.output


def test_a_token_for_a_database_that_is_new_says_so(tmp_path):
    words = ["token", "create", str(tmp_path / "x.db"), "--scope", "read"]
    assert "x.db is a new database" in CliRunner().invoke(build_app(), words).stderr
    assert "new database" not in CliRunner().invoke(build_app(), words).stderr
    listed = CliRunner().invoke(build_app(), ["token", "list", str(tmp_path / "x.db")])
    assert "read" in listed.stdout
    assert "┃" not in listed.stdout


def test_a_token_for_a_database_elsewhere_says_nothing_of_it(postgres, postgres_db):
    schema = postgres_db.rpartition("%3D")[2]
    address = f"host={postgres.folder} dbname=postgres user=rankone password=secret options=-csearch_path={schema}"
    made = CliRunner().invoke(build_app(), ["token", "create", address, "--scope", "read"])
    assert (made.exit_code, made.stdout[:3]) == (0, "rk_")
    assert "secret" not in made.stderr
