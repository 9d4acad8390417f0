-- Lists of sandbox messages, which a sandbox key reads alone. A live message is in neither index.

CREATE INDEX messages_of_sandbox ON messages (account_id) WHERE is_sandbox = 1;
CREATE INDEX messages_of_sandbox_by_status ON messages (account_id, status) WHERE is_sandbox = 1;
