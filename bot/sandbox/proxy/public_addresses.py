"""Network policy: distinguishes public addresses from private and reserved ones. In doubt, an address is not public."""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

_NOT_PUBLIC = tuple(
    map(
        IPv4Network,
        (
            "192.0.0.0/24",  # protocol assignments; a cloud's metadata lives here
            "192.88.99.0/24",  # the way into 6to4
            "168.63.129.16/32",  # a cloud's host, under an address that looks public
        ),
    )
)
_ASSIGNED = IPv6Network("2000::/3")
_NOT_PUBLIC_6 = (IPv6Network("2001::/23"), IPv6Network("2001:db8::/32"), IPv6Network("3fff::/20"))
_NAT64 = IPv6Network("64:ff9b::/96")
_6TO4 = IPv6Network("2002::/16")


def is_public(address: str) -> bool:
    try:
        known = ip_address(address)
    except ValueError:
        return False
    return _is_public_4(known) if isinstance(known, IPv4Address) else _is_public_6(known)


def _is_public_4(address: IPv4Address) -> bool:
    if address.is_multicast or address.is_reserved or any(address in network for network in _NOT_PUBLIC):
        return False
    return address.is_global


def _is_public_6(address: IPv6Address) -> bool:
    inner = _inner(address)
    if inner is not None:
        return _is_public_4(inner)
    if address.scope_id or address not in _ASSIGNED or any(address in network for network in _NOT_PUBLIC_6):
        return False
    return address.is_global


def _inner(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address that this address wraps."""
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address in _6TO4:
        return address.sixtofour
    return IPv4Address(int(address) & 0xFFFFFFFF) if address in _NAT64 else None
