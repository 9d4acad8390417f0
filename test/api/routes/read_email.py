"""What Python's email package sees of the message on standard input, as one JSON object."""

import email
import email.policy
import json
import sys

message = email.message_from_bytes(sys.stdin.buffer.read(), policy=email.policy.default)
leaves = [part for part in message.walk() if not part.is_multipart()]
fields = {}
for name, value in message.items():
    fields.setdefault(name.lower(), []).append(str(value))
seen = {
    "types": [part.get_content_type() for part in leaves],
    "texts": [part.get_content().rstrip() for part in leaves],
    "fields": fields,
}
print(json.dumps(seen))
