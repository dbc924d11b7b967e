"""What every call passes, outermost first: telemetry, errors, auth, deadline, limits, stream adapter.

`pipeline` is the one gRPC interceptor: it holds the errors and the stream adapter, and lets each call through the
stages around its behaviour.
"""
