-- Who may sign in to the dashboard, and what was changed by whom. The one password there was becomes that of `admin`.

CREATE TABLE operators (
  id              TEXT PRIMARY KEY,
  name            TEXT NOT NULL UNIQUE,
  role            TEXT NOT NULL CHECK (role IN ('admin', 'read_only')),
  -- Sees this account alone; null: all of the appliance.
  account_id      TEXT REFERENCES accounts (id),
  password_hash   TEXT NOT NULL,
  sealed_totp     BLOB,
  -- Time step of the last code that was used: none is taken twice.
  totp_step       INTEGER NOT NULL,
  -- JSON list of hashes of the recovery codes that are left.
  recovery_hashes TEXT NOT NULL,
  created_at      INTEGER NOT NULL,
  signed_in_at    INTEGER
) STRICT, WITHOUT ROWID;

INSERT INTO operators
  SELECT 'admin', 'admin', 'admin', NULL, value, NULL, 0, '[]', CAST(unixepoch('subsec') * 1000 AS INTEGER), NULL
  FROM settings WHERE name = 'admin_password';
DELETE FROM settings WHERE name = 'admin_password';

CREATE TABLE audit (
  seq        INTEGER PRIMARY KEY AUTOINCREMENT,
  at         INTEGER NOT NULL,
  via        TEXT NOT NULL CHECK (via IN ('dashboard', 'command', 'api')),
  -- The operator's name, the user of the machine, or the name of the API key.
  who        TEXT NOT NULL,
  action     TEXT NOT NULL,
  -- What it was done to, as far as its names say it.
  target     TEXT NOT NULL,
  account_id TEXT,
  -- The client's address; null where there is none.
  address    TEXT
) STRICT;
