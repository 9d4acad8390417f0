/** Signatures verify with two implementations that are not ours, and nothing leaves without one. */
import { expect, test } from 'bun:test';
import { generateKeyPairSync } from 'node:crypto';
import { join } from 'node:path';
import { RelaxedHash } from 'mailauth/lib/dkim/body/relaxed.js';
import { formatRelaxedLine } from 'mailauth/lib/tools.js';
import { compose } from '../../../src/mail/compose/compose.ts';
import { proveKey, verifyOwn } from '../../../src/mail/dkim/proof.ts';
import { DkimSigner, bodyHash, generateDkimKey, relaxField } from '../../../src/mail/dkim/dkim.ts';
import { randomBody, randomInput, seeded } from '../random.ts';

const DOMAIN = 'example.com';
const SELECTOR = 'pr1';
const key = await generateDkimKey();
const identity = { domain: DOMAIN, selector: SELECTOR, privateKeyPem: key.privateKeyPem };
const signer = new DkimSigner(identity);
const NAME = `${SELECTOR}._domainkey.${DOMAIN}`;
const RECORD = `v=DKIM1; k=rsa; p=${key.publicKeyBase64}`;

async function signed(message: Buffer): Promise<Buffer> {
  return Buffer.concat([Buffer.from(await signer.sign(message)), message]);
}

async function composed(seed: number): Promise<Buffer> {
  return compose(randomInput(seeded(seed), seed));
}

/** Whether each message verifies with dkimpy. */
async function verifyByDkimpy(messages: Buffer[]): Promise<unknown[]> {
  const script = join(import.meta.dir, 'verify_dkim.py');
  const child = Bun.spawn(['/usr/bin/python3', script], {
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'inherit',
  });
  for (const message of messages) {
    const line = { message: message.toString('base64'), records: { [NAME]: RECORD } };
    await child.stdin.write(`${JSON.stringify(line)}\n`);
  }
  await child.stdin.end();
  const out = await new Response(child.stdout).text();
  expect(await child.exited).toBe(0);
  return out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
}

test('100 random messages verify with dkimpy, and one changed byte does not', async () => {
  const seed = 4_000;
  const messages: Buffer[] = [];
  for (let number = 0; number < 100; number += 1) {
    messages.push(await signed(await composed(seed + number)));
  }
  const answers = await verifyByDkimpy(messages);
  expect(answers.map((answer, number) => [seed + number, answer])).toEqual(
    messages.map((_, number) => [seed + number, true]),
  );
  const changed = messages.slice(0, 10).map((message) => {
    const copy = Buffer.from(message);
    const at = copy.indexOf('Subject: ') + 9;
    copy[at] = copy[at] === 0x41 ? 0x42 : 0x41;
    return copy;
  });
  expect(await verifyByDkimpy(changed)).toEqual(changed.map(() => false));
}, 60_000);

test('the 500 messages of the round trip verify with mailauth', async () => {
  for (let seed = 20_000; seed < 20_500; seed += 1) {
    const message = await signed(await composed(seed));
    expect([seed, await verifyOwn(message, async () => [RECORD])]).toEqual([
      seed,
      { isProven: true, reason: 'pass' },
    ]);
  }
});

test('fields that occur more than once are signed from the lowest up', async () => {
  const message = Buffer.from(
    'From: a@example.com\r\nList-Id: <one>\r\nReferences: <a@x>\r\nList-Id: <two>\r\nReferences: <b@x>\r\n\r\nx\r\n',
  );
  const both = await signed(message);
  expect(await verifyByDkimpy([both])).toEqual([true]);
  expect((await verifyOwn(both, async () => [RECORD])).isProven).toBe(true);
});

test('a field added in front or behind breaks the signature', async () => {
  const message = await signed(await composed(6_000));
  for (const field of [
    'From',
    'To',
    'Cc',
    'Reply-To',
    'Subject',
    'Date',
    'Message-ID',
    'MIME-Version',
    'Content-Type',
  ]) {
    const added = `${field}: added <added@example.com>\r\n`;
    const inFront = Buffer.concat([Buffer.from(added), message]);
    const end = message.indexOf('\r\n\r\n') + 2;
    const behind = Buffer.concat([
      message.subarray(0, end),
      Buffer.from(added),
      message.subarray(end),
    ]);
    for (const bytes of [inFront, behind]) {
      expect([field, (await verifyOwn(bytes, async () => [RECORD])).isProven]).toEqual([
        field,
        false,
      ]);
    }
  }
});

test('the same message gets the same signature at every attempt', async () => {
  const message = await composed(6_001);
  expect(await signer.sign(message)).toBe(await new DkimSigner(identity).sign(message));
  expect(await composed(6_001)).toEqual(message);
});

test('the body hash does not depend on how the body is cut (mailauth #115)', () => {
  for (let seed = 0; seed < 40; seed += 1) {
    const random = seeded(seed);
    const body = Buffer.from(randomBody(random).replace(/\r\n|\r|\n/g, '\r\n'));
    const whole = bodyHash(body);
    const bytewise = new RelaxedHash('sha256');
    for (let at = 0; at < body.length; at += 1) bytewise.update(body.subarray(at, at + 1));
    const pieces = new RelaxedHash('sha256');
    for (let at = 0; at < body.length;) {
      const size = 1 + random.int(70);
      pieces.update(body.subarray(at, at + size));
      at += size;
    }
    expect([seed, bytewise.digest('base64'), pieces.digest('base64')]).toEqual([
      seed,
      whole,
      whole,
    ]);
  }
});

test.each([
  '',
  '\r\n',
  'x',
  'x\r\n',
  'x\r\n\r\n',
  '\r\nx\r\n',
  'a b\r\nc d\r\n',
  'a  b\r\n',
  'a\tb\r\n',
  'a \r\nb\r\n',
  'a\r\n b\r\n',
  'a\r\n\r\nb\r\n',
  ' \r\n',
])('the body hash of %j is that of mailauth', (text) => {
  const relaxed = new RelaxedHash('sha256');
  relaxed.update(Buffer.from(text));
  expect(bodyHash(Buffer.from(text))).toBe(relaxed.digest('base64'));
});

test('fields are canonicalised as mailauth does it', () => {
  for (const line of [
    'Subject: plain',
    'SUBJECT  :\t  spaced   out  \t',
    'To: a@example.com,\r\n\tb@example.com,\r\n   c@example.com',
    'X-Empty:',
    'X-Empty: ',
    'X-Colon: a: b :c',
    'Subject: J\u00c3\u00bcrgen \u00c3\u0084',
  ]) {
    expect(relaxField(line)).toBe(
      formatRelaxedLine(Buffer.from(line, 'latin1')).toString('latin1'),
    );
  }
});

test('signing throws rather than letting a message go unsigned', async () => {
  const sign = (text: string): Promise<string> => signer.sign(Buffer.from(text));
  expect(sign('Subject: no from\r\n\r\nbody\r\n')).rejects.toThrow('no From');
  expect(sign('From: a@example.com\r\nSubject: no end\r\n')).rejects.toThrow('has no end');
  expect(sign('')).rejects.toThrow('has no end');
  expect(() => new DkimSigner({ ...identity, privateKeyPem: 'nonsense' })).toThrow();
  const other = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' });
  expect(() => new DkimSigner({ ...identity, privateKeyPem: other })).toThrow('RSA');
  for (const domain of ['', 'a;b', 'a b.example', 'a\r\nX: y', 'exämple.com']) {
    expect(() => new DkimSigner({ ...identity, domain })).toThrow('not a DKIM domain');
  }
});

test('the proof tells a wrong, a missing and a double record from the right one', async () => {
  const other = await generateDkimKey();
  expect(await proveKey(identity, [RECORD])).toEqual({ isProven: true, reason: 'pass' });
  const reasonOf = async (...published: string[]) => {
    const { isProven, reason } = await proveKey(identity, published);
    return [isProven, reason];
  };
  expect(await reasonOf()).toEqual([false, 'no key']);
  const two = '2 TXT records where there must be one';
  expect(await reasonOf(RECORD, RECORD)).toEqual([false, two]);
  const another = `v=DKIM1; k=rsa; p=${other.publicKeyBase64}`;
  expect(await reasonOf(another)).toEqual([false, 'bad signature']);
  for (const none of ['v=DKIM1; k=rsa; p=', 'v=spf1 -all']) {
    expect(await reasonOf(none)).toEqual([false, 'invalid public key']);
  }
});

test('the field says how it was made, in lines of at most 78 characters', async () => {
  const field = await signer.sign('From: a@example.com\r\nTo: b@x.example\r\n\r\nx\r\n');
  const lines = field.split('\r\n');
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(78);
  expect(lines.slice(1, -1).every((line) => /^ \S/.test(line))).toBe(true);
  expect(lines.at(-1)).toBe('');
  expect(field).toStartWith(
    'DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=example.com;\r\n s=pr1; q=dns/txt;\r\n bh=',
  );
  // No time: the same message has the same bytes at each attempt.
  expect(field).not.toMatch(/[\s;][tx]=/);
});

test.each([
  ['Subject: one', 'subject:one'],
  ['SUBJECT :  one  two\t three ', 'subject:one two three'],
  ['Subject:one\r\n two', 'subject:one two'],
  ['Subject: \r\n\tone', 'subject:one'],
  ['Subject:', 'subject:'],
  ['Subject: ', 'subject:'],
  ['X: a:b', 'x:a:b'],
])('%j is signed as %j', (field, line) => expect(relaxField(field)).toBe(line));

test('the field whole: which names it lists, in which order, and how it is folded', async () => {
  const fields = [
    'X-Other: y',
    'From: a@example.com',
    'resent-to: c@x.example',
    'To: b@x.example',
    'List-Id: a',
    'Subject: s',
    'List-ID: b',
  ];
  const field = await signer.sign(`${fields.join('\r\n')}\r\n\r\nx\r\n`);
  const [head = '', signature = ''] = field.split(' b=');
  expect(head.split('\r\n')).toEqual([
    'DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=example.com;',
    ' s=pr1; q=dns/txt;',
    // Of `x` and a line end.
    ` bh=${new Bun.CryptoHasher('sha256').update('x\r\n').digest('base64')};`,
    ' h=from:to:subject:list-id:list-id:resent-to:from:to:cc:reply-to:subject:',
    ' date:message-id:mime-version:content-type:content-transfer-encoding:',
    ' content-disposition:content-id:content-description:sender:in-reply-to:',
    ' references:feedback-id:list-id:list-help:list-subscribe:list-unsubscribe:',
    ' list-unsubscribe-post:list-post:list-owner:list-archive:auto-submitted:',
    ' disposition-notification-to;',
    '',
  ]);
  // 256 bytes in base64.
  const lines = signature.split('\r\n');
  expect(lines.map(({ length }) => length)).toEqual([72, 75, 75, 75, 51, 0]);
});

test('another list of fields has another frame, and the first one comes again', async () => {
  const listed = async (header: string): Promise<string> => {
    const field = await signer.sign(`From: a@example.com\r\n${header}\r\nx\r\n`);
    return /h=([a-z:-]*?):from:to:cc:/.exec(field.replaceAll(/\s/g, ''))?.[1] ?? '';
  };
  expect([await listed(''), await listed('To: b@x.example\r\n'), await listed('')]).toEqual([
    'from',
    'from:to',
    'from',
  ]);
});
