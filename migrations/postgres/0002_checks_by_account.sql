-- Domains are checked account by account, so that one account's do not keep those of others waiting.

DROP INDEX domains_by_next_check;
CREATE INDEX domains_by_next_check ON domains (account_id, next_check_at)
  WHERE deleted_at IS NULL AND next_check_at IS NOT NULL;
