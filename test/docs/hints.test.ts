/**
 * What the program tells people to do can be done: each command, option and config key that its sentences name exists.
 * A hint with a misspelt key or a command of last year sends an operator astray at the worst moment.
 */
import { expect, test } from 'bun:test';

import { isGroup } from '../../src/commands/command.ts';
import { COMMANDS } from '../../src/commands/list.ts';
import { read, ROOT } from './documents.ts';

/** Each text of the source between quotes, with its file; comments are none. */
const TEXTS = Array.from(new Bun.Glob('src/**/*.{ts,tsx}').scanSync(ROOT))
  .toSorted()
  .flatMap((file) => {
    const code = read(file)
      .replaceAll(/\/\*[\s\S]*?\*\//g, '')
      .replaceAll(/^\s*\/\/.*$/gm, '');
    return Array.from(code.matchAll(/'((?:[^'\\\n]|\\.)*)'|`((?:[^`\\]|\\.)*)`/g), (match) => ({
      file,
      text: (match[1] ?? match[2] ?? '').replaceAll(/\s+/g, ' '),
    }));
  });

/** The options of each command, by its words, from the document that command-reference.test.ts compares. */
const OPTIONS = new Map<string, string>(
  read('docs/commands.md')
    .split(/^#+ /m)
    .map((part): [string, string] => {
      const [title = ''] = part.split('\n');
      return [title.replaceAll('`', '').replace(/^postrider /, ''), part];
    }),
);

const ALWAYS = new Set(['--config', '--json', '--help']);

/** What is wrong with a command as a sentence writes it; null when nothing is. */
function faultOf(words: readonly string[]): string | null {
  const [name = '', action = ''] = words;
  const entry = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (entry === undefined) return `no command ${name}`;
  if (isGroup(entry) && /^[a-z-]+$/.test(action) && !Object.hasOwn(entry.actions, action)) {
    return `no action ${name} ${action}`;
  }
  const path = isGroup(entry) ? `${name} ${action}` : name;
  const known = OPTIONS.get(path) ?? '';
  const unknown = words
    .filter((word) => word.startsWith('--') && !ALWAYS.has(word))
    .find((option) => !known.includes(option));
  return unknown === undefined ? null : `${path} has no ${unknown}`;
}

/** Words that follow a name in a sentence and are no part of it. */
const PROSE = /^(?:is|was|has|and|for|of|the|command|commands|does|itself|on|in|at|or|to)$/;

const NAMED = TEXTS.flatMap(({ file, text }) =>
  Array.from(
    text.matchAll(/\bpostrider ((?:-{0,2}[A-Za-z][\w-]*(?: |(?=[^\w-])|$))+)/g),
    (match) => ({
      file,
      words: (match[1] ?? '').trim().split(' '),
    }),
  ),
).filter(({ words: [first = ''] }) => /^[a-z]/.test(first) && !PROSE.test(first));

test('every command and option that a sentence names is there', () => {
  expect(NAMED.length).toBeGreaterThan(40);
  const wrong = NAMED.map(({ file, words }) => [file, faultOf(words)]).filter(
    ([, fault]) => fault !== null,
  );
  expect(wrong).toEqual([]);
});

/** Every key of the config file, by its table. */
const KEYS = new Map<string, Set<string>>();
for (const part of read('docs/configuration.md').split(/^## /m)) {
  const table = /^`\[+([\w.]+)\]+`/.exec(part)?.[1] ?? '';
  const keys = KEYS.get(table) ?? new Set();
  for (const [, key = ''] of part.matchAll(/^\| `(\w+)` \|/gm)) keys.add(key);
  KEYS.set(table, keys);
}

test('every key that a sentence names behind its table is there', () => {
  const named = TEXTS.flatMap(({ file, text }) =>
    Array.from(
      text.matchAll(/\[([a-z]\w*(?:\.\w+)?)\] ([a-z]+(?:_[a-z]+)*)\b/g),
      ([, table = '', key = '']) => ({
        file,
        table,
        key,
      }),
    ),
  );
  expect(named.length).toBeGreaterThan(20);
  const wrong = named.filter(
    ({ table, key }) => !PROSE.test(key) && KEYS.get(table)?.has(key) !== true,
  );
  expect(wrong).toEqual([]);
});

/** Words in brackets that stand for something else: what was left out, and names of form fields. */
const MARKS = new Set(['hidden', 'erased', 'record', 'name', 'search']);

test('every table that a sentence names is there', () => {
  const named = TEXTS.flatMap(({ file, text }) =>
    Array.from(
      text.matchAll(/(?:^|[ (])\[([a-z]\w*(?:\.\w+)?)\](?=[ ,.)]|$)/g),
      ([, table = '']) => ({ file, table }),
    ),
  );
  expect(named.length).toBeGreaterThan(30);
  const wrong = named.filter(({ table }) => !MARKS.has(table) && !KEYS.has(table));
  expect(wrong).toEqual([]);
});
