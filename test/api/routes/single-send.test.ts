/**
 * `[api] single_send = "full"`: what POST /emails accepts then, including attachments by `path`.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { fetchAttachments } from '../../../src/api/routes/fetch-attachments.ts';
import { readEmail } from '../../../src/api/shapes/read-email.ts';
import { testAuthority } from '../../rig/certificates.ts';
import { loopbackAgent } from '../../rig/loopback-agent.ts';
import { openBench, type Bench } from '../bench.ts';

let bench: Bench;
let key: string;

beforeAll(async () => {
  bench = await openBench({
    toml: '[api]\nsingle_send = "full"',
  });
  const account = await bench.account('full', 'fast');
  await bench.domain(account, 'own.example.com');
  key = await bench.key(account);
});

afterAll(() => bench.close());

const EMAIL = { from: 'a@own.example.com', to: 'delivered@sandbox.test', subject: 's', text: 't' };

test.each(['127.0.0.1', '10.0.0.1', '[::1]', '169.254.169.254'])(
  'no file is fetched from %s, which is no public address',
  async (host) => {
    const attachments = [{ path: `https://${host}:9/a.txt` }];
    const sent = await bench.ask({ path: '/emails', key, body: { ...EMAIL, attachments } });
    const at = 'attachments[0].path';
    expect([sent.status, sent.json.name, sent.json.detail.issues]).toEqual([
      422,
      'invalid_attachment',
      [
        {
          path: at,
          message: `${at} could not be fetched: the host does not lead to a public address.`,
        },
      ],
    ]);
  },
);

test('cc, bcc, headers and attachments go through', async () => {
  const sent = await bench.ask({
    path: '/emails',
    key,
    body: {
      ...EMAIL,
      cc: 'delivered+c@sandbox.test',
      bcc: ['delivered+b@sandbox.test'],
      headers: { 'X-A': 'b' },
      attachments: [{ filename: 'a.txt', content: 'YQ==' }],
    },
  });
  expect(sent.status).toBe(200);
  const found = await bench.ask({ path: `/emails/${sent.json.id}`, key });
  expect(found.json).toMatchObject({
    cc: ['delivered+c@sandbox.test'],
    bcc: ['delivered+b@sandbox.test'],
  });
});

test('content is needed all the same, also beside a file', async () => {
  const attachments = [{ filename: 'a.txt', content: 'YQ==' }];
  for (const text of [undefined, null, '']) {
    const body = { ...EMAIL, text, attachments };
    const { status, json } = await bench.ask({ path: '/emails', key, body });
    const issue =
      text === ''
        ? { path: 'text', message: 'text must not be empty.' }
        : { path: 'html', message: 'Missing `html` or `text` field.' };
    expect([text, status, json.detail]).toEqual([text, 422, { issues: [issue] }]);
  }
});

test('scheduling and templates stay refused, and POST /email/send stays as it is', async () => {
  const later = await bench.ask({ path: '/emails', key, body: { ...EMAIL, scheduled_at: 'x' } });
  expect(later.status).toBe(422);
  const older = await bench.ask({
    path: '/email/send',
    key,
    body: { ...EMAIL, cc: 'c@example.com' },
  });
  expect(older.status).toBe(422);
});

test.each([
  ['http://files.example.com/a', 'must be a public https URL'],
  ['https://u:p@files.example.com/a', 'must be a public https URL'],
  ['file:///etc/passwd', 'must be a public https URL'],
  ['https://files.example.com/a\r\nX: y', 'must be a public https URL'],
  // The resolver of the bench returns a loopback address, which is not public.
  ['https://files.example.com/a', 'could not be fetched'],
  ['https://127.0.0.1/a', 'could not be fetched'],
  ['https://169.254.169.254/latest/meta-data', 'could not be fetched'],
])('path %j is refused', async (path, words) => {
  const body = { ...EMAIL, attachments: [{ filename: 'a', path }] };
  const sent = await bench.ask({ path: '/emails', key, body });
  expect([sent.status, sent.json.name]).toEqual([422, 'invalid_attachment']);
  expect(sent.json.detail.issues[0].path).toBe('attachments[0].path');
  expect(sent.json.message).toContain(words);
});

describe('a file that can be fetched', () => {
  const certificate = testAuthority().issue(['files.rig.test']);
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    tls: { key: certificate.key, cert: certificate.cert },
    fetch(request) {
      const { pathname } = new URL(request.url);
      if (pathname === '/moved') return Response.redirect('/report.pdf', 302);
      return pathname === '/report.pdf'
        ? new Response('the report')
        : new Response('no', { status: 404 });
    },
  });
  const agent = loopbackAgent();

  afterAll(async () => {
    agent.destroy();
    await server.stop(true);
  });

  const fetched = (path: string, attachmentBytes = 1_000, takes = () => true) => {
    const url = `https://files.rig.test:${server.port}${path}`;
    const read = readEmail(
      { ...EMAIL, attachments: [{ filename: 'first.txt', content: 'YQ==' }, { path: url }] },
      { kind: 'full', at: '', mayLink: true, needsContent: true },
    );
    if (Array.isArray(read)) throw new Error(JSON.stringify(read));
    return fetchAttachments(agent, read, { attachmentBytes }, takes);
  };

  test('is attached under the name in its path', async () => {
    const { attachments } = await fetched('/report.pdf');
    expect(
      attachments.map(({ filename, contentType, content }) => [
        filename,
        contentType,
        Buffer.from(content).toString(),
      ]),
    ).toEqual([
      ['first.txt', 'text/plain', 'a'],
      ['report.pdf', 'application/pdf', 'the report'],
    ]);
  });

  test.each([
    ['/nothing-here', 'returned status 404'],
    ['/moved', 'returned status 302'],
  ])('%s is refused', async (path, words) => {
    expect(await refusalOf(fetched(path))).toContain(words);
  });

  test('that is larger than the plan allows is refused', async () => {
    expect(await refusalOf(fetched('/report.pdf', 5))).toContain('could not be fetched');
  });

  test('counts against the plan together with the others, exactly to its limit', async () => {
    const url = `https://files.rig.test:${server.port}/report.pdf`;
    const all = (count: number, attachmentBytes: number) => {
      const attachments = Array.from({ length: count }, () => ({ path: url }));
      const read = readEmail(
        { ...EMAIL, attachments },
        { kind: 'full', at: '', mayLink: true, needsContent: true },
      );
      if (Array.isArray(read)) throw new Error(JSON.stringify(read));
      return fetchAttachments(agent, read, { attachmentBytes }, () => true);
    };
    // "the report" has ten bytes.
    expect((await all(2, 20)).attachments.map(({ content }) => content.length)).toEqual([10, 10]);
    expect(await refusalOf(all(2, 19))).toContain('could not be fetched');
    expect((await all(10, 1_000)).attachments).toHaveLength(10);
    expect(await refusalOf(all(11, 1_000))).toBe('At most 10 attachments can use path.');
  });

  test('for which no memory is left is refused, to be tried again', async () => {
    const refused = fetched('/report.pdf', 1_000, () => false);
    expect(await refusalOf(refused)).toContain('too many large requests');
  });
});

/** The message with which it fails; throws when it does not. */
async function refusalOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
  } catch (error) {
    return error instanceof Error ? error.message : '';
  }
  throw new Error('it did not fail');
}
