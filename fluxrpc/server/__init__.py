"""The gRPC face: the only room that knows grpc. `app` composes it, `lifecycle` runs it."""
