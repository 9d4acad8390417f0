/**
 * What a scenario talks to: an appliance with three accounts, seen only through HTTP.
 *
 * One target is the API in this process, the others the compiled binary. Promises verified domains, so
 * that every clause about sending can be tested, and accounts of their own for clauses about limits.
 */
import { afterAll, beforeAll, expect } from 'bun:test';
import { askApi, openBench, type Ask, type Sent } from '../api/bench.ts';
import { BinaryAppliance } from '../rig/binary.ts';
import type { BinaryOptions } from '../rig/binary.ts';
import { testAuthority } from '../rig/certificates.ts';
import { startNames } from '../rig/names.ts';
import { testServer } from '../rig/postgres.ts';
import { checkShape } from './shape.ts';

export interface Target {
  /** Base address; for the API in this process a name that does not exist. */
  url: string;
  ask: (what: Ask) => Promise<Sent>;
  /** Keys of the first account: full access, sending only, sandbox. */
  full: string;
  send: string;
  test: string;
  /** Full-access keys of other accounts; `starter` has the plan in `STARTER`. */
  other: string;
  starter: string;
  /** Verified domain of the first account, and of the starter account. */
  domain: string;
  starterDomain: string;
  close: () => Promise<void>;
}

/** The plan `starter` as the config file says it. */
export const STARTER_TOML = `
[[plans]]
id = "starter"
included_emails = 5
max_domains = 2
daily_limit = 3
rate_per_second = 2
reads_per_minute = 5
attachment_bytes = 1_000
`;

const DOMAIN = 'shop.example.com';
const STARTER_DOMAIN = 'small.example.com';

/** So that a table with hundreds of requests per second meets only the limits that it tests. */
const FAST_TOML = `
[[plans]]
id = "fast"
rate_per_second = 100_000
reads_per_minute = 100_000
`;

/** The API over the real store, without a socket. */
export async function openInProcess(): Promise<Target> {
  const bench = await openBench();
  const [main, other, starter] = [
    await bench.account('main', 'fast'),
    await bench.account('other', 'fast'),
    await bench.account('small', 'starter'),
  ];
  await bench.domain(main, DOMAIN);
  await bench.domain(starter, STARTER_DOMAIN);
  return {
    url: 'http://api.test',
    ask: shaped(bench.ask),
    full: await bench.key(main),
    send: await bench.key(main, 'sending_access'),
    test: await bench.key(main, 'full_access', true),
    other: await bench.key(other),
    starter: await bench.key(starter),
    domain: DOMAIN,
    starterDomain: STARTER_DOMAIN,
    close: bench.close,
  };
}

/** The compiled binary under a certificate of its own (`[http] tls_cert`), as without a proxy in front. */
export function openSecureBinary(): Promise<Target> {
  const { certFile, keyFile } = testAuthority().issue(['127.0.0.1']);
  return openBinary(`tls_cert = "${certFile}"\ntls_key = "${keyFile}"`, testAuthority().cert);
}

/** The compiled binary on a PostgreSQL database. */
export async function openBinaryOnPostgres(): Promise<Target> {
  const server = await testServer();
  return openBinary('', undefined, await server.freshDatabase());
}

/** Two compiled binaries on one PostgreSQL database, one of which answers each request, then the other. */
export async function openNodesOnPostgres(): Promise<Target> {
  const server = await testServer();
  return openBinary('', undefined, await server.freshDatabase(), true);
}

/**
 * The compiled binary in capture mode, with DNS of the rig. `http`: more TOML inside `[http]`; `ca`: whom to trust; `store`:
 * URL; `isPair`: two nodes on it, one request to the one, the next to the other.
 */
export async function openBinary(
  http = '',
  ca?: string,
  store?: string,
  isPair = false,
): Promise<Target> {
  const names = await startNames();
  const { host, port } = names.listen;
  names.set('*.example.com', 'A', ['127.0.0.1']);
  const options: BinaryOptions = {
    ...(store === undefined ? {} : { store }),
    config: [
      http,
      '[delivery]\nmode = "capture"',
      `[dns]\nservers = ["${host}:${port}"]`,
      '[webhooks]\nallow_networks = ["127.0.0.0/8"]',
      `${STARTER_TOML}${FAST_TOML}`,
    ].join('\n'),
  };
  const appliance = await BinaryAppliance.start(options);
  const nodes = [appliance];
  if (isPair) nodes.push(await BinaryAppliance.start({ ...options, joins: appliance }));
  const pick = oneAfterTheOther(nodes);
  const front = isPair ? frontOf(pick) : null;
  const key = async (account: string, ...flags: string[]): Promise<string> => {
    const made = await appliance.json([
      'key',
      'create',
      '--account',
      account,
      '--name',
      'scenario',
      ...flags,
    ]);
    return String(made['token']);
  };
  const fetchTrusting = (request: Request): Promise<Response> =>
    fetch(request, ca === undefined ? {} : { tls: { ca } });
  const ask = shaped(async (what) => askApi(fetchTrusting, await pick(what.path), what));
  const full = ['--permission', 'full_access'];
  await appliance.json(['account', 'create', 'main', '--plan', 'fast']);
  await appliance.json(['account', 'create', 'other', '--plan', 'fast']);
  await appliance.json(['account', 'create', 'small', '--plan', 'starter']);
  const target: Target = {
    url: front?.url.origin ?? appliance.url,
    ask,
    full: await key('main', ...full),
    send: await key('main', '--permission', 'sending_access'),
    test: await key('main', ...full, '--test'),
    other: await key('other', ...full),
    starter: await key('small', ...full),
    domain: DOMAIN,
    starterDomain: STARTER_DOMAIN,
    async close() {
      await front?.stop(true);
      for (const node of nodes) await node.stop();
      await names.stop();
    },
  };
  await publish(target, target.full, DOMAIN);
  await publish(target, target.starter, STARTER_DOMAIN);
  return target;

  async function publish({ ask }: Target, owner: string, name: string): Promise<void> {
    const added = await ask({ path: '/domains', key: owner, body: { name } });
    for (const record of added.json.records) {
      names.set(record.name, record.type, [record.value]);
    }
    const checked = await ask({
      path: `/domains/${added.json.id}/verify`,
      method: 'POST',
      key: owner,
    });
    if (checked.json.status !== 'verified') throw new Error(`not verified: ${checked.text}`);
  }
}

/** The URL of the node for a request to this path: the first, the second, the first again. */
function oneAfterTheOther(nodes: readonly BinaryAppliance[]): (path: string) => Promise<string> {
  let asked = 0;
  return async (path) => {
    // Each node writes the rows of its requests within half a second, and at once when it is asked for them.
    if (nodes.length > 1 && /^(?:\/v1)?\/logs/.test(path)) {
      for (const node of nodes) await node.api('GET', '/logs');
    }
    asked += 1;
    return nodes[asked % nodes.length]?.url ?? '';
  };
}

/** One address for all nodes, as a load balancer has it. */
function frontOf(pick: (path: string) => Promise<string>): ReturnType<typeof Bun.serve> {
  return Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      const url = (await pick(pathname)) + pathname + search;
      const { method, headers } = request;
      const body = method === 'GET' ? undefined : await request.arrayBuffer();
      const sent = await fetch(url, { method, headers, ...(body && { body }) });
      const answer = new Response(await sent.arrayBuffer(), sent);
      // What came compressed was unpacked by `fetch`.
      for (const name of ['content-encoding', 'content-length']) answer.headers.delete(name);
      return answer;
    },
  });
}

/** `ask`, which also checks every success against the reference. */
function shaped(ask: Target['ask']): Target['ask'] {
  return async (what) => {
    const sent = await ask(what);
    const hasBody = what.raw !== undefined || what.body !== undefined;
    const method = what.method ?? (hasBody ? 'POST' : 'GET');
    if (sent.status < 300) checkShape(method, what.path, sent.status, sent.json);
    return sent;
  };
}

/** Opens a target for the tests of a file. */
export function useTarget(open: () => Promise<Target>): () => Target {
  let target: Target | null = null;
  beforeAll(async () => {
    target = await open();
  }, 60_000);
  afterAll(async () => {
    await target?.close();
  });
  return () => {
    if (target === null) throw new Error('the target is not open');
    return target;
  };
}

/** The body that every refusal has (docs/contract.md C3.1). */
export function expectError(sent: Sent, status: number, code: string, name?: string): void {
  expect({ status: sent.status, code: sent.json?.code }).toEqual({ status, code });
  const { statusCode, message, request_id, error } = sent.json;
  expect(statusCode).toBe(status);
  expect(typeof message).toBe('string');
  expect(request_id).toBe(sent.headers.get('x-request-id'));
  expect(error).toEqual({ statusCode: status, name: sent.json.name, message });
  expect(sent.headers.get('content-type')).toStartWith('application/json');
  if (name !== undefined) expect(sent.json.name).toBe(name);
}

/** Paths of the issues of a 422. */
export function issuePaths(sent: Sent): string[] {
  return (sent.json.detail.issues as { path: string }[]).map(({ path }) => path);
}

/** An email that is accepted; `over` changes it. */
export function email(t: Pick<Target, 'domain'>, over: Record<string, unknown> = {}): object {
  return {
    from: `Shop <hello@${t.domain}>`,
    to: 'delivered@sandbox.test',
    subject: 'Your receipt',
    text: 'Thank you.',
    ...over,
  };
}
