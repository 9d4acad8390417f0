/**
 * Bun's outbound HTTP, as the guarded requests rely on it (src/wire/https/guarded-agent.ts), and what Bun does not do
 * yet. A failure here after an update of Bun says which assumption has changed: read it before the update.
 *
 * Threads: oven-sh/bun 36978 (https lookup), workglow-dev/libs 789 (undici in Bun).
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import https, { Agent } from 'node:https';
import { connect } from 'node:tls';

import { testAuthority } from '../rig/certificates.ts';
import { type Hook, startHook } from '../rig/hook.ts';

let hook: Hook;
const ca = testAuthority().cert;
beforeAll(async () => {
  hook = await startHook('pinned.rig.test', '127.0.0.2');
});
afterAll(() => hook.stop());

type Lookup = (
  name: string,
  options: { all?: boolean },
  done: (error: null, addresses: { address: string; family: number }[]) => void,
) => void;

function get(options: https.RequestOptions): Promise<number | string> {
  return new Promise((resolve) => {
    const request = https.request({ host: 'pinned.rig.test', port: hook.port, ca, ...options });
    request.on('response', (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    });
    request.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    request.end();
  });
}

test('https.request asks the given lookup for a name, and connects where it says', async () => {
  const asked: [string, boolean | undefined][] = [];
  const lookup: Lookup = (name, options, done) => {
    asked.push([name, options.all]);
    done(null, [{ address: '127.0.0.2', family: 4 }]);
  };
  expect(await get({ lookup: lookup as never, agent: new Agent() })).toBe(200);
  expect(asked).toEqual([['pinned.rig.test', true]]);
});

test('https.request does not ask it for a literal: literals must be checked by ourselves', async () => {
  let isAsked = false;
  const lookup: Lookup = (_name, _options, done) => {
    isAsked = true;
    done(null, [{ address: '127.0.0.2', family: 4 }]);
  };
  await get({ lookup: lookup as never, host: '127.0.0.2', agent: new Agent() });
  expect(isAsked).toBe(false);
});

test('an agent may make the connection itself, later, and no byte is written before', async () => {
  let isHandedOver = false;
  const seen = hook.calls.items.length;
  class Slow extends Agent {
    override createConnection(_options: unknown, callback?: unknown): undefined {
      const done = callback as (error: null, socket: unknown) => void;
      const socket = connect({
        host: '127.0.0.2',
        port: hook.port,
        servername: 'pinned.rig.test',
        ca,
      });
      socket.once('secureConnect', () =>
        // One round of the loop with a finished handshake: a request written early would arrive here.
        setTimeout(() => {
          expect(hook.calls.items).toHaveLength(seen);
          isHandedOver = true;
          done(null, socket);
        }, 50),
      );
      return undefined;
    }
  }
  const agent = new Slow();
  expect(await get({ agent })).toBe(200);
  expect(isHandedOver).toBe(true);
  agent.destroy();
});

test('fetch still ignores a lookup: it must not be used for what others name', async () => {
  let isAsked = false;
  const options = {
    lookup: (_name: string, _options: object, done: (error: Error) => void) => {
      isAsked = true;
      done(new Error('refused'));
    },
    tls: { ca },
  };
  const answer = await fetch(`https://127.0.0.2:${hook.port}/`, options as RequestInit).then(
    (response) => response.status,
    () => 'failed',
  );
  // The certificate names this address too: fetch went there without asking.
  expect([isAsked, answer]).toEqual([false, 200]);
});
