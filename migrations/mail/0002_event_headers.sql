-- What a sender's library adds for itself (X-Tags, X-Metadata) and reads again in webhook calls: a JSON list of
-- [name, value], null when there is none.
ALTER TABLE messages ADD COLUMN event_headers TEXT;
