"""One experiment that the service cannot play, or not even read, does not take the others with it."""

import logging
import time

from rankone.live.fold import fold_cache
from rankone.policies import base
from tests.live.helpers import damage, start

from .helpers import Api, running


def test_the_list_and_the_page_go_on_without_its_policy(sqlite_db, monkeypatch, caplog):
    for name, policy in (("own", "uniform"), ("ordinary", "ucb1")):
        start(sqlite_db, policy, name=name).close()
    start(sqlite_db, name="damaged").close()
    damage(sqlite_db, 3)
    monkeypatch.delitem(base._POLICIES._things, "uniform")
    monkeypatch.setattr("rankone.web.server.service._TICK", 0.01)
    read, whole = [], fold_cache.read_whole
    monkeypatch.setattr(fold_cache, "read_whole", lambda storage, number: read.append(number) or whole(storage, number))
    with caplog.at_level(logging.WARNING), running(sqlite_db) as url:
        api = Api(url)
        answer = api("GET", "/v1/experiments").json()
        assert {shown["name"]: shown["policy_known"] for shown in answer["experiments"]} == {
            "own": False,
            "ordinary": True,
        }
        assert [broken["name"] for broken in answer["damaged"]] == ["damaged"]
        assert "journal" in answer["damaged"][0]["detail"]
        figures = api("GET", "/metrics").body.decode()
        assert 'rankone_damaged{experiment="damaged"} 1' in figures
        assert 'rankone_decisions_total{experiment="ordinary"} 0' in figures
        assert "not known here" in api.on("own", "GET", "/view").json()["report"]["warnings"][-1]
        assert "Import the module" in api.on("own", "POST", "/ask").json()["detail"]
        assert api.on("ordinary", "POST", "/ask").status == 200
        time.sleep(0.2)  # many ticks
    warnings = [record.getMessage() for record in caplog.records if "looking after" in record.getMessage()]
    assert len(warnings) == 1  # said once, not at every tick; and only of the one that is damaged
    assert "looking after damaged" in warnings[0]
    assert read.count(3) == 1  # reading it again and again would hold up the others
