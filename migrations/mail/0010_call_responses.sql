-- What an endpoint responded to each attempt of a call, in its first words; it goes with the call. Of a test call, which
-- has no row, nothing is kept.
CREATE TABLE call_responses (
  call_id    TEXT NOT NULL REFERENCES calls (id) ON DELETE CASCADE,
  attempt_id TEXT NOT NULL,
  response   TEXT,
  PRIMARY KEY (call_id, attempt_id)
) STRICT, WITHOUT ROWID;
-- The failed ones among an endpoint's attempts, newest first.
CREATE INDEX call_attempts_failed ON call_attempts (endpoint_id, id) WHERE ok = 0;
