"""Verifies DKIM signatures with dkimpy, an implementation that is not ours.

Reads one JSON object a line, {"message": base64, "records": {name: text}}, answers one JSON value a line:
true, false, or a string with the exception.
"""

import base64
import json
import sys

import dkim

for line in sys.stdin:
    case = json.loads(line)
    records = {name + ".": text.encode() for name, text in case["records"].items()}

    def lookup(name, timeout=5, records=records):
        name = name.decode() if isinstance(name, bytes) else name
        return records.get(name if name.endswith(".") else name + ".")

    try:
        answer = dkim.verify(base64.b64decode(case["message"]), dnsfunc=lookup)
    except Exception as problem:
        answer = repr(problem)
    print(json.dumps(answer), flush=True)
