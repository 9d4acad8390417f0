/**
 * SMTP smuggling through the compiled binary: each sequence in each text field of the API is refused, or arrives as
 * exactly one message, at a receiver that is strict and at one that takes bare line ends for an end of data. What
 * arrives carries a signature that dkimpy accepts.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';

import { verifyAllWithDkimpy } from '../rig/dkim-verifier.ts';
import { describeWith } from '../rig/programs.ts';
import { startScriptedSmtp } from '../rig/scripted-smtp.ts';
import type { ScriptedSmtp } from '../rig/scripted-smtp.ts';
import { startWorld } from '../rig/world.ts';
import type { World } from '../rig/world.ts';
import { SMUGGLING_SEQUENCES } from '../rig/smuggling-sequences.ts';

const SMUGGLED =
  'MAIL FROM:<evil@example.net>\r\nRCPT TO:<victim@example.net>\r\nDATA\r\nFrom: evil\r\n\r\nx';

type Fields = Record<string, unknown>;

function file(fields: Fields): Fields {
  const content = Buffer.from('f').toString('base64');
  return { attachments: [{ filename: 'f.txt', content, content_type: 'text/plain', ...fields }] };
}

/** Every field of the API that takes text. */
const FIELDS: Record<string, (evil: string, sequence: string) => Fields> = {
  subject: (evil) => ({ subject: evil }),
  html: (evil) => ({ html: evil }),
  text: (evil) => ({ text: evil }),
  'html and text': (evil) => ({ html: evil, text: evil }),
  'name of from': (evil) => ({ from: { email: 'hello@example.org', name: evil } }),
  'name of from in one text': (evil) => ({ from: `"${evil}" <hello@example.org>` }),
  'address of from': (_evil, sequence) => ({ from: `hel${sequence}lo@example.org` }),
  'name of to': (evil) => ({ to: [{ email: 'ann@RECEIVER', name: evil }] }),
  'address of to': (_evil, sequence) => ({ to: [`an${sequence}n@RECEIVER`] }),
  'quoted address of to': (_evil, sequence) => ({ to: [`"an${sequence}n"@RECEIVER`] }),
  'name of cc': (evil) => ({
    reply_to: ['help@example.org'],
    cc: [{ email: 'kim@sandbox.test', name: evil }],
  }),
  'address of bcc': (_evil, sequence) => ({ bcc: [`an${sequence}n@RECEIVER`] }),
  'name of reply_to': (evil) => ({ reply_to: { email: 'help@example.org', name: evil } }),
  'header value': (evil) => ({ headers: { 'X-Custom': evil } }),
  'header name': (evil) => ({ headers: { [`X-${evil}`]: 'v' } }),
  'list-unsubscribe': (evil) => ({
    headers: { 'List-Unsubscribe': `<https://example.org/${evil}>` },
  }),
  'tag value': (evil) => ({ tags: [{ name: 'kind', value: evil }] }),
  'tag name': (evil) => ({ tags: [{ name: evil, value: 'v' }] }),
  'file name': (evil) => file({ filename: evil }),
  'file content': (evil) => file({ content: Buffer.from(evil).toString('base64') }),
  'message as a file': (evil) =>
    file({ content: Buffer.from(evil).toString('base64'), content_type: 'message/rfc822' }),
  'content type': (evil) => file({ content_type: `text/plain; x=${evil}` }),
  'content id': (evil) => file({ content_id: evil }),
};
/** Files are never refused for what is in them, texts only for a NUL: a test that refused all would show nothing. */
function mustBeTaken({ field, sequence }: Try): boolean {
  if (field === 'file content' || field === 'message as a file') return true;
  return ['html', 'text', 'html and text'].includes(field) && !sequence.includes('\0');
}
const BATCH = 100;

interface Try {
  field: string;
  sequence: string;
  fields: Fields;
}

interface BatchAnswer {
  data: { id: string }[];
  errors?: { index: number }[];
}

const TRIES: Try[] = SMUGGLING_SEQUENCES.flatMap((sequence) =>
  Object.entries(FIELDS).map(([field, make]) => ({
    field,
    sequence,
    fields: make(`x${sequence}${SMUGGLED}`, sequence),
  })),
);

describeWith(
  ['openssl', 'python3-dkim'],
  `${SMUGGLING_SEQUENCES.length} smuggling sequences`,
  () => {
    let strict: ScriptedSmtp;
    let lax: ScriptedSmtp;
    let world: World;

    beforeAll(async () => {
      const keywords = ['8BITMIME', 'SMTPUTF8'];
      [strict, lax] = await Promise.all([
        startScriptedSmtp({ keywords }),
        startScriptedSmtp({ keywords, isLax: true }),
      ]);
      const routes = [
        ['strict.test', strict.port],
        ['lax.test', lax.port],
      ].map(
        ([domain, port]) =>
          `[[delivery.routes]]\ndomains = ["${domain}"]\nhost = "127.0.0.1"\nport = ${port}\ntls = "none"\n`,
      );
      world = await startWorld({ config: routes.join('') });
    }, 60_000);

    afterAll(async () => {
      await world.stop();
      await Promise.all([strict.stop(), lax.stop()]);
    });

    test.each(['strict', 'lax'])(
      'at a %s receiver: refused, or exactly one message with a valid signature',
      async (kind) => {
        const receiver = kind === 'strict' ? strict : lax;
        const taken = await sendAll(world, `${kind}.test`);
        const missing = TRIES.filter((one) => mustBeTaken(one) && !taken.includes(one));
        expect(missing).toEqual([]);

        await drained(world);
        expect(receiver.bodies).toHaveLength(taken.length);
        // A second message would have begun with these words as commands.
        expect(receiver.lines.filter((line) => line.includes('evil@'))).toEqual([]);
        const mails = receiver.lines.filter((line) => line.startsWith('MAIL FROM:<b-'));
        expect(mails).toHaveLength(taken.length);
        const verdicts = await verifyAllWithDkimpy(receiver.bodies.map(asMessage), world.records);
        expect(verdicts.filter((verdict) => verdict !== true)).toEqual([]);
        process.stdout.write(
          `${kind}: ${taken.length} of ${TRIES.length} taken, the others refused\n`,
        );
      },
      120_000,
    );
  },
);

/** Sends every try in permissive batches, to one recipient each; gives those that were taken. */
async function sendAll({ appliance }: World, receiver: string): Promise<Try[]> {
  const taken: Try[] = [];
  for (let from = 0; from < TRIES.length; from += BATCH) {
    const tries = TRIES.slice(from, from + BATCH);
    const drafts = tries.map(({ fields }) => ({
      from: 'hello@example.org',
      to: [`ann@${receiver}`],
      subject: 's',
      text: 't',
      ...(JSON.parse(JSON.stringify(fields).replaceAll('RECEIVER', receiver)) as Fields),
    }));
    const answer = await appliance.api('POST', '/emails/batch', drafts, {
      'x-batch-validation': 'permissive',
    });
    expect(answer.status).toBe(200);
    const { data, errors = [] } = (await answer.json()) as BatchAnswer;
    const refused = new Set(errors.map(({ index }) => index));
    const left = tries.filter((_, index) => !refused.has(index));
    expect(data).toHaveLength(left.length);
    taken.push(...left);
  }
  return taken;
}

/** Until nothing waits: each attempt's end is committed before it leaves the queue. */
async function drained({ appliance }: World): Promise<void> {
  for (;;) {
    const { destinations } = (await appliance.json(['queue', 'list'])) as {
      destinations: unknown[];
    };
    if (destinations.length === 0) return;
    await Bun.sleep(50);
  }
}

/** The message of a body as it was transferred: without the doubled dots (RFC 5321 section 4.5.2). */
function asMessage(body: string): Buffer {
  return Buffer.from(`${body.replaceAll(/^\.\./gm, '.')}\r\n`, 'latin1');
}
