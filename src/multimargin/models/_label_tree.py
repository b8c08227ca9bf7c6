"""LabelTree: a tree with the classes among its nodes."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multimargin.io._compressed import DataFileError
from multimargin.io._svmlight import open_bytes

_COSTS = ("distance", "depth")


class LabelTree:
    """A tree of labels, which says how bad it is to take one class for another.

    The cost of two classes is the length of the path between them. "distance": every edge has the
    length 1/2, so that two children of one node cost 1 (the tree-induced error of Dekel, Keshet and
    Singer, 2004, halved). "depth": edges are half as long from level to level, beginning with 1/2
    below the root: confusions within a small branch cost little, and none costs 2 (weights that
    fall with the depth are those of Vens et al., 2008). Nothing of size classes x classes is made.

    Parameters
    ----------
    parents : mapping of node to parent, or iterable of pairs (node, parent)
        Classes may be any of the nodes; other nodes may be anything that a dict has as a key. A
        node without a parent, or with the parent None, is a root. Several roots are taken to have
        one parent in common.
    cost : {"distance", "depth"}, default="distance"

    Attributes
    ----------
    parents : dict
        The parent of every node; None for a root.
    cost : str

    Examples
    --------
    >>> from multimargin import LabelTree, MulticlassSVC, mean_label_cost
    >>> tree = LabelTree({"cat": "pet", "dog": "pet", "oak": "plant", "rose": "plant"})
    >>> mean_label_cost(["cat"], ["dog"], tree), mean_label_cost(["cat"], ["oak"], tree)
    (1.0, 2.0)
    >>> X = [[3, 0, 1], [2, 1, 0], [0, 3, 1], [1, 0, 4]]
    >>> model = MulticlassSVC(label_cost=tree).fit(X, ["cat", "dog", "oak", "rose"])
    """

    def __init__(
        self,
        parents: Mapping[Any, Any] | Iterable[tuple[Any, Any]],
        cost: str = "distance",
    ) -> None:
        if cost not in _COSTS:
            raise ValueError(f"cost must be 'distance' or 'depth', got {cost!r}")
        pairs = parents.items() if isinstance(parents, Mapping) else parents
        given: dict[Hashable, Hashable] = {}
        for node, parent in pairs:
            before = given.setdefault(node, parent)
            if before != parent:
                raise ValueError(
                    f"the node {node!r} has two parents, {before!r} and {parent!r}: this is no tree"
                )
        self.cost = cost
        nodes = dict.fromkeys(node for node in (*given, *given.values()) if node is not None)
        if not nodes:
            raise ValueError("a tree needs at least one node")
        self.parents = {node: given.get(node) for node in nodes}
        self._depth = _depths(self.parents)  # depth first

    @classmethod
    def load(cls, path: str | os.PathLike[str], cost: str = "distance") -> LabelTree:
        """Read a hierarchy in the format of the LSHTC challenges.

        A line holds a parent and its child, or a whole path from the root down, with spaces in
        between or, where there are any, tabs. Nodes are texts; labels are looked up by theirs.

        Parameters
        ----------
        path : path-like
            Plain, or compressed by gzip, bzip2 or xz.
        cost : {"distance", "depth"}, default="distance"

        Returns
        -------
        LabelTree
        """
        name, pairs = os.fspath(path), list[tuple[str, str]]()
        for number, nodes in lines_of(name):
            if len(nodes) == 1:
                raise DataFileError(f"{name}:{number}: {nodes[0]!r} has no child behind it")
            pairs += zip(nodes[1:], nodes, strict=False)
        try:
            return cls(pairs, cost)
        except ValueError as error:
            raise DataFileError(f"{name}: {error}") from None

    def __repr__(self) -> str:
        return f"LabelTree(<{len(self._depth):,} nodes>, cost={self.cost!r})"

    def __contains__(self, label: Any) -> bool:
        return label in self._depth or str(label) in self._depth

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LabelTree) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def arrays(self, classes: Iterable[Any]) -> tuple[NDArray[Any], ...]:
        """Order, depths, shared depths and lengths, as the compiled core takes them."""
        number: dict[Hashable, int] = {}
        for k, label in enumerate(classes):
            node = self._node(label)
            if number.setdefault(node, k) != k:
                raise ValueError(f"the labels of two classes are the node {node!r} of the tree")
        order, shared, low = list[int](), list[int](), 0
        for node, depth in self._depth.items():
            low = min(low, depth - 1)
            if node in number:
                order.append(number[node])
                shared.append(low)
                low = depth
        depths = [self._depth[node] for node in number]
        whole = (np.array(each, dtype=np.int32) for each in (order, depths, shared[1:]))
        return (*whole, self._lengths())

    def _node(self, label: Any) -> Hashable:
        """The node of a label: the label itself, or its text in a tree from a file."""
        for node in (label, str(label)):
            if node in self._depth:
                return node
        raise ValueError(f"the label {label!r} is not in the tree of label_cost")

    def _lengths(self) -> NDArray[np.float64]:
        """Lengths of the paths from the root, by depth."""
        depth = np.arange(max(self._depth.values()) + 1)
        lengths = depth / 2 if self.cost == "distance" else 1 - 0.5**depth
        return lengths.astype(np.float64)


def lines_of(name: str) -> Iterator[tuple[int, list[str]]]:
    """The lines of a text file that are not blank, numbered, as fields between tabs or spaces."""
    with open_bytes(name) as source:
        lines = bytes(source[:]).decode("utf-8", "replace").splitlines()
    for number, line in enumerate(lines, 1):
        if line.strip():
            fields = line.split("\t") if "\t" in line else line.split()
            yield number, [field.strip() for field in fields]


def _depths(parents: Mapping[Hashable, Hashable]) -> dict[Hashable, int]:
    """The depth of every node, in depth-first order, or a ValueError at a cycle."""
    children: dict[Hashable, list[Hashable]] = {}
    for node, parent in parents.items():
        children.setdefault(parent, []).append(node)
    roots, depths = children.get(None, []), dict[Hashable, int]()
    stack = [(root, int(len(roots) > 1)) for root in reversed(roots)]
    while stack:
        node, depth = stack.pop()
        depths[node] = depth
        stack += [(child, depth + 1) for child in reversed(children.get(node, ()))]
    for node in parents:
        if node not in depths:
            raise ValueError(f"a cycle of parents holds the node {node!r}: a tree has none")
    return depths
