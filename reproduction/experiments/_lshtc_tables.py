"""The LSHTC tables and figures, arranged as in the paper, its figures beside ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from reproduction.experiments._lshtc_sets import SHOWN, Shown
from reproduction.experiments._repeated import NOT_REACHED, Key, Repeated, by_key, our_line
from reproduction.experiments._stops import EXPLANATION, GAP, PAPER, STOPS, WORDS
from reproduction.interface._cell import Record
from reproduction.interface._document import (
    Axes,
    Column,
    Entry,
    Figure,
    Line,
    Row,
    Section,
    Table,
    Tone,
)
from reproduction.paper import lshtc as paper

_NAMES = {"ovr": "OVR", "cs": "CS", "ww": "WW", "llw": "LLW"}
_TITLES: dict[paper.Measure, str] = {
    "test_error": "Error",
    "density": "Model density",
    "micro_f1": "Micro-F1",
    "macro_f1": "Macro-F1",
}
_NEAR, _NEAR_SHARE = 0.5, 0.1  # percentage points, and of the paper's figure

Results = Mapping[Key, Repeated]


def lshtc_section(records: Sequence[Record]) -> Section:
    """Return tables and figures of the records, beside the paper's figures."""
    results = by_key(records)
    sets = _sets(results)
    return Section(
        title="LSHTC: error, F1 scores and model density",
        introduction=(
            "One-vs-rest (OVR), Crammer-Singer (CS), Weston-Watkins (WW) and Lee-Lin-Wahba (LLW) "
            "over log₁₀ C = −3 … 1, without cross-validation. A stand-in is another set than "
            "the paper's; the figures of the set it stands for are beside it, for their course "
            "over C, and no difference between the two is a deviation."
        ),
        tables=(
            _paired(results, sets, ("test_error", "density"), together=True),
            _paired(results, sets, ("micro_f1", "macro_f1"), together=False),
            _reached(results, sets),
        ),
        figures=tuple(_figures(results, sets)),
        notes=_notes(),
    )


def _sets(results: Results) -> list[Shown]:
    """Return the measured sets, and the paper's sets that no measured set stands for."""
    measured = {key[0] for key in results}
    seen = {shown.paper for shown in SHOWN if shown.name in measured}
    return [
        shown
        for shown in SHOWN
        if shown.name in measured or not (shown.stand_in or shown.paper in seen)
    ]


# ------------------------------------------------------------ tables


def _paired(
    results: Results,
    sets: list[Shown],
    measures: tuple[paper.Measure, paper.Measure],
    together: bool,
) -> Table:
    """Return a table of two measures side by side.

    ``together``: the best of the first is bold in both, as in the paper's table of errors and
    densities; else each has its own.
    """
    rows = [row for shown in sets for row in _set_rows(results, shown, measures, together)]
    left, right = (_TITLES[measure] for measure in measures)
    both = f"{left} and {right[0].lower()}{right[1:]}"
    best = f"best {left.lower()}" if together else "best of each"
    return Table(
        title=both,
        caption=(
            f"{both} on the test set, in %. For each solver the {best} over C is bold. "
            f"'*': {paper.NOT_CONVERGED} (the paper). {NOT_REACHED}: the time limit came "
            "before the tolerance."
        ),
        columns=_columns(left, right),
        rows=tuple(rows),
        notes=_mark_notes(results, sets),
    )


def _mark_notes(results: Results, sets: list[Shown]) -> tuple[str, ...]:
    """Explain the marks of differences, if there are any."""
    own = [shown for shown in sets if not shown.stand_in]
    if not any(_is_measured(results, shown, stop) for shown in own for stop in STOPS):
        return ()
    return (
        f"=: equal to both digits. ≈: within {_NEAR} points and a tenth of the paper's figure. "
        f"A difference of runs marked {NOT_REACHED} is one of unfinished runs.",
    )


def _columns(left: str, right: str) -> tuple[Column, ...]:
    halves = [Column(_NAMES[f], group) for group in (left, right) for f in paper.FORMULATIONS]
    return (Column("log C"), Column("whose"), *halves)


def _set_rows(
    results: Results, shown: Shown, measures: tuple[paper.Measure, paper.Measure], together: bool
) -> Iterator[Row]:
    blocks = [_paper_rows(shown, measures, together)] if shown.paper else []
    for stop in STOPS:
        if _is_measured(results, shown, stop):
            blocks.append(_our_rows(results, shown, stop, measures, together))
            if not shown.stand_in:
                blocks.append(_difference_rows(results, shown, stop, measures))
    for at in range(len(paper.LOG_C)):
        for block in blocks:
            yield block[at]


def _is_measured(results: Results, shown: Shown, stop: str) -> bool:
    return any(key[0] == shown.name and key[3] == stop for key in results)


def _paper_rows(
    shown: Shown, measures: tuple[paper.Measure, paper.Measure], together: bool
) -> list[Row]:
    def figure(measure: paper.Measure, formulation: str, log_c: int) -> float | None:
        return paper.value(shown.paper, formulation, log_c, measure)

    def entry(measure: paper.Measure, formulation: str, log_c: int) -> Entry:
        value = figure(measure, formulation, log_c)
        if value is None:
            return Entry("*", "paper")
        return Entry(f"{value:.2f}", "paper")

    whose = f"paper, {shown.paper}" if shown.stand_in else "paper"
    return _rows(shown, Entry(whose, "paper"), measures, together, figure, entry)


def _our_rows(
    results: Results,
    shown: Shown,
    stop: str,
    measures: tuple[paper.Measure, paper.Measure],
    together: bool,
) -> list[Row]:
    nothing = Repeated([])

    def found(formulation: str, log_c: int) -> Repeated:
        return results.get((shown.name, formulation, float(log_c), stop), nothing)

    def figure(measure: paper.Measure, formulation: str, log_c: int) -> float | None:
        runs = found(formulation, log_c)
        return runs.mean(measure) if len(runs) else None

    def entry(measure: paper.Measure, formulation: str, log_c: int) -> Entry:
        return found(formulation, log_c).entry(measure)

    return _rows(shown, Entry(WORDS[stop], "ours"), measures, together, figure, entry)


def _difference_rows(
    results: Results, shown: Shown, stop: str, measures: tuple[paper.Measure, paper.Measure]
) -> list[Row]:
    """Return ours minus the paper's, where there are both."""

    def entry(measure: paper.Measure, formulation: str, log_c: int) -> Entry:
        ours = results.get((shown.name, formulation, float(log_c), stop))
        theirs = paper.value(shown.paper, formulation, log_c, measure)
        if not ours or theirs is None:
            return Entry("–", "missing")
        difference = round(ours.mean(measure) - theirs, 2)
        return Entry(f"{difference:+.2f}", _tone(difference, theirs))

    whose = Entry(f"{WORDS[stop]}, less the paper's")
    return [
        _row(shown, log_c, whose, [entry(m, f, log_c) for m in measures for f in _NAMES])
        for log_c in paper.LOG_C
    ]


def _tone(difference: float, stated: float) -> Tone:
    if difference == 0:
        return "equal"
    return "near" if abs(difference) <= min(_NEAR, _NEAR_SHARE * stated) else "differs"


def _rows(
    shown: Shown,
    whose: Entry,
    measures: tuple[paper.Measure, paper.Measure],
    together: bool,
    figure: Callable[[paper.Measure, str, int], float | None],
    entry: Callable[[paper.Measure, str, int], Entry],
) -> list[Row]:
    """Return one row per C, the best of every column in bold."""
    bold = set()
    for measure in measures:
        ranked_by = measures[0] if together else measure
        for f in paper.FORMULATIONS:
            best = best_log_c({c: figure(ranked_by, f, c) for c in paper.LOG_C}, ranked_by)
            bold.add((measure, f, best))
    rows = []
    for log_c in paper.LOG_C:
        entries = [
            _bold(entry(measure, f, log_c), (measure, f, log_c) in bold)
            for measure in measures
            for f in paper.FORMULATIONS
        ]
        rows.append(_row(shown, log_c, whose, entries))
    return rows


def _row(shown: Shown, log_c: int, whose: Entry, entries: Sequence[Entry]) -> Row:
    return Row((Entry(_label(log_c)), whose, *entries), shown.title)


def _label(log_c: int) -> str:
    return str(log_c).replace("-", "−")


def _bold(entry: Entry, bold: bool) -> Entry:
    return Entry(entry.text, entry.tone, entry.note, bold)


def best_log_c(figures: Mapping[int, float | None], measure: paper.Measure) -> int | None:
    """Return the C of the best measure, the smallest of equals; low errors and high F1 are best."""
    known = {log_c: figure for log_c, figure in figures.items() if figure is not None}
    if not known:
        return None
    sign = 1 if measure == "test_error" else -1
    return min(known, key=lambda log_c: (sign * known[log_c], log_c))


def _reached(results: Results, sets: list[Shown]) -> Table:
    rows = []
    for shown in sets:
        for log_c in paper.LOG_C:
            for stop in STOPS:
                if not _is_measured(results, shown, stop):
                    continue
                found = [
                    results.get((shown.name, f, float(log_c), stop), Repeated([]))
                    for f in paper.FORMULATIONS
                ]
                entries = [runs.entry("gap", scale=100, digits=4) for runs in found]
                entries += [runs.entry("seconds", digits=1) for runs in found]
                rows.append(_row(shown, log_c, Entry(WORDS[stop], "ours"), entries))
    return Table(
        title="How far the runs came",
        caption=(
            "Relative duality gap in %, (primal − dual) / primal, of the models above: the "
            "objective is that near to the optimum. Seconds of training, of this machine; the "
            "timing experiment measures these with care."
        ),
        columns=_columns("Relative gap", "Seconds"),
        rows=tuple(rows),
    )


# ------------------------------------------------------------ figures


def _figures(results: Results, sets: list[Shown]) -> Iterator[Figure]:
    shown: list[tuple[str, paper.Measure, str, str]] = [
        ("lshtc-error", "test_error", GAP, "at the gap"),
        ("lshtc-error-epsilon", "test_error", PAPER, "at the paper's ε"),
        ("lshtc-density-epsilon", "density", PAPER, "at the paper's ε"),
    ]
    for name, measure, stop, where in shown:
        plots = [_axes(results, item, measure, stop) for item in sets]
        yield Figure(
            name=name,
            title=f"{_TITLES[measure]} over C, {where}",
            caption="Ours solid, the paper's dashed; beside a stand-in, of the set it stands for.",
            plots=tuple(axes for axes in plots if axes.lines),
        )


def _axes(results: Results, shown: Shown, measure: paper.Measure, stop: str) -> Axes:
    ticks = tuple(float(log_c) for log_c in paper.LOG_C)
    lines = []
    for formulation, name in _NAMES.items():
        found = {c: results.get((shown.name, formulation, c, stop)) for c in ticks}
        lines.append(our_line(name, formulation, measure, found))
        lines.append(_paper_line(shown, measure, formulation))
    drawn = tuple(line for line in lines if line.x)
    return Axes(shown.title, "log C", f"{_TITLES[measure]} [%]", drawn, x_ticks=ticks)


def _paper_line(shown: Shown, measure: paper.Measure, formulation: str) -> Line:
    points = []
    if shown.paper:
        values = {c: paper.value(shown.paper, formulation, c, measure) for c in paper.LOG_C}
        points = [(float(c), value) for c, value in values.items() if value is not None]
    return Line(
        label=f"{_NAMES[formulation]}, paper",
        series=formulation,
        x=tuple(x for x, _ in points),
        y=tuple(y for _, y in points),
        source="paper",
    )


# ------------------------------------------------------------ notes


def _notes() -> tuple[str, ...]:
    inconsistent = ", ".join(
        f"{name} {_NAMES[formulation]} {_label(log_c)}"
        for name, formulation, log_c in paper.INCONSISTENT
    )
    return (
        *EXPLANATION,
        "The paper's OVR and CS are LIBLINEAR's, whose ε is not the same rule: it moves every "
        "coordinate that it visits, also those within ε. With small C all scores are smaller "
        "than ε, so that CS at ε = 0.1 is left nearly where it started; the paper's CS is to be "
        "compared with ours at the gap.",
        "LLW is the same for all small C: every dual variable is at its bound C, so W is C times "
        "a fixed matrix and the predictions do not change. OVR begins with the same matrix but "
        "for a mean that all classes share.",
        "Runs differ in their seed, which orders the visits; the paper's on shuffled data. "
        "Means, ± half of what lies between the lowest and the highest. Sets with more than 10⁸ "
        "samples × classes are run once, and for 300 s instead of 600 s at most, unless --runs and "
        "--time-limit ask for more.",
        "Counts are weighted by tf-idf, with the document frequencies of the training samples, "
        "and rows have unit length. There is no intercept, as in the paper.",
        "Macro-F1 is the mean over the classes that occur among the test labels or the "
        "predictions; the paper does not say over which its is.",
        "Samples have one label each, so micro-F1 is 100 minus the error. The paper's two tables "
        f"do not agree in that for {inconsistent} (log C): by 0.02 to 0.22, as if they were of "
        "different runs, and for LLW by a figure in one of them only.",
    )
