/**
 * The contract driven from its own document: requests are made from `/openapi.json`, valid ones and such with mistakes,
 * and every answer of the compiled binary is checked against it (`contract/properties.ts` has the properties).
 *
 * 20,000 requests; FUZZ_REQUESTS changes that, FUZZ_SECONDS goes on for so long. The seed is printed; SEED repeats it.
 * Ids that the service makes differ from run to run: a failing request is printed as a curl line, shrunk.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { Schemas, type OpenApi } from '../api/reference/json-schema.ts';
import { seeded } from '../mail/random.ts';
import { curlOf, shrunk } from './contract/failure.ts';
import { operationsOf } from './contract/operations.ts';
import { faultOf, MAX_MS, type Contract } from './contract/properties.ts';
import { parsed, Requests, type Made } from './contract/requests.ts';
import { startTarget, type Target } from './contract/target.ts';
import { WireClient, type Answer, type WireRequest } from './contract/wire-client.ts';

const SECONDS = Number(process.env['FUZZ_SECONDS'] ?? 0);
const REQUESTS = SECONDS > 0 ? Infinity : Number(process.env['FUZZ_REQUESTS'] ?? 20_000);
const SEED = Number(process.env['SEED'] ?? Date.now() % 1_000_000);
/** Longest that the appliance and its accounts may take to be there, in milliseconds. */
const START_MS = 60_000;
/** Requests under way at a time. */
const PARALLEL = 16;
/** Operations that cannot succeed here: no event is ever posted successfully or not, so none can be replayed. */
const NEVER_SUCCESSFUL = new Set(['replayWebhookEvent']);

/** Operations that take fields only to refuse what they ask, so that the caller reads why. */
const REFUSING = new Set(['changeDomain']);

let target: Target;
let client: WireClient;
let contract: Contract;
/** Ids of messages that a 2xx named, by account. */
const answered = new Map<string, Set<string>>();
const succeeded = new Set<string>();
const statuses = new Map<number, number>();
const waits: number[] = [];

beforeAll(async () => {
  target = await startTarget();
  client = new WireClient(target.appliance.url);
  const { body } = await client.send(get('/openapi.json'));
  const document = JSON.parse(body.toString()) as OpenApi;
  contract = { document, ops: operationsOf(document), schemas: new Schemas(document) };
}, START_MS);

afterAll(async () => {
  client.close();
  await target.stop();
});

function get(path: string, key?: string): WireRequest {
  const headers: WireRequest['headers'] =
    key === undefined ? [] : [['Authorization', `Bearer ${key}`]];
  return { method: 'GET', target: path, headers, body: null };
}

/** The fault of one request; empty when there is none. */
async function faultIn(request: WireRequest): Promise<string> {
  try {
    return faultOf(contract, request, await client.send(request));
  } catch (error) {
    return String(error);
  }
}

/** What is wrong when a request that keeps every schema is refused as malformed. */
function refusalOf({ op, isValid }: Made, { status }: Answer): string {
  const isMalformed = status === 400 || status === 422;
  return isValid && isMalformed && !REFUSING.has(op.id) ? `a valid ${op.id} is refused` : '';
}

/** Throws with the request as a curl line when its answer is wrong. */
async function check(made: Made, answer: Answer | Error): Promise<void> {
  const { request } = made;
  const fault =
    answer instanceof Error
      ? String(answer)
      : faultOf(contract, request, answer) || refusalOf(made, answer);
  if (fault === '') return;
  const smallest = await shrunk(request, async (smaller) => (await faultIn(smaller)) === fault);
  const body = answer instanceof Error ? '' : answer.body.toString().slice(0, 1_000);
  throw new Error(
    `seed ${SEED}: ${fault}\n${curlOf(target.appliance.url, smallest).slice(0, 20_000)}\nanswered: ${body}`,
  );
}

function note({ op, tenant, request }: Made, answer: Answer): void {
  waits.push(answer.ms);
  statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
  if (String(answer.status) === op.success && request.method === op.method) succeeded.add(op.id);
  if (answer.status > 299 || request.method !== 'POST' || !/\/emails?\b/.test(request.target))
    return;
  const value = parsed(answer.body) as { id?: string; data?: { id: string }[] };
  const ids = answered.get(tenant.accountId) ?? new Set();
  answered.set(tenant.accountId, ids);
  if (value.id !== undefined) ids.add(value.id);
  for (const { id } of value.data ?? []) ids.add(id);
}

test(
  'no answer breaks the document',
  async () => {
    process.stdout.write(`contract: seed ${SEED}\n`);
    const random = seeded(SEED);
    const requests = new Requests(contract.ops, contract.document, target.tenants);
    const until = performance.now() + SECONDS * 1_000;
    const isOver = (count: number): boolean =>
      SECONDS > 0 ? performance.now() > until : count >= REQUESTS;
    for (let count = 0; !isOver(count); count += PARALLEL) {
      const made = Array.from({ length: PARALLEL }, () => requests.next(random));
      const answers = await Promise.all(
        made.map(({ request }) =>
          client.send(request).catch((error: unknown) => Error(String(error))),
        ),
      );
      for (const [at, one] of made.entries()) {
        const answer = answers[at];
        if (answer === undefined || answer instanceof Error) continue;
        note(one, answer);
        requests.learn(one, answer);
      }
      for (const [at, one] of made.entries()) await check(one, answers[at] ?? Error('no answer'));
    }
    const sorted = waits.toSorted((one, other) => one - other);
    const at = (share: number): string =>
      (sorted[Math.floor(sorted.length * share)] ?? 0).toFixed(1);
    const counts = [...statuses].toSorted(([one], [other]) => one - other);
    process.stdout.write(
      `contract: ${waits.length} requests, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms; ` +
        `${counts.map(([status, times]) => `${status}: ${times}`).join(', ')}\n`,
    );
  },
  (SECONDS + 900) * 1_000,
);

// A short run cannot reach them all.
test.skipIf(REQUESTS < 10_000)('every operation succeeded at least once', () => {
  const missing = contract.ops.filter(({ id }) => !succeeded.has(id) && !NEVER_SUCCESSFUL.has(id));
  expect(missing.map(({ id }) => id)).toEqual([]);
});

test('exactly those messages were accepted that a 2xx named', async () => {
  for (const tenant of target.tenants) {
    const listed = new Set<string>();
    for (let after: string | null = ''; after !== null;) {
      const cursor: string = after === '' ? '' : `&after=${after}`;
      const { body } = await client.send(get(`/emails?limit=100${cursor}`, tenant.full));
      const page = JSON.parse(body.toString()) as { next: string | null; data: { id: string }[] };
      for (const { id } of page.data) listed.add(id);
      after = page.next;
    }
    const named = answered.get(tenant.accountId) ?? new Set();
    expect(listed.symmetricDifference(named)).toEqual(new Set());
  }
});

test('the server is alive, fast, and logged no fault', async () => {
  const { status, ms } = await client.send(get('/health'));
  expect(status).toBe(200);
  expect(ms).toBeLessThan(MAX_MS);
  const faults = target.appliance.log.items.filter(
    // The host check finds that the rig's name has no address, which is so.
    ({ event, level }) => level === 'error' && event !== 'host_problem_found',
  );
  expect(faults).toEqual([]);
});
