"""`feedline explain`: the pages of the causes, and the list of them."""

from __future__ import annotations

from feedline import causes
from tests.cli.command import feedline, here


def test_without_a_name_it_lists_every_cause():
    done = feedline("explain")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    names = [line.split()[0] for line in lines if not line.startswith(" ")]
    assert names == sorted(causes.all())
    assert max(map(len, lines)) <= 80


def test_with_a_name_it_prints_the_page():
    done = here("explain", "serial-map")
    assert done.returncode == 0
    assert done.stdout.strip() == causes.all()["serial-map"].page.strip()


def test_a_wrong_name_gets_the_nearest():
    done = here("explain", "serial_maps")
    assert done.returncode == 2
    assert "did you mean serial-map" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_name_near_nothing_is_told_where_the_list_is():
    done = here("explain", "xyzzy")
    assert done.returncode == 2
    assert "`feedline explain` lists them" in done.stderr
    assert "did you mean" not in done.stderr
