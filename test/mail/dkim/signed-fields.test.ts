/** Headers as other software writes them, folded and spelled in every way: each field that counts is signed, and verifies. */
import { expect, test } from 'bun:test';

import { DkimSigner, generateDkimKey } from '../../../src/mail/dkim/dkim.ts';
import type { Libcrypto } from '../../../src/mail/dkim/libcrypto.ts';
import { verifyOwn } from '../../../src/mail/dkim/proof.ts';
import { seeded, type Random } from '../random.ts';

const key = await generateDkimKey();
const identity = { domain: 'sender.example', selector: 'pr1', privateKeyPem: key.privateKeyPem };
const signer = new DkimSigner(identity);
const published = async (): Promise<string[]> => [`v=DKIM1; k=rsa; p=${key.publicKeyBase64}`];

async function signed(message: string): Promise<Buffer> {
  const bytes = Buffer.from(message, 'latin1');
  return Buffer.concat([Buffer.from(await signer.sign(bytes)), bytes]);
}

/** The names of the `h=` tag, each as often as it is listed. */
function listed(bytes: Buffer): Record<string, number> {
  const field = bytes.toString('latin1').replaceAll(/\r\n[ \t]/g, '');
  const counts: Record<string, number> = {};
  for (const name of (/;h=([^;]*);/.exec(field)?.[1] ?? '').split(':')) {
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

const NAMES = ['To', 'CC', 'reply-to', 'Subject', 'List-ID', 'References', 'resent-from'];
const FOLDS = [' ', '\r\n ', '\r\n\t', '\r\n \t ', '\t', '  ', ' \r\n '];
const WORDS = ['a@x.example', 'w\xf6rd', 'x:y', '=', 'b='];

function fieldOf(random: Random): [name: string, text: string] {
  const name = random.pick([...NAMES, 'X-Own', 'Tox']);
  const words = Array.from(
    { length: random.int(5) },
    () => random.pick(FOLDS) + random.pick(WORDS),
  );
  const colon = random.pick([':', ':', ' :', '\t:']);
  return [
    name.toLowerCase(),
    `${name}${colon}${words.join('')}${random.pick(['', ' ', '\t'])}\r\n`,
  ];
}

test('whatever the folds and blanks, every field that counts is listed and the signature verifies', async () => {
  for (let seed = 70_000; seed < 70_150; seed += 1) {
    const random = seeded(seed);
    const fields = Array.from({ length: random.int(8) }, () => fieldOf(random));
    fields.splice(random.int(fields.length + 1), 0, ['from', 'From: a@sender.example\r\n']);
    const body = random.pick(['', 'x', 'x\r\n', ' a \t b \r\n\r\n\r\n', '\r\n']);
    const bytes = await signed(`${fields.map(([, text]) => text).join('')}\r\n${body}`);
    expect([seed, await verifyOwn(bytes, published)]).toEqual([
      seed,
      { isProven: true, reason: 'pass' },
    ]);
    const names = listed(bytes);
    for (const name of ['from', ...NAMES.map((one) => one.toLowerCase())]) {
      const count = fields.filter(([other]) => other === name).length;
      // One more than there are, but for the fields of those who forward it.
      const wanted = name.startsWith('resent-') ? count : count + 1;
      expect([seed, name, names[name] ?? 0]).toEqual([seed, name, wanted]);
    }
    expect([seed, names['x-own'], names['tox']]).toEqual([seed, undefined, undefined]);
  }
}, 60_000);

test('one changed letter anywhere in a signed field or the body breaks the signature', async () => {
  const head = 'From: a@sender.example\r\nTo: b,\r\n\tc\r\nSubject :one\r\n two\r\n\r\n';
  const bytes = await signed(`${head}body\r\n`);
  for (const word of ['a@sender', 'c\r\n', 'one', 'two', 'body']) {
    const text = bytes.toString('latin1');
    const at = text.lastIndexOf(word);
    const changed = Buffer.from(`${text.slice(0, at)}z${text.slice(at + 1)}`, 'latin1');
    expect([word, (await verifyOwn(changed, published)).isProven]).toEqual([word, false]);
  }
  expect((await verifyOwn(bytes, published)).isProven).toBe(true);
});

test('domain and selector stand in the field as they are spelled', async () => {
  const spelled = new DkimSigner({
    ...identity,
    domain: 'Mail.Sender.example',
    selector: 'A_b-1.c',
  });
  const field = await spelled.sign('From: a@sender.example\r\n\r\nx\r\n');
  expect(field).toContain(' d=Mail.Sender.example;\r\n s=A_b-1.c;');
  for (const selector of ['', '.a', 'a.', 'a..b', 'a=b', 'a b', 'a\r\n']) {
    expect(() => new DkimSigner({ ...identity, selector })).toThrow(
      'not a DKIM domain or selector',
    );
  }
});

test('a message without its own signature, or with one that is not the right one, is not proven', async () => {
  const message = 'From: a@sender.example\r\n\r\nx\r\n';
  const bytes = await signed(message);
  const proof = (input: Buffer, records: string[]) => verifyOwn(input, async () => records);
  expect(await proof(Buffer.from(message), await published())).toEqual({
    isProven: false,
    reason: 'no signature',
  });
  expect(await proof(bytes, [])).toEqual({ isProven: false, reason: 'no key' });
  // Of two signatures both must be right.
  const other = new DkimSigner({ ...identity, selector: 'pr2' });
  const both = Buffer.concat([Buffer.from(await other.sign(bytes)), bytes]);
  const lookups: string[] = [];
  const proven = await verifyOwn(both, async (name) => {
    lookups.push(name);
    return name.startsWith('pr1.') ? published() : [];
  });
  expect(proven).toEqual({ isProven: false, reason: 'no key' });
  expect(lookups.toSorted()).toEqual([
    'pr1._domainkey.sender.example',
    'pr2._domainkey.sender.example',
  ]);
  expect((await verifyOwn(both, published)).isProven).toBe(true);
});

test('a lookup that fails proves nothing, and neither does a key in the halves of two records', async () => {
  const bytes = await signed('From: a@sender.example\r\n\r\nx\r\n');
  const failed = () => Promise.reject(new Error('no network'));
  expect(await verifyOwn(bytes, failed)).toEqual({
    isProven: false,
    reason: 'DNS failure: no network',
  });
  const halves = async () => ['v=DKIM1; k=rsa; ', `p=${key.publicKeyBase64}`];
  expect((await verifyOwn(bytes, halves)).isProven).toBe(false);
});

test.each([0, 255, 257])('a signature of %i bytes is none of this key', async (length) => {
  const library = {
    readKey: () => ({ sign: () => Buffer.alloc(length), free: () => undefined }),
  } as unknown as Libcrypto;
  const odd = new DkimSigner(identity, library);
  const failed = odd.sign('From: a@sender.example\r\n\r\nx\r\n');
  expect(await failed.catch(String)).toBe(`Error: cannot sign: the signature has ${length} bytes`);
});
