"""Outputs: over an older file only with a word, through links and pipes, never over the data."""

import os
import threading
from pathlib import Path

import pytest

import scorebars as sb
from scorebars._shared.writing import require_apart, write_text


def test_a_new_file_and_an_older_one(tmp_path):
    path = tmp_path / "result.txt"
    assert write_text(path, "one") is False
    os.chmod(path, 0o640)
    assert write_text(path, "two") is True
    assert path.read_text() == "two" and path.stat().st_mode & 0o777 == 0o640
    assert [entry.name for entry in tmp_path.iterdir()] == ["result.txt"]


def test_a_link_is_followed(tmp_path):
    target, link = tmp_path / "target.txt", tmp_path / "link.txt"
    target.write_text("old")
    link.symlink_to(target)
    assert write_text(link, "new") is True
    assert link.is_symlink() and target.read_text() == "new"
    dangling = tmp_path / "dangling.txt"
    dangling.symlink_to(tmp_path / "made.txt")
    assert write_text(dangling, "here") is False
    assert dangling.is_symlink() and (tmp_path / "made.txt").read_text() == "here"


def test_a_pipe_stays_a_pipe(tmp_path):
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    assert write_text(pipe, "through") is False
    reader.join(10)
    assert read == ["through"] and pipe.is_fifo()


def test_a_device_stays_a_device():
    assert write_text(Path("/dev/null"), "gone") is False
    assert not Path("/dev/null").is_file()


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(OSError):
        write_text(tmp_path, "text")
    assert tmp_path.is_dir() and not list(tmp_path.iterdir())


@pytest.mark.parametrize("way", ["same", "symlink", "hard link", "relative", "folder"])
def test_the_data_are_never_written_over(tmp_path, monkeypatch, way):
    data = tmp_path / "in.csv"
    data.write_text("y,pred\n1,2\n")
    other, source = tmp_path / "other.csv", data
    if way == "symlink":
        other.symlink_to(data)
    elif way == "hard link":
        os.link(data, other)
    elif way == "relative":
        monkeypatch.chdir(tmp_path)
        other = Path("in.csv")
    else:
        other, source = data, tmp_path if way == "folder" else data
    with pytest.raises(ValueError, match=r"--output .* is the file that the data come from"):
        require_apart(other, source, "--output")
    require_apart(tmp_path / "new.csv", source, "--output")
    require_apart(None, source, "--output")
    require_apart(other, None, "--output")


def test_a_page_says_that_it_replaced_an_older_one(tmp_path):
    path = tmp_path / "page.html"
    sb.report.save(path, [1.0, 2.0, 4.0], [1.1, 2.3, 3.8], yerr=0.2)
    with pytest.warns(UserWarning, match=r"page\.html: an older file was replaced"):
        sb.report.save(path, [1.0, 2.0, 4.0], [1.1, 2.3, 3.8], yerr=0.2)
    data = tmp_path / "in.csv"
    data.write_text("y,pred\n1,2\n")
    with pytest.raises(ValueError, match="is the file that the data come from"):
        sb.report.save(data, [1.0, 2.0, 4.0], [1.1, 2.3, 3.8], yerr=0.2, source=str(data))
    assert data.read_text() == "y,pred\n1,2\n"
