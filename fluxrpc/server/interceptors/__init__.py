"""The stages that every call passes, outermost first: telemetry, errors, auth, deadline, limits, stream adapter.

They are ordinary function wrappers, composed once for each method by `pipeline`, which is the one gRPC interceptor.
"""
