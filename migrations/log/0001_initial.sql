-- One row an API request. A file of its own, so that logging never waits for, nor delays, a mail commit.
-- Lists are read newest first by `seq`, the implicit last column of every index.

CREATE TABLE logs (
  seq             INTEGER PRIMARY KEY AUTOINCREMENT,
  id              TEXT NOT NULL UNIQUE,
  account_id      TEXT NOT NULL,
  method          TEXT NOT NULL,
  path            TEXT NOT NULL,
  status          INTEGER NOT NULL,
  duration_ms     INTEGER,
  message_id      TEXT,
  key_id          TEXT,
  key_name        TEXT,
  key_permission  TEXT,
  user_agent      TEXT,
  ip              TEXT,
  created_at      INTEGER NOT NULL,
  -- Last, so that a list never reads past them.
  request_body    TEXT,
  response_body   TEXT
) STRICT;
CREATE INDEX logs_by_account ON logs (account_id);
-- Serves both filters, alone and together: an account has few pairs of method and status.
CREATE INDEX logs_by_outcome ON logs (account_id, method, status);
