"""A test hands on no umask, folder or environment to the next one."""

import os
from pathlib import Path

from tests.restored import restored


def _umask() -> int:
    found = os.umask(0o022)
    os.umask(found)
    return found


def test_the_umask_the_folder_and_the_environment_are_restored(tmp_path):
    before = _umask(), Path.cwd(), dict(os.environ)
    with restored():
        os.umask(0o077)
        os.chdir(tmp_path)
        os.environ["TREEHAND_ONE"] = "1"
        os.environ["PATH"] = "/elsewhere"
        del os.environ["HOME"]
    assert (_umask(), Path.cwd(), dict(os.environ)) == before


def test_the_folder_is_restored_although_its_name_has_changed(tmp_path):
    (tmp_path / "one").mkdir()
    with restored():
        os.chdir(tmp_path / "one")
        with restored():
            os.chdir("/")
            (tmp_path / "one").rename(tmp_path / "two")
        assert Path.cwd() == tmp_path / "two"


def test_every_test_is_inside_of_it(request):
    assert "_process_stays" in request.fixturenames
