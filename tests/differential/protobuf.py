"""What differs between two servers in an object's protobuf form, made equal: uid, versions and times."""


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 2:
            size, at = varint(data, at)
            yield key >> 3, data[at:at + size]
            at += size
        elif key & 7 == 0:
            value, at = varint(data, at)
            yield key >> 3, value
        else:
            size = 8 if key & 7 == 1 else 4
            yield key >> 3, data[at:at + size]
            at += size


def metadata(data):
    kept = []
    for number, value in fields(data):
        if number in (5, 6, 8, 9) or number == 2 and value.isdigit():  # and the version of a list
            value = b''
        elif number == 17:
            value = [(n, b'' if n == 4 else v) for n, v in fields(value)]
        kept.append((number, value))
    return kept


def comparable(data):
    """The fields of an object in the order they came."""
    if data[:4] != b'k8s\0':
        return data
    unknown = list(fields(data[4:]))
    return [(n, [(m, metadata(w) if m == 1 else w) for m, w in fields(v)] if n == 2 else v) for n, v in unknown]


def message(number, data):
    size, out = len(data), b''
    while size > 127:
        out, size = out + bytes([size & 127 | 128]), size >> 7
    return bytes([number << 3 | 2]) + out + bytes([size]) + data


def bodies(chance, data):
    """A good body, and what becomes of it when something is added, lost or changed. The envelope: 1 type, 2 raw, 3 and 4 encodings."""
    kind, raw = [dict(fields(data[4:]))[n] for n in (1, 2)]
    yield 'as it is', data
    yield 'without a type', b'k8s\0' + message(2, raw)
    yield 'with an empty type', b'k8s\0' + message(1, b'') + message(2, raw)
    yield 'of another kind', b'k8s\0' + message(1, message(1, b'v1') + message(2, b'Nope')) + message(2, raw)
    yield 'without an envelope', raw
    yield 'without raw', b'k8s\0' + message(1, kind)
    yield 'with an encoding', b'k8s\0' + message(1, kind) + message(2, raw) + message(3, b'gzip')
    yield 'with a content type', b'k8s\0' + message(1, kind) + message(2, raw) + message(4, b'application/json')
    yield 'with an unknown field', b'k8s\0' + message(1, kind) + message(2, raw + b'\xfa\x3e\x01x')
    yield 'with a field of another wire type', b'k8s\0' + message(1, kind) + message(2, raw + b'\x08\x01')
    yield 'with group', b'k8s\0' + message(1, kind) + message(2, raw + b'\x0b')
    yield 'twice', b'k8s\0' + message(1, kind) + message(2, raw + raw)
    yield 'empty', b''
    yield 'magic only', b'k8s\0'
    for _ in range(4):
        cut = chance.randrange(len(raw))
        yield 'cut at %d' % cut, b'k8s\0' + message(1, kind) + message(2, raw[:cut])
