-- Before SQLite deletes a row it looks for those that refer to it: in an index of all of them, or else in the whole table.
-- The end of an account's deletion looked through the calls of everybody once for each endpoint of that account.

DROP INDEX domains_by_account;
CREATE INDEX domains_by_account ON domains (account_id, deleted_at, id);
DROP INDEX endpoints_by_account;
CREATE INDEX endpoints_by_account ON endpoints (account_id, deleted_at, id);
CREATE INDEX operators_by_account ON operators (account_id);
CREATE INDEX calls_by_endpoint ON calls (endpoint_id);

-- With these two in it, an account's working keys are counted without a look at their rows.
DROP INDEX api_keys_by_account;
CREATE INDEX api_keys_by_account ON api_keys (account_id, id, is_test, revoked_at);
