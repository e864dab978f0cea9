"""Opens the evidence in the state directory, and makes the collector that fills it."""

from bot.evidence.collect import EvidenceCollector
from bot.evidence.store import EvidenceStore
from bot.secret_scan.scanner import Secrets
from bot.settings.schema import Settings


def open_evidence(settings: Settings) -> EvidenceStore:
    return EvidenceStore(settings.state_dir / "evidence")


def build_collector(settings: Settings, secrets: Secrets) -> EvidenceCollector:
    return EvidenceCollector(open_evidence(settings), secrets)
