/** Large messages on their thread: what comes out is what the calling thread would have made, and a death is survived. */
import { afterEach, expect, spyOn, test } from 'bun:test';

import { createHash } from 'node:crypto';
import type { ApiError } from '../../../src/base/errors.ts';
import { createLog } from '../../../src/base/log.ts';
import { Packer, Unpacker } from '../../../src/base/packing.ts';
import type { Packed } from '../../../src/base/packing.ts';
import { compose } from '../../../src/mail/compose/compose.ts';
import type { ComposeInput } from '../../../src/mail/compose/compose.ts';
import { makeFileBytes } from '../../../src/mail/compose/file-content.ts';
import { repairSubmission } from '../../../src/mail/compose/repair.ts';
import { LargeMessages, startLargeWorker } from '../../../src/mail/large/large-messages.ts';
import { perform } from '../../../src/mail/large/large-tasks.ts';
import { readContent } from '../../../src/mail/large/stored-content.ts';
import { withInlineImages } from '../../../src/mail/mime/message-parts.ts';

const DEFAULTS = { messageId: '<1@mail.example>', date: new Date(0), ownNames: [] };
const HEAD = 'From: a@sender.example\r\nTo: b@receiver.example\r\nX-Own: yes\r\n';

const opened: LargeMessages[] = [];
afterEach(() => {
  for (const one of opened.splice(0)) one.stop();
});

function open(): { large: LargeMessages; workers: Worker[]; logged: Record<string, unknown>[] } {
  const logged: Record<string, unknown>[] = [];
  const workers: Worker[] = [];
  const log = createLog(
    (line) => logged.push(JSON.parse(line) as Record<string, unknown>),
    () => 0,
  );
  const large = new LargeMessages({ log }, () => {
    const worker = startLargeWorker();
    workers.push(worker);
    return worker;
  });
  opened.push(large);
  return { large, workers, logged };
}

/** With a line that has to be encoded anew, an attachment, and an idempotency key. */
function message(bytes: number): Buffer {
  const file = Buffer.from('a file\0').toString('base64');
  return Buffer.from(
    `${HEAD}Idempotency-Key: k\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n` +
      `--b\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n${'ü'.repeat(bytes / 2)}\r\n` +
      `--b\r\nContent-Type: application/pdf\r\nContent-Transfer-Encoding: base64\r\n` +
      `Content-Disposition: attachment; filename=a.pdf\r\n\r\n${file}\r\n--b--\r\n`,
  );
}

test('a large submission is repaired, and a large message read, as on the calling thread', async () => {
  const { large, workers } = open();
  const expected = repairSubmission(message(400_000), DEFAULTS);
  const repaired = await large.repair([message(400_000)], DEFAULTS);
  expect(repaired).toEqual(expected);
  if ('error' in repaired) throw new Error(repaired.error);
  expect(Buffer.isBuffer(repaired.bytes)).toBe(true);
  const read = await large.read(repaired.bytes);
  expect(read).toEqual(readContent(repaired.bytes));
  expect(read.attachments[0]?.content.toString()).toBe('a file\0');
  expect(read.headers).toEqual([['X-Own', 'yes']]);
  // Nothing was taken from the caller, who goes on with what it has.
  expect(repaired.bytes.length).toBeGreaterThan(400_000);
  expect(workers).toHaveLength(1);
  expect(await large.repair([Buffer.alloc(300_000, 'x\r\n')], DEFAULTS)).toEqual({
    error: 'has too large a header',
  });
});

test('a submission with a memory of its own is handed over, one inside of another memory is copied', async () => {
  const { large } = open();
  const own = Buffer.from(new Uint8Array(message(300_000)).buffer);
  expect(own.buffer.byteLength).toBe(own.length);
  const repaired = await large.repair([own], DEFAULTS);
  expect(own.length).toBe(0);
  const around = Buffer.concat([Buffer.from('in front '), message(300_000)]);
  const before = Buffer.from(around);
  const inside = around.subarray('in front '.length);
  expect(await large.repair([inside], DEFAULTS)).toEqual(repaired);
  // What else lies in that memory may belong to another session.
  expect(around.equals(before)).toBe(true);
});

test.each([2_000, 300_000])(
  'a submission of %i bytes in parts is read as a whole',
  async (size) => {
    const { large, workers } = open();
    const whole = message(size);
    const cuts = [0, 1, 700, Math.floor(size / 2), whole.length];
    const parts = cuts.slice(1).map((end, at) => Buffer.from(whole.subarray(cuts[at], end)));
    expect(await large.repair(parts, DEFAULTS)).toEqual(repairSubmission(whole, DEFAULTS));
    expect(workers).toHaveLength(size === 2_000 ? 0 : 1);
  },
);

test('a small one needs no thread', async () => {
  const { large, workers } = open();
  const repaired = await large.repair([message(2_000)], DEFAULTS);
  expect(repaired).toEqual(repairSubmission(message(2_000), DEFAULTS));
  expect(await large.read(message(2_000))).toEqual(readContent(message(2_000)));
  expect(workers).toEqual([]);
});

test('a thread that dies fails what it had, says so, and the next message starts another', async () => {
  const { large, workers, logged } = open();
  const first = large.read(message(10_000_000));
  const second = large.read(message(300_000));
  workers[0]?.terminate();
  for (const one of [first, second]) {
    expect(await one.catch(String)).toBe('Error: the thread for large messages ended');
  }
  expect(logged).toMatchObject([
    { event: 'large_message_thread_died', level: 'warn', unfinished: 2 },
  ]);
  expect(await large.read(message(300_000))).toEqual(readContent(message(300_000)));
  expect(workers).toHaveLength(2);
});

test('what is under way at the end rejects, which is no death to warn of', async () => {
  const { large, workers, logged } = open();
  const underWay = large.read(message(300_000)).catch(String);
  const closed = new Promise<void>((resolve) => {
    workers[0]?.addEventListener('close', () => resolve());
  });
  large.stop();
  expect(await underWay).toBe('Error: the thread for large messages ended');
  await closed;
  expect(logged).toEqual([]);
});

test('after the end no thread is started', async () => {
  const { large, workers } = open();
  large.stop();
  expect(await large.read(message(300_000))).toEqual(readContent(message(300_000)));
  expect(workers).toEqual([]);
});

test('from 256 KiB on a message goes to the thread, and what the thread cannot do rejects in its words', async () => {
  const posted: { ticket: number; kind: string }[] = [];
  const marks: string[] = [];
  const unpacker = new Unpacker();
  const worker = Object.assign(new EventTarget(), {
    postMessage: (one: Packed) =>
      void posted.push(unpacker.unpack(one) as { ticket: number; kind: string }),
    ref: () => void marks.push('ref'),
    unref: () => void marks.push('unref'),
    terminate: () => void marks.push('terminate'),
  });
  const log = createLog(
    () => undefined,
    () => 0,
  );
  const large = new LargeMessages({ log }, () => worker as unknown as Worker);
  const { messageId } = DEFAULTS;
  const sized = (bytes: number): Buffer => Buffer.from(`${HEAD}\r\n`.padEnd(bytes, 'x'));
  expect(await large.repair([sized(262_143)], DEFAULTS)).toMatchObject({ messageId });
  expect([posted, marks]).toEqual([[], []]);
  const waiting = [large.repair([sized(262_144)], DEFAULTS), large.read(sized(262_144))];
  const ends = Promise.all(waiting.map((one) => one.catch((error: unknown) => String(error))));
  expect(posted.map(({ ticket, kind }) => `${ticket} ${kind}`)).toEqual(['1 repair', '2 read']);
  expect(marks).toEqual(['unref', 'ref']);
  const packer = new Packer();
  const answer = (outcome: object) =>
    worker.dispatchEvent(new MessageEvent('message', { data: packer.pack(outcome) }));
  answer({ ticket: 2, error: 'no memory' });
  expect(marks).toEqual(['unref', 'ref']);
  answer({ ticket: 1, output: { error: 'is odd' } });
  expect(marks).toEqual(['unref', 'ref', 'unref']);
  expect(await ends).toEqual([{ error: 'is odd' }, 'Error: no memory']);
  large.stop();
  expect(marks).toEqual(['unref', 'ref', 'unref', 'unref', 'terminate']);
});

test('a death is told in 500 characters of its words, once, and only that of the thread in use', async () => {
  const threads: EventTarget[] = [];
  const marks: string[] = [];
  const logged: Record<string, unknown>[] = [];
  const log = createLog(
    (line) => logged.push(JSON.parse(line) as Record<string, unknown>),
    () => 0,
  );
  const large = new LargeMessages({ log }, () => {
    const at = threads.length;
    const thread = Object.assign(new EventTarget(), {
      postMessage: () => void marks.push(`post ${at}`),
      ref: () => void marks.push(`ref ${at}`),
      unref: () => void marks.push(`unref ${at}`),
      terminate: () => void marks.push(`terminate ${at}`),
    });
    threads.push(thread);
    return thread as unknown as Worker;
  });
  const big = Buffer.alloc(262_144, 'x');
  const first = large.read(big).catch(String);
  threads[0]?.dispatchEvent(new ErrorEvent('error', { message: 'w'.repeat(600) }));
  threads[0]?.dispatchEvent(new Event('close'));
  expect(await first).toBe('Error: the thread for large messages ended');
  const second = large.read(big).catch(String);
  // The first one's end is no news, and no answer of it means anything.
  threads[0]?.dispatchEvent(new Event('close'));
  const late = new Packer().pack({ ticket: 1, error: 'late' });
  threads[0]?.dispatchEvent(new MessageEvent('message', { data: late }));
  threads[1]?.dispatchEvent(new Event('close'));
  expect(await second).toBe('Error: the thread for large messages ended');
  const told = {
    time: expect.any(String) as string,
    level: 'warn',
    event: 'large_message_thread_died',
    unfinished: 1,
    hint: 'What was under way failed for its clients, and the next large message starts another thread. If this repeats, look for a lack of memory.',
  };
  expect(logged).toEqual([
    { ...told, cause: 'w'.repeat(500) },
    { ...told, cause: 'the thread ended' },
  ]);
  large.stop();
  large.stop();
  expect(marks.filter((mark) => !mark.startsWith('unref'))).toEqual([
    'ref 0',
    'post 0',
    'ref 1',
    'post 1',
  ]);
});

test('a large body is read as on the calling thread, its files as bytes, and its memory is taken', async () => {
  const { large, workers } = open();
  const content = Buffer.alloc(300_000, 'file').toString('base64');
  const text = JSON.stringify([
    { subject: 'ü', html: 'h'.repeat(300_000), attachments: [{ filename: 'a', content }] },
    { subject: 'b', attachments: [{ filename: 'b', content: [1, 2, 3] }] },
  ]);
  const parts = [Buffer.from(new Uint8Array(Buffer.from(text)).buffer)];
  const { value, hash } = await large.parse(parts);
  expect(workers).toHaveLength(1);
  expect(parts[0]).toHaveLength(0);
  expect(hash).toBe(createHash('sha256').update(text).digest('hex'));
  // In one part or several: neither those nor what they make together is left to the collector.
  const bytes = Buffer.from(text);
  for (const cuts of [[bytes.length], [300_000, bytes.length]]) {
    const pieces = cuts.map((end, at) =>
      Buffer.from(new Uint8Array(bytes.subarray(cuts[at - 1] ?? 0, end)).buffer),
    );
    const joined = spyOn(Buffer, 'concat');
    expect(await perform('parse', { parts: pieces })).toEqual({ value, hash });
    const whole = joined.mock.results.map((one) => one.value as Buffer);
    joined.mockRestore();
    expect(new Set([...pieces, ...whole].map(({ length }) => length))).toEqual(new Set([0]));
  }
  const expected = JSON.parse(text) as { attachments: { content: unknown }[] }[];
  makeFileBytes(expected);
  expect(value).toEqual(expected);
});

test('a large body that is refused is refused in the same words on any thread', async () => {
  const { large, workers } = open();
  const padding = ' '.repeat(300_000);
  const refusal = (parts: Buffer[]): Promise<unknown> =>
    large.parse(parts).catch(({ status, code, message, detail }: ApiError) => {
      return { status, code, message, detail };
    });
  for (const [body, status] of [
    ['{"a":1,"a":2}', 422],
    ['{"a":', 400],
    [Buffer.from([0x22, 0xff, 0x22]), 400],
    ['[12345678901234567890,{"__proto__":1}]', 422],
  ] as const) {
    const [small, big] = [
      Buffer.from(body),
      Buffer.concat([Buffer.from(body), Buffer.from(padding)]),
    ];
    const refused = await refusal([big]);
    expect(refused).toEqual(await refusal([small]));
    expect(refused).toMatchObject({ status, code: 'validation_failed' });
  }
  expect(workers).toHaveLength(1);
});

const INPUT: ComposeInput = {
  from: 'a@sender.example',
  to: ['b@receiver.example'],
  cc: [],
  replyTo: [],
  subject: 'Grüße',
  html: null,
  text: null,
  headers: [['X-Own', 'yes']],
  attachments: [],
  messageId: '<1@mail.example>',
  date: new Date(86_400_000),
  feedbackId: null,
};

function file(bytes: number): ComposeInput['attachments'][number] {
  const content = new Uint8Array(bytes).fill(7);
  return { filename: 'ü.png', contentType: 'image/png', contentId: 'logo', content };
}

test.each<[of: string, bytes: number, change: Partial<ComposeInput>]>([
  ['html', 262_144, { html: 'ü'.repeat(262_144) }],
  ['text', 262_144, { text: 'ü'.repeat(262_144) }],
  ['files', 262_144, { html: '<p>', attachments: [file(131_072), file(131_069)] }],
  ['html and text', 262_144, { html: 'a\n'.repeat(65_536), text: 'b'.repeat(131_072) }],
  ['html and text, one character less', 262_143, { html: 'a', text: 'b'.repeat(262_142) }],
])(
  'a message of %s is written for a look at it on the thread from 256 KiB on',
  async (_, bytes, change) => {
    const { large, workers } = open();
    const message = { ...INPUT, ...change };
    const written = await large.compose(message, false);
    expect(workers).toHaveLength(bytes >= 262_144 ? 1 : 0);
    expect(Buffer.isBuffer(written)).toBe(true);
    expect(written?.equals(await compose(message))).toBe(true);
  },
);

test('a text part that is made of html counts eight times', async () => {
  const { large, workers } = open();
  const small = { ...INPUT, html: '<p>hello</p>'.padEnd(32_767, ' ') };
  const text = (await large.compose(small, true))?.toString();
  expect(text).toContain('text/plain');
  expect(workers).toHaveLength(0);
  const more = { ...small, html: `${small.html} ` };
  expect((await large.compose(more, false))?.toString()).not.toContain('text/plain');
  expect(workers).toHaveLength(0);
  expect((await large.compose(more, true))?.toString().split('\r\n\r\n', 2)[1]).toBe(
    text?.split('\r\n\r\n', 2)[1],
  );
  expect(workers).toHaveLength(1);
});

test('a message that can never be written is null, on any thread; a thread that dies is no such message', async () => {
  const { large, workers } = open();
  const broken = { ...INPUT, subject: 'a\nb' };
  expect(await large.compose(broken, false)).toBeNull();
  expect(workers).toHaveLength(0);
  expect(await large.compose({ ...broken, text: 'x'.repeat(300_000) }, false)).toBeNull();
  expect(workers).toHaveLength(1);
  const underWay = large.compose({ ...INPUT, text: 'x'.repeat(300_000) }, false).catch(String);
  workers[0]?.terminate();
  expect(await underWay).toBe('Error: the thread for large messages ended');
});

test.each([2_000, 262_132, 262_133])(
  'an image of %i bytes is put into the html that names it, on the thread from 256 KiB on',
  async (bytes) => {
    const { large, workers } = open();
    const image = file(bytes);
    const html = '<a>cid:logo';
    const parts = [{ ...image, byteLength: bytes, content: () => Buffer.from(image.content) }];
    const expected = withInlineImages(html, parts);
    expect(expected.length).toBeGreaterThan(bytes);
    expect((await large.inline(html, [image])) === expected).toBe(true);
    expect(workers).toHaveLength(html.length + bytes >= 262_144 ? 1 : 0);
  },
);

test('the thread that comes after a dead one is told all it needs to know', async () => {
  const { large, workers } = open();
  const message = { ...INPUT, text: 'x'.repeat(300_000) };
  const expected = await compose(message);
  for (let at = 0; at < 2; at += 1) {
    expect((await large.compose(message, false))?.equals(expected)).toBe(true);
    expect((await large.compose(message, false))?.equals(expected)).toBe(true);
    const closed = new Promise<void>((resolve) => {
      workers[at]?.addEventListener('close', () => resolve());
    });
    workers[at]?.terminate();
    await closed;
  }
  expect(workers).toHaveLength(2);
});

test.each([300, 300_000])('bytes of %i characters become text', async (length) => {
  const { large, workers } = open();
  const text = 'ü€😀'.repeat(length / 4).padEnd(length, 'x');
  const bytes = Buffer.from(text);
  expect((await large.decode(bytes)) === text).toBe(true);
  expect(bytes.toString() === text).toBe(true);
  expect(workers).toHaveLength(length > 1_000 ? 1 : 0);
});
