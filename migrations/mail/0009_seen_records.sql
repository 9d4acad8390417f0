-- What DNS showed at a domain's last check, record by record, beside what was expected: JSON
-- {"DKIM": {"at", "values", "problem"}, …}, `{}` before the first check.
ALTER TABLE domains ADD COLUMN seen_records TEXT NOT NULL DEFAULT '{}';
