"""The container: named arrays and JSON in one memory-mapped file."""

import errno
import os
import resource
import signal
import struct
import subprocess
import sys
import textwrap
import zlib
from pathlib import Path

import hypothesis.extra.numpy as hnp
import joblib
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from multimargin import ModelFileError
from multimargin.io import _array_file as af
from multimargin.io._array_file import read_arrays, write_arrays
from tests.support.mapped import map_of

META = {"kind": "test", "text": "Grüße", "numbers": [1, 2.5, None, True]}
ARRAYS = {
    "weights": np.arange(12, dtype=np.float32).reshape(3, 4),
    "index.ptr": np.array([0, 3, 7], dtype=np.int64),
    "none": np.zeros((0, 5), dtype=np.uint8),
    "scalar": np.array(2.5),
}

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    # JSON text is UTF-8: single surrogates come back through the escapes as well.
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)
names = st.from_regex(r"\A[A-Za-z_][A-Za-z0-9_.]{0,31}\Z")
dtypes = st.sampled_from([*af._CODES, ">i4", ">f4", ">f8"])
some_arrays = st.dictionaries(
    names,
    dtypes.flatmap(
        lambda code: hnp.arrays(
            np.dtype(code), hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5)
        )
    ),
    max_size=6,
)


def written(path: Path) -> bytes:
    write_arrays(path, META, ARRAYS)
    return path.read_bytes()


def resealed(raw: bytes) -> bytes:
    """Give a changed file a right header checksum, as a forger would."""
    (data_offset,) = struct.unpack_from("<Q", raw, 32)
    crc = zlib.crc32(raw[64:data_offset], zlib.crc32(raw[:60]))
    return raw[:60] + struct.pack("<I", crc) + raw[64:]


def temporaries(folder: Path) -> list[str]:
    return [p.name for p in folder.iterdir() if p.name.endswith(".tmp")]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(meta=st.dictionaries(st.text(), json_values, max_size=5), arrays=some_arrays)
def test_round_trip(tmp_path, meta, arrays):
    path = tmp_path / "any.model"
    write_arrays(path, meta, arrays)
    again, found = read_arrays(path, verify=True)
    assert again == meta
    assert list(found) == list(arrays)
    for name, array in arrays.items():
        assert found[name].shape == array.shape
        assert found[name].dtype == array.dtype.newbyteorder("<")
        assert found[name].tobytes() == array.astype(array.dtype.newbyteorder("<")).tobytes()
        assert not found[name].flags.writeable


def test_arrays_are_aligned_views_of_one_map(tmp_path):
    written(tmp_path / "m")
    _, found = read_arrays(tmp_path / "m")
    maps = set()
    for array in found.values():
        assert array.ctypes.data % 64 == 0
        maps.add(map_of(array))
    assert len(maps) == 1
    assert None not in maps


def test_layout_is_the_documented_one(tmp_path):
    raw = written(tmp_path / "m")
    magic, version, count, length, n_meta, first = struct.unpack_from("<8sIIQQQ", raw)
    assert (magic, version, count, length) == (b"\x89MMARG\r\n", 1, 4, len(raw))
    assert length % 64 == 0
    name, dtype, ndim, k, d = struct.unpack_from("<32s4sIQQ", raw, 64 + n_meta)
    assert (name.rstrip(b"\0"), dtype.rstrip(b"\0"), ndim, k, d) == (b"weights", b"<f4", 2, 3, 4)
    assert struct.unpack_from("<QQ", raw, 64 + n_meta + 72) == (first, 48)
    assert raw[first : first + 48] == ARRAYS["weights"].tobytes()


def test_equal_content_gives_equal_bytes(tmp_path):
    first = written(tmp_path / "a")
    reordered = dict(reversed(META.items()))
    strided = {name: np.asarray(array, order="F") for name, array in ARRAYS.items()}
    write_arrays(tmp_path / "b", reordered, strided)
    assert (tmp_path / "b").read_bytes() == first


def test_truncated_at_every_length(tmp_path):
    raw = written(tmp_path / "m")
    cut = tmp_path / "cut"
    for length in range(len(raw)):
        cut.write_bytes(raw[:length])
        with pytest.raises(ModelFileError, match=r"cut: truncated"):
            read_arrays(cut)


def test_longer_than_its_header_says(tmp_path):
    (tmp_path / "m").write_bytes(written(tmp_path / "m") + bytes(64))
    with pytest.raises(ModelFileError, match="m: damaged: the file has"):
        read_arrays(tmp_path / "m")


@pytest.mark.parametrize("flip", [0x01, 0x80, 0xFF])
def test_every_byte_before_the_arrays_is_guarded(tmp_path, flip):
    raw = written(tmp_path / "m")
    (first,) = struct.unpack_from("<Q", raw, 32)
    bad = tmp_path / "bad"
    for at in range(first):
        bad.write_bytes(raw[:at] + bytes([raw[at] ^ flip]) + raw[at + 1 :])
        with pytest.raises(ModelFileError, match="bad: "):
            read_arrays(bad)


def test_every_byte_of_the_arrays_is_verified_on_demand(tmp_path):
    raw = written(tmp_path / "m")
    (first,) = struct.unpack_from("<Q", raw, 32)
    bad = tmp_path / "bad"
    for at in range(first, len(raw)):
        bad.write_bytes(raw[:at] + bytes([raw[at] ^ 4]) + raw[at + 1 :])
        read_arrays(bad)  # opens: the arrays are not read
        with pytest.raises(ModelFileError, match=r"bad: damaged: the (checksum|padding)"):
            read_arrays(bad, verify=True)


@pytest.mark.parametrize("content", [b"hello, this is text", b"\x7fELF" + bytes(100), b"x"])
def test_wrong_magic(tmp_path, content):
    (tmp_path / "m").write_bytes(content)
    with pytest.raises(ModelFileError, match="m: not a multimargin model"):
        read_arrays(tmp_path / "m")


def test_future_version(tmp_path):
    raw = written(tmp_path / "m")
    (tmp_path / "m").write_bytes(resealed(raw[:8] + struct.pack("<I", 7) + raw[12:]))
    with pytest.raises(ModelFileError, match="newer multimargin: format 7, this one reads up to 1"):
        read_arrays(tmp_path / "m")


U64 = struct.Struct("<Q").pack
U32 = struct.Struct("<I").pack
FORGERIES = {  # place in the entry of "weights", new bytes, reason
    "offset beyond the file": (72, U64(1 << 40), "said to lie"),
    "offset within the header": (72, U64(0), "said to lie"),
    "offset not aligned": (72, U64(1), "said to lie"),
    "shape too large": (40, U64(1 << 62), "cannot have"),
    "negative shape": (40, U64((1 << 64) - 3), "cannot have"),
    "shape does not match the bytes": (40, U64(2), "cannot have"),
    "five dimensions": (36, U32(5), "dimensions"),
    "absurd number of dimensions": (36, U32(0xFFFFFFFF), "dimensions"),
    "object dtype": (32, b"|O\0\0", "unknown dtype"),
    "big-endian dtype": (32, b">f4\0", "unknown dtype"),
    "empty name": (0, bytes(32), "bad name"),
    "name with a slash": (0, b"../x", "bad name"),
    "name of another array": (0, b"scalar".ljust(32, b"\0"), "two arrays"),
    "reserved word": (92, U32(1), "dimensions"),
}


@pytest.mark.parametrize("case", FORGERIES)
def test_inconsistent_table(tmp_path, case):
    at, new, reason = FORGERIES[case]
    raw = written(tmp_path / "m")
    (n_meta,) = struct.unpack_from("<Q", raw, 24)
    at += 64 + n_meta
    (tmp_path / "m").write_bytes(resealed(raw[:at] + new + raw[at + len(new) :]))
    with pytest.raises(ModelFileError, match=f"m: damaged: .*{reason}"):
        read_arrays(tmp_path / "m")


def test_overlapping_arrays(tmp_path):
    raw = written(tmp_path / "m")
    (n_meta,) = struct.unpack_from("<Q", raw, 24)
    second = 64 + n_meta + 96 + 72
    first = raw[64 + n_meta + 72 : 64 + n_meta + 80]
    (tmp_path / "m").write_bytes(resealed(raw[:second] + first + raw[second + 8 :]))
    with pytest.raises(ModelFileError, match=r"'index\.ptr' is said to lie"):
        read_arrays(tmp_path / "m")


def test_empty_array_of_absurd_shape(tmp_path):
    raw = written(tmp_path / "m")
    (n_meta,) = struct.unpack_from("<Q", raw, 24)
    at = 64 + n_meta + 2 * 96 + 40 + 8  # "none" has shape (0, 5)
    (tmp_path / "m").write_bytes(resealed(raw[:at] + U64((1 << 64) - 1) + raw[at + 8 :]))
    with pytest.raises(ModelFileError, match="'none' of shape"):
        read_arrays(tmp_path / "m")


@pytest.mark.parametrize(
    "text", [b"{", b"[1]", b"{'a':1}", b'{"a":NaN}', b"\xff\xfe", b"[" * 100_000, b""]
)
def test_bad_metadata(tmp_path, monkeypatch, text):
    monkeypatch.setattr(af, "_encode_metadata", lambda path, meta: text)
    write_arrays(tmp_path / "m", {}, {})
    with pytest.raises(ModelFileError, match=r"m: damaged: .*metadata"):
        read_arrays(tmp_path / "m")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.binary(max_size=400), st.booleans())
def test_noise_is_refused(tmp_path, noise, with_magic):
    path = tmp_path / "noise"
    path.write_bytes((af.MAGIC + b"\1\0\0\0" if with_magic else b"") + noise)
    with pytest.raises(ModelFileError):
        read_arrays(path)


def test_not_a_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_arrays(tmp_path / "missing")
    with pytest.raises(ModelFileError, match="not a regular file"):
        read_arrays(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelFileError, match="not a regular file"):
        read_arrays(tmp_path / "pipe")


@pytest.mark.parametrize(
    ("meta", "arrays", "reason"),
    [
        ({"a": float("nan")}, {}, "JSON"),
        ({"a": object()}, {}, "JSON"),
        ({}, {"a": np.array([object()])}, "dtype object"),
        ({}, {"a": np.array(["x"])}, "dtype <U1"),
        ({}, {"a": np.zeros(2, "f4,f4")}, "dtype"),
        ({}, {"a": np.zeros(2, complex)}, "dtype complex128"),
        ({}, {"a": np.zeros((1,) * 5)}, "5 dimensions"),
        ({}, {"a b": np.zeros(1)}, "'a b' is no array name"),
        ({}, {"a" * 33: np.zeros(1)}, "no array name"),
    ],
)
def test_content_that_cannot_be_kept(tmp_path, meta, arrays, reason):
    with pytest.raises(ModelFileError, match=f"m: .*{reason}"):
        write_arrays(tmp_path / "m", meta, arrays)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_failed_write_leaves_the_old_file(tmp_path, monkeypatch, call):
    old = written(tmp_path / "m")

    def full(*_args):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, call, full)
    with pytest.raises(OSError, match="No space left"):
        write_arrays(tmp_path / "m", {"new": 1}, {})
    assert (tmp_path / "m").read_bytes() == old
    assert temporaries(tmp_path) == []


def test_file_system_full_in_the_middle(tmp_path):
    old = written(tmp_path / "m")
    # A limit on the size of files makes write() itself fail, as a full disk does.
    code = textwrap.dedent("""
        import resource, signal, sys
        import numpy as np
        from multimargin.io._array_file import write_arrays
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
        try:
            write_arrays(sys.argv[1], {}, {"large": np.ones(10_000)})
        except OSError as error:
            sys.exit(f"refused: {error}")
    """)
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "m")],
        capture_output=True,
        text=True,
        check=False,
    )
    refused = f"refused: [Errno 27] File too large: '{tmp_path / 'm'}'"
    assert (done.returncode, done.stderr.strip()) == (1, refused)
    assert (tmp_path / "m").read_bytes() == old
    assert temporaries(tmp_path) == []


def test_killed_writer_leaves_the_old_file(tmp_path):
    old = written(tmp_path / "m")
    code = textwrap.dedent("""
        import os, signal, sys
        import numpy as np
        from multimargin.io._array_file import write_arrays
        os.fsync = lambda fd: os.kill(os.getpid(), signal.SIGKILL)  # all written, not renamed
        write_arrays(sys.argv[1], {}, {"large": np.ones(100_000)})
    """)
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "m")], check=False)
    assert done.returncode == -signal.SIGKILL
    assert (tmp_path / "m").read_bytes() == old
    assert len(temporaries(tmp_path)) == 1


def test_folder_missing_or_read_only(tmp_path):
    with pytest.raises(FileNotFoundError, match="missing/m"):
        write_arrays(tmp_path / "missing" / "m", {}, {})
    (tmp_path / "locked").mkdir(mode=0o500)
    if os.access(tmp_path / "locked", os.W_OK):
        pytest.skip("this user (root?) may write to read-only folders")
    with pytest.raises(PermissionError, match="locked/m"):
        write_arrays(tmp_path / "locked" / "m", {}, {})


def test_write_protected_file_stays(tmp_path):
    old = written(tmp_path / "m")
    (tmp_path / "m").chmod(0o444)
    if os.access(tmp_path / "m", os.W_OK):
        pytest.skip("this user (root?) may write to read-only files")
    with pytest.raises(PermissionError, match="m'"):
        write_arrays(tmp_path / "m", {}, {})
    assert (tmp_path / "m").read_bytes() == old


def test_devices_and_folders_are_not_replaced(tmp_path):
    with pytest.raises(OSError, match="not a regular file"):
        write_arrays("/dev/null", {}, {})
    with pytest.raises(OSError, match="not a regular file"):
        write_arrays(tmp_path, {}, {})


def test_permissions_and_links_are_kept(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    written(target)
    target.chmod(0o640)
    link.symlink_to(target)
    write_arrays(link, {"new": 1}, {})
    assert link.is_symlink()
    assert target.stat().st_mode & 0o777 == 0o640
    assert read_arrays(target)[0] == {"new": 1}


def test_rewriting_a_mapped_file(tmp_path):
    written(tmp_path / "m")
    _, found = read_arrays(tmp_path / "m")
    write_arrays(tmp_path / "m", {}, {"weights": found["weights"] + 1})
    np.testing.assert_array_equal(found["weights"], ARRAYS["weights"])
    np.testing.assert_array_equal(read_arrays(tmp_path / "m")[1]["weights"], ARRAYS["weights"] + 1)


def page_faults():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_minflt + usage.ru_majflt


def test_opening_does_not_read_the_arrays(tmp_path):
    """64 GiB, all of it a hole in the file: to read them would touch 16 million pages."""
    write_arrays(tmp_path / "m", {}, {"large": np.zeros(16, np.float32)})
    raw = bytearray((tmp_path / "m").read_bytes())
    (n_meta, first) = struct.unpack_from("<QQ", raw, 24)
    n = 1 << 34
    struct.pack_into("<Q", raw, 16, first + 4 * n)
    struct.pack_into("<Q", raw, 64 + n_meta + 40, n)
    struct.pack_into("<Q", raw, 64 + n_meta + 80, 4 * n)
    with (tmp_path / "m").open("wb") as file:
        file.write(resealed(bytes(raw)))
        try:
            file.truncate(first + 4 * n)
        except OSError as error:
            pytest.skip(f"no file of this size here: {error}")
    before = page_faults()
    _, found = read_arrays(tmp_path / "m")
    assert page_faults() - before < 10_000
    assert found["large"].shape == (n,)
    assert found["large"][-1] == 0


def test_arrays_go_to_workers_though_the_file_is_another_by_now(tmp_path):
    path = tmp_path / "file"
    write_arrays(path, {}, {"a": np.arange(1000)})
    _, arrays = read_arrays(path)
    write_arrays(tmp_path / "other", {}, {"a": np.zeros(1000, dtype=np.int64)})
    (tmp_path / "other").replace(path)
    (total,) = joblib.Parallel(2)([joblib.delayed(np.sum)(arrays["a"])])
    assert total == 499_500
