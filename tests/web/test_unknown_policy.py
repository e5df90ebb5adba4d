"""One experiment that the service cannot play, or not even read, does not take the others with it."""

import logging
import time

from rankone.policies import base
from rankone.serving import Database
from tests.serving.helpers import start

from .helpers import Api, running


def test_the_list_and_the_page_go_on_without_its_policy(sqlite_db, monkeypatch, caplog):
    for name, policy in (("own", "uniform"), ("ordinary", "ucb1")):
        start(sqlite_db, policy, name=name).close()
    start(sqlite_db, name="damaged").close()
    with Database(sqlite_db) as database:
        database.transactions.storage.query("UPDATE rankone_journal SET at = at + 1 WHERE experiment = 3")
    monkeypatch.delitem(base._POLICIES._kinds, "uniform")
    monkeypatch.setattr("rankone.web.service._TICK", 0.01)
    with caplog.at_level(logging.WARNING), running(sqlite_db) as url:
        api = Api(url)
        listed = {shown["name"]: shown["policy_known"] for shown in api("GET", "/v1/experiments").json()["experiments"]}
        assert listed == {"own": False, "ordinary": True}
        assert "not known here" in api.on("own", "GET", "/view").json()["report"]["sentence"]
        assert "import the module" in api.on("own", "POST", "/ask").json()["detail"]
        assert api.on("ordinary", "POST", "/ask").status == 200
        time.sleep(0.2)  # many ticks
    warnings = [record.getMessage() for record in caplog.records if "windows of" in record.getMessage()]
    assert len(warnings) == 1  # said once, not at every tick; and only of the one that is damaged
    assert "windows of damaged" in warnings[0]
