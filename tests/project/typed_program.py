"""A user's program, for type checkers and to be run: what the public names give is not Any."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

import multimargin
from multimargin import (
    Calibration,
    DataFileError,
    LabelTree,
    ModelFileError,
    MulticlassSVC,
    PruningCost,
    TextClassifier,
    distributed,
    dump_svmlight,
    export_onnx,
    load_model,
    load_svmlight,
    match_class,
    mean_label_cost,
    path,
    prune,
    pruning_costs,
    read_table,
    rounds,
    save_model,
    tune,
)
from multimargin.datasets import (
    SetParts,
    load_set,
    load_wordnet_hypernyms,
    make_hierarchical_text,
    make_wordnet_embeddings,
    wordnet_parents,
)
from multimargin.inspection import (
    CalibrationReport,
    Certificate,
    ClassReport,
    ConfusedPair,
    Confusions,
    Contribution,
    CoverageReport,
    Explanation,
    Family,
    Margins,
    Part,
    PredictionSets,
    SampleContribution,
    SampleExplanation,
    SupportSet,
    TopFeatures,
    calibration_report,
    class_report,
    confusions,
    coverage_report,
    margins,
    similar_classes,
    support_set,
)
from multimargin.selection import (
    Candidate,
    PathPoint,
    RegularizationPath,
    Tuning,
    default_penalties,
)
from multimargin.serving import Limits, Server
from multimargin.tables import Table
from multimargin.text import TextFeatures


def estimator(X: csr_matrix[Any], y: NDArray[np.int64]) -> MulticlassSVC:
    model = MulticlassSVC("cs", C=2.0, class_weight="balanced", random_state=0)
    model = assert_type(model.fit(X, y, sample_weight=np.ones(len(y))), MulticlassSVC)
    assert_type(model.predict(X), NDArray[Any])
    assert_type(model.decision_function(X), NDArray[np.floating])
    labels, scores = model.predict_topk(X, k=3)
    assert_type(labels, NDArray[Any])
    assert_type(scores, NDArray[np.floating])
    assert_type(model.score(X, y), float)
    assert_type(model.multilabel_, str | None)
    assert_type(model.sparsify(), MulticlassSVC)
    tree = LabelTree(dict.fromkeys(model.classes_.tolist(), "root"), cost="depth")
    assert_type(mean_label_cost(y, model.set_params(label_cost=tree).predict(X), tree), float)
    assert_type(model.densify(), MulticlassSVC)
    assert_type(model.get_params(), dict[str, Any])
    assert_type(model.set_params(C=1.0), MulticlassSVC)
    return model


def names() -> list[MulticlassSVC]:
    """The names that parameters take are known to type checkers, and others are errors."""
    return [
        MulticlassSVC("ovr", loss="squared_hinge", stopping="violation", solver="passes"),
        MulticlassSVC("svm"),  # type: ignore[arg-type]
        MulticlassSVC(loss="logistic"),  # type: ignore[arg-type]
        MulticlassSVC(solver="newton"),  # type: ignore[arg-type]
        MulticlassSVC(stopping="never"),  # type: ignore[arg-type]
        MulticlassSVC(calibration="folds"),  # type: ignore[arg-type]
        TextClassifier("llw", analyzer="char_wb", strip_accents="ascii"),
        TextClassifier("cs", analyzer="words"),  # type: ignore[arg-type]
    ]


def attributes(model: MulticlassSVC) -> None:
    assert_type(model.classes_, NDArray[Any])
    assert_type(model.coef_, NDArray[Any] | csr_matrix[Any])
    assert_type(model.intercept_, NDArray[Any])
    assert_type(model.n_features_in_, int)
    assert_type(model.n_iter_, int)
    assert_type(model.primal_objective_ - model.dual_objective_, float)
    assert_type(model.dual_gap_, float)
    assert_type(model.violation_, float)
    assert_type(model.converged_, bool)
    assert_type(model.n_bundles_, int | None)
    assert_type(model.model_density_, float)
    assert_type(model.history_[-1]["gap"], float)


def files(folder: Path, model: MulticlassSVC, X: csr_matrix[Any], y: NDArray[np.int64]) -> None:
    dump_svmlight(folder / "data.svm", X, y)
    Z, labels = load_svmlight(folder / "data.svm", n_features=X.shape[1])
    assert_type(Z, csr_matrix[Any])
    assert_type(labels, NDArray[Any])
    save_model(model, folder / "model", preprocessing={"normalize": "l2"})
    assert_type(load_model(folder / "model", verify=True), MulticlassSVC)
    try:
        load_model(folder / "data.svm")
    except ModelFileError as error:
        assert_type(error, ModelFileError)
    try:
        load_svmlight(folder / "model")
    except DataFileError as error:
        assert_type(error, DataFileError)


def probabilities(model: MulticlassSVC, X: csr_matrix[Any], y: NDArray[np.int64]) -> None:
    assert_type(model.calibrate(X, y, method="temperature"), MulticlassSVC)
    assert_type(model.calibration_, Calibration)
    assert_type(model.calibration_.temperature, float)
    assert_type(model.predict_proba(X), NDArray[np.floating])
    assert_type(model.predict_log_proba(X), NDArray[np.floating])
    labels, scores, shares = model.predict_topk(X, k=2, proba=True)
    assert_type(labels, NDArray[Any])
    assert_type(scores, NDArray[np.floating])
    assert_type(shares, NDArray[np.floating])
    report = assert_type(calibration_report(model, X, y), CalibrationReport)
    assert_type(report.log_loss + report.accuracy_of(0.5), float)
    sets = assert_type(model.predict_set(X, coverage=0.5), PredictionSets)
    assert_type(sets[0], NDArray[Any])
    assert_type(sets.contains(y), NDArray[np.bool_])
    covered = assert_type(coverage_report(model, X, y, 0.5), CoverageReport)
    assert_type(covered.coverage + covered.mean_size, float)


def several_ranks(folder: Path) -> None:
    X, y = distributed.load(folder / "data.svm", normalize="l2")
    assert_type(X, csr_matrix[Any])
    trained = distributed.fit(MulticlassSVC(random_state=0), X, y)
    assert_type(trained, distributed.DistributedModel)
    assert_type(trained.predict(X), NDArray[Any])
    labels, scores = trained.predict_topk(X, k=2)
    assert_type(labels, NDArray[Any])
    assert_type(scores, NDArray[np.floating])
    assert_type(trained.score(X, y), float)
    assert_type(trained.dual_gap_, float)
    assert_type(trained.get_params(), dict[str, Any])
    assert_type(trained.certify(X, y), Certificate)
    trained.save(folder / "trained")
    assert_type(trained.gather(), MulticlassSVC | None)
    assert_type(distributed.load_model(folder / "trained"), distributed.DistributedModel)


def data_sets() -> None:
    texts, topics = load_wordnet_hypernyms(subset="test", return_X_y=True)
    assert_type(texts, csr_matrix[Any])
    assert_type(topics, NDArray[np.str_])
    assert_type(wordnet_parents(), dict[str, str])
    assert_type(load_set("wordnet-hypernym", None), SetParts)


def texts(folder: Path) -> None:
    (folder / "texts.csv").write_text(
        "text,label\na red rose,flower\na white rose,flower\na loud dog,pet\na red cat,pet\n"
    )
    table = read_table(folder / "texts.csv", ["text", "label"])
    assert_type(table, Table)
    TextClassifier(encoder=np.atleast_2d, features="words")  # type: ignore[arg-type]
    model = TextClassifier("ww", C=10.0, text="text", random_state=0)
    assert_type(model.fit(table, table["label"]), TextClassifier)
    assert_type(model.predict(table), NDArray[Any])
    assert_type(model.features_, TextFeatures)
    assert_type(model.dual_gap_, float)
    assert_type(model.set_params(C=1.0), TextClassifier)


def explained(model: MulticlassSVC, X: csr_matrix[Any]) -> None:
    why = model.explain(X[0], k=3)
    assert_type(why, Explanation)
    assert_type(why.contributions, list[Contribution])
    assert_type(why.intercept_part, Part)
    assert_type(why.contributions[0].feature, str)
    assert_type(model.top_features(model.classes_[0], k=3), TopFeatures)
    assert_type(similar_classes(model, model.classes_[0]), list[tuple[Any, float]])


def inspected(model: MulticlassSVC, X: csr_matrix[Any], y: NDArray[np.int64]) -> None:
    report = class_report(model, X, y)
    assert_type(report, ClassReport)
    assert_type(report.accuracy, float)
    wrong = confusions(model, X, y)
    assert_type(wrong, Confusions)
    assert_type(wrong.pairs, list[ConfusedPair])
    assert_type(wrong.families, list[Family])
    assert_type(margins(model, X, y), Margins)
    kept = MulticlassSVC(warm_start=True, random_state=0).fit(X, y)
    assert_type(support_set(kept, y), SupportSet)
    found = assert_type(kept.certify(X, y), Certificate)
    assert_type(found.primal - found.dual, float)
    assert_type(found.gap, float)
    why = assert_type(kept.explain_by_samples(X[0], X, y), SampleExplanation)
    assert_type(why.contributions, list[SampleContribution])
    assert_type(found.dual_recomputed, bool)


def schedule() -> None:
    assert_type(match_class(4, 0, 1), int | None)
    assert_type(rounds(4), list[list[tuple[int, int]]])


def selected(X: csr_matrix[Any], y: NDArray[np.int64]) -> None:
    found = assert_type(path(X, y, [0.1, 1.0], validation=(X, y)), RegularizationPath)
    point = assert_type(found.best(), PathPoint)
    assert_type(point.C, float)
    tuned = assert_type(tune(X, y, formulations="ww", Cs=[1.0], holdout=0.3), Tuning)
    assert_type(tuned.best(), Candidate)
    assert_type(tuned.estimator().fit(X, y), MulticlassSVC)
    tune(X, y, formulations=["ww", "cs"], Cs=[1.0], holdout=0.3, measure="macro-f1")
    tune(X, y, formulations="ww", Cs=[1.0], holdout=0.3, measure="top_k")  # type: ignore[arg-type]
    assert_type(default_penalties("ww", 12), tuple[float, ...])


def smaller(folder: Path, model: MulticlassSVC, X: csr_matrix[Any], y: NDArray[np.int64]) -> None:
    assert_type(prune(model, keep=0.5), MulticlassSVC)
    assert_type(pruning_costs(model, X, y), list[PruningCost])
    export_onnx(model, folder / "model.onnx")


def served() -> None:
    server = Server("model", limits=Limits())
    assert_type(server.is_local, bool)


def main() -> None:
    X, y = make_hierarchical_text(200, 200, 12, random_state=0)
    assert_type(X, csr_matrix[Any])
    assert_type(make_wordnet_embeddings(2, 50), tuple[NDArray[Any], NDArray[np.str_]])
    model = estimator(X, y)
    assert len(names()) == 8
    attributes(model)
    with tempfile.TemporaryDirectory() as folder:
        files(Path(folder), model, X, y)
        several_ranks(Path(folder))
        probabilities(load_model(Path(folder) / "trained"), X, y)
        texts(Path(folder))
        smaller(Path(folder), model, X, y)
    selected(X, y)
    served()
    explained(model, X)
    inspected(model, X, y)
    schedule()
    print(assert_type(multimargin.__version__, str))


if __name__ == "__main__":
    main()
