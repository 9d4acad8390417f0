/**
 * The contract, clause by clause: each row says which, and fails when it is broken.
 *
 * The same table runs against the API in this process and against the compiled binary, over plain HTTP and
 * under a certificate of its own.
 */
import { describe, test } from 'bun:test';
import { describeWith } from '../rig/programs.ts';
import { ADAPTERS } from './rows-adapters.ts';
import { BATCH } from './rows-batch.ts';
import { FRAMEWORKS } from './rows-frameworks.ts';
import { GENERAL } from './rows-general.ts';
import { LIMITS } from './rows-limits.ts';
import { QUERIES } from './rows-queries.ts';
import { READING } from './rows-reading.ts';
import { RESOURCES } from './rows-resources.ts';
import { SENDING } from './rows-sending.ts';
import { WEBHOOKS } from './rows-webhooks.ts';
import {
  openBinary,
  openBinaryOnPostgres,
  openInProcess,
  openNodesOnPostgres,
  openSecureBinary,
  useTarget,
  type Target,
} from './target.ts';

const ROWS = [
  ...GENERAL,
  ...SENDING,
  ...ADAPTERS,
  ...FRAMEWORKS,
  ...BATCH,
  ...READING,
  ...QUERIES,
  ...RESOURCES,
  ...WEBHOOKS,
  ...LIMITS,
];
const ROW_TIMEOUT_MS = 30_000;

/** Nodes tell each other eight times a second what they have counted: requests at the same moment pass the limits of each. */
const OF_ONE_NODE = ['C17.1'];

const tryAll =
  (open: () => Promise<Target>, without: readonly string[] = []) =>
  (): void => {
    const target = useTarget(open);
    for (const { clause, says, run } of ROWS) {
      if (without.includes(clause)) continue;
      test(`${clause}: ${says}`, () => run(target()), ROW_TIMEOUT_MS);
    }
  };

describe('the API in this process', tryAll(openInProcess));
describe(
  'the compiled binary',
  tryAll(() => openBinary()),
);
describe('the compiled binary on PostgreSQL', tryAll(openBinaryOnPostgres));
describe('two nodes on PostgreSQL', tryAll(openNodesOnPostgres, OF_ONE_NODE));
describeWith(['openssl'], 'the compiled binary under TLS', tryAll(openSecureBinary));
