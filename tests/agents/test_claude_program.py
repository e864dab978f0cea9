"""Turns with a missing, old, wrong or broken agent program."""

import pytest

from bot.domain.turn import EventKind, Failure, TurnState


def state_of(report):
    return (report.state, report.failure)


FAILED_SETUP = (TurnState.FAILED, Failure.SETUP)
FAILED_AGENT = (TurnState.FAILED, Failure.AGENT)


async def test_a_missing_program_is_reported(scene):
    report = await scene.take(None, cli=scene.folder / "nowhere")

    assert state_of(report) == FAILED_SETUP
    assert f"{scene.folder}/nowhere" in report.detail


async def test_a_program_without_execute_permission_is_reported(scene):
    path = scene.fake("")
    path.chmod(0o644)
    report = await scene.take(None, cli=path)

    assert state_of(report) == FAILED_SETUP
    assert str(path) in report.detail


async def test_an_old_program_is_refused_with_the_required_version(scene):
    report = await scene.take(None, cli=scene.fake("", version="2.1.200"))

    assert state_of(report) == FAILED_SETUP
    assert "version 2.1.200; 2.1.326 or later" in report.detail


async def test_another_program_of_that_name_is_refused(scene):
    report = await scene.take(None, cli=scene.fake("", version="hello, world"))

    assert state_of(report) == FAILED_SETUP
    assert "hello, world" in report.detail


@pytest.mark.parametrize("name", ["--dangerous", "a b", "x;y"])
async def test_an_invalid_model_name_never_reaches_a_command_line(scene, name):
    report = await scene.take(None, scene.task(model=name), cli=scene.fake("greet(); end()"))

    assert state_of(report) == FAILED_SETUP


async def test_a_home_that_cannot_be_created_fails_the_turn(scene):
    scene.home.write_text("in the way")
    report = await scene.take(None, cli=scene.fake("greet(); end()"))

    assert state_of(report) == FAILED_SETUP


async def test_a_program_that_ends_at_once_is_reported_with_its_last_output(scene):
    report = await scene.take(None, cli=scene.fake("sys.exit('I have no libc')"))

    assert state_of(report) == FAILED_AGENT
    assert "I have no libc" in report.detail


async def test_a_full_disk_is_distinguished_from_other_failures(scene):
    report = await scene.take(None, cli=scene.fake("greet(); sys.exit('ENOSPC: no space left on device, write')"))

    assert state_of(report) == (TurnState.FAILED, Failure.DISK)


async def test_a_program_that_ends_without_a_result_has_failed(scene):
    report = await scene.take(None, cli=scene.fake("greet(); answer('I was about to')"))

    assert state_of(report) == FAILED_AGENT
    assert report.session == "s1"


async def test_an_error_followed_by_a_crash_is_reported_as_the_error(scene):
    body = "greet(); end(is_error=True, subtype='error_during_execution', errors=['it broke']); sys.exit(1)"
    report = await scene.take(None, cli=scene.fake(body))

    assert state_of(report) == FAILED_AGENT
    assert report.detail.startswith("it broke")


async def test_invalid_output_fails_the_turn(scene):
    report = await scene.take(None, cli=scene.fake("greet(); print('{not json', flush=True); time.sleep(9)"))

    assert state_of(report) == FAILED_AGENT


async def test_a_line_of_two_megabytes_is_read_and_cut_for_people(scene):
    report = await scene.take(None, cli=scene.fake("greet(); answer('x' * 2_000_000); end()"))

    assert report.state is TurnState.SUCCEEDED
    (said,) = scene.texts(EventKind.TEXT)
    assert len(said) < 2_100
    assert said.endswith("1998000 more characters")


async def test_a_flood_of_events_loses_none(scene):
    report = await scene.take(None, cli=scene.fake("greet()\nfor n in range(5000): answer(str(n))\nend()"))

    assert report.state is TurnState.SUCCEEDED
    assert scene.texts(EventKind.TEXT) == [str(number) for number in range(5000)]
