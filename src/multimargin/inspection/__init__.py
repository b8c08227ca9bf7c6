"""Why a model decides as it does, and where it goes wrong.

`MulticlassSVC.explain` and `MulticlassSVC.top_features` return an `Explanation` and `TopFeatures`.
"""

from multimargin.inspection._explanation import Contribution, Explanation, Part
from multimargin.inspection._feature_index import index_features
from multimargin.inspection._top_features import TopFeatures

__all__ = ["Contribution", "Explanation", "Part", "TopFeatures", "index_features"]
