-- Which requests came with a sandbox key: such a key reads these rows alone. The indexes hold only them, so that a live
-- request costs no more than before. Rows written before this step count as live.

ALTER TABLE logs ADD COLUMN is_sandbox INTEGER NOT NULL DEFAULT 0;
CREATE INDEX logs_of_sandbox ON logs (account_id) WHERE is_sandbox = 1;
CREATE INDEX logs_of_sandbox_by_outcome ON logs (account_id, method, status) WHERE is_sandbox = 1;
