-- A domain's keys beside the one that signs: `next` until it is activated, `previous` (without its private key) so
-- that the operator is told until when its record must stay.

CREATE TABLE dkim_keys (
  domain_id       TEXT NOT NULL REFERENCES domains (id),
  state           TEXT NOT NULL CHECK (state IN ('next', 'previous')),
  selector        TEXT NOT NULL,
  dkim_public_key TEXT NOT NULL,
  sealed_dkim_key BLOB,
  since           INTEGER NOT NULL,
  PRIMARY KEY (domain_id, state)
) STRICT, WITHOUT ROWID;
