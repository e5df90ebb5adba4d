"""Live experiments: the journal is the truth, and everything else is folded from it."""

from rankone.serving.database import Database
from rankone.serving.experiment import Experiment
from rankone.serving.outcomes import Ask, Decision, Outcome, Tell, Void

__all__ = ["Ask", "Database", "Decision", "Experiment", "Outcome", "Tell", "Void"]
