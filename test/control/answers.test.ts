/** Every control operation with each of its answers, as they stand in answers.txt. */
import { beforeAll, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';

import { Value } from '@sinclair/typebox/value';

import { OPERATIONS } from '../../src/control/operations.ts';
import type { OperationName } from '../../src/control/operations.ts';
import { SuppressionList } from '../../src/control/suppressions.ts';
import { STEPS } from './answers-steps.ts';
import { type Answer, answers, FILE } from './answers.ts';

let seen: Answer[];
beforeAll(async () => {
  seen = await answers();
}, 60_000);

test.each(STEPS.map(({ name, args }, at) => [at, name, JSON.stringify(args)] as const))(
  '%d: %s %s',
  (at) => {
    const blocks = readFileSync(FILE, 'utf8').split(/\n(?=> )/);
    // When this fails and the change is meant: bun test/control/answers.ts, and read the difference.
    expect(seen[at]?.text).toBe(blocks[at] ?? '');
    expect(blocks).toHaveLength(seen.length);
  },
);

test('every operation is among them, but for the copying of all data, which is tried on its own', () => {
  const tried = new Set(STEPS.map(({ name }) => name));
  expect(Object.keys(OPERATIONS).filter((name) => !tried.has(name))).toEqual(['backup']);
});

/** Where a value has a field that may go, or may be of another kind, by `isTaken`; positions of lists are left out. */
function loose(value: unknown, isTaken: (changed: unknown) => boolean): string[] {
  const found = new Set<string>();
  const look = (at: unknown, path: string, put: (changed: unknown) => unknown): void => {
    if (typeof at !== 'object' || at === null) {
      if (isTaken(put({}))) found.add(`${path} is anything`);
      return;
    }
    // Of a long list its first rows are enough.
    for (const [key, one] of Object.entries(at).slice(0, Array.isArray(at) ? 3 : undefined)) {
      const name = Array.isArray(at) ? path : `${path}.${key}`;
      const others = Object.entries(at).filter(([other]) => other !== key);
      const without = Object.fromEntries(others);
      if (!Array.isArray(at) && isTaken(put(without))) found.add(`${name} is absent`);
      look(one, name, (changed) =>
        put(
          Array.isArray(at)
            ? at.map((each: unknown, position) => (String(position) === key ? changed : each))
            : { ...at, [key]: changed },
        ),
      );
    }
  };
  look(value, '', (changed) => changed);
  return [...found];
}

test('a result with a field that is absent or of another kind is refused, field by field', () => {
  const taken = new Set<string>();
  for (const { name, value, chunks } of seen) {
    if (value === undefined) continue;
    const operation = OPERATIONS[name as OperationName];
    expect(operation.readResult(value) as unknown).toEqual(value);
    const isTaken = (changed: unknown): boolean => {
      try {
        operation.readResult(changed);
        return true;
      } catch {
        return false;
      }
    };
    for (const field of loose(value, isTaken)) taken.add(`${name} ${field}`);
    if (name !== 'suppression.list') continue;
    for (const text of chunks) {
      expect(loose(JSON.parse(text), (changed) => Value.Check(SuppressionList, changed))).toEqual(
        [],
      );
    }
  }
  // No command reads them.
  expect([...taken]).toEqual([
    'email.list .emails.eventHeaders is absent',
    'email.show .message.eventHeaders is absent',
    'queue.show .message.eventHeaders is absent',
  ]);
}, 60_000);
