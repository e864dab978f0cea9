"""Network policy: addresses that the operator's private hosts may have besides public ones.

Rule: never this machine, never the link, and never an address where a cloud answers with credentials.
"""

from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address

_PRIVATE = tuple(map(IPv4Network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10")))
_PRIVATE_6 = IPv6Network("fc00::/7")
_METADATA = frozenset(
    map(
        ip_address,
        (
            "100.100.100.200",
            "100.96.0.96",
            "192.168.169.254",
            "fd00:ec2::254",
            "fd00:42::42",
            "fd00:c1::a9fe:a9fe",
            "fd20:ce::254",
        ),
    )
)
"""Metadata services of clouds inside the private networks; the others are on the link, or reserved."""


def is_private(address: str) -> bool:
    try:
        known = ip_address(address)
    except ValueError:
        return False
    if isinstance(known, IPv6Address) and known.ipv4_mapped is not None:
        known = known.ipv4_mapped
    if known in _METADATA:
        return False
    if isinstance(known, IPv6Address):
        return not known.scope_id and known in _PRIVATE_6
    return any(known in network for network in _PRIVATE)
