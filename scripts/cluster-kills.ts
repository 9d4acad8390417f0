/**
 * Nodes on one PostgreSQL under steady load, of which one is killed again and again: is anything lost, what is doubled?
 *
 * `scripts/soak --nodes 3 [--minutes 10] [--rate 200] [--every 20] [--seed N]`. Every `--every` seconds a node chosen by
 * the seed gets kill -9; it starts again after 2 s, each third one only after 65 s, when others have taken its mail over.
 * A send without an answer is asked again at another node under the same Idempotency-Key. Ends with 1 when an email that
 * was answered with an id did not arrive, when more arrived twice than sessions were open at the kills, when a copy has
 * another Message-ID, or when an email took longer than a minute. Needs dist/postrider and PostgreSQL.
 */

import { scriptOptions } from './options.ts';
import { field, startNodes } from './soak-nodes.ts';
import type { SoakNode } from './soak-nodes.ts';

const TICK_MS = 50;
const ANSWER_MS = 8_000;
const SOON_MS = 2_000;
const LATE_MS = 65_000;
const DRAIN_MS = 150_000;
const LATEST_MS = 60_000;

const { values } = scriptOptions({
  options: {
    nodes: { type: 'string', default: '3' },
    minutes: { type: 'string', default: '10' },
    rate: { type: 'string', default: '200' },
    every: { type: 'string', default: '20' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
});
const [count, rate, seed] = [Number(values.nodes), Number(values.rate), Number(values.seed)];
const [runMs, everyMs] = [Number(values.minutes) * 60_000, Number(values.every) * 1_000];

const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** Numbers from 0 to 1 that follow from the seed (mulberry32). */
function randomFrom(start: number): () => number {
  let state = start;
  return () => {
    state = (state + 0x6d_2b_79_f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** What became of one email. */
interface Fate {
  /** When its id was answered; null: not yet. */
  answeredAt: number | null;
  arrivals: number;
  arrivedAt: number | null;
  messageIds: Set<string>;
}

const random = randomFrom(seed);
const { server, world, nodes, authorization, from } = await startNodes(count);

const fates = new Map<string, Fate>();
const totals = { sent: 0, answered: 0, kills: 0, openAtKills: 0 };
/** Sends that were asked again, by the status of the answer; `none`: there was none. */
const again: Record<string, number> = {};

world.receiver.script.dot = (message) => {
  const fate = fates.get(field(message, 'Subject'));
  if (fate === undefined) return null;
  fate.arrivals += 1;
  fate.arrivedAt ??= performance.now();
  fate.messageIds.add(field(message, 'Message-ID'));
  return null;
};

function upNodes(): SoakNode[] {
  return nodes.filter(({ isUp }) => isUp);
}

/** Asks one node after another until one has answered with an id. */
async function send(index: number): Promise<void> {
  const subject = `soak ${index}`;
  const fate: Fate = { answeredAt: null, arrivals: 0, arrivedAt: null, messageIds: new Set() };
  fates.set(subject, fate);
  totals.sent += 1;
  const to = `r${index}@d${index % 50}.example.net`;
  const mail = { from, to, subject, text: 'Hello.' };
  for (let at = index; fate.answeredAt === null; at += 1) {
    const up = upNodes();
    const node = up[at % up.length];
    const answer = await Promise.race([
      node?.appliance
        .api('POST', '/emails', mail, { authorization, 'idempotency-key': subject })
        .catch(() => null),
      Bun.sleep(ANSWER_MS).then(() => null),
    ]);
    if (answer?.ok === true) fate.answeredAt = performance.now();
    else {
      const status = answer?.status ?? 'none';
      again[status] = (again[status] ?? 0) + 1;
      await Bun.sleep(100);
    }
  }
  totals.answered += 1;
}

async function killOne(): Promise<void> {
  const up = upNodes();
  const node = up[Math.floor(random() * up.length)];
  if (node === undefined || up.length < 2) return;
  totals.kills += 1;
  const waitMs = totals.kills % 3 === 0 ? LATE_MS : SOON_MS;
  node.isUp = false;
  const open = world.receiver.openSessions(node.helo);
  totals.openAtKills += open;
  await node.appliance.signal('SIGKILL');
  say(`${node.name} killed with ${open} open sessions, back in ${waitMs / 1_000} s`);
  await Bun.sleep(waitMs);
  await node.appliance.start();
  node.isUp = true;
}

say(`seed ${seed}`);
const began = performance.now();
const underWay = new Set<Promise<void>>();
let nextKill = began + everyMs;
for (let now = began; now < began + runMs; now = performance.now()) {
  const due = ((now - began) / 1_000) * rate;
  while (totals.sent < due && underWay.size < 1_000) {
    const one: Promise<void> = send(totals.sent).finally(() => underWay.delete(one));
    underWay.add(one);
  }
  if (now >= nextKill) {
    nextKill += everyMs;
    void killOne();
  }
  world.receiver.messages.clear();
  await Bun.sleep(TICK_MS);
}
await Promise.all(underWay);
const missing = (): number =>
  Array.from(fates.values()).filter(({ arrivals }) => arrivals === 0).length;
for (const until = performance.now() + DRAIN_MS; missing() > 0 && performance.now() < until;) {
  await Bun.sleep(500);
}

const all = Array.from(fates.values());
const repeated = all.reduce((sum, { arrivals }) => sum + Math.max(arrivals - 1, 0), 0);
const strange = all.filter(({ messageIds }) => messageIds.size > 1).length;
const delays = all
  .map(({ answeredAt, arrivedAt }) => (arrivedAt ?? Infinity) - (answeredAt ?? 0))
  .toSorted((a, b) => a - b);
const [median = 0, longest = 0] = [delays[Math.floor(delays.length / 2)], delays.at(-1)];
const figures = {
  ...totals,
  again,
  lost: missing(),
  repeated,
  otherMessageId: strange,
  medianMs: Math.round(median),
  longestMs: Math.round(longest),
};
say(JSON.stringify(figures));
const isGood =
  missing() === 0 && repeated <= totals.openAtKills && strange === 0 && longest <= LATEST_MS;
say(isGood ? 'Nothing is lost.' : 'NOT as promised.');
await world.stop();
await server.stop();
process.exit(isGood ? 0 : 1);
