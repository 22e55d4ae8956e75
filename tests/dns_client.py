"""A small DNS client, for tests: questions over UDP and TCP, answers as (name, type, text)."""
import random
import socket
import struct

TYPES = {'A': 1, 'NS': 2, 'CNAME': 5, 'SOA': 6, 'PTR': 12, 'TXT': 16, 'AAAA': 28, 'SRV': 33, 'AXFR': 252, 'ANY': 255}
NAMES = {number: name for name, number in TYPES.items()}
RCODES = {0: 'NOERROR', 1: 'FORMERR', 2: 'SERVFAIL', 3: 'NXDOMAIN', 4: 'NOTIMP', 5: 'REFUSED'}


def encode_name(name):
    labels = [label.encode() for label in name.rstrip('.').split('.') if label]
    return b''.join(bytes([len(label)]) + label for label in labels) + b'\0'


def read_name(packet, at):
    labels, end = [], None
    while packet[at]:
        if packet[at] >= 0xc0:
            end = end or at + 2
            at = (packet[at] & 0x3f) << 8 | packet[at + 1]
            continue
        labels.append(packet[at + 1:at + 1 + packet[at]].decode())
        at += 1 + packet[at]
    return '.'.join(labels) + '.', end or at + 1


def read_data(packet, kind, at, size):
    data = packet[at:at + size]
    if kind == 'A':
        return socket.inet_ntop(socket.AF_INET, data)
    if kind == 'AAAA':
        return socket.inet_ntop(socket.AF_INET6, data)
    if kind in ('CNAME', 'PTR', 'NS'):
        return read_name(packet, at)[0]
    if kind == 'SRV':
        return '%d %d %d %s' % (*struct.unpack('>HHH', data[:6]), read_name(packet, at + 6)[0])
    if kind == 'TXT':
        return data[1:].decode()
    return data.hex()


class Answer:
    def __init__(self, packet):
        self.size = len(packet)
        self.id, flags, questions, *counts = struct.unpack('>HHHHHH', packet[:12])
        self.rcode = RCODES.get(flags & 15, flags & 15)
        self.truncated, self.authoritative = bool(flags & 0x200), bool(flags & 0x400)
        at = 12
        for _ in range(questions):
            at = read_name(packet, at)[1] + 4
        self.answers, self.authorities, self.additionals = [], [], []
        for section, count in zip((self.answers, self.authorities, self.additionals), counts):
            for _ in range(count):
                name, at = read_name(packet, at)
                kind, _, self.ttl, size = struct.unpack('>HHIH', packet[at:at + 10])
                kind = NAMES.get(kind, kind)
                section.append((name, kind, read_data(packet, kind, at + 10, size)))
                at += 10 + size

    @property
    def data(self):
        """What the answers say, sorted."""
        return sorted(text for _, _, text in self.answers)


def encode_query(name, kind, number, udp_size=None):
    packet = struct.pack('>HHHHHH', number, 0x100, 1, 0, 0, 1 if udp_size else 0)
    packet += encode_name(name) + struct.pack('>HH', TYPES[kind], 1)
    return packet + (struct.pack('>BHHIH', 0, 41, udp_size, 0, 0) if udp_size else b'')


def receive_exactly(connection, size):
    data = b''
    while len(data) < size:
        piece = connection.recv(size - len(data))
        if not piece:
            raise OSError('the connection ended')
        data += piece
    return data


def ask(server, name, kind='A', tcp=False, udp_size=None, timeout=20):
    """`server`: (address, port)."""
    number = random.randrange(65536)
    query = encode_query(name, kind, number, udp_size)
    family = socket.AF_INET6 if ':' in server[0] else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM if tcp else socket.SOCK_DGRAM) as s:
        s.settimeout(timeout)
        s.connect(server)
        if tcp:
            s.sendall(struct.pack('>H', len(query)) + query)
            packet = receive_exactly(s, struct.unpack('>H', receive_exactly(s, 2))[0])
        else:
            s.send(query)
            packet = s.recv(65536)
    answer = Answer(packet)
    assert answer.id == number
    return answer
