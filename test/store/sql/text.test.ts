/** The reads of `store/sql/` are in words that SQLite and PostgreSQL understand alike, and answer alike. */
import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDER = join(import.meta.dir, '../../../src/store/sql');

/** What one of the engines does not have, or takes in another way, and why. */
const OWN: [why: string, pattern: RegExp][] = [
  ['names an index', /\bINDEXED BY\b/i],
  ['functions of SQLite', /\b(?:json_\w+|ifnull|instr|strftime|datetime|glob|printf)\b/i],
  ['row numbers', /\b(?:rowid|seq)\b/],
  ['numbered values', /\?\d|\$\d/],
  ['min and max of several values', /\b(?:min|max)\([^()]*,/i],
  ['a name that PostgreSQL folds', /\bAS [a-z]+[A-Z]/],
  ['a boolean as a number', /\b(?:is_\w+|ok|may_be_duplicate) *(?:=|<>) *[01]\b/],
  ['a sum that PostgreSQL gives as text', /(?<!CAST\((?:COALESCE\()?)\bsum\(/i],
  ['case is ignored by one of them', /\bLIKE\b/i],
];

const faultsOf = (text: string): string[] =>
  OWN.filter(([, pattern]) => pattern.test(text)).map(([why]) => why);

/** The texts of a file: its string literals, but not what it imports, nor its comments. */
function textsOf(source: string): string[] {
  const code = source.replaceAll(/^import[^;]*;|\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
  return Array.from(code.matchAll(/'[^'\n]*'|"[^"\n]*"/g), ([text]) => text);
}

test('no text has what only one engine understands', () => {
  const files = Array.from(new Bun.Glob('*.ts').scanSync(FOLDER));
  expect(files.length).toBeGreaterThan(5);
  let statements = 0;
  for (const file of files) {
    for (const text of textsOf(readFileSync(join(FOLDER, file), 'utf8'))) {
      expect([file, text, faultsOf(text)]).toEqual([file, text, []]);
      if (text.includes('SELECT ')) statements += 1;
    }
  }
  expect(statements).toBeGreaterThan(20);
});

test.each([
  ['SELECT id FROM calls INDEXED BY calls_by_due', 'names an index'],
  ['SELECT ifnull(a, 1) FROM b', 'functions of SQLite'],
  ['SELECT json_each(?) FROM b', 'functions of SQLite'],
  ['SELECT seq FROM messages', 'row numbers'],
  ['WHERE a = ?1 OR b = ?1', 'numbered values'],
  ['SELECT max(a, b) FROM c', 'min and max of several values'],
  ['SELECT account_id AS accountId FROM c', 'a name that PostgreSQL folds'],
  ['WHERE is_test = 0', 'a boolean as a number'],
  ['SELECT sum(count) AS used FROM c', 'a sum that PostgreSQL gives as text'],
  ['WHERE name LIKE ?', 'case is ignored by one of them'],
])('%s', (text, why) => {
  expect(faultsOf(text)).toEqual([why]);
});

test('what both understand is let through', () => {
  for (const text of [
    'SELECT CAST(COALESCE(sum(count), 0) AS bigint) AS used FROM a WHERE b = ?',
    'SELECT max(id) AS id, account_id AS "accountId" FROM a WHERE is_test = ? AND b = 1',
  ]) {
    expect(faultsOf(text)).toEqual([]);
  }
});
