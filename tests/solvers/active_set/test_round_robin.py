"""Round robin: every round a matching, every pair exactly once, for odd and even numbers."""

import doctest
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from multimargin import match_class, rounds
from multimargin.solvers.active_set import _round_robin
from multimargin.solvers.active_set._round_robin import bundle_classes, schedule


@pytest.mark.parametrize("n", [*range(1, 40), 99, 100, 255, 256, 301])
def test_rounds_are_a_1_factorization(n):
    found = rounds(n)
    assert len(found) == (n - 1 if n % 2 == 0 else n if n > 1 else 0)
    for r, pairs in enumerate(found):
        teams = list(itertools.chain.from_iterable(pairs))
        assert len(teams) == len(set(teams)), "a team meets two in one round"
        assert len(teams) == n - n % 2, "more than one team sits out"
        for a, b in pairs:
            assert a < b
            assert match_class(n, a, r) == b
            assert match_class(n, b, r) == a
    met = list(itertools.chain.from_iterable(found))
    assert sorted(met) == list(itertools.combinations(range(n), 2))


@given(n=st.integers(2, 400), data=st.data())
def test_matching_is_symmetric(n, data):
    r = data.draw(st.integers(0, n - 2 if n % 2 == 0 else n - 1))
    c = data.draw(st.integers(0, n - 1))
    partner = match_class(n, c, r)
    if partner is None:
        assert n % 2 == 1
    else:
        assert partner != c
        assert match_class(n, partner, r) == c


@pytest.mark.parametrize(("n", "c", "r"), [(4, 4, 0), (4, -1, 0), (4, 0, 3), (5, 0, 5), (2, 0, -1)])
def test_match_class_refuses_unknown_teams_and_rounds(n, c, r):
    with pytest.raises(ValueError, match="is not one of the"):
        match_class(n, c, r)


def test_a_round_robin_needs_a_team():
    with pytest.raises(ValueError, match="at least one team"):
        rounds(0)


@pytest.mark.parametrize("n", range(2, 101, 2))
def test_every_match_keeps_one_bundle_from_round_to_round(n):
    games = schedule(n)
    assert len(games) == n - 1
    assert all(len(round_) == n // 2 for round_ in games)
    met = sorted(itertools.chain.from_iterable(games))
    assert met == list(itertools.combinations(range(n), 2)), "every pair meets once, in order"
    for round_ in games:
        assert sorted(itertools.chain.from_iterable(round_)) == list(range(n))
    for before, after in itertools.pairwise(games):
        for match, (left, right) in enumerate(zip(before, after, strict=True)):
            assert len(set(left) & set(right)) == 1, f"match {match} keeps one"


@pytest.mark.parametrize("n", [-2, 0, 1, 3, 99])
def test_a_schedule_needs_an_even_number(n):
    with pytest.raises(ValueError, match=f"even number of bundles, got {n}"):
        schedule(n)


def test_examples_in_the_documentation():
    assert doctest.testmod(_round_robin).failed == 0


@given(
    n_classes=st.integers(1, 60),
    seed=st.integers(0, 1000),
    data=st.data(),
)
def test_bundles_are_never_empty(n_classes, seed, data):
    n_bundles = data.draw(st.integers(1, n_classes))
    rng = np.random.default_rng(seed)
    pairs = rng.integers(n_classes, size=(2, 3 * n_classes))
    work = rng.choice([0.0, 1.0, 1000.0], size=n_classes)
    bundle_of = bundle_classes(pairs[0], pairs[1], work, n_bundles)
    assert bundle_of.shape == (n_classes,)
    assert sorted(set(bundle_of.tolist())) == list(range(n_bundles))


def test_bundles_are_of_even_work_and_keep_confusable_classes_together():
    # Ten groups of ten classes that are confused only with each other, in mixed-up order.
    rng = np.random.default_rng(3)
    name = rng.permutation(100)
    group = np.empty(100, dtype=int)
    group[name] = np.arange(100) // 10
    own = rng.integers(100, size=4000)
    members = [np.flatnonzero(group == g) for g in range(10)]
    other = np.array([rng.choice(members[group[c]]) for c in own])
    bundle_of = bundle_classes(own, other, np.ones(100), 5)
    assert np.bincount(bundle_of).tolist() == [20] * 5
    inside = np.mean(bundle_of[own] == bundle_of[other])
    by_chance = np.mean(rng.permutation(bundle_of)[own] == bundle_of[other])
    assert inside > 0.95 > by_chance


def test_more_bundles_than_classes_is_an_error():
    with pytest.raises(ValueError, match="n_bundles"):
        bundle_classes([0], [1], np.ones(2), 3)
