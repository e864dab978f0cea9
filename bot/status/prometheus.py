"""`/metrics`: figures in the text form of Prometheus, by its own library. Nothing is kept between two visits."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector
from starlette.responses import Response

Labels = Mapping[str, str]


class Kind(StrEnum):
    GAUGE = "gauge"
    COUNTER = "counter"
    """It only grows, or begins anew."""


@dataclass(frozen=True, slots=True)
class Figure:
    """All samples of one name have the same labels, and no label takes what others may choose."""

    kind: Kind
    name: str
    about: str
    samples: Sequence[tuple[Labels, float]]


Figures = Callable[[], Awaitable[Iterable[Figure]]]


async def no_figures() -> Iterable[Figure]:
    return ()


def gauge(name: str, about: str, *samples: tuple[Labels, float]) -> Figure:
    return Figure(Kind.GAUGE, name, about, samples)


def counter(name: str, about: str, *samples: tuple[Labels, float]) -> Figure:
    return Figure(Kind.COUNTER, name, about, samples)


async def page(figures: Figures) -> Response:
    return Response(exposition(await figures()), media_type=CONTENT_TYPE_LATEST)


def exposition(figures: Iterable[Figure]) -> bytes:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collected([_family(one) for one in figures]))
    return generate_latest(registry)


class _Collected(Collector):
    def __init__(self, families: Sequence[Metric]) -> None:
        self.families = families

    def collect(self) -> Iterator[Metric]:
        return iter(self.families)


def _family(figure: Figure) -> Metric:
    names = list(figure.samples[0][0]) if figure.samples else []
    made = CounterMetricFamily if figure.kind is Kind.COUNTER else GaugeMetricFamily
    family = made(f"treehand_{figure.name}", figure.about, labels=names)
    for labels, value in figure.samples:
        family.add_metric([labels[name] for name in names], value)
    return family
