-- Hard bounces and complaints that a message of the account caused, by hour (since the epoch): what the brake looks at
-- every minute. Kept by the commits that suppress the address.
CREATE TABLE harm_hours (
  hour         INTEGER NOT NULL,
  account_id   TEXT NOT NULL,
  hard_bounces INTEGER NOT NULL,
  complaints   INTEGER NOT NULL,
  PRIMARY KEY (hour, account_id)
) STRICT, WITHOUT ROWID;
INSERT INTO recounts (name, seq) SELECT 'harm', max(seq) + 1 FROM suppressions HAVING max(seq) IS NOT NULL;
