-- The requests of one key, alone and by method and status. Requests without a key are not in it.
CREATE INDEX logs_by_key ON logs (key_id, method, status) WHERE key_id IS NOT NULL;
