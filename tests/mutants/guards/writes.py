"""Guards of what is written on GitHub: batches, their results, and the queue (F3, F4, F5)."""

from tests.mutants.guards.guard import Guard

_WRITES = "tests/services/github/test_writes.py::test"
_QUEUE = "tests/services/github/test_write_queue.py::test"
_FENCE = "tests/services/github/test_fence.py::test"

GUARDS = (
    Guard(
        "Writes: a mutation is sent with the lease only",
        "bot/services/github/client.py",
        "repository, kind=RequestKind.WRITE, rank=rank, mutations=len(mutations)",
        "repository, kind=RequestKind.READ, rank=rank, mutations=len(mutations)",
        (f"{_FENCE}_no_write_reaches_the_server_after_the_lease_has_ended[POST]",),
    ),
    Guard(
        "Writes: a reaction that was refused is not taken for given",
        "bot/services/github/reaction_writer.py",
        "return bool(result.payload)",
        "return True",
        (f"{_WRITES}_a_refused_reaction_is_not_taken_for_given",),
    ),
    Guard(
        "Writes: labels of which half were changed are completed",
        "bot/services/github/labels.py",
        "if not all(labelables):",
        "if not any(labelables):",
        (f"{_WRITES}_half_a_change_is_completed_one_by_one",),
    ),
    Guard(
        "Writes: a mutation of which GitHub does not know the outcome is not taken for refused",
        "bot/services/github/mutations.py",
        "if any(word in words.lower() for word in SERVER_TROUBLE):",
        "if False:",
        (f"{_WRITES}_an_unclear_answer_to_a_mutation_is_tried_again",),
    ),
    Guard(
        "Writes: no write waits for ever",
        "bot/services/github/write_queue.py",
        "Place(self._begun + rank, ",
        "Place(rank, ",
        (f"{_QUEUE}_no_write_is_overtaken_by_more_later_ones_than_its_rank_says",),
    ),
    Guard(
        "Writes: each mutation of a request costs points",
        "bot/services/github/rate_limits.py",
        "_WRITE_POINTS * mutations",
        "_WRITE_POINTS",
        (f"{_QUEUE}_each_mutation_of_a_request_costs_as_much_as_a_request",),
    ),
)
