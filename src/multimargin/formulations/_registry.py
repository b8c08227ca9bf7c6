"""The formulations by name, each complete."""

from __future__ import annotations

from multimargin.formulations._base import Formulation

FORMULATIONS: dict[str, type[Formulation]] = {}


def register(kind: type[Formulation]) -> type[Formulation]:
    """Add a formulation; raises TypeError with all that it lacks."""
    name = getattr(kind, "name", kind.__name__)
    lacking = [fact for fact in Formulation.__annotations__ if not hasattr(kind, fact)]
    lacking += sorted(kind.__abstractmethods__)
    solvers = getattr(kind, "solvers", None)
    if solvers is not None:
        wanted = ("auto", getattr(kind, "divided_solver", "auto"))
        lacking += [f"solvers[{user!r}]" for user in dict.fromkeys(wanted) if user not in solvers]
    if lacking:
        raise TypeError(
            f"formulation {name!r} lacks: {', '.join(lacking)} "
            "(see CONTRIBUTING, 'Add a formulation')"
        )
    if name in FORMULATIONS:
        raise TypeError(f"formulation {name!r} is there already: {FORMULATIONS[name].title}")
    FORMULATIONS[name] = kind
    return kind
