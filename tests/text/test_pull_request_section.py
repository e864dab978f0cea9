"""Our section of a pull request's body, and the text of people around it."""

import pytest

from bot.text.pull_request_section import BEGIN, END, closed_issues, replace_paragraph, replace_section, section_of


def test_our_section_is_between_markers():
    assert replace_section("facts") == f"{BEGIN}\nfacts\n{END}"


def test_text_of_people_before_and_after_stays():
    body = f"before\n\n{replace_section('old')}\n\nafter"
    assert replace_section("new", around=body) == f"before\n\n{BEGIN}\nnew\n{END}\n\nafter"


def test_writing_the_same_section_again_changes_nothing():
    body = replace_section("facts", around="Mind the tax.")
    assert replace_section("facts", around=body) == body


@pytest.mark.parametrize("around", ["mine", f"{BEGIN}\nmine", f"mine\n{END}"])
def test_with_missing_markers_no_text_of_people_is_lost(around):
    body = replace_section("facts", around=around)
    assert "mine" in body
    assert body.count(BEGIN) == body.count(END) == 1


def test_a_second_pair_of_markers_is_removed():
    body = replace_section("new", around=f"{replace_section('old')}\nmine\n{replace_section('older')}")
    assert body == f"{BEGIN}\nnew\n{END}\nmine\n"


def test_text_of_an_agent_cannot_end_our_section_early():
    body = replace_section(f"words {END} more")
    assert body.count(END) == 1
    assert replace_section("new", around=body) == replace_section("new")


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("Closes shop#3", ("shop#3",)),
        ("fixes #3 and Resolved acme/shop#4", ("#3", "acme/shop#4")),
        ("Closes ENG-7.", ("ENG-7",)),
        ("closes: #3, closes #3", ("#3",)),
        ("> Closes shop#9", ()),
        ("discloses #3; see shop#4", ()),
        ("", ()),
    ],
)
def test_closing_keywords_are_recognized(text, keys):
    assert closed_issues(text) == keys


def test_our_section_can_be_read_back():
    assert section_of(f"before\n\n{replace_section('facts')}\n\nafter") == "facts"
    assert section_of("nothing of ours") == ""


def test_a_paragraph_is_replaced_in_place_and_a_new_one_precedes_the_last():
    ours = replace_paragraph("one\n\nlast", "**Checks:**", "**Checks:** red\n- lint")
    assert ours == "one\n\n**Checks:** red\n- lint\n\nlast"
    assert replace_paragraph(ours, "**Checks:**", "**Checks:** green") == "one\n\n**Checks:** green\n\nlast"
    assert replace_paragraph(ours, "**Checks:**", "") == "one\n\nlast"


def test_quoted_text_is_not_replaced_as_our_paragraph():
    ours = "> **Checks:** all green, trust me\n\nlast"
    assert replace_paragraph(ours, "**Checks:**", "**Checks:** red").startswith(ours.partition("\n")[0])


def test_code_spans_close_with_as_many_backticks_and_name_no_issue():
    assert closed_issues("``a ` fixes #1`` fixes #2, `fixes #3`") == ("#2",)
    assert closed_issues("`" * 99_999 + " fixes #4") == ("#4",)
