"""Everything that 0.1 said in another way: the old way, the new way, and what the warning says."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

import rankone
from rankone import clicks
from rankone.client.client import RemoteExperiment

MOVED = [
    "Best", "Challengers", "IMEDUB", "KLUCB", "KLUCBUB", "OSUB", "Rank1Elim", "Rank1ElimKLAnytime", "TopTwo",
    "UCB1Elim", "Uniform",
]  # fmt: skip
NAMES = [
    ("rankone", "policy", "rankone.as_policy"),
    ("rankone", "problem", "rankone.as_problem"),
    ("rankone.clicks", "model", "rankone.clicks.as_model"),
    ("rankone.clicks", "PBMDirect", "rankone.clicks.PBM"),
    ("rankone.clicks", "pair_counts", "rankone.clicks.as_pair_counts"),
    ("rankone.policies", "Decision", "rankone.policies.AgentDecision"),
    ("rankone.policies", "policy", "rankone.policies.as_policy"),
    ("rankone.problems", "problem", "rankone.problems.as_problem"),
    *(("rankone", name, f"rankone.policies.{name}") for name in MOVED),
]


class Use(NamedTuple):
    """Something said the old and the new way; what the two give is compared."""

    old: Callable[[], Any]
    new: Callable[[], Any]
    told: str


def position(what: str, function: str) -> str:
    return f"{what} by position in {function}() is deprecated: use " + ("their names" if "," in what else f"{what} by name")  # fmt: skip


SMALL = rankone.RankOne([0.9, 0.5], [0.8, 0.3])
COUNTS = clicks.Counts(pl.DataFrame({"query": "q", "item": ["a", "a", "b", "b"], "position": [1, 2, 1, 2],
                                     "impressions": 100, "clicks": [40, 10, 20, 5]}))  # fmt: skip
LISTS = pl.DataFrame({"list": [1, 1], "query": "q", "item": ["a", "b"], "position": [1, 2], "clicked": [True, False]})


PAIRS = rankone.policies.Challengers()  # plays nothing but pairs
WHOLE = clicks.count(LISTS, **{name: name for name in ("list", "query", "item", "position", "clicked")})


def told(**outcome):
    agent = rankone.UTS().agent(3, 3, seed=1)
    agent.tell(agent.ask(), **outcome)
    return [tuple(agent.ask()) for _ in range(5)]


def check():
    return rankone.check_rank1(([[100, 100], [100, 100]], [[40, 10], [20, 6]]), simulations=20).checks[0]


def report():
    return clicks.Rank1Report((check(),), 0.05)


def live(use):
    with tempfile.TemporaryDirectory() as folder, rankone.Experiment("e", 2, 2, db=f"{folder}/live.db") as experiment:
        found = use(experiment)
        return found.status if hasattr(found, "status") else found


class Service:
    """A service that answers nothing in particular and shows what it was sent."""

    def send(self, method, path, body, headers=None, again=False):
        if path.endswith("stop"):
            return {"shown_row": body["row"], "shown_col": body["why"]}
        return {"id": f"{path} {body}", "clicked": None, "status": "void", "learned": False}


def remote(use):
    return use(RemoteExperiment(Service(), "e"))


def regrets(study):
    return study.table["regret"].to_list()


def arena(*args, **settings):
    return rankone.arena(*args, runs=1, quick=True, workers=1, **settings).table.drop("seconds").to_dicts()


def database(*settings, **named):
    with tempfile.TemporaryDirectory() as folder, rankone.Database(f"{folder}/x.db", *settings, **named) as found:
        return found.names()


def saved(save):
    with tempfile.TemporaryDirectory() as folder:
        save(Path(folder) / "p.json")
        return (Path(folder) / "p.json").read_text()


def fitted(model):
    return model.fit(COUNTS).item_attraction_.tolist()


def values(thing):
    return {name: str(value) for name, value in vars(thing).items()}


def own_model(name):
    own = type("Own", (clicks.ClickModel,), {name: lambda self, lists, attraction: (attraction, attraction)})
    return own().chances(None, 0.25)


def set_by_hand():
    model = clicks.PBM().fit(COUNTS)
    model.attraction = np.zeros(2)
    return model.attraction_["attraction"].to_list()


def again(kind, fields):
    """Make a result of 0.1 by position and by name."""
    named = dict.fromkeys(fields.split(), 1)
    return Use(
        lambda: values(kind(*named.values())), lambda: values(kind(**named)),
        position(", ".join(f"{name}=" for name in named), kind.__name__),
    )  # fmt: skip


USES = {
    "Agent.tell(reward=)": Use(
        lambda: told(reward=1), lambda: told(clicked=True), "reward= in Agent.tell() is deprecated: use clicked=",
    ),
    "policy.agent(n_rows, n_cols, seed)": Use(
        lambda: tuple(PAIRS.agent(3, 3, 7).ask()), lambda: tuple(PAIRS.agent(3, 3, seed=7).ask()),
        "a seed after n_rows and n_cols is deprecated: use seed=",
    ),
    "Rank1Report.as_dict": Use(
        lambda: report().as_dict(), lambda: report().to_dict(), "Rank1Report.as_dict is deprecated: use to_dict",
    ),
    "Rank1Check.as_dict": Use(
        lambda: check().as_dict(), lambda: check().to_dict(), "Rank1Check.as_dict is deprecated: use to_dict",
    ),
    "Rank1Report.table": Use(
        lambda: report().table().to_dicts(), lambda: report().summary().to_dicts(),
        "Rank1Report.table is deprecated: use summary",
    ),
    "Report.as_dict": Use(
        lambda: live(lambda one: one.report().as_dict()), lambda: live(lambda one: one.report().to_dict()),
        "Report.as_dict is deprecated: use to_dict",
    ),
    "Experiment.tell(id=)": Use(
        lambda: live(lambda one: one.tell(id=one.ask(), clicked=True)),
        lambda: live(lambda one: one.tell(decision=one.ask(), clicked=True)),
        "id= in Experiment.tell() is deprecated: use decision=",
    ),
    "Experiment.void(id=)": Use(
        lambda: live(lambda one: one.void(id=one.ask().id)), lambda: live(lambda one: one.void(one.ask().id)),
        "id= in Experiment.void() is deprecated: use decision=",
    ),
    "Experiment.stop(row, col, why)": Use(
        lambda: live(lambda one: one.stop("row 1", "col 2", "enough")),
        lambda: live(lambda one: one.stop("row 1", "col 2", why="enough")), position("why=", "Experiment.stop"),
    ),
    "RemoteExperiment.tell(id=)": Use(
        lambda: remote(lambda one: one.tell(id="7", clicked=True)), lambda: remote(lambda one: one.tell("7", True)),
        "id= in RemoteExperiment.tell() is deprecated: use decision=",
    ),
    "RemoteExperiment.void(id=)": Use(
        lambda: remote(lambda one: one.void(id="7")), lambda: remote(lambda one: one.void("7")),
        "id= in RemoteExperiment.void() is deprecated: use decision=",
    ),
    "RemoteExperiment.stop(row, col, why)": Use(
        lambda: remote(lambda one: one.stop("A", "1", "enough")),
        lambda: remote(lambda one: one.stop("A", "1", why="enough")), position("why=", "RemoteExperiment.stop"),
    ),
    "Database(db, durability)": Use(
        lambda: database("off"), lambda: database(durability="off"), position("durability=", "Database"),
    ),
    "simulate(problems, policies, horizon, runs)": Use(
        lambda: regrets(rankone.simulate(SMALL, "ucb1", 50, 2, 7, workers=1)),
        lambda: regrets(rankone.simulate(SMALL, "ucb1", 50, runs=2, seed=7, workers=1)),
        position("runs=, seed=", "simulate"),
    ),
    "sweep(problems, policies, horizon, grid, runs)": Use(
        lambda: rankone.sweep("needle:{k}x2", "ucb1", 50, {"k": [2]}, 2, workers=1).table.drop("seconds").to_dicts(),
        lambda: rankone.sweep("needle:{k}x2", "ucb1", 50, {"k": [2]}, runs=2, workers=1).table.drop("seconds").to_dicts(),
        position("runs=", "sweep"),
    ),
    "arena(policies, problems)": Use(
        lambda: arena(["ucb1"], "two-by-two"), lambda: arena("two-by-two", ["ucb1"]),
        "arena(policies, problems) is deprecated: use arena(problems, policies)",
    ),
    "arena(policies)": Use(
        lambda: arena(rankone.UCB1(), problems="two-by-two"), lambda: arena("two-by-two", "ucb1"),
        "arena(policies, problems) is deprecated: use arena(problems, policies)",
    ),
    "arena(None, problems)": Use(
        lambda: arena(None, ["two-by-two"], against="ucb1", half="tune")[:2],
        lambda: arena("two-by-two", against="ucb1", half="tune")[:2],
        "arena(policies, problems) is deprecated: use arena(problems, policies)",
    ),
    "arena(problems, policies, half)": Use(
        lambda: arena("two-by-two", "ucb1", "tune"), lambda: arena("two-by-two", "ucb1", half="tune"),
        position("half=", "arena"),
    ),
    "Explanation.about_lines": Use(
        lambda: rankone.explain("ucb1", SMALL, horizon=20).about_lines, lambda: False,
        "Explanation.about_lines is deprecated: use about_levels",
    ),
    "explain(policy, problem, horizon)": Use(
        lambda: rankone.explain("ucb1", SMALL, 20, 3).frames[-1].text,
        lambda: rankone.explain("ucb1", SMALL, horizon=20, seed=3).frames[-1].text,
        position("horizon=, seed=", "explain"),
    ),
    "recommend(rank_one=)": Use(
        lambda: str(rankone.recommend(rank_one=False)), lambda: str(rankone.recommend(rank1=False)),
        "rank_one= in recommend() is deprecated: use rank1=",
    ),
    "needle(n_rows, n_cols, p, gap)": Use(
        lambda: rankone.needle(2, 3, 0.1, 0.2).to_dict(), lambda: rankone.needle(2, 3, p=0.1, gap=0.2).to_dict(),
        position("p=, gap=", "needle"),
    ),
    "random_problem(n_rows, n_cols, seed)": Use(
        lambda: rankone.random_problem(2, 3, 7).to_dict(), lambda: rankone.random_problem(2, 3, seed=7).to_dict(),
        position("seed=", "random_problem"),
    ),
    "RankOne(rows, cols, row_names)": Use(
        lambda: rankone.RankOne([0.5], [0.4], ["a"], ["b"], "c").to_dict(),
        lambda: rankone.RankOne([0.5], [0.4], row_names=["a"], col_names=["b"], name="c").to_dict(),
        position("row_names=, col_names=, name=", "RankOne"),
    ),
    "save_problems(path, problems)": Use(
        lambda: saved(lambda path: rankone.save_problems(path, [SMALL])),
        lambda: saved(lambda path: rankone.save_problems([SMALL], path)),
        "save_problems(path, problems) is deprecated: use save_problems(problems, path)",
    ),
    "save_problems(problems, path, extra)": Use(
        lambda: saved(lambda path: rankone.save_problems([SMALL], path, {"of": 1})),
        lambda: saved(lambda path: rankone.save_problems([SMALL], path, extra={"of": 1})),
        position("extra=", "save_problems"),
    ),
    "Feedback(steps, mean, size)": Use(
        lambda: rankone.Feedback(1, 2.0), lambda: rankone.Feedback(steps=1, mean=2.0),
        position("steps=, mean=", "Feedback"),
    ),
    "as_pair_counts(shown, clicked, row_names)": Use(
        lambda: clicks.as_pair_counts([[2]], [[1]], ["a"]).row_names,
        lambda: clicks.as_pair_counts([[2]], [[1]], row_names=["a"]).row_names,
        position("row_names=", "as_pair_counts"),
    ),
    "compare_models(counts, lists, models)": Use(
        lambda: clicks.compare_models(COUNTS, LISTS, ["ctr-rank"]).to_dicts(),
        lambda: clicks.compare_models(COUNTS, LISTS, models=["ctr-rank"]).to_dicts(),
        position("models=", "compare_models"),
    ),
    "ClickModel.fit(counts, progress)": Use(
        lambda: len(clicks.GlobalCTR().fit(COUNTS, None).attraction_), lambda: len(clicks.GlobalCTR().fit(COUNTS).attraction_),
        position("progress=", "ClickModel.fit"),
    ),
    "ClickModel.predict(lists, attraction) of one's own": Use(
        lambda: own_model("predict"), lambda: own_model("chances"),
        "Own.predict(lists, attraction) is deprecated: use the name chances",
    ),
    "ClickModel.attraction": Use(
        lambda: clicks.PBM().fit(COUNTS).attraction.tolist(), lambda: fitted(clicks.PBM()),
        "PBM.attraction is deprecated: use item_attraction_",
    ),
    "ClickModel.attraction = ...": Use(
        set_by_hand, lambda: [0.0, 0.0], "PBM.attraction is deprecated: use item_attraction_",
    ),
    'as_model("pbm-direct")': Use(
        lambda: clicks.as_model("pbm-direct").name, lambda: clicks.as_model("pbm").name,
        "the click model pbm-direct is deprecated: use pbm",
    ),
    "UBM.examination": Use(
        lambda: clicks.UBM(min_impressions=0).fit(WHOLE).examination.tolist(),
        lambda: clicks.UBM(min_impressions=0).fit(WHOLE).curves_.tolist(), "UBM.examination is deprecated: use curves_",
    ),
    "ProductModel.curves": Use(
        lambda: clicks.PBM().fit(COUNTS).curves.tolist(), lambda: clicks.PBM().fit(COUNTS).curves_.tolist(),
        "PBM.curves is deprecated: use curves_",
    ),
    **{
        f"{kind.__name__}(min_impressions)": Use(
            lambda kind=kind: values(kind(3)), lambda kind=kind: values(kind(min_impressions=3)),
            position("min_impressions=", of),
        )
        for kind, of in [
            (clicks.PBM, "PBM"), (clicks.UBM, "UBM"), (clicks.Cascade, "Cascade"),
            (clicks.DCM, "BrowsingModel"), (clicks.SDBN, "BrowsingModel"), (clicks.GlobalCTR, "CTRModel"),
            (clicks.RankCTR, "CTRModel"), (clicks.DocumentCTR, "CTRModel"), (clicks.ClickModel, "ClickModel"),
        ]
    },
    "Explanation(...)": again(
        rankone.Explanation, "policy problem horizon seed frames about_levels interval scored_by again"
    ),
    "Evaluation(...)": again(
        clicks.Evaluation, "model log_likelihood log_likelihood_se perplexity perplexity_by_rank lists lists_left_out"
    ),
    "GeneratedLog(...)": again(clicks.GeneratedLog, "path world suffix rows lists clicks injected"),
    "Rank1Check(...)": again(
        clicks.Rank1Check,
        "name n_rows n_cols outcomes clicks constraints statistic p_value p_anytime simulations method visible cells",
    ),
}  # fmt: skip
