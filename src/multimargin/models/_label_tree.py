"""LabelTree: a tree with the classes among its nodes."""

from __future__ import annotations

import itertools
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

    With the depths a and b of two classes and the depth l of their lowest common ancestor, where
    the root has depth 0, the cost is

    - "distance": (a + b - 2 l) / 2, half the number of edges between them: 1 for two children of
      one node. The tree-induced error of Dekel, Keshet and Singer (2004), halved;
    - "depth": the same with edges that are half as long from level to level, 2^(1 - l) - 2^-a -
      2^-b: 1 for two children of the root, less further down, never 2. Weights that fall by a
      factor with the depth are those of Vens et al. (2008).

    Nothing of size classes x classes is made of it.

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
        self._depth = _depths(self.parents)

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
        name, parents = os.fspath(path), dict[str, str]()
        for number, nodes in lines_of(name):
            if len(nodes) == 1:
                raise DataFileError(f"{name}:{number}: {nodes[0]!r} has no child behind it")
            for parent, node in itertools.pairwise(nodes):
                if parents.setdefault(node, parent) != parent:
                    raise DataFileError(
                        f"{name}:{number}: the node {node!r} has two parents, {parents[node]!r} "
                        f"and {parent!r}: this is no tree"
                    )
        if not parents:
            raise DataFileError(f"{name}: no line such as 'parent child'")
        return cls(parents, cost)

    def __repr__(self) -> str:
        return f"LabelTree(<{len(self._depth):,} nodes>, cost={self.cost!r})"

    def __contains__(self, label: Any) -> bool:
        return label in self._depth or str(label) in self._depth

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, LabelTree) and self.cost == other.cost
        return same and self.parents == getattr(other, "parents", None)

    __hash__ = None  # type: ignore[assignment]

    def arrays(self, classes: Iterable[Any]) -> tuple[NDArray[Any], ...]:
        """Order, depths, shared depths and lengths, as the compiled core takes them."""
        number: dict[Hashable, int] = {}
        for k, label in enumerate(classes):
            node = self._node(label)
            if number.setdefault(node, k) != k:
                raise ValueError(f"the labels of two classes are the node {node!r} of the tree")
        order, shared, low = list[int](), list[int](), 0
        for node in self._depth_first():
            low = min(low, self._depth[node] - 1)
            if node in number:
                order.append(number[node])
                shared.append(low)
                low = self._depth[node]
        depth = [self._depth[node] for node in number]
        whole = (np.array(each, dtype=np.int32) for each in (order, depth, shared[1:]))
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

    def _depth_first(self) -> Iterable[Hashable]:
        children: dict[Hashable, list[Hashable]] = {}
        for node, parent in self.parents.items():
            children.setdefault(parent, []).append(node)
        stack = children[None][::-1]
        while stack:
            node = stack.pop()
            yield node
            stack += children.get(node, ())[::-1]


def lines_of(name: str) -> Iterator[tuple[int, list[str]]]:
    """The lines of a text file that are not blank, numbered, as fields between tabs or spaces."""
    with open_bytes(name) as source:
        lines = bytes(source[:]).decode("utf-8", "replace").splitlines()
    for number, line in enumerate(lines, 1):
        if line.strip():
            fields = line.split("\t") if "\t" in line else line.split()
            yield number, [field.strip() for field in fields]


def _depths(parents: Mapping[Hashable, Hashable]) -> dict[Hashable, int]:
    """The depth of every node, or a ValueError at a cycle; the parent of a root is None."""
    roots = sum(parent is None for parent in parents.values())
    depth: dict[Hashable, int] = {}
    for node in parents:
        path, at = dict[Hashable, None](), node
        while at is not None and at not in depth:
            if at in path:
                raise ValueError(f"the node {at!r} is its own ancestor: a tree has no cycles")
            path[at] = None
            at = parents[at]
        below = int(roots > 1) if at is None else depth[at] + 1
        for k, each in enumerate(reversed(path)):
            depth[each] = below + k
    return depth
