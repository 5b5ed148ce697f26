"""A gRPC server with grpcio, for the tests: `pilots.py PORT [KEY CERTIFICATE]`.

Messages are taken and given as bytes, so that nothing has to be generated from the schema.
"""

import sys
import time
from concurrent import futures

import grpc


def length(count):
    return bytes([count]) if count < 128 else bytes([count & 127 | 128]) + length(count >> 7)


def field(number, data):
    return bytes([number << 3 | 2]) + length(len(data)) + data


def berth(name):
    return field(1, name.encode())


def zone(request):
    # The only field that the tests send: zone = 1.
    return request[2:].decode() if request[:1] == b"\x0a" else ""


def find(request, context):
    if zone(request) == "nowhere":
        context.abort(grpc.StatusCode.NOT_FOUND, "no such zone: å")
    if zone(request) == "slow":
        while context.is_active():
            time.sleep(0.01)
    metadata = dict(context.invocation_metadata())
    seconds = context.time_remaining()
    told = f"{metadata.get('x-harbour')} {metadata.get('trace-bin', b'').decode()} {seconds <= 30}"
    return field(1, berth(zone(request))) + field(1, berth(told))


def watch(request, context):
    count = 0
    while context.is_active() and (zone(request) == "endless" or count < 3):
        count += 1
        yield berth(f"B{count}" + "x" * 1000)


def contents(path):
    with open(path, "rb") as file:
        return file.read()


def serve(port, identity):
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=8), compression=grpc.Compression.Gzip)
    handlers = {
        "Find": grpc.unary_unary_rpc_method_handler(find),
        "Watch": grpc.unary_stream_rpc_method_handler(watch),
    }
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler("harbor.v1.Pilots", handlers),)
    )
    if identity:
        pair = tuple(contents(path) for path in identity)
        server.add_secure_port(f"127.0.0.1:{port}", grpc.ssl_server_credentials([pair]))
    else:
        server.add_insecure_port(f"127.0.0.1:{port}")
    server.start()
    server.wait_for_termination()


serve(int(sys.argv[1]), sys.argv[2:])
