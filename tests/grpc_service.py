"""What the tests' gRPC servers share: message classes made without a compiler, and services on Unix sockets."""
import os
from concurrent import futures

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

FIELD = descriptor_pb2.FieldDescriptorProto
SCALARS = {'string': FIELD.TYPE_STRING, 'bytes': FIELD.TYPE_BYTES, 'int64': FIELD.TYPE_INT64, 'int32': FIELD.TYPE_INT32,
           'bool': FIELD.TYPE_BOOL}
MAPS = {'map': 'string', 'map-of-bytes': 'bytes'}


def add_field(message, package, name, number, kind):
    repeated = kind.startswith('*')
    kind = kind.lstrip('*')
    label = FIELD.LABEL_REPEATED if repeated or kind in MAPS else FIELD.LABEL_OPTIONAL
    if kind in SCALARS:
        message.field.add(name=name, number=number, type=SCALARS[kind], label=label)
        return
    target = kind
    if kind in MAPS:
        target = ''.join(word.capitalize() for word in name.split('_')) + 'Entry'
        entry = message.nested_type.add(name=target)
        entry.options.map_entry = True
        entry.field.add(name='key', number=1, type=FIELD.TYPE_STRING, label=FIELD.LABEL_OPTIONAL)
        entry.field.add(name='value', number=2, type=SCALARS[MAPS[kind]], label=FIELD.LABEL_OPTIONAL)
        target = message.name + '.' + target
    message.field.add(name=name, number=number, type=FIELD.TYPE_MESSAGE, label=label, type_name='.%s.%s' % (package, target))


def message_classes(package, messages):
    """`messages`: by name, the fields in the order of their numbers: (name, type) or (name, type, number). Types: scalars, 'map' (of
    strings), 'map-of-bytes', names of messages; '*' before one: repeated."""
    file = descriptor_pb2.FileDescriptorProto(name=package + '.proto', package=package, syntax='proto3')
    for name, fields in messages.items():
        message = file.message_type.add(name=name)
        for position, field in enumerate(fields, 1):
            add_field(message, package, field[0], field[2] if len(field) > 2 else position, field[1])
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    get = getattr(message_factory, 'GetMessageClass', None) or message_factory.MessageFactory(pool).GetPrototype
    return {name: get(pool.FindMessageTypeByName(package + '.' + name)) for name in messages}


def add_service(server, service, methods):
    """`methods`: by name, the function and the class of its request; a generator function is a stream of responses."""
    def handler(method, request, stream=False):
        make = grpc.unary_stream_rpc_method_handler if stream else grpc.unary_unary_rpc_method_handler
        return make(method, request_deserializer=request.FromString, response_serializer=lambda m: m.SerializeToString())
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(
        service, {name: handler(*method) for name, method in methods.items()}),))


def serve(socket, add_services, threads=8):
    """A server on the socket, which is made anew."""
    if os.path.exists(socket):
        os.unlink(socket)
    server = grpc.server(futures.ThreadPoolExecutor(threads))
    add_services(server)
    server.add_insecure_port('unix:' + socket)
    server.start()
    return server
