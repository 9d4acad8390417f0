/** Small messages beside large ones: what is at hand waits for no read, and no attempt waits for one that reads or signs long. */
import { expect, test } from 'bun:test';

import { BytesInUse } from '../../../src/flow/deliver/bytes-in-use.ts';
import { MIB, settled, startBounds } from './signed-bounds.ts';

/** Bytes of content from which on a message has a thread that signs it alone. */
const LARGE = 256 * 1024;

test('a message whose content is at hand waits for no read of another', async () => {
  const { messages, put, offer, reads, state } = startBounds();
  const read = Promise.withResolvers<void>();
  state.readEnds.set(put({ id: 'stored', content: MIB }), read.promise);
  const stored = messages.acquire('stored');
  await settled();
  offer({ id: 'fresh' });
  offer({ id: 'large', content: 10 * MIB });
  expect((await messages.acquire('fresh')).message.id).toBe('fresh');
  expect((await messages.acquire('large')).message.id).toBe('large');
  expect(reads).toEqual(['stored']);
  read.resolve();
  await stored;
});

test('one at hand that does not fit waits, and is read from the store then', async () => {
  const { messages, put, offer, reads } = startBounds();
  put({ id: 'user', signed: 96 * MIB });
  await messages.acquire('user');
  offer({ id: put({ id: 'fresh', content: MIB }), content: MIB });
  let isReady = false;
  const fresh = messages.acquire('fresh').then(() => (isReady = true));
  await settled();
  expect([isReady, reads]).toEqual([false, ['user']]);
  messages.release('user');
  await fresh;
  expect(reads).toEqual(['user', 'fresh']);
});

test('whoever begins to wait when all has ended meanwhile goes on at once', async () => {
  const inUse = new BytesInUse();
  inUse.add('a', 96 * MIB);
  expect(inUse.isFree('a', 3 * MIB)).toBe(false);
  inUse.add('a', -96 * MIB);
  await inUse.wait('a', 3 * MIB);
});

test.each([
  ['one byte less', LARGE - 1, []],
  ['as much', LARGE, ['told']],
])(
  'of large content it is told that no other waits for its signature: %s',
  async (_, content, told) => {
    const { messages, offer } = startBounds();
    offer({ id: 'm', content });
    const heard: string[] = [];
    await messages.acquire('m', () => void heard.push('told'));
    expect(heard).toEqual(told);
  },
);

test('while a read takes long, whoever waits for it or behind it is told so', async () => {
  const { messages, put, state } = startBounds();
  const read = Promise.withResolvers<void>();
  state.readEnds.set(put({ id: 'stored' }), read.promise);
  put({ id: 'behind' });
  const told = ['stored', 'behind'].map((id) => {
    const heard = Promise.withResolvers<void>();
    const ready = messages.acquire(id, heard.resolve);
    return { heard: heard.promise, ready };
  });
  await Promise.all(told.map(({ heard }) => heard));
  read.resolve();
  await Promise.all(told.map(({ ready }) => ready));
});
