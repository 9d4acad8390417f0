-- FTS5 merges nothing by itself any more: the indexer does it, in steps that it chooses. By itself FTS5 went on with a
-- merge of the whole index, which was begun while nothing else was to do, at every commit of a busy hour. `usermerge`: as
-- many segments of a level are merged into one of the next. `crisismerge`: a bound that is not reached; all that has
-- gathered would be merged at once.

INSERT INTO email_triples (email_triples, rank) VALUES ('automerge', 0);
INSERT INTO email_triples (email_triples, rank) VALUES ('usermerge', 16);
INSERT INTO email_triples (email_triples, rank) VALUES ('crisismerge', 256);
INSERT INTO email_pairs (email_pairs, rank) VALUES ('automerge', 0);
INSERT INTO email_pairs (email_pairs, rank) VALUES ('usermerge', 16);
INSERT INTO email_pairs (email_pairs, rank) VALUES ('crisismerge', 256);
INSERT INTO suppression_triples (suppression_triples, rank) VALUES ('automerge', 0);
INSERT INTO suppression_triples (suppression_triples, rank) VALUES ('usermerge', 16);
INSERT INTO suppression_triples (suppression_triples, rank) VALUES ('crisismerge', 256);
INSERT INTO suppression_pairs (suppression_pairs, rank) VALUES ('automerge', 0);
INSERT INTO suppression_pairs (suppression_pairs, rank) VALUES ('usermerge', 16);
INSERT INTO suppression_pairs (suppression_pairs, rank) VALUES ('crisismerge', 256);
INSERT INTO log_triples (log_triples, rank) VALUES ('automerge', 0);
INSERT INTO log_triples (log_triples, rank) VALUES ('usermerge', 16);
INSERT INTO log_triples (log_triples, rank) VALUES ('crisismerge', 256);
INSERT INTO log_pairs (log_pairs, rank) VALUES ('automerge', 0);
INSERT INTO log_pairs (log_pairs, rank) VALUES ('usermerge', 16);
INSERT INTO log_pairs (log_pairs, rank) VALUES ('crisismerge', 256);
