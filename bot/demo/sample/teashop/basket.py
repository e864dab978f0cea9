"""What a customer wants to buy."""

from dataclasses import dataclass, field


@dataclass
class Line:
    name: str
    cents: int
    quantity: int = 1


@dataclass
class Basket:
    lines: list[Line] = field(default_factory=list)

    def add(self, name: str, cents: int, quantity: int = 1) -> None:
        self.lines.append(Line(name, cents, quantity))

    def total(self) -> int:
        return sum(line.cents for line in self.lines)
