-- Bytes of content (html, text, headers, attachments, submitted messages) that each account keeps, against the plan's
-- `storage_bytes`. Each row of content says what it counts, so that exactly that is given back when it goes. What was
-- stored before this step counts nothing.

ALTER TABLE bodies ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
CREATE TABLE stored_bytes (
  account_id TEXT PRIMARY KEY REFERENCES accounts (id),
  bytes      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
