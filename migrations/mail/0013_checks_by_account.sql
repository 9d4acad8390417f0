-- Domains are checked account by account, so that one account's do not keep those of others waiting.
-- `deleted_at` is in the index so that SQLite looks at no row of the table.

DROP INDEX domains_by_next_check;
CREATE INDEX domains_by_next_check ON domains (account_id, next_check_at, deleted_at)
  WHERE deleted_at IS NULL AND next_check_at IS NOT NULL;
