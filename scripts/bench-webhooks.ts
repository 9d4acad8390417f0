/**
 * Webhook calls a second, to one TLS endpoint and to a hundred on hosts of their own, ten of each of ten accounts.
 *
 * The events are those of sandbox sends, which are delivered at once: no SMTP, no signature of a message. Batches of a
 * hundred bring them faster than they are told, so that calls are always due; accepting them costs a part of the two
 * processors meanwhile. A call counts when the endpoint has it; from the first to the last. Beside it HTTPS posts of the
 * same size by `fetch` alone to the same endpoint.
 */
import { CONCURRENCY as POSTS_AT_ONCE } from '../src/flow/webhooks/endpoint-queues.ts';
import { testAuthority } from '../test/rig/certificates.ts';
import type { Bench, Case } from './bench-case.ts';
import type { HookReceipt } from './bench-hook.ts';
import { openHttp } from './bench-http.ts';
import { freePort } from './bench-load.ts';
import { installPostrider } from './bench-postrider.ts';
import type { Installation, Server } from './bench-postrider.ts';
import { OURS } from './bench-table.ts';
import { cpuSeconds } from './bench-usage.ts';

const RATE = 'calls a second';
const BATCH = 100;
const BATCH_CONNECTIONS = 4;
const PATIENCE_MS = 600_000;
/** Endpoints of one account at most, as the product has it. */
const PER_ACCOUNT = 10;
/** Bytes of a call about an event without tags. */
const CALL_BYTES = 400;
/** Of the posts beside it: as many as the product makes at once to one endpoint, and more for a hundred. */
const BARE_AT_ONCE = 20;

type Hook = Awaited<ReturnType<typeof startHook>>;

const hostOf = (index: number): string => `hook${index}.bench.test`;

export const webhooks: Case = {
  names: ['webhooks'],
  async measure(bench) {
    for (const endpoints of [1, 100]) {
      const name = `webhooks, ${endpoints} endpoint${endpoints === 1 ? '' : 's'}`;
      try {
        await bench.eachRun(name, (run) => measureCalls(bench, name, run, endpoints));
      } catch (error) {
        bench.fail(name, OURS, error);
      }
    }
  },
};

async function startHook(endpoints: number) {
  const port = await freePort();
  const hosts = Array.from({ length: endpoints }, (_, index) => hostOf(index));
  const { keyFile, certFile } = testAuthority().issue([...hosts, 'localhost']);
  let receipt: HookReceipt = { count: 0, firstAt: 0, lastAt: 0 };
  let arrived: () => void = () => {};
  const program = `${import.meta.dir}/bench-hook.ts`;
  const child = Bun.spawn([process.execPath, program, String(port), keyFile, certFile], {
    ipc(message) {
      receipt = message as HookReceipt;
      arrived();
    },
  });
  await new Promise<void>((resolve) => (arrived = resolve));
  return {
    port,
    receipt: () => receipt,
    /** Begins a new count. */
    async clear(): Promise<void> {
      child.send('clear');
      while (receipt.count > 0) await new Promise<void>((resolve) => (arrived = resolve));
    },
    /** Resolves when so many calls have come. Throws when they do not. */
    async until(count: number): Promise<void> {
      const giveUp = Date.now() + PATIENCE_MS;
      while (receipt.count < count) {
        if (Date.now() > giveUp) throw new Error(`${receipt.count} of ${count} calls came`);
        const timer = setTimeout(() => arrived(), PATIENCE_MS);
        await new Promise<void>((resolve) => (arrived = resolve));
        clearTimeout(timer);
      }
    },
    stop: () => child.kill(),
  };
}

async function measureCalls(
  bench: Bench,
  name: string,
  run: number,
  endpoints: number,
): Promise<void> {
  const { names, receiverPort, binary, sizes } = bench.options;
  const hook = await startHook(endpoints);
  for (let index = 0; index < endpoints; index += 1) names.set(hostOf(index), 'A', ['127.0.0.1']);
  const trust = `[tls]\nextra_ca_file = "${testAuthority().certFile}"\n`;
  const networks = '[webhooks]\nallow_networks = ["127.0.0.0/8"]\n';
  const installation = await installPostrider(names, receiverPort, binary, trust + networks);
  try {
    const server = await installation.serve();
    try {
      const keys = await makeEndpoints(installation, server, hook.port, endpoints);
      const perEvent = Math.min(endpoints, PER_ACCOUNT);
      await callAll(server, hook, keys, sizes.warming, perEvent);
      const cpuBefore = cpuSeconds(server.pids);
      const { calls, perSecond } = await callAll(server, hook, keys, sizes.calls, perEvent);
      const cpu = cpuSeconds(server.pids) - cpuBefore;
      bench.record(name, run, OURS, {
        [RATE]: perSecond,
        'CPU s for 1,000 calls': (cpu / calls) * 1000,
      });
    } finally {
      await server.stop();
    }
    const atOnce = endpoints === 1 ? POSTS_AT_ONCE : BARE_AT_ONCE;
    await bareCalls(hook, sizes.warming, atOnce);
    bench.record(name, run, `fetch alone, ${atOnce} at once`, {
      [RATE]: await bareCalls(hook, sizes.calls, atOnce),
    });
  } finally {
    installation.remove();
    hook.stop();
  }
}

/** Makes accounts with ten endpoints each; returns a sandbox key of every one. */
async function makeEndpoints(
  { command }: Installation,
  server: Server,
  port: number,
  endpoints: number,
): Promise<string[]> {
  const keys: string[] = [];
  for (let first = 0; first < endpoints; first += PER_ACCOUNT) {
    const account = `hooks${first}`;
    await command('account', 'create', account, '--plan', 'bench');
    const key = async (...rights: string[]): Promise<string> => {
      const made = await command('key', 'create', '--account', account, '--name', 'k', ...rights);
      return String(made['token']);
    };
    const http = await openHttp(new URL(server.url), await key('--permission', 'full_access'));
    for (let index = first; index < Math.min(first + PER_ACCOUNT, endpoints); index += 1) {
      const endpoint = `https://${hostOf(index)}:${port}/hook`;
      await http.ask('/webhooks', JSON.stringify({ endpoint, events: ['email.delivered'] }));
    }
    http.close();
    keys.push(await key('--test'));
  }
  return keys;
}

/** Sends so many sandbox messages that at least `count` calls follow, and waits for all of them. */
async function callAll(
  server: Server,
  hook: Hook,
  keys: readonly string[],
  count: number,
  perEvent: number,
): Promise<{ calls: number; perSecond: number }> {
  const batches = Math.ceil(count / perEvent / BATCH / keys.length) * keys.length;
  const calls = batches * BATCH * perEvent;
  await hook.clear();
  const mail = {
    from: 'Shop <shop@example.com>',
    to: 'anybody@example.net',
    subject: 'Sent',
    text: 'x',
  };
  const body = JSON.stringify(Array.from({ length: BATCH }, () => mail));
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let batch = next++; batch < batches; batch = next++) {
      const http = await openHttp(new URL(server.url), keys[batch % keys.length] ?? '');
      await http.ask('/emails/batch', body);
      http.close();
    }
  };
  await Promise.all(Array.from({ length: BATCH_CONNECTIONS }, worker));
  await hook.until(calls);
  return { calls, perSecond: rateOf(hook) };
}

function rateOf(hook: Hook): number {
  const { count, firstAt, lastAt } = hook.receipt();
  return (count / Math.max(1, lastAt - firstAt)) * 1000;
}

/** Posts a second, by `fetch` of the runtime over connections that are kept. */
async function bareCalls(hook: Hook, count: number, atOnce: number): Promise<number> {
  await hook.clear();
  const body = 'x'.repeat(CALL_BYTES);
  const tls = { ca: testAuthority().cert };
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) {
      const url = `https://localhost:${hook.port}/hook`;
      const response = await fetch(url, { method: 'POST', body, tls });
      await response.arrayBuffer();
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  await hook.until(count);
  return rateOf(hook);
}
