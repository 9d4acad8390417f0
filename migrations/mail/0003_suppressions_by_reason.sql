-- Lists of suppressions by their reason: newest first, without looking through the others.
CREATE INDEX suppressions_by_reason ON suppressions (account_id, reason) WHERE removed_at IS NULL;
