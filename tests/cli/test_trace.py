"""`feedline trace`: a path in, the verdict out, no TensorFlow."""

from __future__ import annotations

import json
import sys

from tests.cli.command import here, run
from tests.measure.profile.build import planted


def test_a_log_directory(tmp_path):
    planted().save(tmp_path / "logs" / "plugins" / "profile" / "r" / "h.xplane.pb")
    done = here("trace", "--json", "r.json", "logs", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "h.xplane.pb" in done.stdout
    assert "In the capture" in done.stdout
    report = json.loads((tmp_path / "r.json").read_text("utf-8"))
    assert report["trace"]["unknown"] == 0.02
    again = here("show", "r.json", cwd=tmp_path)
    assert again.stdout == done.stdout


def test_two_hosts_are_two_reports(tmp_path):
    for host in "ab":
        planted(2).save(tmp_path / "r" / f"{host}.xplane.pb")
    done = here("trace", "r", cwd=tmp_path)
    assert done.stdout.count("In the capture") == 2
    for option in ("--json", "--html"):
        refused = here("trace", option, "x", "r", cwd=tmp_path)
        assert refused.returncode == 2
        assert "2 hosts" in refused.stderr


def test_a_page_with_the_timeline(tmp_path):
    planted().save(tmp_path / "h.xplane.pb")
    done = here("trace", "--html", "r.html", "h.xplane.pb", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    page = (tmp_path / "r.html").read_text("utf-8")
    assert 'id="timeline"' in page
    assert "Observed in a capture, not tried" in page


def test_what_is_no_capture_is_one_clear_sentence(tmp_path):
    (tmp_path / "x.xplane.pb").write_bytes(b"not a capture at all")
    for path, said in [("x.xplane.pb", "not an XSpace"), ("none", "no such file")]:
        done = here("trace", path, cwd=tmp_path)
        assert done.returncode == 2
        assert done.stdout == ""
        assert said in done.stderr
        assert "Traceback" not in done.stderr


def test_tensorflow_is_not_needed(tmp_path):
    planted().save(tmp_path / "h.xplane.pb")
    program = (
        "import sys; sys.modules['tensorflow'] = None; sys.argv = ['feedline', "
        "'trace', 'h.xplane.pb']; from feedline.cli.main import main; main()"
    )
    done = run([sys.executable, "-c", program], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "In the capture" in done.stdout
