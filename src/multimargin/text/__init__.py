"""Classifiers of texts: from strings and columns to features, and from features to classes."""

from multimargin.text._classifier import TextClassifier
from multimargin.text._features import TextFeatures

__all__ = ["TextClassifier", "TextFeatures"]
