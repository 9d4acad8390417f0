/** The id of a call follows from event and endpoint. */
import { expect, test } from 'bun:test';

import { idTime, isId } from '../../src/base/ids.ts';
import { callId } from '../../src/store/call-id.ts';
import { newId } from '../rig/ids.ts';

test('the id of a call follows from event and endpoint, and sorts as the event does', () => {
  const [first, second] = [newId(1_000), newId(1_000)];
  const [one, two] = [newId(2_000), newId(2_000)];
  const ids = [callId(first, one), callId(first, two), callId(second, one)];
  expect(ids.every(isId)).toBe(true);
  expect(new Set(ids).size).toBe(3);
  expect(callId(first, one)).toBe(ids[0] ?? '');
  expect(ids.map(idTime)).toEqual([first, first, second].map(idTime));
  expect(ids.toSorted()[2]).toBe(ids[2] ?? '');
});
