"""From a click log to a problem: read or count a log, fit a click model, take a query's problem."""

from rankone.clicks.counts.counts import Counts
from rankone.clicks.counts.factor_counts import FactorCounts, as_pair_counts
from rankone.clicks.counts.frames import count
from rankone.clicks.examination.curve import ExaminationCurve, examination_curve
from rankone.clicks.examination.propensities import Propensities, propensities
from rankone.clicks.formats.base import FORMATS, Format
from rankone.clicks.logs.collector import Collector
from rankone.clicks.logs.reading import log_rows, read, read_lists, read_split
from rankone.clicks.logs.source import Block, Oversized, Source
from rankone.clicks.models.base import MODELS, ClickModel, as_model
from rankone.clicks.models.cascade import Cascade
from rankone.clicks.models.ccm import CCM
from rankone.clicks.models.ctr import DocumentCTR, GlobalCTR, RankCTR
from rankone.clicks.models.dbn import DBN, SDBN
from rankone.clicks.models.dcm import DCM
from rankone.clicks.models.evaluation import Evaluation, compare_models, evaluate
from rankone.clicks.models.pbm import PBM
from rankone.clicks.models.saving import load_model
from rankone.clicks.models.ubm import UBM
from rankone.clicks.rank1_test.report import Rank1Check, Rank1Report
from rankone.clicks.synthetic.generate import GeneratedLog, generate_log

__all__ = ["Counts", "FactorCounts", "as_pair_counts", "count"]
__all__ += ["FORMATS", "Block", "Collector", "Format", "Oversized", "Source"]
__all__ += ["log_rows", "read", "read_lists", "read_split"]
__all__ += ["CCM", "DBN", "DCM", "PBM", "SDBN", "UBM", "Cascade", "DocumentCTR", "GlobalCTR", "RankCTR"]
__all__ += ["MODELS", "ClickModel", "Evaluation", "as_model", "compare_models", "evaluate", "load_model"]
__all__ += ["ExaminationCurve", "Propensities", "examination_curve", "propensities"]
__all__ += ["GeneratedLog", "Rank1Check", "Rank1Report", "generate_log"]
