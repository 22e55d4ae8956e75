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
        if number in (5, 6, 8, 9):
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
