/** How much content stays in memory: fresh bodies, messages kept for other recipients, those in use, and signers. */
import { expect, test } from 'bun:test';

import { UncomposableError } from '../../../src/mail/dkim/signed-message.ts';
import { dkimLabel } from '../../../src/flow/seal-labels.ts';
import { MIB, settled, startBounds, type Piece } from './signed-bounds.ts';

test('two hundred fresh bodies are kept, each for its first attempt; the next ones are read from the store', async () => {
  const { messages, offer, put, reads, use } = startBounds();
  for (let n = 0; n <= 200; n += 1) offer({ id: put({ id: `m${n}` }) });
  for (const id of ['m0', 'm199', 'm200']) await use(id);
  expect(reads).toEqual(['m200']);
  // Two were taken: space for two is free.
  for (const id of ['n0', 'n1', 'n2']) offer({ id: put({ id }) });
  for (const id of ['n0', 'n1', 'n2']) await messages.acquire(id);
  expect(reads).toEqual(['m200', 'n2']);
  // Taken is taken.
  await use('m0');
  expect(reads).toEqual(['m200', 'n2', 'm0']);
});

test('fresh bodies have 32 MiB in all, which those that were taken give back', async () => {
  const { offer, put, reads, use } = startBounds();
  const big: Piece = { id: 'big', content: 20 * MIB };
  const rest: Piece = { id: 'rest', content: 12 * MIB };
  const over: Piece = { id: 'over', content: 1 };
  for (const piece of [big, rest, over]) offer({ ...piece, id: put(piece) });
  await use('over');
  expect(reads).toEqual(['over']);
  await use('big');
  const next: Piece = { id: 'next', content: 20 * MIB };
  const wide: Piece = { id: 'wide', content: 20 * MIB + 1 };
  for (const piece of [wide, next]) offer({ ...piece, id: put(piece) });
  for (const id of ['rest', 'next', 'wide']) await use(id);
  expect(reads).toEqual(['over', 'wide']);
});

test('a message is kept until each of its recipients, in whatever field, has had it', async () => {
  const { put, reads, use, messages } = startBounds();
  put({ id: 'one', signed: 10 });
  put({ id: 'many', signed: 10, to: ['a', 'b'], cc: ['c'], bcc: ['d'] });
  await use('one');
  await use('one');
  expect(reads).toEqual(['one', 'one']);
  for (let use4 = 0; use4 < 4; use4 += 1) await use('many');
  expect(reads).toEqual(['one', 'one', 'many']);
  await use('many');
  expect(reads).toEqual(['one', 'one', 'many', 'many']);
  // Two at once are given the same.
  const [first, second] = await Promise.all([messages.acquire('many'), messages.acquire('many')]);
  expect(first).toBe(second);
  expect(reads).toHaveLength(4);
  messages.release('unknown');
});

test('of what nobody uses 32 MiB are kept: what was used longest ago goes, and nothing that is in use', async () => {
  const { put, reads, use, messages } = startBounds();
  const to = Array.from({ length: 9 }, (_, n) => `r${n}`);
  for (const id of ['a', 'b', 'used']) put({ id, signed: 16 * MIB, to });
  put({ id: 'tiny', signed: 1, to });
  for (const id of ['a', 'b', 'a', 'b', 'a']) await use(id);
  // Together they are exactly as much as is kept.
  expect(reads.splice(0)).toEqual(['a', 'b']);
  await messages.acquire('used');
  await use('tiny');
  expect(reads.splice(0)).toEqual(['used', 'tiny']);
  await use('a');
  await use('tiny');
  expect(reads.splice(0)).toEqual([]);
  await use('b');
  // It came back in the position of the one that was used longest ago.
  expect(reads.splice(0)).toEqual(['b']);
  await use('b');
  await use('tiny');
  expect(reads.splice(0)).toEqual([]);
  await use('a');
  expect(reads.splice(0)).toEqual(['a']);
  await messages.acquire('used');
  expect(reads).toEqual([]);
});

/** Which of `ids` are ready, of those asked for in this order while `user` bytes are in use. */
async function readyBeside(user: number, pieces: Piece[]) {
  const bench = startBounds();
  bench.put({ id: 'user', signed: user });
  await bench.messages.acquire('user');
  const ready: string[] = [];
  const work = pieces.map(async (piece) => {
    await bench.messages.acquire(bench.put(piece)).catch(() => undefined);
    ready.push(piece.id);
  });
  await settled();
  return { ...bench, ready, all: Promise.all(work) };
}

test('what is in use and three times the next content may be 96 MiB, exactly; small content never waits', async () => {
  const next = { id: 'next', content: MIB, signed: 1 };
  expect((await readyBeside(93 * MIB, [next])).ready).toEqual(['next']);
  expect((await readyBeside(93 * MIB + 1, [next])).ready).toEqual([]);
  expect((await readyBeside(112 * MIB, [{ id: 'small', content: 21_845 }])).ready).toEqual([
    'small',
  ]);
  expect((await readyBeside(112 * MIB, [{ id: 'more', content: 21_846 }])).ready).toEqual([]);
  // Beside nothing, anything goes.
  expect((await readyBeside(0, [{ id: 'huge', content: 500 * MIB }])).ready).toEqual(['huge']);
});

test('beside all that one account may have in use others have 48 MiB together, exactly', async () => {
  const of = (accountId: string, content: number): Piece => ({
    id: `${accountId} ${content}`,
    accountId,
    content,
    signed: 1,
  });
  expect((await readyBeside(96 * MIB, [of('b', 16 * MIB)])).ready).toEqual([`b ${16 * MIB}`]);
  expect((await readyBeside(96 * MIB, [of('b', 16 * MIB + 1)])).ready).toEqual([]);
  // The first one of an account is bound by all that is in use alone, the next one by what its account has, too.
  const first = of('b', 47 * MIB);
  expect((await readyBeside(3 * MIB, [first])).ready).toEqual([first.id]);
  expect((await readyBeside(3 * MIB + 1, [first])).ready).toEqual([]);
  const [next, more] = [of('acc', 31 * MIB), of('acc', 31 * MIB + 1)];
  expect((await readyBeside(3 * MIB, [next])).ready).toEqual([next.id]);
  expect((await readyBeside(3 * MIB, [more])).ready).toEqual([]);
});

test('what is not large has 16 MiB more, of its account and of all', async () => {
  const half = MIB / 2;
  const beside = async (user: number, content: number, accountId: string): Promise<unknown> =>
    (await readyBeside(user * MIB, [{ id: 'next', accountId, content, signed: 1 }])).ready.length;
  // Three times as much, and as large as a message that is not large may be.
  const most = half - 1;
  expect(await Promise.all([beside(95, half, 'acc'), beside(95, most, 'acc')])).toEqual([0, 1]);
  expect(await Promise.all([beside(110.5, most, 'acc'), beside(111, most, 'acc')])).toEqual([1, 0]);
  expect(await Promise.all([beside(143, half, 'b'), beside(143, most, 'b')])).toEqual([0, 1]);
  expect(await Promise.all([beside(158.5, most, 'b'), beside(159, most, 'b')])).toEqual([1, 0]);
});

test('large messages that wait keep no others of their account waiting', async () => {
  const { messages, ready, all } = await readyBeside(95 * MIB, [
    { id: 'beside', signed: 17 * MIB, accountId: 'acc', content: 1 },
    { id: 'large', content: MIB },
    { id: 'other', content: MIB / 4 },
  ]);
  expect(ready).toEqual(['beside']);
  messages.release('beside');
  await settled();
  expect(ready).toEqual(['beside', 'other']);
  messages.release('user');
  await all;
  expect(ready).toEqual(['beside', 'other', 'large']);
});

test('what waits of one account keeps nothing of another waiting', async () => {
  const { messages, ready, reads, all } = await readyBeside(90 * MIB, [
    { id: 'other', signed: 50 * MIB, accountId: 'b' },
    { id: 'a1', content: 30 * MIB },
    { id: 'a2', content: 2 * MIB },
    { id: 'b1', content: 10 * MIB, accountId: 'b' },
    { id: 'c1', content: 2 * MIB, accountId: 'c' },
  ]);
  expect([ready, reads.splice(0)]).toEqual([['other'], ['user', 'other', 'a1', 'a2', 'b1', 'c1']]);
  messages.release('other');
  await settled();
  // Of account acc nothing fits, the second one no sooner than the first.
  expect(ready).toEqual(['other', 'b1', 'c1']);
  messages.release('user');
  await all;
  expect(ready).toEqual(['other', 'b1', 'c1', 'a1', 'a2']);
});

test('what waits is read again and made in its order once there is free space, also where the one before it failed', async () => {
  const { messages, ready, reads, all } = await readyBeside(90 * MIB, [
    { id: 'x', content: 30 * MIB, signed: 30 * MIB },
    { id: 'y', content: 3 * MIB, domainId: null },
    { id: 'z', content: 22 * MIB, signed: MIB },
    { id: 'huge', content: 100 * MIB },
    { id: 'last', content: 3 * MIB },
  ]);
  expect(ready).toEqual([]);
  expect(reads.splice(0)).toEqual(['user', 'x', 'y', 'z', 'huge', 'last']);
  messages.release('user');
  await settled();
  // 90 MiB while it was made, 30 MiB now; the one that failed has given back its own: 66 MiB more are exactly all.
  expect(ready).toEqual(['x', 'y', 'z']);
  expect(reads.splice(0)).toEqual(['x', 'y', 'z']);
  messages.release('y');
  messages.release('x');
  await settled();
  // Nobody passes the one that is first, and that one waits until nothing is in use.
  expect(reads.splice(0)).toEqual([]);
  messages.release('z');
  await all;
  expect(ready).toEqual(['x', 'y', 'z', 'huge', 'last']);
});

test('all that fit beside each other are made as soon as there is space, and none is read before', async () => {
  const three = ['a', 'b', 'c'].map((id) => ({ id, content: 10 * MIB, signed: 10 * MIB }));
  const { messages, put, ready, reads } = await readyBeside(90 * MIB, three);
  expect([ready, reads.splice(0)]).toEqual([[], ['user', 'a', 'b', 'c']]);
  // A small one comes and goes: there is no more space than before.
  await messages.acquire(put({ id: 'small' }));
  messages.release('small');
  await settled();
  expect([ready, reads.splice(0)]).toEqual([[], ['small']]);
  messages.release('user');
  await settled();
  expect([ready, reads]).toEqual([
    ['a', 'b', 'c'],
    ['a', 'b', 'c'],
  ]);
});

test('a message that two use is in use until both have given it back', async () => {
  const { messages, put } = startBounds();
  put({ id: 'both', signed: 96 * MIB, to: ['a', 'b', 'c'] });
  await Promise.all([messages.acquire('both'), messages.acquire('both')]);
  let isReady = false;
  const next = messages.acquire(put({ id: 'next', content: MIB })).then(() => (isReady = true));
  messages.release('both');
  await settled();
  expect(isReady).toBe(false);
  messages.release('both');
  await next;
});

test('whoever asks is told once it waits for memory, or for another that has asked, and for nothing else', async () => {
  const { messages, put } = startBounds();
  const told: string[] = [];
  const ask = (id: string) => messages.acquire(id, () => void told.push(id));
  await ask(put({ id: 'user', signed: 112 * MIB }));
  await ask(put({ id: 'small' }));
  const next = ask(put({ id: 'next', content: MIB / 5 }));
  await settled();
  expect(told).toEqual(['next']);
  const again = ask('next');
  expect(told).toEqual(['next', 'next']);
  messages.release('user');
  await Promise.all([next, again]);
  expect(told).toEqual(['next', 'next']);
});

test('content is read one message after the other, so that each is counted before the next', async () => {
  const { messages, put, state } = startBounds();
  for (const id of ['a', 'b', 'c']) put({ id });
  await Promise.all(['a', 'gone', 'b', 'c'].map((id) => messages.acquire(id).catch(() => null)));
  expect(state.readingMost).toBe(1);
});

test.each([
  ['its content is gone', 'gone', undefined],
  ['it has no sending domain', 'orphan', null],
])('a message that fails with "%s" gives back what it took', async (cause, id, domainId) => {
  const { messages, put } = startBounds();
  if (domainId === null) put({ id, content: 40 * MIB, domainId });
  for (let time = 0; time < 3; time += 1) {
    expect(await messages.acquire(id).catch(String)).toBe(`UncomposableError: ${cause}`);
    messages.release(id);
  }
  put({ id: 'user', signed: 93 * MIB });
  await messages.acquire('user');
  put({ id: 'next', content: MIB });
  expect((await messages.acquire('next')).domain).toBe('dom.example');
});

test('what is only kept counts for nothing in use, and what was dropped gives back its bytes', async () => {
  const { messages, put, use } = startBounds();
  const to = ['a', 'b', 'c'];
  for (let n = 0; n < 8; n += 1) await use(put({ id: `k${n}`, signed: 16 * MIB, to }));
  put({ id: 'user', signed: 93 * MIB });
  await messages.acquire('user');
  put({ id: 'next', content: MIB });
  await messages.acquire('next');
  messages.release('next');
  // One that was kept is in use again, and counts.
  await messages.acquire('k7');
  let isReady = false;
  const last = messages.acquire(put({ id: 'last', content: MIB })).then(() => (isReady = true));
  await settled();
  expect(isReady).toBe(false);
  messages.release('k7');
  await last;
});

test('500 signers are kept for a minute, each made with the key of its domain', async () => {
  const { asked, clock, put, signers, use } = startBounds();
  const useDomain = async (domainId: string): Promise<void> =>
    use(put({ id: `of-${domainId}`, domainId }));
  await useDomain('d0');
  expect(asked).toEqual({
    domains: ['d0'],
    opened: [['sealed-d0', dkimLabel('d0')]],
    identities: [{ domain: 'd0.example', selector: 's-d0', privateKeyPem: 'PEM' }],
  });
  for (let n = 1; n < 500; n += 1) await useDomain(`d${n}`);
  clock.pass(60_000);
  for (const domain of ['d0', 'd499']) await useDomain(domain);
  expect(signers.splice(0)).toHaveLength(500);
  // One more, and all begin anew.
  for (const domain of ['d500', 'd500', 'd0', 'd0']) await useDomain(domain);
  expect(signers.splice(0)).toEqual(['d500', 'd0']);
  clock.pass(1);
  await useDomain('d0');
  clock.pass(60_000);
  await useDomain('d0');
  clock.pass(1);
  await useDomain('d0');
  expect(signers).toEqual(['d0', 'd0']);
});

test('a signer that could not be made is tried again for the next message', async () => {
  const { messages, put, signers, state } = startBounds();
  state.isDomainGone = true;
  put({ id: 'm' });
  expect(await messages.acquire('m').catch(String)).toBe('Error: the sending domain is gone');
  messages.release('m');
  state.isDomainGone = false;
  expect((await messages.acquire('m')).domain).toBe('dom.example');
  expect(signers).toEqual(['dom', 'dom']);
});

const ASCII = 'From: a@acme.example\r\n\r\ntext\r\n';
const BODY_8 = 'From: a@acme.example\r\n\r\nté\r\n';
const HEADER_8 = 'From: é@acme.example\r\n\r\ntext\r\n';

test.each([
  ['ASCII', ASCII, { needs: false, inAscii: false }],
  ['8-bit text', BODY_8, { needs: false, inAscii: true }],
  ['8-bit header', HEADER_8, { needs: true, inAscii: true }],
  ['8-bit header alone', 'From: é@acme.example\r\n', { needs: true, inAscii: true }],
])('what a message needs of a receiver: %s', async (_what, text, expected) => {
  const { messages, put, state } = startBounds();
  state.sign = async () => ({ message: Buffer.from(text), data: null, dotted: null });
  const signed = await messages.acquire(put({ id: 'm' }));
  expect({ needs: signed.needsSmtpUtf8, inAscii: signed.inAscii !== null }).toEqual(expected);
  expect(signed.outgoing.bytes.toString()).toBe(text);
  expect([signed.message.id, signed.domain]).toEqual(['m', 'dom.example']);
});

test('the form in ASCII is asked for with the same content; without one there is none', async () => {
  const { messages, put, state, contents } = startBounds();
  const answers = [HEADER_8, ASCII, HEADER_8, BODY_8, HEADER_8, HEADER_8];
  state.sign = async () => ({
    message: Buffer.from(answers.shift() ?? ''),
    data: null,
    dotted: null,
  });
  const whole = await messages.acquire(put({ id: 'whole' }));
  expect((await whole.inAscii?.())?.message.toString()).toBe(ASCII);
  expect(contents[0]).toMatchObject({
    kind: 'whole',
    feedbackField: expect.stringMatching(/^Feedback-ID: \S+:acc:dom:north\.example/),
  });
  expect(contents[1]).toEqual({ ...contents[0], mustBeAscii: true } as never);
  const parts = await messages.acquire(put({ id: 'parts', body: { raw: null, text: 'x' } }));
  expect((await parts.inAscii?.())?.message.toString()).toBe(BODY_8);
  const [, , first, second] = contents;
  if (first?.kind !== 'parts') throw new Error('no parts');
  expect(second).toEqual({ ...first, input: { ...first.input, mayUseUtf8: false } });
  const never = await messages.acquire(put({ id: 'never', body: { raw: null, text: 'x' } }));
  expect(await never.inAscii?.()).toBeNull();
  state.sign = async () => {
    throw new UncomposableError('no');
  };
  expect(await whole.inAscii?.()).toBeNull();
  state.sign = async () => {
    throw new Error('no thread');
  };
  expect(await whole.inAscii?.().catch(String)).toBe('Error: no thread');
});

test('a text part is asked for where there is html alone and the config wants one', async () => {
  const { messages, put, state, contents } = startBounds();
  const bodies = [
    { html: '<p>', text: null },
    { html: '<p>', text: '' },
    { html: null, text: 'x' },
    { html: null, text: null },
  ];
  for (const textFromHtml of [true, false]) {
    state.textFromHtml = textFromHtml;
    for (const [n, body] of bodies.entries()) {
      await messages.acquire(put({ id: `${textFromHtml}${n}`, body: { raw: null, ...body } }));
    }
  }
  expect(contents.map((content) => Object.keys(content).join(' '))).toEqual([
    'kind input isTextWanted',
    ...Array.from({ length: 7 }, () => 'kind input'),
  ]);
  expect(contents[0]).toMatchObject({ isTextWanted: true });
});
