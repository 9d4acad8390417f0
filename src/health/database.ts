/**
 * The host check's questions about a PostgreSQL database: does it answer, does it keep what it has committed, is there a
 * standby, do clocks agree?
 *
 * Asks the primary a few questions on one connection and changes nothing. Never throws.
 */
import { OperatorError } from '../base/errors.ts';
import { keyState } from '../store/key-file.ts';
import type { DatabaseFacts } from '../store/postgres/inspection.ts';
import { standbyAdvice } from '../store/postgres/standbys.ts';
import { type DoctorContext, type Finding, finding, ok } from './finding.ts';
import { keyFinding } from './machine.ts';
import { MOST_CLOCK_MS, nodeFindings } from './nodes.ts';

const OLDEST_VERSION = 150_000;
/** Of one node. One more is counted that starts while another one ends. */
const CONNECTIONS_OF_NODE = 8;

/** Nothing where the store is files. */
export async function examineDatabase({ config, clock }: DoctorContext): Promise<Finding[]> {
  const { store, dataDir } = config.startup;
  if (store.url === '') return [];
  try {
    const { inspectDatabase } = await import('../store/postgres/inspection.ts');
    const facts = await inspectDatabase(store, () => clock.now());
    return [
      version(facts),
      durability(facts),
      standby(facts, store.requireStandby),
      connections(facts),
      databaseClock(facts),
      ok(
        'database_disk',
        `The database has ${Math.ceil(facts.bytes / 2 ** 20)} MiB. Its free space cannot be seen from here: watch it on its server.`,
      ),
      keyFinding(keyState(dataDir, facts.fingerprint)),
      ...nodeFindings(facts.nodes),
    ];
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error);
    const advice =
      error instanceof OperatorError
        ? error.hint
        : 'Check url in [store], the server and its log. Of several hosts one must be a primary.';
    return [finding('database', 'error', `The database cannot be used: ${cause}.`, advice)];
  }
}

function version({ version: name, versionNumber }: DatabaseFacts): Finding {
  const seen = `The database is PostgreSQL ${name}.`;
  if (versionNumber >= OLDEST_VERSION) return ok('database', seen);
  return finding('database', 'error', seen, 'Use PostgreSQL 15 or newer.');
}

function durability({ fsync, fullPageWrites, synchronousCommit }: DatabaseFacts): Finding {
  const wrong = [
    ...(fsync === 'on' ? [] : [`fsync = ${fsync}`]),
    ...(fullPageWrites === 'on' ? [] : [`full_page_writes = ${fullPageWrites}`]),
    ...(['on', 'remote_apply'].includes(synchronousCommit)
      ? []
      : [`synchronous_commit = ${synchronousCommit}`]),
  ];
  if (wrong.length === 0) {
    return ok('database_durability', 'What the database has committed survives a loss of power.');
  }
  return finding(
    'database_durability',
    'error',
    `The database can lose accepted mail with the power: ${wrong.join(', ')}.`,
    'Set each to on in postgresql.conf, and let no connection pooler drop the settings of a session.',
  );
}

function standby(facts: DatabaseFacts, isRequired: boolean): Finding {
  const check = 'database_standby';
  if (facts.synchronous > 0) {
    return ok(check, 'A synchronous standby has what the database commits.');
  }
  const seen = standbysSeen(facts);
  if (isRequired) {
    return finding(
      check,
      'error',
      `${seen} Sends are refused: [store] require_standby is true.`,
      standbyAdvice(facts),
    );
  }
  return finding(
    check,
    'warning',
    seen,
    `${standbyAdvice(facts)} Then set [store] require_standby = true.`,
  );
}

function standbysSeen({ connected, hidden }: DatabaseFacts): string {
  if (connected === 0) return 'The database has no standby.';
  if (hidden > 0) return 'Whether the standbys of the database are synchronous cannot be seen.';
  return 'The database has asynchronous standbys only: emails that were answered with an id can be lost with a failover.';
}

function connections({ mostConnections, otherConnections, nodes }: DatabaseFacts): Finding {
  const free = mostConnections - otherConnections;
  const wanted = CONNECTIONS_OF_NODE * (Math.max(nodes.length, 1) + 1);
  const seen = `The database can take ${Math.max(free, 0)} connections of nodes.`;
  if (free >= wanted) return ok('database_connections', seen);
  return finding(
    'database_connections',
    'warning',
    seen,
    `Raise max_connections of the server by ${wanted - free}: each node takes up to ${CONNECTIONS_OF_NODE}, and one may start while another ends.`,
  );
}

function databaseClock({ aheadMs }: DatabaseFacts): Finding {
  const seconds = (Math.abs(aheadMs) / 1000).toFixed(1);
  const seen =
    aheadMs === 0
      ? 'The clock of the database agrees with this one.'
      : `The clock of the database is ${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} this one.`;
  if (Math.abs(aheadMs) <= MOST_CLOCK_MS) return ok('database_clock', seen);
  return finding('database_clock', 'error', seen, 'Let chrony or systemd-timesyncd run on both.');
}
