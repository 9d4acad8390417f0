/**
 * oven-sh/bun#36140: a connection that fails because this process has no descriptor left is reported as ECONNREFUSED,
 * which reads like the receiver's fault. src/wire/local-errors.ts tells the two apart, for SMTP and for HTTPS.
 *
 * When `cause` no longer says ECONNREFUSED here, Bun is fixed and the probe can go.
 */
import { expect, test } from 'bun:test';
import { join } from 'node:path';

const DESCRIPTORS = 48;

const path = (file: string): string => join(import.meta.dir, '../../src/wire', file);

/** Runs `attempt` of a program twice on a closed port: first without a free descriptor, then with some. */
function run(attempt: string): Record<'without' | 'withSome', unknown> {
  const program = `
    import { openSync, closeSync } from 'node:fs';
    import { openClosedPort } from '${join(import.meta.dir, '../rig/closed-port.ts')}';
    const { port } = await openClosedPort();
    ${attempt}
    const kept = [];
    try { for (;;) kept.push(openSync('/dev/null', 'r')); } catch {}
    const without = await attempt();
    for (const fd of kept) closeSync(fd);
    console.log(JSON.stringify({ without, withSome: await attempt() }));
    process.exit();
  `;
  const command = `ulimit -n ${DESCRIPTORS}; exec "$0" -e "$1"`;
  const done = Bun.spawnSync(['sh', '-c', command, process.execPath, program]);
  return JSON.parse(done.stdout.toString()) as Record<'without' | 'withSome', unknown>;
}

test('SMTP: out of descriptors is our trouble, a closed port is theirs', () => {
  const { without, withSome } = run(`
    import { openSession } from '${path('smtp/client.ts')}';
    import { PRODUCTION_DEADLINES } from '${path('smtp/deadlines.ts')}';
    const attempt = async () => {
      const { stage, cause, isLocal } = await openSession({
        address: '127.0.0.1', port, localAddress: null, heloName: 'c.test', serverName: 'mx.test',
        tls: { mode: 'none', verify: false }, auth: null, deadlines: PRODUCTION_DEADLINES,
      });
      return { stage, cause, isLocal };
    };
  `);
  expect(without).toMatchObject({ stage: 'connect', isLocal: true });
  expect(withSome).toMatchObject({ stage: 'connect', isLocal: false });
  expect((without as { cause: string }).cause).toContain('ECONNREFUSED');
});

/** Posts to the closed port by a name that `resolver` answers. */
const posting = (resolver: string): string => `
  import { guardedPost } from '${path('https/post.ts')}';
  import { GuardedAgent } from '${path('https/guarded-agent.ts')}';
  import { parseNetworks } from '${path('addresses/networks.ts')}';
  const resolver = ${resolver};
  const agent = new GuardedAgent({ resolver, allowNetworks: parseNetworks(['127.0.0.1/32']), ca: [], idleMs: 1 });
  const attempt = async () => {
    const { kind, reason, isLocal } = await guardedPost({
      url: 'https://hook.test:' + port + '/', headers: {}, body: '', agent, timeoutMs: 5000, maxResponseBytes: 10,
    });
    return { kind, reason, isLocal };
  };
`;

test('HTTPS: out of descriptors is our trouble, a closed port is theirs', () => {
  const { without, withSome } = run(
    posting(`{
      a: async () => ({ kind: 'found', records: ['127.0.0.1'], ttlSeconds: 0, isAuthenticated: false }),
      aaaa: async () => ({ kind: 'nodata', isAuthenticated: false }),
    }`),
  );
  const ours = 'this machine has no socket left';
  expect(without).toEqual({ kind: 'failed', reason: ours, isLocal: true });
  const theirs = 'the connection was refused';
  expect(withSome).toEqual({ kind: 'failed', reason: theirs, isLocal: false });
});

test('HTTPS: a name that cannot be looked up without a descriptor is our trouble too', () => {
  const { without, withSome } = run(
    posting(`{
      a: async () => ({ kind: 'failed', reason: 'no resolver answered' }),
      aaaa: async () => ({ kind: 'failed', reason: 'no resolver answered' }),
    }`),
  );
  expect(without).toMatchObject({ reason: 'this machine has no socket left', isLocal: true });
  const theirs = 'the host name could not be resolved';
  expect(withSome).toEqual({ kind: 'failed', reason: theirs, isLocal: false });
});
