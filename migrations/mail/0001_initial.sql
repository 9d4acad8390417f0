-- Everything a message, its account and its journey need. Times are epoch milliseconds, ids UUIDv7 text.
-- Lists are read newest first by the implicit last column of every index (rowid, here `seq`), which the
-- single writer hands out in commit order: a row that commits late can not slip behind a reader's cursor.
-- `place` counts an account's messages from 1, so that the page of any number is found without counting.

CREATE TABLE accounts (
  id            TEXT PRIMARY KEY,
  name          TEXT NOT NULL UNIQUE,
  plan          TEXT NOT NULL,
  status        TEXT NOT NULL CHECK (status IN ('active', 'paused', 'payment_required')),
  status_reason TEXT,
  created_at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE api_keys (
  id           TEXT PRIMARY KEY,
  account_id   TEXT NOT NULL REFERENCES accounts (id),
  hash         BLOB NOT NULL UNIQUE,
  name         TEXT NOT NULL,
  permission   TEXT NOT NULL CHECK (permission IN ('full_access', 'sending_access')),
  is_test      INTEGER NOT NULL,
  prefix       TEXT NOT NULL,
  last4        TEXT NOT NULL,
  last_used_at INTEGER,
  revoked_at   INTEGER,
  created_at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX api_keys_by_account ON api_keys (account_id, id);

CREATE TABLE domains (
  id              TEXT PRIMARY KEY,
  account_id      TEXT NOT NULL REFERENCES accounts (id),
  name            TEXT NOT NULL,
  status          TEXT NOT NULL CHECK (status IN ('pending', 'verified', 'failed')),
  selector        TEXT NOT NULL,
  dkim_public_key TEXT NOT NULL,
  sealed_dkim_key BLOB NOT NULL,
  record_states   TEXT NOT NULL,
  created_at      INTEGER NOT NULL,
  verified_at     INTEGER,
  last_checked_at INTEGER,
  next_check_at   INTEGER,
  failing_since   INTEGER,
  pending_since   INTEGER NOT NULL,
  deleted_at      INTEGER
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX domains_by_name ON domains (account_id, name) WHERE deleted_at IS NULL;
CREATE INDEX domains_by_account ON domains (account_id, id) WHERE deleted_at IS NULL;
CREATE INDEX domains_by_next_check ON domains (next_check_at)
  WHERE deleted_at IS NULL AND next_check_at IS NOT NULL;

CREATE TABLE messages (
  seq            INTEGER PRIMARY KEY,
  id             TEXT NOT NULL UNIQUE,
  account_id     TEXT NOT NULL REFERENCES accounts (id),
  place          INTEGER NOT NULL,
  status         TEXT NOT NULL,
  created_at     INTEGER NOT NULL,
  updated_at     INTEGER NOT NULL,
  key_id         TEXT,
  log_id         TEXT,
  domain_id      TEXT,
  is_sandbox     INTEGER NOT NULL,
  message_id     TEXT NOT NULL,
  sender         TEXT NOT NULL,
  -- JSON lists of address strings.
  to_list        TEXT NOT NULL,
  cc_list        TEXT NOT NULL,
  bcc_list       TEXT NOT NULL,
  reply_to_list  TEXT NOT NULL,
  subject        TEXT NOT NULL,
  tags           TEXT NOT NULL,
  failure_reason TEXT
) STRICT;
CREATE INDEX messages_by_account ON messages (account_id, place);
CREATE INDEX messages_by_status ON messages (account_id, status);

-- A row of its own, so that lists never read past content; it goes first when retention sweeps.
CREATE TABLE bodies (
  message_seq INTEGER PRIMARY KEY REFERENCES messages (seq),
  html        TEXT,
  text        TEXT,
  -- JSON list of [name, value]; null when there are none.
  headers     TEXT,
  raw         BLOB
) STRICT;

CREATE TABLE attachments (
  message_seq  INTEGER NOT NULL REFERENCES messages (seq),
  place        INTEGER NOT NULL,
  filename     TEXT NOT NULL,
  content_type TEXT NOT NULL,
  content_id   TEXT,
  content      BLOB NOT NULL,
  UNIQUE (message_seq, place)
) STRICT;

CREATE TABLE recipients (
  id              TEXT PRIMARY KEY,
  message_id      TEXT NOT NULL REFERENCES messages (id),
  account_id      TEXT NOT NULL,
  address         TEXT NOT NULL,
  domain          TEXT NOT NULL,
  kind            TEXT NOT NULL CHECK (kind IN ('to', 'cc', 'bcc')),
  status          TEXT NOT NULL,
  attempts        INTEGER NOT NULL,
  next_attempt_at INTEGER,
  expires_at      INTEGER NOT NULL,
  last_reason     TEXT,
  delayed_at      INTEGER,
  updated_at      INTEGER NOT NULL,
  owner           TEXT,
  lease_until     INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX recipients_by_message ON recipients (message_id);
-- Only what waits is in these two: they stay as small as the queue. The first holds all that the queue
-- reads at start, so that 100,000 waiting recipients cost no look at their rows.
CREATE INDEX recipients_by_due ON recipients (next_attempt_at, id, lease_until, owner, domain, message_id)
  WHERE next_attempt_at IS NOT NULL;
CREATE INDEX recipients_by_domain ON recipients (domain, id) WHERE next_attempt_at IS NOT NULL;

CREATE TABLE attempts (
  message_id       TEXT NOT NULL REFERENCES messages (id),
  id               TEXT NOT NULL,
  recipient_id     TEXT NOT NULL,
  number           INTEGER NOT NULL,
  began_at         INTEGER NOT NULL,
  ended_at         INTEGER NOT NULL,
  outcome          TEXT NOT NULL CHECK (outcome IN ('delivered', 'sent', 'deferred', 'failed')),
  class            TEXT,
  stage            TEXT NOT NULL,
  host             TEXT,
  address          TEXT,
  tls              TEXT,
  reply            TEXT,
  may_be_duplicate INTEGER NOT NULL,
  PRIMARY KEY (message_id, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE events (
  message_id   TEXT NOT NULL REFERENCES messages (id),
  id           TEXT NOT NULL,
  recipient_id TEXT,
  type         TEXT NOT NULL,
  occurred_at  INTEGER NOT NULL,
  payload      TEXT,
  -- The bytes that calls of this event carry; kept only where the account had an endpoint.
  webhook_body TEXT,
  PRIMARY KEY (message_id, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE endpoints (
  id                     TEXT PRIMARY KEY,
  account_id             TEXT NOT NULL REFERENCES accounts (id),
  url                    TEXT NOT NULL,
  -- JSON list of event names; an empty list means every event.
  events                 TEXT NOT NULL,
  status                 TEXT NOT NULL CHECK (status IN ('active', 'disabled')),
  sealed_secret          BLOB NOT NULL,
  sealed_previous_secret BLOB,
  previous_until         INTEGER,
  failure_count          INTEGER NOT NULL,
  last_failure_at        INTEGER,
  created_at             INTEGER NOT NULL,
  deleted_at             INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX endpoints_by_account ON endpoints (account_id, id) WHERE deleted_at IS NULL;

-- One event on its way to one endpoint. The body stands in the event.
CREATE TABLE calls (
  id              TEXT PRIMARY KEY,
  endpoint_id     TEXT NOT NULL REFERENCES endpoints (id),
  account_id      TEXT NOT NULL,
  event_id        TEXT NOT NULL,
  event_type      TEXT NOT NULL,
  message_id      TEXT NOT NULL,
  status          TEXT NOT NULL CHECK (status IN ('open', 'done', 'failed')),
  attempts        INTEGER NOT NULL,
  next_attempt_at INTEGER,
  created_at      INTEGER NOT NULL,
  owner           TEXT,
  lease_until     INTEGER,
  UNIQUE (event_id, endpoint_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX calls_by_due ON calls (endpoint_id, next_attempt_at, id, lease_until, owner) WHERE status = 'open';
CREATE INDEX calls_failed ON calls (endpoint_id, created_at) WHERE status = 'failed';

CREATE TABLE call_attempts (
  endpoint_id TEXT NOT NULL REFERENCES endpoints (id),
  id          TEXT NOT NULL,
  call_id     TEXT,
  event_type  TEXT NOT NULL,
  message_id  TEXT,
  attempt     INTEGER NOT NULL,
  status_code INTEGER,
  ok          INTEGER NOT NULL,
  error       TEXT,
  duration_ms INTEGER,
  created_at  INTEGER NOT NULL,
  PRIMARY KEY (endpoint_id, id)
) STRICT, WITHOUT ROWID;

-- A removed row stays, so that a list's cursor (the address) still says where it stood. One that comes
-- back gets a new `seq`: it is the newest again.
CREATE TABLE suppressions (
  seq        INTEGER PRIMARY KEY AUTOINCREMENT,
  id         TEXT NOT NULL,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  email      TEXT NOT NULL,
  reason     TEXT NOT NULL CHECK (reason IN ('hard_bounce', 'complaint', 'unsubscribe', 'manual')),
  source     TEXT,
  note       TEXT,
  created_at INTEGER NOT NULL,
  removed_at INTEGER,
  UNIQUE (account_id, email)
) STRICT;
CREATE UNIQUE INDEX suppressions_by_id ON suppressions (id);
CREATE INDEX suppressions_live ON suppressions (account_id) WHERE removed_at IS NULL;
CREATE INDEX suppressions_removed ON suppressions (removed_at) WHERE removed_at IS NOT NULL;

CREATE TABLE confirmed_recipients (
  account_id TEXT NOT NULL REFERENCES accounts (id),
  email      TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (account_id, email)
) STRICT, WITHOUT ROWID;

CREATE TABLE idempotency (
  account_id TEXT NOT NULL REFERENCES accounts (id),
  key        TEXT NOT NULL,
  route      TEXT NOT NULL,
  body_hash  TEXT NOT NULL,
  status     INTEGER NOT NULL,
  response   TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (account_id, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_by_expiry ON idempotency (expires_at);

-- What counts against the plan, by UTC day.
CREATE TABLE usage_days (
  account_id TEXT NOT NULL REFERENCES accounts (id),
  day        TEXT NOT NULL,
  count      INTEGER NOT NULL,
  PRIMARY KEY (account_id, day)
) STRICT, WITHOUT ROWID;

-- Messages by the UTC day of their acceptance and their present status (`day` in days since the epoch).
CREATE TABLE status_days (
  account_id TEXT NOT NULL REFERENCES accounts (id),
  day        INTEGER NOT NULL,
  status     TEXT NOT NULL,
  count      INTEGER NOT NULL,
  PRIMARY KEY (account_id, day, status)
) STRICT, WITHOUT ROWID;

CREATE TABLE settings (
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
