"""Linear's errors: messages, codes and types."""

from typing import Any


class Refusal(Exception):
    """One error of a response; in it under `errors`, with these extensions."""

    def __init__(
        self,
        message: str,
        presentable: str = "",
        *,
        code: str = "INPUT_ERROR",
        kind: str = "invalid input",
        status: int = 400,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.extensions: dict[str, Any] = {
            "type": kind,
            "code": code,
            "statusCode": status,
            "userError": True,
            "userPresentableMessage": presentable or message,
        }

    @property
    def told(self) -> dict[str, Any]:
        return {"message": str(self), "extensions": self.extensions}


class Gap(Exception):
    """A feature of Linear that the stand-in lacks: always reported."""


def not_found(kind: str) -> Refusal:
    return Refusal(f"Entity not found: {kind}", f"Could not find referenced {kind}.")


def taken(kind: str, key: str) -> Refusal:
    return Refusal(f"conflict on insert of {kind}", f"Entity {kind} with id {key} already exists.")


def bad_argument(words: str) -> Refusal:
    return Refusal("Argument Validation Error", words, code="INVALID_INPUT")


def forbidden(words: str) -> Refusal:
    return Refusal(words, code="FORBIDDEN", kind="forbidden", status=403)


def unauthenticated(words: str = "") -> Refusal:
    return Refusal(
        words or "Authentication required, not authenticated",
        words or "You need to authenticate to access this operation.",
        code="AUTHENTICATION_ERROR",
        kind="authentication error",
        status=401,
    )


def rate_limited(what: str, limit: float) -> Refusal:
    return Refusal(
        f"Rate limit exceeded: {what}",
        f"Rate limit exceeded. Only {limit:g} {what} are allowed per 1 hour.",
        code="RATELIMITED",
        kind="ratelimited",
        status=429,
    )


def too_complex(points: int, most: float) -> Refusal:
    return Refusal("Query too complex", f"The query has {points} points; the most is {most:g}.")


def invalid_document(words: str, code: str = "GRAPHQL_VALIDATION_FAILED") -> Refusal:
    return Refusal(words, code=code, kind="graphql error")
