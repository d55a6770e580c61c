"""The lines of a text file, checked against Python's own text mode."""

from __future__ import annotations

import gc
import io
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fsshelter_py.errors import SourceError
from fsshelter_py.sources import lines, text


@dataclass(frozen=True, slots=True)
class Sentence:
    text: str


ENCODINGS = ("utf-8", "utf-16", "utf-32", "utf-8-sig", "gb18030", "shift_jis", "latin-1")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    content=st.text("ab é漢🎈\n\r\x0b\x0c\x1c\x85\u2028\ufeff\0", max_size=40),
    encoding=st.sampled_from(ENCODINGS),
    block=st.integers(1, 9),
)
def test_lines_are_those_of_text_mode(tmp_path: Path, content: str, encoding: str, block: int) -> None:
    """Whatever the encoding, the line ends and the place where a block ends."""
    path = tmp_path / "text"
    path.write_bytes(content.encode(encoding, "ignore"))
    with path.open(encoding=encoding) as file:
        expected = [line.removesuffix("\n") for line in file]
    with mock.patch.object(text, "BLOCK", block):
        assert list(lines(path, encoding=encoding)) == expected


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    before=st.text("ab é漢🎈\n\r", max_size=30),
    bad=st.binary(min_size=1, max_size=3),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "ascii", "gb18030", "shift_jis", "utf-16-le"]),
    block=st.integers(1, 9),
)
def test_bad_byte_is_found_wherever_it_is(tmp_path: Path, before: str, bad: bytes, encoding: str, block: int) -> None:
    """The offset is that of the whole file decoded at once, and the lines before it are given first."""
    path = tmp_path / "text"
    content = before.encode(encoding, "ignore") + bad + b"\nafter\n"
    path.write_bytes(content)
    try:
        content.decode(encoding)
    except UnicodeDecodeError as error:
        # The codec of utf-8-sig counts from behind the mark.
        mark = 3 if encoding == "utf-8-sig" and content.startswith(b"\xef\xbb\xbf") else 0
        offset, good = error.start + mark, content[: error.start + mark].decode(encoding)
    else:
        return
    found: list[str] = []
    with mock.patch.object(text, "BLOCK", block), pytest.raises(SourceError) as caught:
        found.extend(lines(path, encoding=encoding))
    byte = content[offset : offset + 1].hex()
    assert f"{path}: the byte 0x{byte} at offset {offset} is not {encoding}" in str(caught.value)
    good = good.replace("\r\n", "\n").replace("\r", "\n")
    assert found == good.split("\n")[:-1]


def test_bad_byte_deep_in_a_file_is_found(tmp_path: Path) -> None:
    """Behind many blocks, and behind a character that begins in one block and ends in the next."""
    path = tmp_path / "text"
    good = b"x" * (text.BLOCK - 1) + "é\n".encode() + b"line\n" * 500_000
    path.write_bytes(good + b"\xe9t\xe9\n")
    reader = lines(path)
    with pytest.raises(SourceError, match=rf"0xe9 at offset {len(good)} is not utf-8 .* encoding='cp1252'"):
        for _ in reader:
            pass
    assert list(reader) == []


@pytest.mark.parametrize(
    ("content", "encoding", "message"),
    [
        (b"a\xe2\x82", "utf-8", r"0xe2 at offset 1 is not utf-8 \(unexpected end of data\)"),
        ("a".encode("utf-16"), "utf-8", "at offset 0 .* encoding='utf-16'"),
        (b"ab\x81", "cp1252", "0x81 at offset 2 is not cp1252 .* encoding='latin-1'"),
        (b"a\nb\n", "utf-16", "at offset 0 is not utf-16"),
        (b"a", "utf-9", "no text encoding 'utf-9'"),
        (b"a", "hex", "no text encoding 'hex'"),
    ],
)
def test_wrong_encoding_is_an_error(tmp_path: Path, content: bytes, encoding: str, message: str) -> None:
    """The error names the file and the place, and how to mend it."""
    path = tmp_path / "text"
    path.write_bytes(content)
    with pytest.raises(SourceError, match=message):
        list(lines(path, encoding=encoding))


def test_each_line_is_given_to_into(tmp_path: Path) -> None:
    """A class or a function makes a tuple of each line."""
    path = tmp_path / "text"
    path.write_text("one\n\ntwo")
    assert list(lines(path, into=Sentence)) == [Sentence("one"), Sentence(""), Sentence("two")]
    assert list(lines(str(path), len)) == [3, 0, 3]


def test_empty_file_has_no_lines(tmp_path: Path) -> None:
    """Nothing is given, not even an empty line."""
    (tmp_path / "text").touch()
    assert list(lines(tmp_path / "text")) == []


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("missing", "missing: there is no such file in .*: check the path, or make it absolute"),
        ("/missing", "/missing: there is no such file: check the path"),
        (".", "this is a directory: give a file in it"),
        ("a\0b", "cannot be opened"),
        (__file__ + "/below", "cannot be opened"),
    ],
)
def test_file_that_cannot_be_opened_is_an_error_at_once(path: str, message: str) -> None:
    """The call itself fails, before the first line is asked for."""
    with pytest.raises(SourceError, match=message):
        lines(path)


def test_file_that_may_not_be_read_is_an_error() -> None:
    """The error says that it is about permissions."""
    denied = PermissionError(13, "Permission denied")
    with mock.patch("builtins.open", side_effect=denied), pytest.raises(SourceError, match="may not read it"):
        lines("secret")


def test_read_that_fails_is_an_error() -> None:
    """A file that breaks off after its first block gives its lines, then names the file too."""
    file = mock.Mock()
    file.read1.side_effect = [b"one\ntw", OSError(5, "Input/output error")]
    with mock.patch("builtins.open", return_value=file):
        reader = lines("broken")
    assert next(reader) == "one"
    with pytest.raises(SourceError, match=r"broken: cannot be read further: .*Input/output error"):
        next(reader)
    file.close.assert_called_once_with()


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts the open files of Linux")
def test_file_is_closed_with_its_iterator(tmp_path: Path) -> None:
    """At the end, on ``close``, on an error of ``into`` and when collected, even where no line was asked for."""
    path = tmp_path / "text"
    path.write_text("one\ntwo\n")
    gc.collect()  # what earlier tests left is closed by a collection too
    before = open_files()
    list(lines(path))
    assert open_files() == before
    for asked in (0, 1):
        reader = lines(path)
        assert open_files() == before + 1
        for _ in range(asked):
            next(reader)
        del reader
        gc.collect()
        assert open_files() == before
    with pytest.raises(ValueError, match="one"):
        next(lines(path, int))
    gc.collect()
    assert open_files() == before


def test_dash_is_the_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read, and left open."""
    stdin = io.TextIOWrapper(io.BytesIO("ö\nb".encode()))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert list(lines("-")) == ["ö", "b"]
    assert not stdin.buffer.closed


def test_line_of_a_pipe_is_given_at_once() -> None:
    """A reader does not wait for a block to fill up."""
    out, into = os.pipe()
    try:
        reader = lines(f"/dev/fd/{out}")
        for n in range(3):
            os.write(into, b"line %d\nbegun" % n)
            assert next(reader) == ("line 0", "begunline 1", "begunline 2")[n]
    finally:
        os.close(into)
        assert list(reader) == ["begun"]
        os.close(out)
