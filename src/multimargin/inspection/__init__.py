"""Why a model decides as it does, and where it goes wrong.

`MulticlassSVC.explain`, `MulticlassSVC.explain_by_samples`, `MulticlassSVC.top_features` and
`MulticlassSVC.certify` return an `Explanation`, a `SampleExplanation`, `TopFeatures` and a
`Certificate`. The functions here look at many samples at once.
"""

from multimargin.inspection._certificate import Certificate
from multimargin.inspection._class_report import ClassReport, class_report
from multimargin.inspection._class_weights import TopFeatures
from multimargin.inspection._confusions import ConfusedPair, Confusions, Family, confusions
from multimargin.inspection._explanation import Contribution, Explanation, Part
from multimargin.inspection._margins import Margins, margins
from multimargin.inspection._sample_explanation import SampleContribution, SampleExplanation
from multimargin.inspection._similar import similar_classes
from multimargin.inspection._support_set import SupportSet, support_set
from multimargin.inspection.probabilities._calibration_report import (
    CalibrationReport,
    calibration_report,
)
from multimargin.inspection.probabilities._prediction_sets import (
    CoverageReport,
    PredictionSets,
    coverage_report,
)

__all__ = [
    "CalibrationReport",
    "Certificate",
    "ClassReport",
    "ConfusedPair",
    "Confusions",
    "Contribution",
    "CoverageReport",
    "Explanation",
    "Family",
    "Margins",
    "Part",
    "PredictionSets",
    "SampleContribution",
    "SampleExplanation",
    "SupportSet",
    "TopFeatures",
    "calibration_report",
    "class_report",
    "confusions",
    "coverage_report",
    "margins",
    "similar_classes",
    "support_set",
]
