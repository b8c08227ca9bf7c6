"""The data sets that experiments ask for by name: what they are, and where they can be had."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

__all__ = ["CATALOG", "PARTS", "CatalogEntry", "Part", "RemoteFile", "entry_of"]

Part = Literal["train", "test"]
PARTS: tuple[Part, ...] = ("train", "test")


@dataclass(frozen=True)
class RemoteFile:
    """A file that anybody may download.

    Attributes
    ----------
    url : str
        Where it is.
    name : str
        What it is called in the folder of its data set; the URL has no say in it.
    sha256, md5 : str or None
        Sums that are known for it; None where nobody is known to have published one.
    bytes : int or None
        Its size, where it is known.
    """

    url: str
    name: str
    sha256: str | None = None
    bytes: int | None = None
    md5: str | None = None


@dataclass(frozen=True)
class CatalogEntry:
    """A data set.

    Attributes
    ----------
    name : str
        That of its folder.
    title : str
        What it is, in a few words.
    n_train, n_test : int
        Number of samples; `n_test` is 0 where there are no test samples.
    n_classes : int
        Number of classes with training samples.
    n_features : int
        Number of features, test samples included.
    licence : str
        In a few words.
    where : str
        Where it can be had: a page, or words.
    files : mapping of {"train", "test"} to RemoteFile
        What ``multimargin data fetch`` downloads; empty where that needs a registration.
    paper : str
        The name by which the paper calls this very set, or "".
    stand_in_for : str
        The name by which the paper calls the set that this one resembles, or "".
    made : bool
        Whether it is generated each time it is asked for, and so always there.
    """

    name: str
    title: str
    n_train: int
    n_test: int
    n_classes: int
    n_features: int
    licence: str
    where: str
    files: Mapping[Part, RemoteFile] = field(default_factory=dict)
    paper: str = ""
    stand_in_for: str = ""
    made: bool = False

    @property
    def remedy(self) -> str:
        """What to do in order to have it."""
        return f"'multimargin data fetch {self.name}' gets it" if self.files else self.where

    @property
    def sizes(self) -> dict[Part, int]:
        """Number of samples of each part."""
        return {"train": self.n_train, "test": self.n_test}


_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multiclass"
_LIBSVM_WHERE = f"{_LIBSVM}.html"
# The files as they were in these commits: what the paper's own tests were run on.
_XCSVM = "https://raw.githubusercontent.com/albermax/xcsvm"
_XCSVM_COMMITS = (
    "87ef9b3dd16ce16d5b169e14382e518bfabdb77a",
    "66d01897d8e25366e11100d697e6fed8b1b3024e",
)
_XCSVM_FOLDER = "xcsvm/xcsvm/tests/data"
_XCSVM_WHERE = "https://github.com/albermax/xcsvm"
_LSHTC_WHERE = (
    "register at http://lshtc.iit.demokritos.gr (or ask the organisers of the challenge), then put "
    "the files into the folder as train.txt and test.txt; published test files have the label 0 "
    "throughout, so ask for those with labels"
)
_UNCLEAR = "not stated"


def _libsvm(
    part: Part, remote: str, *, sha256: str | None = None, md5: str | None = None
) -> RemoteFile:
    suffix = ".bz2" if remote.endswith(".bz2") else ""
    return RemoteFile(f"{_LIBSVM}/{remote}", f"{part}.libsvm{suffix}", sha256, None, md5)


def _xcsvm(part: Part, remote: str, sha256: str, size: int, commit: int = 0) -> RemoteFile:
    url = f"{_XCSVM}/{_XCSVM_COMMITS[commit]}/{_XCSVM_FOLDER}/{remote}.{part}.libsvm"
    return RemoteFile(url, f"{part}.libsvm", sha256, size)


_ENTRIES = (
    # The nine sets of the paper's validation table, in its order. The sums of the authors' own
    # files are those of copies that have the same sizes as the files in their repository; those
    # of the training files of news20 and rcv1 were published by a benchmark that counted their
    # rows and classes, too; the MD5 sums by torchvision (usps) and by another benchmark (rcv1).
    CatalogEntry(
        "sensit-combined",
        "vehicles by acoustic and seismic sensors",
        78_823,
        19_705,
        3,
        100,
        _UNCLEAR,
        _LIBSVM_WHERE,
        {
            "train": _libsvm("train", "vehicle/combined.bz2"),
            "test": _libsvm("test", "vehicle/combined.t.bz2"),
        },
        paper="SensIT v.(com.)",
    ),
    CatalogEntry(
        "xcsvm-glass",
        "kinds of glass; the authors' own files",
        192,
        21,
        6,
        9,
        _UNCLEAR,
        _XCSVM_WHERE,
        {
            "train": _xcsvm(
                "train",
                "glass_9dim_6cl",
                "0623d36e10a08319e9746c03fd2a74255c8b5fbd855e00298d66dd0e1b086351",
                18_969,
            ),
            "test": _xcsvm(
                "test",
                "glass_9dim_6cl",
                "7c7f4a4aa6e95f0ea38c6a2036bbb3efaf918eaf08ade5fbc565f609ec8ab438",
                2_098,
            ),
        },
        paper="glass",
    ),
    CatalogEntry(
        "xcsvm-iris",
        "kinds of iris; the authors' own files",
        134,
        15,
        3,
        4,
        _UNCLEAR,
        _XCSVM_WHERE,
        {
            "train": _xcsvm(
                "train",
                "iris_4dim_3cl.normalized",
                "81a9a6edfb3f4551d68faa42f95d83e071db45cf23ad963be07acb626da06ce4",
                11_631,
                commit=1,
            ),
            "test": _xcsvm(
                "test",
                "iris_4dim_3cl.normalized",
                "d9c0778413872c994d9a0152aba3c6d5386a73e998ac24f7ff33b6ab3825eadb",
                1_261,
            ),
        },
        paper="iris",
    ),
    CatalogEntry(
        "letter",
        "printed letters by 16 measurements",
        15_000,
        5_000,
        26,
        16,
        _UNCLEAR,
        _LIBSVM_WHERE,
        {"train": _libsvm("train", "letter.scale"), "test": _libsvm("test", "letter.scale.t")},
        paper="letter",
    ),
    CatalogEntry(
        "news20",
        "news groups, word counts",
        15_935,
        3_993,
        20,
        62_061,
        _UNCLEAR,
        _LIBSVM_WHERE,
        {
            "train": _libsvm(
                "train",
                "news20.bz2",
                sha256="8c79851f6f5fdc5540a0d04a5ab728353c42d26b84e73f93bda301c06c15ffe9",
            ),
            "test": _libsvm("test", "news20.t.bz2"),
        },
        paper="news20",
    ),
    CatalogEntry(
        "rcv1",
        "Reuters news, first topic; two more classes in the test file",
        15_564,
        518_571,
        51,
        47_236,
        _UNCLEAR,
        _LIBSVM_WHERE,
        {
            "train": _libsvm(
                "train",
                "rcv1_train.multiclass.bz2",
                sha256="79691e3f974aa6a08d5e3116c61aff822fbdb2725e99ed27fde4351af51076a8",
                md5="b0ce08cd1a4c9e15c887c20acfb0eade",
            ),
            "test": _libsvm(
                "test", "rcv1_test.multiclass.bz2", md5="68a377cfff6f4a82edac1975b148afd3"
            ),
        },
        paper="rcv1",
    ),
    CatalogEntry(
        "satimage",
        "kinds of ground in satellite images",
        4_435,
        2_000,
        6,
        36,
        _UNCLEAR,
        _LIBSVM_WHERE,
        {"train": _libsvm("train", "satimage.scale"), "test": _libsvm("test", "satimage.scale.t")},
        paper="satimage",
    ),
    CatalogEntry(
        "xcsvm-splice",
        "splice junctions of DNA, yes or no; the authors' own files",
        1_000,
        2_175,
        2,
        60,
        _UNCLEAR,
        _XCSVM_WHERE,
        {
            "train": _xcsvm(
                "train",
                "splice_60dim_2cl.standardized",
                "718c5a7fb1815409e9b1fb12510b158ba303cb39e1b94c4b90097f593f1feb9a",
                1_259_547,
            ),
            "test": _xcsvm(
                "test",
                "splice_60dim_2cl.standardized",
                "3008c433216f847ea21ad49caa2a5840f78d5b084c85aa3c2eb5ca9fd47eef4f",
                2_739_107,
            ),
        },
        paper="splice",
    ),
    CatalogEntry(
        "usps",
        "handwritten digits, 16 by 16 pixels",
        7_291,
        2_007,
        10,
        256,
        _UNCLEAR,
        _LIBSVM_WHERE,
        {
            "train": _libsvm("train", "usps.bz2", md5="ec16c51db3855ca6c91edd34d0e9b197"),
            "test": _libsvm("test", "usps.t.bz2", md5="8ea070ee2aca1ac39742fdd1ef5ed118"),
        },
        paper="usps",
    ),
    # The four large sets of the paper, with the sizes that it names.
    CatalogEntry(
        "lshtc-small",
        "web directory pages (LSHTC1 dry run, Task 1)",
        4_463,
        1_858,
        1_139,
        51_033,
        _UNCLEAR,
        _LSHTC_WHERE,
        paper="LSHTC-small",
    ),
    CatalogEntry(
        "lshtc-large",
        "web directory pages (LSHTC1, Task 1)",
        128_710,
        34_880,
        12_294,
        381_581,
        _UNCLEAR,
        _LSHTC_WHERE,
        paper="LSHTC-large",
    ),
    CatalogEntry(
        "lshtc-2012",
        "web directory pages (LSHTC3, DMOZ)",
        383_408,
        103_435,
        11_947,
        575_555,
        _UNCLEAR,
        _LSHTC_WHERE,
        paper="LSHTC-2012",
    ),
    CatalogEntry(
        "lshtc-2011",
        "web directory pages (LSHTC2, DMOZ)",
        394_754,
        104_263,
        27_875,
        594_158,
        _UNCLEAR,
        _LSHTC_WHERE,
        paper="LSHTC-2011",
    ),
    # Others.
    CatalogEntry(
        "lshtc1-dryrun-task1-part",
        "LSHTC1 dry run, Task 1, trained on the validation file",
        1_860,
        1_858,
        1_139,
        29_726,
        _UNCLEAR,
        "the dry run's files of Task 1 without its training file, with classes and features "
        "numbered from 1; to have them, " + _LSHTC_WHERE.partition(",")[0],
    ),
    CatalogEntry(
        "lshtc1-dryrun-task2",
        "LSHTC1 dry run, Task 2: trained on short descriptions",
        4_463,
        1_858,
        1_139,
        26_969,
        _UNCLEAR,
        "the dry run's files of Task 2, with classes and features numbered from 1; to have them, "
        + _LSHTC_WHERE.partition(",")[0],
        stand_in_for="LSHTC-small",
    ),
    CatalogEntry(
        "wordnet-hypernym",
        "dictionary definitions by hypernym, tf-idf",
        65_025,
        22_672,
        12_582,
        37_436,
        "WordNet 3.0 licence: free, with its notice",
        "part of multimargin",
        stand_in_for="LSHTC-large",
    ),
    CatalogEntry(
        "dmoz-108",
        "Open Directory texts by category, tf-idf",
        40_498,
        13_499,
        108,
        14_187,
        _UNCLEAR,
        "texts of the Open Directory (dmoz.org, closed in 2017) as tf-idf rows of unit length; "
        "nobody is known to offer these files",
        stand_in_for="LSHTC-small",
    ),
    CatalogEntry(
        "clinc150",
        "user utterances by intent, tf-idf",
        18_000,
        4_498,
        150,
        5_555,
        "Creative Commons",
        "https://github.com/clinc/oos-eval has the utterances; these files are their tf-idf rows "
        "of unit length",
    ),
    CatalogEntry(
        "dna",
        "splice junctions of DNA, three kinds",
        2_000,
        1_186,
        3,
        180,
        _UNCLEAR,
        _LIBSVM_WHERE,
        {"train": _libsvm("train", "dna.scale"), "test": _libsvm("test", "dna.scale.t")},
    ),
)


def _generated(like: CatalogEntry) -> CatalogEntry:
    """One of the size of another."""
    return CatalogEntry(
        f"generator-{like.name}",
        f"generated texts of the size of {like.paper}",
        like.n_train,
        like.n_test,
        like.n_classes,
        like.n_features,
        "none needed",
        "made by multimargin when it is asked for by its name",
        stand_in_for=like.paper,
        made=True,
    )


CATALOG: dict[str, CatalogEntry] = {
    entry.name: entry
    for entry in (
        *_ENTRIES,
        *(_generated(entry) for entry in _ENTRIES if entry.paper.startswith("LSHTC")),
    )
}


def entry_of(name: str) -> CatalogEntry:
    """The entry of a name; `ValueError` with the names that there are for any other."""
    if name not in CATALOG:
        raise ValueError(f"no data set is called {name!r}; there are {', '.join(sorted(CATALOG))}")
    return CATALOG[name]
