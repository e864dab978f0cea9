"""Comment about a step that fails again and again without anybody's fault. Pure text in, text out."""

from bot.text.quote_untrusted import neutralize_line

_LONGEST = 500


def stuck(why: str, seconds: float) -> str:
    cause = neutralize_line(why if len(why) <= _LONGEST else f"{why[:_LONGEST]} …")
    return (
        f"⚠️ Treehand has tried for {seconds / 60:.0f} minutes, and cannot continue here: {cause}\n\n"
        "The work is kept, and Treehand tries again every minute. Once the cause is gone, this comment says so."
    )


def is_over() -> str:
    return "✅ Treehand could not continue here for a while. The cause is gone."
