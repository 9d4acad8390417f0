-- With `next_attempt_at` in it, SQLite counts what waits at each destination from this index alone, in its order, and looks
-- at no row of what is due already when an operator has a destination tried again.

DROP INDEX recipients_by_domain;
CREATE INDEX recipients_by_domain ON recipients (domain, id, next_attempt_at) WHERE next_attempt_at IS NOT NULL;
