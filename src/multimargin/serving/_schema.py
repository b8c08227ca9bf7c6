"""The JSON of requests and answers: names, types and descriptions of all members.

Type checkers hold the code that builds answers to these types, and `_openapi` writes
``/openapi.json`` from them. A string in ``Annotated`` describes a member, a dict adds keywords of
JSON Schema.
"""

from typing import Annotated, Literal, NotRequired, TypedDict

DEFAULT_K = 5
# Features that an explanation lists; the others are summed up.
MOST_FEATURES = 50
# Of one feature: after a hundred marks the next one says nothing new.
MOST_SPANS = 100

Count = Annotated[int, {"minimum": 0}]
Label = Annotated[str | float | bool, "The label of a class, as in the training data."]
Span = tuple[Count, Count]


class Question(TypedDict, total=False):
    """Either text or texts."""

    text: Annotated[str, "A text."]
    texts: Annotated[list[str], "Texts."]
    k: Annotated[
        int,
        "How many of the best classes; fewer by default if the model has fewer.",
        {"minimum": 1, "default": DEFAULT_K},
    ]
    explain: Annotated[bool, "Whether to say which features decided.", {"default": False}]
    against: Annotated[
        str | float | bool | None,
        "The label of a class to compare the best one with, in explanations. By default, and where "
        "it is the best class itself, the runner-up.",
    ]


class ScoredClass(TypedDict):
    """A class and its score."""

    label: Label
    score: float


class Feature(TypedDict):
    """A feature of the text."""

    feature: Annotated[str, "A word, or several, or characters."]
    value: Annotated[float, "Its weight in the text."]
    contribution: Annotated[
        float, "What it adds to the difference: positive speaks for label, negative for against."
    ]
    spans: Annotated[
        list[Span],
        "Where it is in the text: begin and end, counted in characters (Unicode code points). "
        f"At most {MOST_SPANS}.",
    ]


class OtherFeatures(TypedDict):
    """The features of the text that are not listed."""

    count: Count
    contribution: float


class Explanation(TypedDict):
    """Contributions, intercept and other_features add up to the difference of the two scores."""

    label: Label
    against: Label
    difference: Annotated[float, "Score of label less score of against."]
    intercept: Annotated[float, "What the intercepts add to the difference."]
    features: Annotated[list[Feature], f"At most {MOST_FEATURES}, the largest contributions first."]
    other_features: OtherFeatures


class Result(TypedDict):
    """The best classes of one text."""

    classes: Annotated[list[ScoredClass], "The best first.", {"minItems": 1}]
    known_features: Annotated[
        Count,
        "How many features of the text the model knows. 0: nothing tells the classes apart.",
    ]
    explanation: NotRequired[Explanation]


class Answer(TypedDict):
    """One result for each text, in order."""

    results: list[Result]


class RequestLimits(TypedDict):
    """The largest requests."""

    max_bytes: int
    max_texts: int
    max_chars: int
    max_k: int
    rate: Annotated[float, "Requests per second; 0 is no limit."]


class Model(TypedDict):
    """The model and the limits of requests."""

    name: str
    classes: Annotated[int, {"minimum": 2}]
    features: Annotated[int, {"minimum": 1}]
    analyzer: Literal["word", "char", "char_wb"]
    formulation: str
    formulation_title: str
    C: Annotated[float | None, "null is infinity."]
    tol: float | None
    gap: Annotated[
        float | None,
        "Relative duality gap: the objective is within this fraction of the optimum. null if not "
        "known.",
    ]
    converged: bool | None
    version: str
    examples: list[str]
    limits: RequestLimits


class Health(TypedDict):
    """The server is up."""

    status: Literal["ok"]


class Refusal(TypedDict):
    """Why a request was refused."""

    status: int
    code: Annotated[str, "For programs."]
    message: Annotated[str, "For people."]
    field: NotRequired[Annotated[str, "The member of the request that is wrong."]]


class Error(TypedDict):
    """The answer to a request that was refused."""

    error: Refusal
