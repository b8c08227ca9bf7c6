"""Costs between labels as users give them: arrays, exceptions, trees; in model files, too."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from multimargin import (
    DataFileError,
    LabelTree,
    ModelFileError,
    MulticlassSVC,
    TextClassifier,
    load_model,
    mean_label_cost,
    save_model,
)
from multimargin.io._array_file import read_arrays, write_arrays
from multimargin.models._label_costs import label_costs
from multimargin.models._measures import measures

X = np.eye(3)[[0, 1, 2, 0, 1, 2]]
Y = np.array(["a", "b", "c", "a", "b", "c"])
COSTS = np.array([[0, 1.0, 2.5], [0.5, 0, 1], [0, 3, 0]])
PARENTS = {"a": "left", "b": "left", "left": "root", "c": "root"}


def table(costs, n_classes):
    """All costs, as the compiled core gives them."""
    every = np.arange(n_classes)
    return costs.between(every[:, None], every[None, :])


# ---------------------------------------------------------------- what is refused

REFUSED = {
    "negative": (np.where(COSTS == 2.5, -1, COSTS), "got -1 for 'a' and 'c'"),
    "NaN": (np.where(COSTS == 2.5, np.nan, COSTS), "got nan for 'a' and 'c'"),
    "infinite": (np.where(COSTS == 2.5, np.inf, COSTS), "got inf for 'a' and 'c'"),
    "huge": (np.where(COSTS == 2.5, 1e13, COSTS), "numbers from 0 to 1e+12, got 1e+13"),
    "diagonal": (COSTS + np.diag([0, 2, 0]), "must be 0 on the diagonal, got 2 for 'b' and 'b'"),
    "size": (np.zeros((4, 4)), "label_cost is 4 x 4, but the samples have 3 classes"),
    "shape": (np.zeros((3, 2)), "label_cost is 3 x 2, but the samples have 3 classes"),
    "a line": (np.zeros(3), "label_cost must be None, an array of n_classes x n_classes"),
    "texts": ([["x"] * 3] * 3, "label_cost must be None, an array of n_classes x n_classes"),
    "a word": ("tree", "label_cost must be None, an array of n_classes x n_classes"),
    "sparse size": (sp.csr_matrix((2, 3)), "label_cost is 2 x 3, but the samples have 3 classes"),
    "sparse negative": (sp.csr_matrix(-COSTS), "got -1 for 'a' and 'b'"),
    "sparse NaN": (sp.csr_matrix(COSTS * np.nan), "got nan for"),
    "sparse diagonal": (sp.eye(3), "must be 0 on the diagonal, got 1 for 'a' and 'a'"),
    "cycle": (
        {"a": "b", "b": "c", "c": "a"},
        "a cycle of parents holds the node 'a': a tree has none",
    ),
    "loop": ({"a": "a"}, "a cycle of parents holds the node 'a'"),
    "unknown": ({"a": "r", "b": "r"}, "the label 'c' is not in the tree of label_cost"),
    "nothing": ({}, "a tree needs at least one node"),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("formulation", ["ww", "cs"])
def test_refused(name, formulation):
    given, message = REFUSED[name]
    with pytest.raises(ValueError) as error:
        MulticlassSVC(formulation, label_cost=given).fit(X, Y)
    assert message in str(error.value)
    assert "\n" not in str(error.value) or name == "texts"


@pytest.mark.parametrize("formulation", ["llw", "ovr"])
def test_other_formulations_refuse_costs(formulation):
    with pytest.raises(
        ValueError, match=f"label_cost must be None for formulation='{formulation}'"
    ):
        MulticlassSVC(formulation, label_cost=LabelTree(PARENTS)).fit(X, Y)
    MulticlassSVC(formulation).fit(X, Y)


def test_trees_that_are_none():
    with pytest.raises(ValueError, match="'a' has two parents, 'x' and 'y': this is no tree"):
        LabelTree([("a", "x"), ("a", "y")])
    with pytest.raises(ValueError, match="cost must be 'distance' or 'depth', got 'edges'"):
        LabelTree(PARENTS, cost="edges")
    with pytest.raises(ValueError, match="two classes are the node '1' of the tree"):
        label_costs(LabelTree({"1": "r"}), np.array([1, "1"], dtype=object))


# ---------------------------------------------------------------- what costs mean


def test_arrays_and_exceptions():
    classes = np.array(["a", "b", "c"])
    np.testing.assert_array_equal(table(label_costs(COSTS, classes), 3), COSTS)
    np.testing.assert_array_equal(table(label_costs(COSTS.tolist(), classes), 3), COSTS)
    one = sp.coo_matrix(([2.5, 0.0, 0.0], ([0, 2, 1], [2, 0, 1])), shape=(3, 3))
    expected = np.array([[0, 1, 2.5], [1, 0, 1], [0, 1, 0]])
    found = label_costs(one, classes)
    np.testing.assert_array_equal(table(found, 3), expected)
    np.testing.assert_array_equal(found.total, expected.sum(axis=1))
    np.testing.assert_array_equal(found.largest, expected.max(axis=1))


def random_tree(seed):
    """Parents of 40 nodes, some of them roots, and some of the nodes as classes."""
    rng = np.random.default_rng(seed)
    parents = {k: int(rng.integers(k)) for k in range(1, 40) if rng.random() < 0.95}
    named = {f"n{k}": f"n{parent}" for k, parent in parents.items()}
    nodes = sorted({*named, *named.values()})
    return named, rng.permutation(nodes)[: rng.integers(2, len(nodes))]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("cost", ["distance", "depth"])
def test_trees(seed, cost):
    parents, classes = random_tree(seed)
    roots = {node for node in parents.values() if node not in parents}

    def path(node):
        up = [node]
        while up[-1] in parents:
            up.append(parents[up[-1]])
        return ([None] if len(roots) > 1 else []) + up[::-1]

    expected = np.zeros((len(classes),) * 2)
    for (i, a), (j, b) in itertools.product(enumerate(map(path, classes)), repeat=2):
        shared = sum(x == y for x, y in zip(a, b, strict=False))
        edges = [*range(shared, len(a)), *range(shared, len(b))]  # by the depth of their lower end
        expected[i, j] = sum(0.5 if cost == "distance" else 0.5**depth for depth in edges)
    found = label_costs(LabelTree(parents, cost), classes)
    assert found.kind == "tree"
    np.testing.assert_allclose(table(found, len(classes)), expected, atol=1e-12)
    np.testing.assert_allclose(found.total, expected.sum(axis=1), atol=1e-9)
    np.testing.assert_allclose(found.largest, expected.max(axis=1), atol=1e-12)
    if cost == "distance":
        assert label_costs(parents, classes).core.total().tolist() == found.total.tolist()


def test_a_tree_takes_no_memory_of_classes_times_classes():
    n = 100_000
    tree = LabelTree({k: f"inner {k // 100}" for k in range(n)})
    found = label_costs(tree, np.arange(n))
    assert found.between([0, 0, n - 1], [99, 100, 0]).tolist() == [1.0, 2.0, 2.0]
    assert found.total[0] == 99 + 2 * (n - 100)
    assert sum(array.nbytes for array in found.arrays) < 13 * n


def test_labels_are_nodes_by_their_text():
    found = label_costs(LabelTree({"1": "x", "2": "x", "30": "y"}), np.array([1, 2, 30]))
    np.testing.assert_array_equal(table(found, 3), [[0, 1, 2], [1, 0, 2], [2, 2, 0]])


def test_load(tmp_path):
    path = tmp_path / "hierarchy.txt"
    path.write_text("root left a\nleft b\n\nroot c\n")
    assert LabelTree.load(path) == LabelTree(PARENTS)
    assert LabelTree.load(path, "depth") == LabelTree(PARENTS, "depth") != LabelTree(PARENTS)
    path.write_text("the root\tan a\nthe root\ta b\n")
    assert LabelTree.load(path) == LabelTree({"an a": "the root", "a b": "the root"})
    for text, message in [
        ("r a\nq a\n", "hierarchy.txt: the node 'a' has two parents, 'r' and 'q'"),
        ("r a\nb\n", "hierarchy.txt:2: 'b' has no child behind it"),
        ("\n\n", "hierarchy.txt: a tree needs at least one node"),
    ]:
        path.write_text(text)
        with pytest.raises(DataFileError) as error:
            LabelTree.load(path)
        assert message in str(error.value)


def test_mean_label_cost():
    truth, predicted = ["a", "a", "b", "c"], ["a", "c", "a", "b"]
    assert mean_label_cost(truth, predicted, COSTS) == (0 + 2.5 + 0.5 + 3) / 4
    weight = [1, 1, 0, 2]
    assert mean_label_cost(truth, predicted, COSTS, sample_weight=weight) == (2.5 + 6) / 4
    assert mean_label_cost(truth[:2], predicted[:2], COSTS, labels=["a", "b", "c"]) == 1.25
    assert mean_label_cost(truth, predicted, 1 - np.eye(3)) == 0.75
    with pytest.raises(ValueError, match="labels that are not in labels"):
        mean_label_cost(["d"], ["a"], COSTS, labels=["a", "b", "c"])


def test_labels_that_the_model_does_not_know_may_have_costs():
    classes, y = np.array(["a", "b"]), np.array(["a", "c", "d", "b"])
    best = np.array([["b"], ["a"], ["a"], ["b"]])
    # 'd' is not in the tree; 'c' is, though it is no class.
    assert measures(classes, y, best, PARENTS)["mean_cost"] == (1 + 1.5 + 0) / 3
    assert measures(classes, y, best, COSTS[:2, :2] * 2)["mean_cost"] == (2 + 0) / 2
    assert "mean_cost" not in measures(classes, y, best)


# ---------------------------------------------------------------- estimators and model files

KEPT = {
    "array": COSTS,
    "sparse": sp.csr_matrix(([2.5, 0.0], ([0, 2], [2, 1])), shape=(3, 3)),
    "tree": LabelTree(PARENTS, "depth"),
    "several roots": LabelTree({"a": "x", "b": "x", "c": None}),
}


@pytest.mark.parametrize("name", KEPT)
def test_model_file(name, tmp_path):
    model = MulticlassSVC(label_cost=KEPT[name], tol=1e-6, random_state=0, warm_start=True)
    save_model(model.fit(X, Y), tmp_path / "model", dual=True)
    loaded = load_model(tmp_path / "model", verify=True)
    kept, given = loaded.label_cost, model.label_cost
    assert type(kept) is type(given)
    same = [np.asarray(each.todense() if sp.issparse(each) else each) for each in (kept, given)]
    assert np.all(same[0] == same[1])
    before, after = model.certify(X, Y), loaded.certify(X, Y)
    assert (after.primal, after.dual) == (before.primal, before.dual)
    assert after.gap <= 1e-6 and after.dual_recomputed
    save_model(loaded, tmp_path / "again", dual=True)
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


def test_model_file_of_a_mapping_and_of_whole_numbers(tmp_path):
    parents, y = {0: 10, 1: 10, 2: 11}, np.arange(6) % 3
    save_model(MulticlassSVC(label_cost=parents, random_state=0).fit(X, y), tmp_path / "model")
    assert load_model(tmp_path / "model").label_cost == LabelTree(parents)
    mixed = {0: "x", 1: ("x", 2), 2: "y"}
    save_model(MulticlassSVC(label_cost=mixed, random_state=0).fit(X, y), tmp_path / "model")
    assert load_model(tmp_path / "model").label_cost == LabelTree(mixed)
    odd = MulticlassSVC(label_cost={0: b"x", 1: b"x", 2: b"x"}, random_state=0).fit(X, y)
    with pytest.raises(ModelFileError, match="nodes of label_cost cannot be saved; texts, numbers"):
        save_model(odd, tmp_path / "model")


def test_damaged_model_file(tmp_path):
    path = tmp_path / "model"
    save_model(MulticlassSVC(label_cost=PARENTS, random_state=0).fit(X, Y), path)
    meta, arrays = read_arrays(path)
    changes = [
        (meta | {"label_cost": {"kind": "matrix"}}, arrays),
        (meta | {"label_cost": {"kind": "array"}}, arrays),
        (meta | {"label_cost": {"kind": "tree", "cost": "distance", "parents": 3}}, arrays),
        (meta | {"label_cost": meta["label_cost"] | {"cost": "edges"}}, arrays),
    ]
    for meta, arrays in changes:
        write_arrays(path, meta, {name: np.array(array) for name, array in arrays.items()})
        with pytest.raises(ModelFileError, match="label_cost"):
            load_model(path)


@pytest.mark.parametrize("name", KEPT)
def test_clone_and_parameters(name):
    model = MulticlassSVC(label_cost=KEPT[name])
    assert type(clone(model).get_params()["label_cost"]) is type(KEPT[name])
    assert "label_cost" in repr(model)
    text = TextClassifier(label_cost=KEPT[name], random_state=0)
    text.fit(["an apple", "a bear", "a car", "apples", "a bear", "this car"], Y)
    assert text.predict(["apple"]).tolist() == ["a"]
    assert model.set_params(label_cost=None).fit(X, Y).converged_
