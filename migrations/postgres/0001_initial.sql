-- Everything a message, its account and its journey need, on PostgreSQL. Times are epoch milliseconds, ids UUIDv7. Lists
-- are read newest first by id. Rows of one transaction come from several nodes; `slot` keeps the sums of simultaneous
-- transactions apart, so that none waits for the other: whoever reads adds them up.

CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE EXTENSION IF NOT EXISTS btree_gin;

-- One row a transaction: whoever lost the connection while committing learns from it what became of it. `is_lost`: who
-- asked found none, and has written it so that the transaction cannot commit any more. Kept for an hour.
CREATE TABLE commits (
  session uuid NOT NULL,
  number  int8 NOT NULL,
  is_lost bool NOT NULL DEFAULT false,
  at      timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (session, number)
) WITH (autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX commits_by_time ON commits (at);

-- One row. Each change of what nodes keep in memory raises the number, in its own transaction.
CREATE TABLE revision (
  number int8 NOT NULL
);
INSERT INTO revision (number) VALUES (1);

-- Fails where the revision is another one. The lock, until the end of the transaction, tells a change what was under way
-- when it committed; each statement here sees what was committed before it began.
CREATE FUNCTION require_revision(expected int8) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  present int8;
BEGIN
  PERFORM pg_advisory_xact_lock_shared(7867481);
  SELECT number INTO present FROM revision;
  IF present IS DISTINCT FROM expected THEN
    RAISE EXCEPTION 'the revision is %, not %', present, expected USING ERRCODE = 'PR001';
  END IF;
END
$$;

-- Servers that have the database open, from their start to their end. Times are the database's own. What a session owns in
-- `queue` and `calls` is free from the transaction on that sets `ended_at`; none of its transactions commits after that.
CREATE TABLE sessions (
  session     uuid PRIMARY KEY,
  -- Of the live ones each has its own: part of `slot` in the sums.
  number      int4 NOT NULL,
  name        text NOT NULL,
  -- Names the data directory: a start ends what an earlier process of the same directory and name has left.
  directory   text NOT NULL,
  -- JSON list of the addresses that it sends from; empty: the system's choice.
  addresses   text NOT NULL,
  version     text NOT NULL,
  began_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
  lease_until timestamptz NOT NULL,
  -- An operator wants it to end: it takes nothing more, and ends its session when what is under way has ended.
  drain_asked bool NOT NULL DEFAULT false,
  -- What it said of itself with its last beat: recipients that it has taken, of these in delivery, and by how many
  -- milliseconds its clock is ahead of the database's.
  taken       int4,
  in_delivery int4,
  clock_ahead_ms int8,
  ended_at    timestamptz
);
CREATE UNIQUE INDEX sessions_live ON sessions (number) WHERE ended_at IS NULL;

-- Whoever holds this lock alone knows that no transaction of the session is under way.
CREATE FUNCTION session_lock(id uuid) RETURNS int8 LANGUAGE sql IMMUTABLE AS $$
  SELECT hashtextextended('session ' || id, 0)
$$;

-- Fails where the session has ended. The lock keeps its end waiting until the end of the transaction.
CREATE FUNCTION require_session(id uuid) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  PERFORM pg_advisory_xact_lock_shared(session_lock(id));
  PERFORM 1 FROM sessions WHERE session = id AND ended_at IS NULL;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'session % has ended', id USING ERRCODE = 'PR002';
  END IF;
END
$$;

-- What one node does for all. `until`: the holder's, or, without one, its rest.
CREATE TABLE jobs (
  name   text PRIMARY KEY,
  holder text NOT NULL,
  until  timestamptz NOT NULL
);

-- Requests that nodes have let through, for the limits of the others. Worth a minute, and lost with a crash of the server.
CREATE UNLOGGED TABLE rate_takes (
  seq     int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  node    text NOT NULL,
  at      int8 NOT NULL,
  told_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  windows text NOT NULL
);
CREATE INDEX rate_takes_by_time ON rate_takes (told_at);

CREATE TABLE accounts (
  id            uuid PRIMARY KEY,
  name          text NOT NULL UNIQUE,
  plan          text NOT NULL,
  status        text NOT NULL CHECK (status IN ('active', 'paused', 'payment_required')),
  status_reason text,
  created_at    int8 NOT NULL
);

CREATE TABLE api_keys (
  id           uuid PRIMARY KEY,
  account_id   uuid NOT NULL REFERENCES accounts (id),
  hash         bytea NOT NULL UNIQUE,
  name         text NOT NULL,
  permission   text NOT NULL CHECK (permission IN ('full_access', 'sending_access')),
  is_test      bool NOT NULL,
  prefix       text NOT NULL,
  last4        text NOT NULL,
  last_used_at int8,
  revoked_at   int8,
  created_at   int8 NOT NULL
);
CREATE INDEX api_keys_by_account ON api_keys (account_id, id);

CREATE TABLE domains (
  id              uuid PRIMARY KEY,
  account_id      uuid NOT NULL REFERENCES accounts (id),
  name            text NOT NULL,
  status          text NOT NULL CHECK (status IN ('pending', 'verified', 'failed')),
  selector        text NOT NULL,
  dkim_public_key text NOT NULL,
  sealed_dkim_key bytea NOT NULL,
  record_states   text NOT NULL,
  created_at      int8 NOT NULL,
  verified_at     int8,
  last_checked_at int8,
  next_check_at   int8,
  failing_since   int8,
  pending_since   int8 NOT NULL,
  deleted_at      int8,
  -- What DNS showed at the last check, record by record, as JSON.
  seen_records    text NOT NULL DEFAULT '{}'
);
CREATE UNIQUE INDEX domains_by_name ON domains (account_id, name) WHERE deleted_at IS NULL;
CREATE INDEX domains_by_next_check ON domains (next_check_at) WHERE deleted_at IS NULL AND next_check_at IS NOT NULL;

CREATE TABLE dkim_keys (
  domain_id       uuid NOT NULL REFERENCES domains (id),
  state           text NOT NULL CHECK (state IN ('next', 'previous')),
  selector        text NOT NULL,
  dkim_public_key text NOT NULL,
  sealed_dkim_key bytea,
  since           int8 NOT NULL,
  PRIMARY KEY (domain_id, state)
);

CREATE TABLE messages (
  id             uuid PRIMARY KEY,
  -- Of an account that is there: an acceptance holds its row. To check a reference for each row costs a tenth of a message.
  account_id     uuid NOT NULL,
  status         text NOT NULL,
  created_at     int8 NOT NULL,
  updated_at     int8 NOT NULL,
  key_id         text,
  log_id         text,
  domain_id      text,
  is_sandbox     bool NOT NULL,
  message_id     text NOT NULL,
  sender         text NOT NULL,
  -- JSON lists of address strings.
  to_list        text NOT NULL,
  cc_list        text NOT NULL,
  bcc_list       text NOT NULL,
  reply_to_list  text NOT NULL,
  subject        text NOT NULL,
  tags           text NOT NULL,
  event_headers  text,
  failure_reason text,
  -- What lists are searched by: subject, sender and `to` addresses, in lower case.
  searched       text NOT NULL
) WITH (fillfactor = 85);
CREATE INDEX messages_by_account ON messages (account_id, id);
CREATE INDEX messages_of_sandbox ON messages (account_id, id) WHERE is_sandbox;
CREATE INDEX messages_by_text ON messages USING gin (account_id, searched gin_trgm_ops);

-- A row of its own, so that lists never read past content. Text as bytes: it may hold U+0000. These four tables are read
-- by a message's id alone and hold most of what is stored: they have a partition for each day, made by the program, and
-- one for everything else.
CREATE TABLE bodies (
  message_id uuid PRIMARY KEY,
  html       bytea,
  text       bytea,
  headers    text,
  raw        bytea,
  bytes      int8 NOT NULL
) PARTITION BY RANGE (message_id);

CREATE TABLE attachments (
  message_id   uuid NOT NULL,
  position     int4 NOT NULL,
  filename     text NOT NULL,
  content_type text NOT NULL,
  content_id   text,
  content      bytea NOT NULL,
  PRIMARY KEY (message_id, position)
) PARTITION BY RANGE (message_id);
-- LZ4 costs a fraction of the server's own compression. A server that was built without it keeps its own.
DO $$
BEGIN
  ALTER TABLE bodies
    ALTER COLUMN html SET COMPRESSION lz4, ALTER COLUMN text SET COMPRESSION lz4, ALTER COLUMN raw SET COMPRESSION lz4;
  ALTER TABLE attachments ALTER COLUMN content SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN
  NULL;
END
$$;
CREATE TABLE bodies_other PARTITION OF bodies DEFAULT;
CREATE TABLE attachments_other PARTITION OF attachments DEFAULT;

CREATE TABLE recipients (
  id          uuid PRIMARY KEY,
  message_id  uuid NOT NULL,
  account_id  uuid NOT NULL,
  address     text NOT NULL,
  domain      text NOT NULL,
  kind        text NOT NULL CHECK (kind IN ('to', 'cc', 'bcc')),
  status      text NOT NULL,
  attempts    int4 NOT NULL,
  expires_at  int8 NOT NULL,
  last_reason text,
  delayed_at  int8,
  updated_at  int8 NOT NULL
) WITH (fillfactor = 85);
CREATE INDEX recipients_by_message ON recipients (message_id);

-- A recipient that waits or is in an attempt; the row goes with its end, so that the table stays as small as the queue.
CREATE TABLE queue (
  recipient_id    uuid PRIMARY KEY,
  message_id      uuid NOT NULL,
  account_id      uuid NOT NULL,
  domain          text NOT NULL,
  next_attempt_at int8 NOT NULL,
  attempts        int4 NOT NULL,
  owner           text,
  lease_until     int8,
  updated_at      int8 NOT NULL
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX queue_by_due ON queue (next_attempt_at, recipient_id);
CREATE INDEX queue_by_domain ON queue (domain, recipient_id);
CREATE INDEX queue_by_message ON queue (message_id);

CREATE TABLE attempts (
  message_id       uuid NOT NULL,
  id               uuid NOT NULL,
  recipient_id     uuid NOT NULL,
  number           int4 NOT NULL,
  began_at         int8 NOT NULL,
  ended_at         int8 NOT NULL,
  outcome          text NOT NULL CHECK (outcome IN ('delivered', 'sent', 'deferred', 'failed')),
  class            text,
  stage            text NOT NULL,
  host             text,
  address          text,
  tls              text,
  reply            text,
  may_be_duplicate bool NOT NULL,
  PRIMARY KEY (message_id, id)
) PARTITION BY RANGE (message_id);
CREATE TABLE attempts_other PARTITION OF attempts DEFAULT;

CREATE TABLE events (
  message_id   uuid NOT NULL,
  id           uuid NOT NULL,
  recipient_id uuid,
  type         text NOT NULL,
  occurred_at  int8 NOT NULL,
  payload      text,
  -- The bytes that calls of this event carry; kept only where the account had an endpoint.
  webhook_body text,
  PRIMARY KEY (message_id, id)
) PARTITION BY RANGE (message_id);
CREATE TABLE events_other PARTITION OF events DEFAULT;

CREATE TABLE endpoints (
  id                     uuid PRIMARY KEY,
  account_id             uuid NOT NULL REFERENCES accounts (id),
  url                    text NOT NULL,
  events                 text NOT NULL,
  status                 text NOT NULL CHECK (status IN ('active', 'disabled')),
  sealed_secret          bytea NOT NULL,
  sealed_previous_secret bytea,
  previous_until         int8,
  failure_count          int4 NOT NULL,
  last_failure_at        int8,
  created_at             int8 NOT NULL,
  deleted_at             int8
);
CREATE INDEX endpoints_by_account ON endpoints (account_id, id) WHERE deleted_at IS NULL;

-- One event on its way to one endpoint. The id follows from both; the body stands in the event.
CREATE TABLE calls (
  id              uuid PRIMARY KEY,
  endpoint_id     uuid NOT NULL,
  account_id      uuid NOT NULL,
  event_id        uuid NOT NULL,
  event_type      text NOT NULL,
  message_id      uuid NOT NULL,
  status          text NOT NULL CHECK (status IN ('open', 'done', 'failed')),
  attempts        int4 NOT NULL,
  next_attempt_at int8,
  created_at      int8 NOT NULL,
  owner           text,
  lease_until     int8
) WITH (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX calls_by_message ON calls (message_id);
CREATE INDEX calls_by_due ON calls (endpoint_id, next_attempt_at, id) WHERE status = 'open';
CREATE INDEX calls_failed ON calls (endpoint_id, created_at) WHERE status = 'failed';

CREATE TABLE call_responses (
  call_id    uuid NOT NULL REFERENCES calls (id) ON DELETE CASCADE,
  attempt_id uuid NOT NULL,
  response   text,
  PRIMARY KEY (call_id, attempt_id)
);

CREATE TABLE call_attempts (
  endpoint_id uuid NOT NULL,
  id          uuid NOT NULL,
  call_id     uuid,
  event_type  text NOT NULL,
  message_id  uuid,
  attempt     int4 NOT NULL,
  status_code int4,
  ok          bool NOT NULL,
  error       text,
  duration_ms int8,
  created_at  int8 NOT NULL,
  PRIMARY KEY (endpoint_id, id)
);
CREATE INDEX call_attempts_failed ON call_attempts (endpoint_id, id) WHERE NOT ok;

-- A removed row stays, so that a list's cursor (the address) still says where it stood. One that comes back gets a new
-- `seq`: it is the newest again.
CREATE TABLE suppressions (
  seq        int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id         uuid NOT NULL UNIQUE,
  account_id uuid NOT NULL REFERENCES accounts (id),
  email      text NOT NULL,
  reason     text NOT NULL CHECK (reason IN ('hard_bounce', 'complaint', 'unsubscribe', 'manual')),
  source     text,
  note       text,
  created_at int8 NOT NULL,
  removed_at int8,
  UNIQUE (account_id, email)
);
CREATE INDEX suppressions_live ON suppressions (account_id, seq) WHERE removed_at IS NULL;
CREATE INDEX suppressions_removed ON suppressions (removed_at) WHERE removed_at IS NOT NULL;
CREATE INDEX suppressions_by_text ON suppressions USING gin (account_id, email gin_trgm_ops);

CREATE TABLE confirmed_recipients (
  account_id uuid NOT NULL REFERENCES accounts (id),
  email      text NOT NULL,
  created_at int8 NOT NULL,
  PRIMARY KEY (account_id, email)
);

CREATE TABLE idempotency (
  account_id uuid NOT NULL,
  key        text NOT NULL,
  route      text NOT NULL,
  body_hash  text NOT NULL,
  status     int4 NOT NULL,
  response   text NOT NULL,
  created_at int8 NOT NULL,
  expires_at int8 NOT NULL,
  PRIMARY KEY (account_id, key)
);
CREATE INDEX idempotency_by_expiry ON idempotency (expires_at);

-- Sums change with every group: the free half of each page takes the new state of its rows, and no index changes.
CREATE TABLE usage_days (
  account_id uuid NOT NULL,
  day        text NOT NULL,
  slot       int4 NOT NULL,
  count      int8 NOT NULL,
  PRIMARY KEY (account_id, day, slot)
) WITH (fillfactor = 50);

CREATE TABLE status_days (
  account_id uuid NOT NULL,
  day        int4 NOT NULL,
  status     text NOT NULL,
  slot       int4 NOT NULL,
  count      int8 NOT NULL,
  PRIMARY KEY (account_id, day, status, slot)
) WITH (fillfactor = 50);

CREATE TABLE stored_bytes (
  account_id uuid NOT NULL,
  slot       int4 NOT NULL,
  bytes      int8 NOT NULL,
  PRIMARY KEY (account_id, slot)
) WITH (fillfactor = 50);

-- `account_id` is null for all accounts together.
CREATE TABLE outcome_hours (
  account_id  uuid,
  hour        int4 NOT NULL,
  destination text NOT NULL,
  provider    text NOT NULL,
  slot        int4 NOT NULL,
  delivered   int8 NOT NULL,
  delayed     int8 NOT NULL,
  bounced     int8 NOT NULL,
  complained  int8 NOT NULL,
  failed      int8 NOT NULL,
  UNIQUE NULLS NOT DISTINCT (account_id, hour, destination, provider, slot)
) WITH (fillfactor = 50);

CREATE TABLE harm_hours (
  hour         int4 NOT NULL,
  account_id   uuid NOT NULL,
  slot         int4 NOT NULL,
  hard_bounces int8 NOT NULL,
  complaints   int8 NOT NULL,
  PRIMARY KEY (hour, account_id, slot)
);

-- Slots below zero are those of a node's period, whose rows are added up into one when the period is over.
CREATE INDEX usage_days_period ON usage_days (slot) WHERE slot < 0;
CREATE INDEX status_days_period ON status_days (slot) WHERE slot < 0;
CREATE INDEX stored_bytes_period ON stored_bytes (slot) WHERE slot < 0;
CREATE INDEX outcome_hours_period ON outcome_hours (slot) WHERE slot < 0;
CREATE INDEX harm_hours_period ON harm_hours (slot) WHERE slot < 0;

CREATE TABLE settings (
  name  text PRIMARY KEY,
  value text NOT NULL
);

CREATE TABLE operators (
  id              text PRIMARY KEY,
  name            text NOT NULL UNIQUE,
  role            text NOT NULL CHECK (role IN ('admin', 'read_only')),
  account_id      uuid REFERENCES accounts (id),
  password_hash   text NOT NULL,
  sealed_totp     bytea,
  totp_step       int8 NOT NULL,
  recovery_hashes text NOT NULL,
  created_at      int8 NOT NULL,
  signed_in_at    int8
);

CREATE TABLE audit (
  seq        int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at         int8 NOT NULL,
  via        text NOT NULL CHECK (via IN ('dashboard', 'command', 'api')),
  who        text NOT NULL,
  action     text NOT NULL,
  target     text NOT NULL,
  account_id text,
  address    text
);

CREATE TABLE logs (
  id             uuid PRIMARY KEY,
  account_id     uuid NOT NULL,
  method         text NOT NULL,
  path           text NOT NULL,
  status         int4 NOT NULL,
  duration_ms    int8,
  message_id     text,
  key_id         text,
  key_name       text,
  key_permission text,
  user_agent     text,
  ip             text,
  created_at     int8 NOT NULL,
  is_sandbox     bool NOT NULL,
  request_body   text,
  response_body  text
);
CREATE INDEX logs_by_account ON logs (account_id, id);
CREATE INDEX logs_by_outcome ON logs (account_id, method, status, id);
CREATE INDEX logs_by_key ON logs (key_id, id) WHERE key_id IS NOT NULL;
CREATE INDEX logs_of_sandbox ON logs (account_id, id) WHERE is_sandbox;
CREATE INDEX logs_by_text ON logs USING gin (account_id, lower(path) gin_trgm_ops);
