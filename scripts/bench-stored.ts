/**
 * What grows with the data: start, delivery, reads and searches with nothing, a million and ten million stored, and with
 * a hundred thousand and a million queued.
 *
 * Each directory is made once and served for every case that is asked for; messages that wait are added to it after
 * that. It is removed before the next is made: ten million rows take 28 GB. Deliveries with much stored stand beside those
 * with nothing stored, measured right before.
 */
import { BARE, startBare } from './bench-bare.ts';
import { deliverOnce, deliveryFigures, recordOpenssl } from './bench-case.ts';
import type { Bench, Case, Filling } from './bench-case.ts';
import { addQueued, fillingText, installFilled, lacksSpace } from './bench-filled.ts';
import { recipientOf } from './bench-contender.ts';
import { startReceiver } from './bench-load.ts';
import type { Installation } from './bench-postrider.ts';
import { benchRead } from './bench-read.ts';
import { measureReads, measureSearches } from './bench-reading.ts';
import { OURS } from './bench-table.ts';

const READY = 'from start to ready, ms';
const DELIVERED = 'from start to first delivery, ms';

export const stored: Case = {
  names: ['start', 'grow', 'read', 'search'],
  async measure(bench, wanted) {
    const { fillings } = bench.options.sizes;
    for (const stored of new Set(fillings.map((filling) => filling.stored))) {
      const group = fillings.filter((filling) => filling.stored === stored);
      await measureGroup(
        bench,
        wanted,
        group.filter((filling) => isWanted(filling, wanted)),
      );
    }
    if (wanted.has('search')) await measureStore(bench);
  },
};

/** Reads and searches are measured where nothing is queued. */
function hasReads({ stored, queued }: Filling): boolean {
  return stored > 0 && queued === 0;
}

function isWanted(filling: Filling, wanted: ReadonlySet<string>): boolean {
  if (wanted.has('start') || wanted.has('grow')) return true;
  return hasReads(filling) && (wanted.has('read') || wanted.has('search'));
}

/** Measures fillings with as many stored, and ever more queued, on one directory. */
async function measureGroup(
  bench: Bench,
  wanted: ReadonlySet<string>,
  group: readonly Filling[],
): Promise<void> {
  let installation: Installation | null = null;
  let queued = 0;
  for (const filling of group) {
    const text = fillingText(filling);
    const more = filling.queued - queued;
    const why = lacksSpace(installation === null ? filling.stored : more);
    try {
      if (why !== null) {
        for (const name of wanted) bench.note(`${name}, ${text}`, OURS, why);
        continue;
      }
      if (installation === null) installation = await installFilled(bench, filling);
      else await addQueued(bench, installation, more);
      queued = filling.queued;
      await measureFilling(bench, wanted, filling, installation);
    } catch (error) {
      for (const name of wanted) bench.fail(`${name}, ${text}`, OURS, error);
    }
  }
  installation?.remove();
}

async function measureFilling(
  bench: Bench,
  wanted: ReadonlySet<string>,
  filling: Filling,
  installation: Installation,
): Promise<void> {
  const text = fillingText(filling);
  await bench.eachRun(text, async (run) => {
    if (wanted.has('start')) await measureStart(bench, `start, ${text}`, run, installation);
    if (hasReads(filling) && (wanted.has('read') || wanted.has('search'))) {
      const server = await installation.serve();
      try {
        const { stored: rows } = filling;
        if (wanted.has('read')) {
          await measureReads(bench, `read, ${text}`, run, installation, server);
        }
        if (wanted.has('search')) {
          await measureSearches(bench, `search, ${text}`, run, installation, server, rows);
        }
      } finally {
        await server.stop();
      }
    }
    if (wanted.has('grow')) await measureGrowth(bench, filling, run, installation);
  });
}

/** The files are in the system's cache, as they are after a restart of the server alone. The first email is sent at once. */
async function measureStart(
  bench: Bench,
  name: string,
  run: number,
  installation: Installation,
): Promise<void> {
  const receiver = await startReceiver(bench.options.receiverPort);
  try {
    const server = await installation.serve();
    const readyAt = Date.now();
    try {
      const connection = await server.connect();
      await connection.submit(recipientOf(0));
      await receiver.until(1);
      connection.close();
    } finally {
      await server.stop();
    }
    const delivered = server.readyMs + receiver.receipt().lastAt - readyAt;
    bench.record(name, run, OURS, { [READY]: server.readyMs, [DELIVERED]: delivered });
  } finally {
    receiver.stop();
  }
  const bare = await startBare();
  bench.record(name, run, BARE, { [READY]: bare.readyMs });
  await bare.stop();
}

async function measureGrowth(
  bench: Bench,
  filling: Filling,
  run: number,
  installation: Installation,
): Promise<void> {
  const { messages: count, warming } = bench.options.sizes;
  const name = `grow, ${fillingText(filling)}`;
  const deliver = async (subject: string, from: Installation): Promise<void> => {
    const { result } = await deliverOnce(bench.options, () => from.serve(), { count, warming });
    bench.record(name, run, subject, {
      ...deliveryFigures(result),
      'PSS at full load, MB': result.peakPssMb,
    });
    if (subject === OURS) recordOpenssl(bench, name, run, result);
  };
  if (filling.stored > 0) {
    const empty = await installFilled(bench, { stored: 0, queued: 0 });
    try {
      await deliver('nothing stored', empty);
    } finally {
      empty.remove();
    }
  }
  await deliver(OURS, installation);
}

/** The slowest of many kinds of search in the store itself, without HTTP, over rows with more words. */
async function measureStore(bench: Bench): Promise<void> {
  const rows = bench.options.sizes.storeRows;
  const name = `search, ${rows.toLocaleString('en-US')} rows of each kind, in the store`;
  bench.say(name);
  try {
    const runs = await benchRead(rows, bench.options.runs);
    for (const [run, timings] of runs.entries()) {
      const searches = timings.filter(({ query }) => query.includes(': q '));
      bench.record(name, run, OURS, {
        [`slowest of ${searches.length} kinds: p50, ms`]: Math.max(...searches.map((t) => t.p50Ms)),
        [`slowest of ${searches.length} kinds: p99, ms`]: Math.max(...searches.map((t) => t.p99Ms)),
      });
    }
  } catch (error) {
    bench.fail(name, OURS, error);
  }
}
