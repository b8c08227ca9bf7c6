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
# Words of a text that the model does not know.
MOST_UNKNOWN = 20
# Values of a column of categories that the page suggests.
MOST_VALUES = 1_000

Count = Annotated[int, {"minimum": 0}]
Label = Annotated[str | float | bool, "The label of a class, as in the training data."]
Span = tuple[Count, Count]


Row = Annotated[
    list[float] | dict[str, str | float | None],
    "For a model of columns an object of columns and values, where null and absent ones are "
    "missing. For a model of numbers an array of all of them, or an object of features and "
    "numbers, where absent ones are 0 unless the features have names.",
]


class Question(TypedDict, total=False):
    """Either text or texts, or row or rows: `takes` of /model says what the model takes."""

    text: Annotated[str, "A text."]
    texts: Annotated[list[str], "Texts."]
    row: Row
    rows: Annotated[list[Row], "Rows."]
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
    probability: NotRequired[Annotated[float, "Of a calibrated model."]]


class Feature(TypedDict):
    """A feature of the sample."""

    feature: Annotated[str, "A word, or several, or characters; or a column, or column=value."]
    value: Annotated[float, "Its weight in the text, or its number."]
    contribution: Annotated[
        float, "What it adds to the difference: positive speaks for label, negative for against."
    ]
    spans: Annotated[
        list[Span],
        "Where it is in the text: begin and end, counted in Unicode code points. "
        f"At most {MOST_SPANS}; none for rows.",
    ]


class OtherFeatures(TypedDict):
    """The features of the sample that are not listed."""

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
    unknown: Annotated[
        list[str],
        "Words of the text, and categories, that the model does not know. At most "
        f"{MOST_UNKNOWN}; none where characters or several words make a feature.",
    ]


class Result(TypedDict):
    """The best classes of one sample."""

    classes: Annotated[list[ScoredClass], "The best first.", {"minItems": 1}]
    known_features: Annotated[
        Count,
        "How many features of the sample have a weight in the model. 0: nothing tells the classes "
        "apart, and note says so.",
    ]
    note: NotRequired[Annotated[str, "For people: why the classes say nothing about the sample."]]
    explanation: NotRequired[Explanation]


class Answer(TypedDict):
    """One result for each sample, in order."""

    results: list[Result]


class RequestLimits(TypedDict):
    """The largest requests."""

    max_bytes: int
    max_texts: Annotated[int, "Or rows."]
    max_chars: Annotated[
        int,
        "Of one text, in Unicode code points: an emoji or a letter with marks can be several.",
    ]
    max_k: int
    rate: Annotated[float, "Requests per second; 0 is no limit."]


class Column(TypedDict):
    """A column of the rows that the model takes."""

    name: str
    kind: Literal["text", "number", "category"]
    required: bool
    values: Annotated[list[str], f"Of a category, those in training; at most {MOST_VALUES}."]
    mean: Annotated[float | None, "What a missing number counts as."]


class Example(TypedDict, total=False):
    """A text or a row to try, and the class of whose weights it was made."""

    text: str
    row: Row
    label: Label


class Model(TypedDict):
    """The model and the limits of requests."""

    name: str
    classes: Annotated[int, {"minimum": 2}]
    features: Annotated[int, {"minimum": 1}]
    takes: Annotated[Literal["text", "row"], "Which member a question has."]
    columns: Annotated[list[Column], "Of rows; empty for models of many numbers, or without names."]
    analyzer: NotRequired[
        Annotated[Literal["word", "char", "char_wb"], "How texts become features."]
    ]
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
    calibrated: Annotated[bool, "Whether classes have probabilities."]
    version: str
    examples: list[Example]
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
