"""Bytes that a fit of Weston-Watkins or Crammer-Singer takes and sends, by host, from its sizes.

Rows are sparse, numbers in single precision, and there is no intercept. A *pair* is a sample and a
class that is active for it, beside its own. One host is one process; more hosts divide the classes
into two bundles each, and pairs of two bundles lie at the host where these meet.

Every term names what it counts; the few shares that depend on the data are constants here, with
the runs that they come from.
"""

from __future__ import annotations

from dataclasses import dataclass

from multimargin.solvers.active_set._placement import Placement

_NUMBER, _INDEX, _PLACE = 4, 4, 8  # float32, int32, and int64 for where something begins

# Of the features of all samples that are active in a class, each counted with its sample, how many
# have a place in the class's weights: those that a second sample brings. 0.105 to 0.114 in five
# runs: WordNet, and generated texts of 40 words.
_PLACED = 0.11
# Of the pairs of a sample, the share in the bundle of its own class is 1/bundles, and this part of
# the rest: 0.06 to 0.10 on WordNet, 0.01 and 0.02 on generated texts.
_GROUPED = 0.05
# Pairs of a sample fall on other bundles as if drawn by lot, but only so many of them: samples
# differ in how many they have. 0.6 on WordNet with 4 and 8 bundles.
_DRAWS = 0.6
# Of the features of all samples that have a variable in a class, counted likewise, how many are
# different: the weights. 0.46 to 0.52 in the same runs.
_DIFFERENT = 0.47
# The share of the numbers in a bundle state that are not zero while passes go on: 0.83 to 0.98.
_MOVED = 0.85
# Scans list the weights of so many classes at once, those of rare features in lists: 0.6 of them.
# A feature is frequent if more samples have it than a share of the classes; a tenth of all entries
# would be enough for the frequent ones to have no more than that.
_GROUP, _RARE, _LIST_BYTES, _FREQUENT, _ENTRIES_EACH = 512, 0.6, 28, 1 / 48, 10
_FOUND_PER_SCAN, _FOUND_BYTES = 32, 2**29  # violators of a sample: see `ActiveSetSolver`
# In one process a sample whose list is full gets room for all classes in the next scan, up to an
# eighth of the samples and so many numbers. Nearly none of that to nearly all was used in the
# check; this share of it is counted.
_FULL_LISTS, _FULL_NUMBERS, _FULL_USED = 1 / 8, 2**25, 0.4
_FIXED = 8e6  # bytes of modules and small arrays


@dataclass(frozen=True)
class Sizes:
    """The sizes of a fit.

    Attributes
    ----------
    samples, features, classes : int
    words : float
        Entries of a sample, on average.
    pairs : float
        Active classes of a sample beside its own: for memory the most of the run.
    density : float
        The share of the weights that are not zero in the end.
    hosts : int, default=1
    shared : bool, default=False
        Whether the variables of a sample share a budget, as Crammer-Singer's do.
    threads : int, default=1
        Of each host.
    """

    samples: int
    features: int
    classes: int
    words: float
    pairs: float
    density: float
    hosts: int = 1
    shared: bool = False
    threads: int = 1

    @property
    def entries(self) -> float:
        return self.samples * self.words

    @property
    def all_pairs(self) -> float:
        return self.samples * self.pairs

    @property
    def bundles(self) -> int:
        return 1 if self.hosts == 1 else 2 * self.hosts

    @property
    def placed_weights(self) -> float:
        """Weights of features that two samples of a class share; others are not stored."""
        return _PLACED * self.entries * (self.pairs + 1)

    @property
    def nonzero_weights(self) -> float:
        """Weights that the model has."""
        return self.density * self.features * self.classes

    @property
    def within(self) -> float:
        """Pairs of a sample in the bundle of its own class."""
        share = 1 / self.bundles
        return self.pairs * (share + _GROUPED * (1 - share))

    @property
    def others(self) -> float:
        """Other bundles that a sample has pairs in."""
        most = self.bundles - 1
        drawn = _DRAWS * (self.pairs - self.within)
        return most * (1 - (1 - 1 / most) ** drawn) if most > 1 else float(most)

    @property
    def meeting_slots(self) -> float:
        """Slots of a sample in all meetings: in each its own class and its pairs of both bundles.

        A sample is in the meetings of its own bundle with others that it has pairs in; where it has
        a budget, in those of any two bundles that it has pairs in.
        """
        across = self.pairs - self.within
        slots = across + self.others * (1 + self.within)
        if self.shared:
            further = max(0.0, self.others - 1)
            slots += self.others * further / 2 + further * across
        return slots

    @property
    def meetings(self) -> float:
        """Meetings that a sample is in."""
        others = self.others
        return others + (others * max(0.0, others - 1) / 2 if self.shared else 0.0)

    @property
    def bundles_sent(self) -> float:
        """Bundles that a host sends in a pass, the way back to the first round included."""
        ranks = [Placement(self.bundles, rank, self.hosts) for rank in range(self.hosts)]
        rounds = len(ranks[0].rounds)
        ways = [(r, r + 1) for r in range(rounds - 1)] + [(rounds - 1, 0)]
        sent = sum(
            move.source == rank
            for rank, placement in enumerate(ranks)
            for way in ways
            for move in placement.moves(*way)
        )
        return sent / self.hosts


def density_of(s: Sizes) -> float:
    """Return the density that weights have where every pair has a variable that is not zero."""
    return _DIFFERENT * s.entries * (s.pairs + 1) / (s.features * s.classes)


def data(s: Sizes) -> float:
    """Return the bytes of the samples themselves, which every host holds."""
    return (_NUMBER + _INDEX) * s.entries + 2 * _PLACE * s.samples


def memory(s: Sizes) -> dict[str, float]:
    """Return the most bytes of a host by what they are for, beside the data and Python itself."""
    return _of_one_process(s) if s.hosts == 1 else _of_a_host(s)


def _found(s: Sizes) -> float:
    """Return room for the violators of a scan: a class and a margin each."""
    return min((_INDEX + _NUMBER) * _FOUND_PER_SCAN * s.samples, _FOUND_BYTES)


def _scratch(s: Sizes) -> float:
    """Return arrays over all features, per thread, and numbers of the features."""
    return (2 * _INDEX + _NUMBER) * s.features * s.threads + 3 * _INDEX * s.features


def _scan(s: Sizes) -> float:
    """Return what a scan holds of the classes that it looks at, and their scores."""
    frequent = min(s.features, s.entries / (_ENTRIES_EACH * (1 + _FREQUENT * s.classes)))
    listed = _LIST_BYTES * _RARE * s.density * s.features
    at_once = min(_GROUP, s.classes / s.bundles)
    return at_once * (listed + _NUMBER * frequent) + _GROUP * 1024 * _NUMBER * s.threads


def _of_one_process(s: Sizes) -> dict[str, float]:
    slots = s.samples * (s.pairs + 1)
    full = min(_FULL_LISTS * s.samples * s.classes, _FULL_NUMBERS)
    passes = {
        "rows for scans": (_NUMBER + _INDEX) * s.entries,
        "positions": _INDEX * s.words * slots,
        "violators found": _found(s) + _FULL_USED * (_INDEX + _NUMBER) * full,
        "classes being scanned": _scan(s),
    }
    # The positions are given back before the model is handed over.
    end = {"the model": (_NUMBER + _INDEX) * s.nonzero_weights}
    return {
        "numbered rows": _INDEX * s.entries,
        "samples": 150.0 * s.samples,
        # Class, variable, lone squares, margin, whether it rests, and its place in a class.
        "pairs": (4 * _NUMBER + 1 + 2 * _INDEX) * slots,
        # Class and variable again, of the best point so far and while violators are merged.
        "lists of pairs": 2 * (_INDEX + _NUMBER) * slots,
        "weights": (_NUMBER + _INDEX) * s.placed_weights,
        "scratch": _scratch(s),
        "fixed": _FIXED,
        **max(passes, end, key=lambda terms: sum(terms.values())),
    }


def _of_a_host(s: Sizes) -> dict[str, float]:
    slots = s.samples * s.meeting_slots / s.hosts
    # Sample, variable, margin; and sample and variable again, of the best point so far.
    columns = (2 * _INDEX + 3 * _NUMBER) * s.all_pairs
    structure = 2 * _INDEX * s.all_pairs + _INDEX * s.placed_weights
    state = _NUMBER * (s.placed_weights + s.all_pairs + s.samples)
    return {
        "rows for scans": (_NUMBER + _INDEX) * s.entries,
        "samples": 250.0 * s.samples,
        "violators found": _found(s),
        "classes being scanned": _scan(s),
        "columns of the bundles": (columns + _INDEX * s.placed_weights) / s.hosts,
        "weights and bundle states": state / s.hosts,
        "positions in meetings": _INDEX * s.words * slots,
        # Class, variable, lone squares, whether it rests, and where it is in its bundle.
        "pairs in meetings": (3 * _NUMBER + 1 + _PLACE) * slots,
        "samples in meetings": 52.0 * s.samples * s.meetings / s.hosts,
        "messages": (structure + state) / s.hosts,
        "scratch": _scratch(s),
        "the model": 3 * (_NUMBER + _INDEX) * s.nonzero_weights / s.hosts,
        "fixed": _FIXED,
    }


def sent_per_pass(s: Sizes) -> dict[str, float]:
    """Return the bytes that a host sends in a pass by what they are; several hosts."""
    at_once = s.bundles_sent / s.bundles  # of all that lies in bundles
    moving = s.pairs if s.shared else s.within
    numbers = s.placed_weights + s.all_pairs + s.samples
    return {
        "weights": at_once * _NUMBER * _MOVED * s.placed_weights,
        "dual variables": at_once * _NUMBER * _MOVED * s.samples * moving,
        "sums of samples": at_once * _NUMBER * s.samples,
        "which are not zero": at_once * numbers / 8,
    }


def sent_per_scan(s: Sizes) -> dict[str, float]:
    """Return the bytes that a host sends around a scan: certificate, violators, new meetings."""
    at_once = s.bundles_sent / s.bundles
    structure = 2 * _INDEX * s.all_pairs + _INDEX * s.placed_weights
    away = (s.hosts - 1) / s.hosts
    across = 0.0 if s.shared else s.pairs - s.within
    moving = s.pairs if s.shared else s.within
    home = _NUMBER * moving + away * (_PLACE + _NUMBER) * across
    return {
        "structure of bundles": at_once * structure,
        "dual variables to their owners": home * s.samples / s.hosts,
        "sums over ranks": 60.0 * s.samples * away,
        "violators": away * (_NUMBER * _FOUND_PER_SCAN / s.hosts + 2 * _PLACE) * s.samples,
    }
