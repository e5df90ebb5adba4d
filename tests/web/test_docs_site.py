"""What the documentation says of the service is so: its Python, its requests."""

import json
import re
import shlex
import urllib.request

from rankone.client.client import Client
from rankone.live import Database
from rankone.web.server.access.tokens import list_tokens
from tests.reader import command
from tests.test_docs import ROOT, blocks, commands

from .helpers import running

PAGE = ROOT / "docs" / "run-it-on-your-site.md"


def block(language):
    return re.search(rf"^```{language}[^\n]*\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)[1]


def test_the_python_of_the_page_runs(tmp_path):
    with running(tmp_path / "rankone.db") as url:
        code = block("python")
        assert "http://127.0.0.1:8000" in code
        names = {}
        exec(compile(code.replace("http://127.0.0.1:8000", url), str(PAGE), "exec"), names)
        names["service"].close()
        with Client(url) as client:
            assert client.experiment("homepage").report().outcomes["held"] == 1


def test_the_commands_for_postgresql_work_there(postgres_db):
    (block,) = blocks(ROOT / "docs" / "deploy-postgresql.md", "sh", run=False)
    tokens = commands(block)
    assert len(tokens) == 2
    for words in tokens:
        command(*(postgres_db if word.startswith("postgresql://") else word for word in words))
    with Database(postgres_db, read_only=True) as database:
        assert {token.scopes for token in list_tokens(database)} == {("ask", "tell"), ("read",)}


def test_the_requests_of_the_page_are_answered_as_it_shows(tmp_path):
    exchanges = re.findall(r"^\$ curl (.*?)\n(\{.*?\})$", block("console"), re.MULTILINE | re.DOTALL)
    assert len(exchanges) == 2
    with running(tmp_path / "rankone.db") as url, Client(url) as client:
        client.create(
            "homepage", rows=["headline A", "headline B"], cols=["image 1", "image 2"], outcomes={"window": 600}
        )
        asked = ""
        for request, shown in exchanges:
            _, method, address, *more = shlex.split(request.replace("\\\n", " ").replace("0-5f0c...", "ID"))
            options = dict(zip(more[::2], more[1::2], strict=True))
            headers = dict([options["-H"].split(": ")]) if options else {}
            address = address.replace("http://127.0.0.1:8000", url).replace("ID", asked)
            sent = urllib.request.Request(address, options.get("-d", "").encode(), headers, method=method)
            with urllib.request.urlopen(sent) as answer:
                got = json.load(answer)
            said = json.loads(shown)
            if "decisions" in said:
                (said,), (got,) = said["decisions"], got["decisions"]
                asked = got["id"]
            else:
                assert got | {"id": said["id"]} == said
            assert got.keys() == said.keys()
