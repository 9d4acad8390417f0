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

test('whatever the digest is, it is a UUID of version 7 and of the one variant there is', () => {
  const endpoint = newId(2_000);
  const ids = Array.from({ length: 64 }, (_, at) => callId(newId(1_000 + at), endpoint));
  // RFC 9562 section 4.1: 8, 9, a or b.
  expect(new Set(ids.map((id) => id[19]))).toEqual(new Set('89ab'));
  expect(new Set(ids.map((id) => id[14]))).toEqual(new Set('7'));
});
