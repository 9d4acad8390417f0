/** Signed messages alone and in a crowd: the same bytes whichever thread makes them. */
import { expect, test } from 'bun:test';

import { compose } from '../../src/mail/compose.ts';
import type { ComposeInput } from '../../src/mail/compose.ts';
import { DkimSigner, generateDkimKey } from '../../src/mail/dkim.ts';
import { verifyOwn } from '../../src/mail/dkim-proof.ts';
import { UncomposableError, writeSigned } from '../../src/mail/signed-message.ts';
import type { Content, Signed } from '../../src/mail/signed-message.ts';
import { MessageSigner } from '../../src/mail/signing.ts';
import { dotStuff, inspectMessage } from '../../src/wire/smtp-body.ts';
import { randomInput, seeded } from './random.ts';

const key = await generateDkimKey();
const identity = {
  domain: 'sender.example',
  selector: 'pr1',
  privateKeyPem: key.privateKeyPem,
};

function parts(place: number, change: Partial<ComposeInput> = {}): Content {
  const input: ComposeInput = {
    from: 'Sender <news@sender.example>',
    to: [`user${place}@example.com`],
    cc: [],
    replyTo: [],
    subject: `Number ${place}`,
    html: `<p>${'hello '.repeat(place * 10)}</p>`,
    text: `Grüße ${place}`,
    headers: [],
    attachments: [],
    messageId: `<${place}@mail.example>`,
    date: new Date(0),
    feedbackId: null,
    ...change,
  };
  return { kind: 'parts', input };
}

/** Signs in crowds until the thread must be up: the first ones of each process are made without it. */
async function crowd(contents: Content[], signers: MessageSigner[]): Promise<Signed[]> {
  let signed: Signed[] = [];
  for (let round = 0; round < 4; round += 1) {
    signed = await Promise.all(
      contents.map((content, place) => {
        const signer = signers[place % signers.length];
        if (signer === undefined) throw new Error('no signer');
        return signer.sign(content);
      }),
    );
    // Lets the thread's first message in.
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return signed;
}

test('a crowd gets the bytes that each would get alone, and they verify', async () => {
  const signers = [
    new MessageSigner(identity),
    new MessageSigner({ ...identity, selector: 'pr2' }),
  ];
  const attachment = {
    filename: 'a.bin',
    contentType: 'application/octet-stream',
    contentId: null,
    content: new Uint8Array(100_000).fill(7),
  };
  const contents = Array.from({ length: 40 }, (_, place) =>
    place % 10 === 9
      ? ({
          kind: 'whole',
          bytes: Buffer.from(`From: a@sender.example\r\n\r\n${place}\r\n`),
        } as const)
      : parts(place, place % 10 === 5 ? { attachments: [attachment] } : {}),
  );
  const signed = await crowd(contents, signers);
  const alone = new MessageSigner(identity);
  const published = (): Promise<string[]> => Promise.resolve([`v=DKIM1; p=${key.publicKeyBase64}`]);
  for (const [place, { message, data }] of signed.entries()) {
    expect(message.toString('latin1').startsWith('DKIM-Signature: ')).toBe(true);
    // As DATA transfers it, unless others wrote or built it.
    const isOurs = place % 10 !== 5 && place % 10 !== 9;
    expect(data?.toString()).toBe(isOurs ? `${message.toString()}.\r\n` : undefined);
    const content = contents[place];
    if (content === undefined || place % 2 === 1) continue;
    expect(message.equals((await alone.sign(content)).message)).toBe(true);
  }
  const odd = signed[9]?.message ?? Buffer.alloc(0);
  expect(odd.toString()).toContain('s=pr2;');
  expect(await verifyOwn(odd, published)).toEqual({ isProven: true, reason: 'pass' });
});

test('what can not be composed is refused with its reason, and harms no other', async () => {
  const signer = new MessageSigner(identity);
  const contents = Array.from({ length: 20 }, (_, place) =>
    parts(place, place === 7 ? { headers: [['From', 'x@example.com']] } : {}),
  );
  await crowd(contents.slice(0, 7), [signer]);
  const settled = await Promise.allSettled(contents.map((content) => signer.sign(content)));
  expect(settled.filter(({ status }) => status === 'rejected')).toHaveLength(1);
  const { reason } = settled[7] as PromiseRejectedResult;
  // Said by whichever thread it came to: it is no use to try again.
  expect(reason).toBeInstanceOf(UncomposableError);
  expect(String(reason)).toContain('From');
});

test('500 random messages are the same by text as by bytes, and their data what DATA transfers', async () => {
  const signer = new DkimSigner(identity);
  let ready = 0;
  for (let seed = 30_000; seed < 30_500; seed += 1) {
    const input = randomInput(seeded(seed), seed);
    const { message, data } = await writeSigned({ kind: 'parts', input }, signer);
    const bytes = await compose(input);
    const expected = Buffer.concat([Buffer.from(await signer.sign(bytes)), bytes]);
    expect([seed, message.equals(expected)]).toEqual([seed, true]);
    if (data === null) continue;
    ready += 1;
    const { isClean, hasEightBit, dots } = inspectMessage(message);
    expect([seed, isClean, hasEightBit]).toEqual([seed, true, false]);
    expect([seed, data.equals(dotStuff(message, dots))]).toEqual([seed, true]);
  }
  expect(ready).toBeGreaterThan(100);
}, 60_000);

test('a line that begins with a dot, and an address beyond ASCII, have no data at hand', async () => {
  const signer = new DkimSigner(identity);
  for (const change of [
    { text: 'a\n.b\n', html: null },
    { text: 'a', to: ['grüße@example.com'] },
  ]) {
    const { message, data } = await writeSigned(parts(1, change), signer);
    expect(data).toBeNull();
    expect(message.toString()).toStartWith('DKIM-Signature: ');
  }
});
