-- The queue serves each destination fairly by account, so it has to know whose a due recipient is without a look at its
-- row. The message's id, which nobody read from this index, makes way for the account's.

DROP INDEX recipients_by_due;
CREATE INDEX recipients_by_due ON recipients (next_attempt_at, id, lease_until, owner, domain, account_id)
  WHERE next_attempt_at IS NOT NULL;
