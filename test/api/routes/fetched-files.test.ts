/** Attachments by link: how each file is asked for, every refusal whole, and the order in which they stand. */
import { afterAll, beforeEach, expect, spyOn, test } from 'bun:test';

import { fetchAttachments } from '../../../src/api/routes/fetch-attachments.ts';
import { ApiError } from '../../../src/base/errors.ts';
import { testAuthority } from '../../rig/certificates.ts';
import { loopbackAgent } from '../../rig/loopback-agent.ts';

const certificate = testAuthority().issue(['files.rig.test']);
let seen: [path: string, accept: string | null][] = [];
let answer: (path: string) => Response | Promise<Response>;
const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  tls: { key: certificate.key, cert: certificate.cert },
  fetch(request) {
    const { pathname, search } = new URL(request.url);
    seen.push([pathname + search, request.headers.get('accept')]);
    return answer(pathname);
  },
});
const agent = loopbackAgent();
afterAll(async () => {
  agent.destroy();
  await server.stop(true);
});
beforeEach(() => {
  seen = [];
  answer = (path) => new Response(`file ${path}`);
});

const kept = (name: string) => ({
  filename: name,
  contentType: 'text/plain',
  contentId: name === 'inline' ? 'cid' : null,
  content: Buffer.from(`own ${name}`),
});

/** Fetches `paths`, each behind an attachment that is there already. */
function fetchAll(paths: readonly string[], takes: (bytes: number) => boolean = () => true) {
  const attachments = paths.flatMap((path, at) => [kept(`own${at}`), kept(`linked${path}`)]);
  const links = paths.map((path, at) => ({
    at: 2 * at + 1,
    url: `https://files.rig.test:${server.port}${path}`,
    path: `attachments[${2 * at + 1}].path`,
  }));
  const draft = { subject: 's', attachments } as never;
  return fetchAttachments(agent, { draft, links }, { attachmentBytes: 1_000 }, takes);
}

async function refusalOf(work: Promise<unknown>): Promise<ApiError> {
  const error: unknown = await work.catch((thrown: unknown) => thrown);
  if (error instanceof ApiError) return error;
  throw new Error('it was not refused');
}

test('each link is asked for once, and its bytes replace those of its own attachment', async () => {
  const taken: number[] = [];
  const { attachments, subject } = await fetchAll(['/a?b=1', '/c'], (bytes) => {
    taken.push(bytes);
    return true;
  });
  expect(subject).toBe('s');
  expect(seen.toSorted(([one], [other]) => (one < other ? -1 : 1))).toEqual([
    ['/a?b=1', '*/*'],
    ['/c', '*/*'],
  ]);
  expect(
    attachments.map((one) => ({ ...one, content: Buffer.from(one.content).toString() })),
  ).toEqual([
    { ...kept('own0'), content: 'own own0' },
    { ...kept('linked/a?b=1'), content: 'file /a' },
    { ...kept('own1'), content: 'own own1' },
    { ...kept('linked/c'), content: 'file /c' },
  ] as never);
  expect(taken).toEqual([7, 7]);
});

test('files may have together what the plan allows, and one byte more is too long', async () => {
  answer = (path) => new Response('x'.repeat(Number(path.slice(1))));
  const sizes = (await fetchAll(['/600', '/400'])).attachments.map(({ content }) => content.length);
  expect(sizes).toEqual([8, 600, 8, 400]);
  const refusal = await refusalOf(fetchAll(['/600', '/401']));
  expect(refusal.detail?.issues).toHaveLength(1);
});

test('a draft without links is the same draft, and nothing is asked', async () => {
  const draft = { attachments: [] } as never;
  expect(
    await fetchAttachments(agent, { draft, links: [] }, { attachmentBytes: 0 }, () => false),
  ).toBe(draft);
  expect(seen).toEqual([]);
});

test('every link that fails is told with its path and its reason, in the order of the email', async () => {
  const cutOff = Promise.withResolvers<undefined>();
  const long = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new Uint8Array(1_001)),
    cancel: () => cutOff.resolve(undefined),
  });
  answer = async (path) => {
    if (path === '/long') return new Response(long);
    if (path === '/fine') return new Response('x');
    // The first link fails when the last one has failed.
    await cutOff.promise;
    return new Response('x', { status: 410 });
  };
  const refusal = await refusalOf(fetchAll(['/gone', '/fine', '/long']));
  const issues = refusal.detail?.issues ?? [];
  expect([refusal.status, refusal.code, refusal.errorName]).toEqual([
    422,
    'validation_failed',
    'invalid_attachment',
  ]);
  expect(issues).toEqual([
    {
      path: 'attachments[1].path',
      message: 'attachments[1].path returned status 410; it must return 200.',
    },
    {
      path: 'attachments[5].path',
      message: 'attachments[5].path could not be fetched: the response is too long or was cut off.',
    },
  ]);
});

test('only a whole file counts, not another kind of success', async () => {
  for (const status of [201, 206]) {
    answer = () => new Response('part', { status });
    const { detail } = await refusalOf(fetchAll(['/part']));
    expect(detail?.issues).toEqual([
      {
        path: 'attachments[1].path',
        message: `attachments[1].path returned status ${status}; it must return 200.`,
      },
    ]);
  }
});

test('more than ten links are refused before any is asked for', async () => {
  const paths = Array.from({ length: 11 }, (_, at) => `/${at}`);
  const { status, errorName, detail } = await refusalOf(fetchAll(paths));
  expect([status, errorName, detail]).toEqual([
    422,
    'invalid_attachment',
    { issues: [{ path: 'attachments', message: 'At most 10 attachments can use path.' }] },
  ]);
  expect(seen).toEqual([]);
  expect((await fetchAll(paths.slice(1))).attachments).toHaveLength(20);
});

test('where no memory is left the refusal says to try again, whatever else failed', async () => {
  answer = (path) => new Response('x', { status: path === '/gone' ? 410 : 200 });
  const { status, code, headers } = await refusalOf(fetchAll(['/gone', '/a'], () => false));
  expect([status, code, headers]).toEqual([503, 'platform_halted', { 'Retry-After': '5' }]);
});

test('a file has ten seconds to arrive', async () => {
  const timers = spyOn(globalThis, 'setTimeout');
  await fetchAll(['/a']);
  const waits = timers.mock.calls.map(([, wait]) => wait);
  timers.mockRestore();
  expect(waits).toContain(10_000);
});
