"""The twenty sentences that a user meets most, one for each command and state of the page: at most 25 words each."""

import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import rankone
from rankone.cli import build_app

TABLES = {
    "ab.csv": "Win a trip,beach,2000,61 Win a trip,kitchen,2000,40 Save money now,beach,2000,98 Save money now,kitchen,2000,63",
    "few.csv": "A,1,5,1 A,2,5,0 B,1,5,1 B,2,5,0",
    "near.csv": "A,1,900,95 A,2,900,90 B,1,900,88 B,2,900,92",
    "matched.csv": "A,1,500,200 A,2,500,103 B,1,500,99 B,2,500,120",
}
RATES = {"A": 0.5, "B": 0.2, "1": 0.9, "2": 0.5}
NUMBER = r"[\d.,]+"

#: What is done, and the first sentence that follows; `#` stands for a figure.
SENTENCES = {
    "analyse ab.csv": "'Save money now' with 'beach' wins: #% clicked, +#% (+#% to +#%) over the next headline. 95% sure.",
    "analyse near.csv": "'A' with '1' is ahead, not proven yet: #% (#% to #%) clicked.",
    "analyse few.csv": "Not enough data yet: # clicks in all, no clear winner.",
    "analyse matched.csv": "'A' with '1' has the highest rate: #% (#% to #%) clicked. Factors seem to interact, so no winner yet.",
    "check-rank1 ab.csv": "No sign of interaction (p = #); a #% mismatch would usually show.",
    "check-rank1 matched.csv": "Factors seem to interact (p = #), most of all 'B' with '2': #% observed, #% expected.",
    "plan --rows 2 --cols 2 --rate 0.2 --lift 0.5 --aim decide": "Aim 'decide': about # visitors for a winner; nine in ten finish by #.",
    "create shop.db home --factor headline=A,B --factor image=1,2 --seed 1":
        "'home' is ready: # x # combinations of headline, image, aim both, policy uts:coin=true, in shop.db.",
    "experiments shop.db home --brief": "No outcomes yet: # decisions so far.",
    "visitors 20": "Not enough data yet: # of # visitors clicked.",
    "visitors 240": "'A' with '1' is ahead, not proven yet: #% clicked.",
    "visitors 3000": "'A' with '1' wins: #% clicked. 95% sure.",
    "stop shop.db home": "Stopped: everyone sees 'A' with '1', the winner: #% clicked. 95% sure.",
    "resume shop.db home": "'A' with '1' wins: #% clicked. 95% sure.",
    "forbid shop.db home --level headline=B --level image=2": "Never shown together: headline 'B' with image '2'.",
    "export shop.db home --out all.csv": "# decisions of 'home' written to all.csv.",
    "what-if all.csv --target headline=A,image=1":
        "headline 'A' with image '1' would have earned # (# to #) per decision; the log earned #.",
    "migrate shop.db": "shop.db is up to date: schema #.",
    "analyse nofile.csv": "No such file: nofile.csv.",
    "stop shop.db hom": "No such experiment: hom. This database has: home.",
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the tables, in which the commands follow each other."""
    found = tmp_path_factory.mktemp("sentences")
    for name, rows in TABLES.items():
        lines = re.sub(r"(?<=\d) (?=[A-Z])", "\n", rows)
        (found / name).write_text(f"headline,image,shown,clicked\n{lines}\n")
    return found


def said(words: list[str]) -> str:
    """Do it, and return the first line that it says."""
    if words[0] == "visitors":
        rng = np.random.default_rng(3)
        with rankone.Experiment("home", db="shop.db") as home:
            while home.report().decisions < int(words[1]):
                asked = home.ask(20)
                home.tell_many(
                    [(one, bool(rng.random() < RATES[one["headline"]] * RATES[one["image"]])) for one in asked]
                )
            return home.report().headline
    done = CliRunner().invoke(build_app(), words)
    return str(done.exception) if done.exception else (done.stdout or done.stderr).strip().partition("\n")[0]


def test_the_twenty_sentences(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One test, as the experiment of one line is that of the next."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "200")
    assert len(SENTENCES) == 20
    for command, sentence in SENTENCES.items():
        found = said(command.split())
        assert re.fullmatch(re.escape(sentence).replace(r"\#", NUMBER), found), (command, found)
        assert len(found.split()) <= 25
