"""What an ELF object asks of other files."""

from __future__ import annotations

import struct

_SYMTAB, _UNDEFINED = 2, 0


def undefined_symbols(data: bytes) -> set[str]:
    """Names that a 64-bit little-endian ELF object uses and does not define."""
    if data[:6] != b"\x7fELF\x02\x01":
        raise ValueError("expected a 64-bit little-endian ELF object")
    (at,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    headers = [struct.unpack_from("<IIQQQQII", data, at + k * size) for k in range(count)]
    found: set[str] = set()
    for header in headers:
        if header[1] == _SYMTAB:
            names = headers[header[6]][4]
            for place in range(header[4], header[4] + header[5], 24):
                name, _, _, section = struct.unpack_from("<IBBH", data, place)
                if section == _UNDEFINED and name:
                    start = names + name
                    found.add(data[start : data.index(b"\0", start)].decode())
    return found
