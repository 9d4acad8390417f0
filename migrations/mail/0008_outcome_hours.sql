-- What became of recipients, by the hour of the event: kept by the commits that record the events, so that charts never
-- count them. `hour` in hours since the epoch; an empty account stands for all of them together. `destination` is the
-- kind of the recipient's domain and `provider` who runs the host that was last tried (empty: nobody known): closed
-- lists both. Sandbox sends are not in it.
CREATE TABLE outcome_hours (
  account_id  TEXT NOT NULL,
  hour        INTEGER NOT NULL,
  destination TEXT NOT NULL,
  provider    TEXT NOT NULL,
  delivered   INTEGER NOT NULL,
  delayed     INTEGER NOT NULL,
  bounced     INTEGER NOT NULL,
  complained  INTEGER NOT NULL,
  failed      INTEGER NOT NULL,
  PRIMARY KEY (account_id, hour, destination, provider)
) STRICT, WITHOUT ROWID;

-- Counters that are still being computed for what was stored before them, newest rows first: what stands below `seq` is
-- not in the counter yet, and what changes there is left to the computing.
CREATE TABLE recounts (
  name TEXT PRIMARY KEY,
  seq  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO recounts (name, seq) SELECT 'outcomes', max(seq) + 1 FROM messages HAVING max(seq) IS NOT NULL;
