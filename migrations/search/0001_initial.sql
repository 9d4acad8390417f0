-- The substring index: what is in it can always be made again from the other two files.
-- For each source one table of three-character runs and one of two-character runs (and, by their
-- prefixes, single characters), over lower-case text. Row ids are the `seq` of the source.
-- Nothing but row ids is kept (no content, no positions): a hit is compared with its row.

CREATE VIRTUAL TABLE email_triples USING fts5 (
  text, tokenize = 'trigram case_sensitive 1', content = '', columnsize = 0, detail = none
);
CREATE VIRTUAL TABLE email_pairs USING fts5 (
  text, tokenize = 'ascii', content = '', columnsize = 0, detail = none, prefix = '1'
);
CREATE VIRTUAL TABLE suppression_triples USING fts5 (
  text, tokenize = 'trigram case_sensitive 1', content = '', columnsize = 0, detail = none
);
CREATE VIRTUAL TABLE suppression_pairs USING fts5 (
  text, tokenize = 'ascii', content = '', columnsize = 0, detail = none, prefix = '1'
);
-- Log rows are deleted by retention, so their entries must be deletable without their text.
CREATE VIRTUAL TABLE log_triples USING fts5 (
  text, tokenize = 'trigram case_sensitive 1', content = '', contentless_delete = 1, detail = none
);
CREATE VIRTUAL TABLE log_pairs USING fts5 (
  text, tokenize = 'ascii', content = '', contentless_delete = 1, detail = none, prefix = '1'
);

-- How far each source is indexed, and the id of the row there: another id in the source under the same
-- `seq` means that the source was restored from a backup and the index must be made anew. `merged_to`:
-- how far it went when its segments were last merged into one.
CREATE TABLE progress (
  source    TEXT PRIMARY KEY,
  seq       INTEGER NOT NULL,
  row_id    TEXT NOT NULL,
  merged_to INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
