/**
 * Stories of where mail goes: what the config and DNS say, and every site that they lead to, as it stands in stories.txt.
 *
 *   bun test/flow/deliver/stories.ts
 *
 * writes stories.txt anew.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import type { Smarthost } from '../../../src/base/config.ts';
import { makeTools } from '../../../src/flow/deliver/parts.ts';
import type { SiteResult } from '../../../src/flow/deliver/site.ts';
import { Concurrency } from '../../../src/flow/pacing/concurrency.ts';
import { OTHERS } from '../../../src/flow/pacing/provider-limits.ts';
import { startQueueRig } from '../queue/queue-rig.ts';
import type { QueueRig, QueueRigOptions } from '../queue/queue-rig.ts';
import { StoryText } from '../story-text.ts';

export const STORIES_FILE = join(import.meta.dir, 'stories.txt');

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

interface Teller {
  rig: QueueRig;
  tools: ReturnType<typeof makeTools>;
  /** Writes down the site for mail to `<name>.example`, for each name. */
  find: (...names: string[]) => Promise<void>;
  /** Writes down the smarthost's site. */
  smarthost: () => Promise<void>;
}

interface Story {
  delivery?: QueueRigOptions['delivery'];
  captureAt?: { host: string; port: number };
  tell(teller: Teller): Promise<void>;
}

const OPEN = { username: '', password: '' };
const LOGIN = { username: 'postrider', password: 'secret' };
const RELAY: Smarthost = { host: 'relay.example', port: 25, tls: 'opportunistic', ...OPEN };
const route = (domains: string[], change: Partial<Smarthost>) => ({
  domains,
  target: { ...RELAY, ...change },
});
const ANYWHERE = ['0.0.0.0/0', '::/0'];

export const STORIES: Readonly<Record<string, Story>> = {
  'routes: the first that matches, each kind of TLS, a login': {
    delivery: {
      routes: [
        route(['corp.example'], { port: 2525 }),
        route(['*.corp.example', 'both.example'], { tls: 'none' }),
        route(['*.corp.example', 'both.example'], { port: 99 }),
        route(['strict.example'], { tls: 'required' }),
        route(['wrapped.example'], { port: 465, tls: 'required' }),
        route(['wrapped-too.example'], { port: 2465 }),
        route(['login.example'], { ...LOGIN, port: 587 }),
        route(['nowhere.example'], { host: 'none.example' }),
        route(['broken.example'], { host: 'broken.example' }),
        route(['literal.example'], { host: '192.0.2.1' }),
      ],
    },
    async tell({ rig, find }) {
      rig.names.set('relay.example', 'A', ['10.0.0.1']);
      rig.names.fail('broken.example', 'servfail');
      await find('corp', 'a.corp', 'a.b.corp', 'xcorp', 'both', 'strict', 'wrapped', 'wrapped-too');
      await find('login', 'nowhere', 'broken', 'literal');
    },
  },
  'smarthost mode, with a login and with none': {
    delivery: { mode: 'smarthost', smarthost: { ...RELAY, ...LOGIN, tls: 'required' } },
    async tell({ rig, find, smarthost }) {
      rig.names.set('relay.example', 'A', ['10.0.0.1']);
      rig.names.set('any.example', 'MX', ['10 mx.any.example']);
      await find('any');
      await smarthost();
    },
  },
  'smarthost mode without a smarthost': {
    delivery: { mode: 'smarthost', smarthost: null },
    async tell({ find, smarthost }) {
      await find('any');
      await smarthost();
    },
  },
  'capture: everything but the routes': {
    delivery: { mode: 'capture', routes: [route(['out.example'], { host: '10.0.0.1' })] },
    captureAt: { host: '127.0.0.1', port: 1025 },
    async tell({ find }) {
      await find('any', 'out');
    },
  },
  'capture that does not run': {
    delivery: { mode: 'capture' },
    async tell({ find }) {
      await find('any');
    },
  },
  'directly: what DNS says': {
    delivery: { allowNetworks: ANYWHERE, port: 26 },
    async tell({ rig, find }) {
      const { names } = rig;
      names.set('two.example', 'MX', ['20 mx2.example', '10 mx1.example']);
      names.set('mx1.example', 'A', ['192.0.2.1']);
      names.set('mx2.example', 'A', ['192.0.2.2']);
      names.set('own.example', 'A', ['192.0.2.3']);
      names.set('null.example', 'MX', ['0 .']);
      names.set('bare.example', 'TXT', ['x']);
      names.set('gone.example', 'MX', ['10 mx.gone.example']);
      names.fail('broken.example', 'servfail');
      await find('two', 'own', 'null', 'bare', 'gone', 'none', 'broken');
    },
  },
  'directly: hosts on the public internet, and others': {
    async tell({ rig, find }) {
      const { names } = rig;
      names.set('mixed.example', 'MX', ['10 inner.example', '20 outer.example']);
      names.set('inner.example', 'A', ['10.0.0.1']);
      names.set('outer.example', 'A', ['8.8.8.8']);
      names.set('inside.example', 'MX', ['10 inner.example']);
      await find('mixed', 'inside');
    },
  },
  'directly: from an address of the config': {
    delivery: { sourceAddresses: ['192.0.2.9'], allowNetworks: ANYWHERE },
    async tell({ rig, find }) {
      rig.names.set('both.example', 'MX', ['10 mx.example']);
      rig.names.set('mx.example', 'A', ['192.0.2.1']);
      await find('both');
    },
  },
  'directly: hosts that no address of the config reaches': {
    delivery: { sourceAddresses: ['192.0.2.9'], allowNetworks: ANYWHERE },
    async tell({ rig, find }) {
      const { names } = rig;
      names.set('six.example', 'AAAA', ['2001:db8::6']);
      names.set('four.example', 'A', ['192.0.2.4']);
      names.set('both.example', 'MX', ['10 six.example', '20 four.example']);
      names.set('one.example', 'MX', ['10 six.example']);
      await find('both', 'one');
    },
  },
  'directly: providers, of the table and of the config': {
    delivery: {
      allowNetworks: ANYWHERE,
      providers: [
        { ...OTHERS, name: 'Own', mx: ['.own.example'], connections: 2, scope: 'cluster' },
        { ...OTHERS, name: 'Node', mx: ['node.example'], messagesPerMinute: 5, scope: 'node' },
      ],
    },
    async tell({ rig, find }) {
      const { names } = rig;
      const hosts = {
        gmail: 'gmail-smtp-in.l.google.com',
        own: 'mx.own.example',
        node: 'node.example',
        other: 'mx.other.example',
      };
      for (const [name, host] of Object.entries(hosts)) {
        names.set(`${name}.example`, 'MX', [`10 ${host}`]);
        names.set(host, 'A', ['192.0.2.1']);
      }
      await find(...Object.keys(hosts));
    },
  },
  'directly: DANE': {
    delivery: { allowNetworks: ANYWHERE },
    async tell({ rig, find }) {
      const { names } = rig;
      names.setAuthenticated(true);
      names.set('dane.example', 'MX', ['10 good.example', '20 bad.example', '30 open.example']);
      for (const host of ['good', 'bad', 'open']) {
        names.set(`${host}.example`, 'A', ['192.0.2.1']);
      }
      names.set('_25._tcp.good.example', 'TLSA', [`3 1 1 ${'ab'.repeat(32)}`]);
      names.fail('_25._tcp.bad.example', 'servfail');
      names.set('avoided.example', 'MX', ['10 bad.example']);
      await find('dane', 'avoided');
    },
  },
  'port 25 is closed: by the smarthost, with a probe every ten minutes': {
    delivery: { smarthost: RELAY, allowNetworks: ANYWHERE },
    async tell({ rig, tools, find }) {
      rig.names.set('relay.example', 'A', ['10.0.0.1'], 86_400);
      rig.names.set('any.example', 'MX', ['10 mx.example'], 86_400);
      rig.names.set('mx.example', 'A', ['192.0.2.1'], 86_400);
      for (const key of ['a', 'b']) tools.fallback.noteSilent(key);
      await find('any');
      tools.fallback.noteSilent('c');
      await find('any');
      rig.clock.pass(10 * MINUTE - 1);
      await find('any');
      rig.clock.pass(1);
      await find('any', 'any');
      tools.fallback.noteReached();
      await find('any');
    },
  },
  'a provider refuses our address: by the smarthost for four hours, then for eight': {
    delivery: { smarthost: RELAY, allowNetworks: ANYWHERE },
    async tell({ rig, tools, find }) {
      rig.names.set('relay.example', 'A', ['10.0.0.1'], 86_400);
      rig.names.set('any.example', 'MX', ['10 mx.example'], 86_400);
      rig.names.set('mx.example', 'A', ['192.0.2.1'], 86_400);
      tools.fallback.noteRefused('mx:mx.example', 'mx.example', '550 5.7.1 blocked');
      await find('any');
      rig.clock.pass(4 * HOUR);
      await find('any');
      tools.fallback.noteRefused('mx:mx.example', 'mx.example', '550 5.7.1 blocked');
      rig.clock.pass(8 * HOUR - 1);
      await find('any');
      tools.fallback.noteTaken('mx:mx.example');
      await find('any');
    },
  },
  'port 25 is closed, and the smarthost has no address': {
    delivery: { smarthost: RELAY, allowNetworks: ANYWHERE },
    async tell({ rig, tools, find }) {
      rig.names.set('any.example', 'MX', ['10 mx.example']);
      rig.names.set('mx.example', 'A', ['192.0.2.1']);
      for (const key of ['a', 'b', 'c']) tools.fallback.noteSilent(key);
      await find('any');
    },
  },
};

/** One story, told on a store and a DNS server of its own. */
export async function tell(name: string): Promise<string> {
  const story = STORIES[name];
  if (story === undefined) throw new Error(`there is no story ${name}`);
  const rig = await startQueueRig({ delivery: story.delivery ?? {}, isStarted: false });
  const stopping = new AbortController();
  const captureAt = story.captureAt ?? null;
  const tools = makeTools(rig.ctx, { captureAt }, new Concurrency(), stopping.signal);
  const text = new StoryText();
  try {
    await story.tell({
      rig,
      tools,
      async find(...names) {
        for (const one of names) add(text, one, await tools.sites.find(`${one}.example`));
      },
      async smarthost() {
        add(text, 'smarthost', await tools.sites.smarthost());
      },
    });
    text.add(
      'log',
      rig.logLines.map((line) => JSON.parse(line) as unknown),
    );
  } finally {
    tools.policyAgent.destroy();
    await rig.stop();
  }
  return `> ${name}\n${text.toString()}`;
}

/** The outcome, or the site and then each address with all that its sessions are given. */
function add(text: StoryText, name: string, result: SiteResult | null): void {
  if (result?.kind !== 'site') return text.add(name, result);
  const { addresses, ...site } = result.site;
  text.add(name, site);
  for (const { host, target, dial, plain } of addresses) {
    const { deadlines: _, signal: __, ...options } = dial.options;
    const isChecked = options.tls.checkPeer !== undefined;
    const { name: policy } = host.tls;
    text.add(`${name}: host`, { name: host.name, preference: host.preference, policy, target });
    text.add(`${name}: dial`, { ...options, isChecked, peer: dial.peer, key: dial.key });
    text.add(`${name}: plain`, plain === null ? null : { tls: plain.options.tls, key: plain.key });
  }
}

if (import.meta.main) {
  const told: string[] = [];
  for (const name of Object.keys(STORIES)) told.push(await tell(name));
  writeFileSync(STORIES_FILE, told.join('\n'));
}
