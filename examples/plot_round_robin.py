"""
The round robin
===============

One dual variable of a Weston–Watkins problem touches the weights of two classes: the sample's own
and another one. Two pairs without a class in common can be worked on at the same time, by two
threads or two ranks, and neither has to wait for the other. So: how can all pairs be arranged
into rounds of pairs that have nothing in common? Football leagues have had the answer for more than
a century.
"""

# %%
# The circle method
# -----------------
# One team stands in the middle, the others around it. In round ``r`` the middle meets team ``r``,
# and everybody else meets the team across that line. Turn the line, and the next round is there;
# after ``n - 1`` rounds everybody has met everybody once.

import matplotlib.pyplot as plt
import numpy as np

from multimargin import match_class, rounds

TEAMS = 8
circle = rounds(TEAMS)
angle = np.pi / 2 - 2 * np.pi * np.arange(TEAMS - 1) / (TEAMS - 1)
place = np.vstack([np.column_stack([np.cos(angle), np.sin(angle)]), [[0, 0]]])

figure, axes = plt.subplots(2, 4, figsize=(10, 5.4))
for r, (pairs, ax) in enumerate(zip(circle, axes.flat, strict=False)):
    ax.add_patch(plt.Circle((0, 0), 1, fill=False, color="#dddddd", linewidth=1))
    for number, pair in enumerate(pairs):
        ax.plot(*place[list(pair)].T, color=f"C{number}", linewidth=4, solid_capstyle="round")
    ax.scatter(*place.T, s=320, color="white", edgecolor="#333333", zorder=3)
    for team, (x, y) in enumerate(place):
        ax.text(x, y, str(team), ha="center", va="center", zorder=4)
    ax.set(title=f"round {r}", xlim=(-1.3, 1.3), ylim=(-1.3, 1.3), aspect="equal")
    ax.axis("off")
axes.flat[-1].axis("off")
axes.flat[-1].text(
    0.5,
    0.5,
    f"{len(circle)} rounds\nof {TEAMS // 2} matches:\nall {TEAMS * (TEAMS - 1) // 2} pairs, once",
    ha="center",
    va="center",
    transform=axes.flat[-1].transAxes,
)
plt.show()

# %%
# With an odd number one team a round sits out: there is nobody in the middle.

print([match_class(5, c, 0) for c in range(5)])
for r, pairs in enumerate(rounds(5)):
    print(f"round {r}: {pairs}")

# %%
# Bundles of classes are the teams
# --------------------------------
# Ten thousand classes would be ten thousand teams. Instead classes are put into *bundles*, those
# that are easily confused into the same one, and bundles meet: in the meeting of A and B all pairs
# that are active between their classes are worked on. Pairs within a bundle are worked on in one of
# its meetings. Each square of this table is a meeting; its number is its round.

BUNDLES = 8
table = np.full((BUNDLES, BUNDLES), np.nan)
for r, pairs in enumerate(rounds(BUNDLES)):
    for a, b in pairs:
        table[a, b] = table[b, a] = r

figure, ax = plt.subplots(figsize=(5.2, 4.6))
ax.imshow(table, cmap="viridis", alpha=0.75)
for a in range(BUNDLES):
    for b in range(BUNDLES):
        text = "within" if a == b else f"{table[a, b]:.0f}"
        ax.text(b, a, text, ha="center", va="center", fontsize=8 if a == b else 11)
ax.set(
    xlabel="bundle",
    ylabel="bundle",
    title="Who meets when: no number twice in a row",
    xticks=range(BUNDLES),
    yticks=range(BUNDLES),
)
ax.spines[:].set_visible(False)
ax.tick_params(length=0)
plt.show()

# %%
# Ranks
# -----
# Over MPI every meeting has a *match*, and a rank has some of the matches. From one round to the
# next a match keeps one of its two bundles and passes the other one on, so that messages are as few
# as possible. With twice as many bundles as ranks (the default) a rank has one match: two bundles
# at a time, never the whole model. The order of meetings depends on the number of bundles alone,
# which is why the model is the same, bit by bit, for any number of ranks.
#
# Follow a colour: it is one bundle on its way. (The package itself uses ``schedule``, which is not
# part of the public interface.)

from multimargin.solvers.active_set._round_robin import schedule

RANKS = 4
matches = schedule(2 * RANKS)
colours = plt.get_cmap("tab10").colors

figure, ax = plt.subplots(figsize=(10, 4.2))
where = {}
for r, meetings in enumerate(matches):
    for match, pair in enumerate(meetings):
        for half, bundle in enumerate(pair):
            x, y = r, -(match + 0.36 * half)
            if bundle in where:
                before = where[bundle]
                stays = before[2] == match
                ax.plot(
                    [before[0] + 0.17, x - 0.17],
                    [before[1], y],
                    color=colours[bundle],
                    linewidth=1.5 if stays else 3,
                    alpha=0.35 if stays else 0.9,
                )
            where[bundle] = (x, y, match)
            box = plt.Rectangle((x - 0.17, y - 0.15), 0.34, 0.3, color=colours[bundle], zorder=3)
            ax.add_patch(box)
            ax.text(x, y, str(bundle), ha="center", va="center", color="white", zorder=4)
ax.set(
    xticks=range(len(matches)),
    xticklabels=[f"round {r}" for r in range(len(matches))],
    yticks=[-(rank + 0.18) for rank in range(RANKS)],
    yticklabels=[f"rank {rank}" for rank in range(RANKS)],
    title=f"{2 * RANKS} bundles on {RANKS} ranks: thick lines are messages",
    ylim=(-RANKS + 0.35, 0.4),
)
ax.spines[:].set_visible(False)
ax.tick_params(length=0)
plt.show()
