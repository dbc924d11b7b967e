"""What every call passes, outermost first: telemetry, errors, auth, deadline, limits, stream adapter.

`pipeline` wraps each method of a server once: it holds the errors and the stream adapter, and lets each call through
the stages around its behaviour.
"""
