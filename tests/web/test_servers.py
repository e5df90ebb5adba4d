"""Several servers on one database, and the simulated audience."""

from typer.testing import CliRunner

from rankone import RankOne
from rankone.cli import build_app
from rankone.client.client import Client
from rankone.live.operate.doctor import examine
from rankone.web.timeline import SIMULATED
from rankone.web.traffic import simulate_traffic

from .helpers import HOMEPAGE, running


def test_two_servers_share_their_experiments(db):
    servers = running(db, durability="normal"), running(db, durability="normal")
    with servers[0] as one, servers[1] as other, Client(one) as first, Client(other) as second:
        first.create("homepage", 3, 2, "ucb1", seed=1)
        for number in range(30):  # asked here, told there, and the other way round
            here, there = (first, second) if number % 2 else (second, first)
            decision = here.experiment("homepage").ask(key=f"visit {number}")
            assert there.experiment("homepage").ask(key=f"visit {number}") == decision
            there.experiment("homepage").tell(decision.id, number % 3 == 0)
            assert here.experiment("homepage").tell(decision.id, number % 3 == 0).repeated
        assert first.experiment("homepage").report() == second.experiment("homepage").report()
        assert first.experiment("homepage").report().decisions == 30
        second.create("made at the other", 2, 2, "ucb1")
        assert first.experiment("made at the other").ask().number == 0
    assert all(finding.ok for finding in examine(db))


def test_simulated_visitors_are_labelled(tmp_path):
    db = tmp_path / "rankone.db"
    with running(db) as url, Client(url) as client:
        problem = RankOne([0.9, 0.1], [0.9, 0.1], row_names=["good", "bad"], col_names=["top", "bottom"])
        visits, clicks = simulate_traffic(client, "demo", problem, policy="ucb1", rate=1e6, visits=333, batch=20)
        report = client.experiment("demo").report()
        assert visits == report.decisions == 333
        assert clicks == report.outcomes["clicked"]
        assert (report.best["row"], report.best["col"]) == ("good", "top")
        lines = client.experiment("demo").export("csv").decode().splitlines()
        assert sum(f",{SIMULATED}," in line for line in lines[1:]) == 333
        assert client.experiment("demo").exclude(source=SIMULATED) == 333  # and can be taken out again


def test_the_command_sends_visitors(tmp_path):
    with running(tmp_path / "rankone.db") as url, Client(url) as client:
        words = ["simulate-traffic", url, "demo", "--problem", "needle:2x2", "--policy", "ucb1", "--visits", "50"]
        found = CliRunner().invoke(build_app(), [*words, "--rate", "100000"])
        assert found.exit_code == 0, found.output
        assert "50 visits" in found.output
        assert client.experiment("demo").report().brief in found.output
        client.create("other size", 3, 3, "ucb1")
        wrong = CliRunner().invoke(build_app(), ["simulate-traffic", url, "other size", *words[3:]])
        assert "a problem of 3 x 3" in str(wrong.exception)
        client.create("own names", ["good", "bad"], ["top", "side"], "ucb1")
        named = CliRunner().invoke(build_app(), ["simulate-traffic", url, "own names", *words[3:], "--rate", "100000"])
        assert "does not know: 'good' with 'top'" in " ".join(named.output.split())


def test_visitors_of_a_world_that_changes_or_is_no_product(tmp_path):
    with running(tmp_path / "rankone.db") as url, Client(url) as client:
        more = ["--policy", "ucb1", "--visits", "60", "--rate", "100000"]
        send = lambda spec: CliRunner().invoke(build_app(), ["simulate-traffic", url, spec, "-p", spec, *more])  # noqa: E731
        changing = send("product:2x1x2:low=0.9,high=1|changes=1,at=30,wear=1e9")
        assert changing.exit_code == 0, changing.output
        assert "at first; then it changes" in " ".join(changing.output.split())
        table = send("exception:2x2:low=0,high=0.1,best=1")
        assert "does not know: 'row 2' with 'col 2', 100% clicks." in " ".join(table.output.split())
        report = client.experiment("exception:2x2:low=0,high=0.1,best=1").report()
        assert (report.decisions, report.best["row"], report.best["col"]) == (60, "row 2", "col 2")
        assert "Expected a policy that plays lists" in str(send("cascade:4x2").exception)


def test_the_default_policy_serves(tmp_path):
    with running(tmp_path / "rankone.db") as url, Client(url, timeout=300) as client:
        experiment = client.create("homepage", HOMEPAGE["rows"], HOMEPAGE["cols"])
        experiment.tell(experiment.ask().id, True)
        assert experiment.report().policy == "uts:coin=true"
