"""Prometheus: renders metrics in its text format. No state is kept between two requests."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector

CONTENT_TYPE = CONTENT_TYPE_LATEST
MetricLabels = Mapping[str, str]


class MetricKind(StrEnum):
    GAUGE = "gauge"
    COUNTER = "counter"
    """It only grows, or restarts at 0."""


@dataclass(frozen=True, slots=True)
class MetricValues:
    """All samples of one metric. They have the same labels, with values from a fixed list."""

    kind: MetricKind
    name: str
    about: str
    samples: Sequence[tuple[MetricLabels, float]]


CollectMetrics = Callable[[], Awaitable[Iterable[MetricValues]]]


async def no_metrics() -> Iterable[MetricValues]:
    return ()


def gauge(name: str, about: str, *samples: tuple[MetricLabels, float]) -> MetricValues:
    return MetricValues(MetricKind.GAUGE, name, about, samples)


def counter(name: str, about: str, *samples: tuple[MetricLabels, float]) -> MetricValues:
    return MetricValues(MetricKind.COUNTER, name, about, samples)


def exposition(metrics: Iterable[MetricValues]) -> bytes:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collected([_family(one) for one in metrics]))
    return generate_latest(registry)


class _Collected(Collector):
    def __init__(self, families: Sequence[Metric]) -> None:
        self.families = families

    def collect(self) -> Iterator[Metric]:
        return iter(self.families)


def _family(metric: MetricValues) -> Metric:
    names = list(metric.samples[0][0]) if metric.samples else []
    kind = CounterMetricFamily if metric.kind is MetricKind.COUNTER else GaugeMetricFamily
    family = kind(f"treehand_{metric.name}", metric.about, labels=names)
    for labels, value in metric.samples:
        family.add_metric([labels[name] for name in names], value)
    return family
