/**
 * The fields in `docs/logging.md` are those of the code: each event has every field that its row names, and no other.
 * Alerts and searches rely on them. What a line takes over whole (`...counts`) is asserted where it is made.
 */
import { expect, test } from 'bun:test';

import { read, ROOT } from './documents.ts';

interface Line {
  level: string;
  fields: string[];
  /** It takes over an object whose fields are not written here. */
  isOpen: boolean;
}

const CLOSING: Readonly<Record<string, string>> = { '(': ')', '{': '}', '[': ']' };

/** The parts of `text`, from its opening bracket at `from` to the closing one, that commas separate. */
function parts(text: string, from: number): string[] {
  const found: string[] = [''];
  const open: string[] = [];
  for (let at = from; at < text.length; at += 1) {
    const char = text[at] ?? '';
    if (char === "'" || char === '`') {
      const end = text.indexOf(char, at + 1);
      found.push(`${found.pop()}${text.slice(at, end + 1)}`);
      at = end;
      continue;
    }
    if (char === open.at(-1)) open.pop();
    if (open.length === 0 && at > from) break;
    const isBetween = char === ',' && open.length === 1;
    if (isBetween) found.push('');
    else if (at > from) found.push(`${found.pop()}${char}`);
    const closing = CLOSING[char];
    if (closing !== undefined) open.push(closing);
  }
  return found.map((part) => part.trim()).filter((part) => part !== '');
}

/** Every line that the code logs under its own name, by event. */
function linesOfCode(): Map<string, Line[]> {
  const found = new Map<string, Line[]>();
  for (const file of new Bun.Glob('src/**/*.ts').scanSync(ROOT)) {
    const text = read(file).replaceAll(/^\s*\/\/.*$/gm, '');
    for (const match of text.matchAll(/\blog\.(info|warn|error)(?=\(\s*'([^']+)')/gi)) {
      const [whole, level = '', event = ''] = match;
      const [, given = '{}'] = parts(text, match.index + whole.length);
      const fields = given.startsWith('{') ? parts(given, 0) : [`...${given}`];
      const line = {
        level,
        fields: fields
          .filter((field) => !field.startsWith('...'))
          .map((field) => /^\w+/.exec(field)?.[0] ?? field),
        isOpen: fields.some((field) => field.startsWith('...')),
      };
      found.set(event, [...(found.get(event) ?? []), line]);
    }
  }
  return found;
}

/** The fields of each event by the table. */
const ROWS = new Map(
  Array.from(
    read('docs/logging.md').matchAll(/^\| (`.+?`) \| [a-z, ]+ \| ([^|]*) \|/gm),
    ([, names = '', fields = '']): [string, string[]][] =>
      Array.from(names.matchAll(/`([^`]+)`/g), ([, name = '']) => [
        name,
        fields.match(/\b[a-z][a-z0-9_]*\b(?=,|$)/g) ?? [],
      ]),
  ).flat(),
);

const LINES = linesOfCode();

test('the test sees the fields', () => {
  expect(LINES.size).toBeGreaterThan(70);
  expect(LINES.get('operator_mail_received')).toEqual([
    { level: 'warn', fields: ['peer', 'to', 'from', 'subject', 'bytes'], isOpen: false },
  ]);
});

test.each(Array.from(LINES))('%s', (event, lines) => {
  const said = ROWS.get(event) ?? [];
  const written = Array.from(new Set(lines.flatMap(({ fields }) => fields))).toSorted();
  if (lines.some(({ isOpen }) => isOpen)) expect(said).toEqual(expect.arrayContaining(written));
  else expect(written).toEqual(said.toSorted());
});

test('every line at error says what to do', () => {
  const silent = Array.from(LINES).filter(([, lines]) =>
    lines.some(({ level, fields }) => level === 'error' && !fields.includes('hint')),
  );
  expect(silent.map(([event]) => event)).toEqual([]);
});
