/**
 * The statements of the store on PostgreSQL are those of sent-statements.txt, each verb's in their order.
 *
 * When that fails and the change is meant: run this test with POSTRIDER_WRITE_STATEMENTS=1, and read the difference. The
 * checksum of a step of the schema that was released must never change: databases hold it.
 */
import { expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';

import { databaseAddress } from '../../../src/store/postgres/address.ts';
import { inspectDatabase } from '../../../src/store/postgres/inspection.ts';
import { openPostgres } from '../../../src/store/postgres/store.ts';
import type { PostgresStore } from '../../../src/store/postgres/store.ts';
import { openDatabaseSource } from '../../../src/store/postgres/transfer-reading.ts';
import { openDatabaseTarget } from '../../../src/store/postgres/transfer-writing.ts';
import { transfer } from '../../../src/store/transfer-run.ts';
import { testServer } from '../../rig/postgres.ts';
import * as account from '../story-account.ts';
import * as end from '../story-end.ts';
import * as hooks from '../story-hooks.ts';
import { askMail, askPages } from '../story-lists.ts';
import * as more from '../story-more.ts';
import { tellBeginning } from '../story-beginning.ts';
import { Story, at } from '../story.ts';
import { SENT_FILE, Sent } from './sent-statements.ts';

/** Everything that the story tells and asks while its accounts are there. */
async function tellAll(story: Story): Promise<void> {
  const messages = await tellBeginning(story);
  await askPages(story);
  await hooks.tellCalls(story);
  await more.tellSecrets(story);
  await more.tellAttempts(story);
  await account.askAccounts(story);
  await account.askDomains(story);
  await hooks.askSuppressions(story);
  await askMail(story, messages);
  await hooks.askEndpoints(story);
  await end.askPeople(story);
  await more.tellReplays(story);
  await more.tellDomains(story);
  await more.tellOperators(story);
  await end.tellErasure(story);
}

/** What a server does beside its mail. */
async function beside(store: PostgresStore, sent: Sent): Promise<void> {
  const nodes = sent.noting(store.nodes);
  const session = { id: crypto.randomUUID(), name: 'one', directory: '/one', addresses: [] };
  await nodes.begin({ ...session, id: crypto.randomUUID(), version: '1' });
  // The one before has ended, since the directory is free.
  await nodes.begin({ ...session, version: '1' });
  await nodes.beat({ taken: 1, inDelivery: 2, clockAheadMs: 3 });
  await nodes.list();
  await nodes.askToDrain('nobody');
  await nodes.endLost();
  await store.takeJob('job', 'one', 1_000);
  await store.endJob('job', 'one', 1_000);
  await store.exchangeTakes('one', { at: 1, windows: [] }, 1_000);
  await store.storeTime();
  await store.revision();
  await store.releaseLeases(null, at(0));
  await store.databaseState();
  await store.scrub();
  const without = { accountIds: [], destinations: [] };
  await store.takeDue({ owner: session.id, now: at(0), limit: 9, after: null, most: 9, without });
  await nodes.end();
}

test('every statement, verb by verb, is as it is written down', async () => {
  const server = await testServer();
  const admin = server.admin();
  await admin.unsafe('CREATE DATABASE sent');
  await admin.close();
  const url = server.url('sent');
  const now = Date.now();
  const sent = new Sent();
  const open = (): Promise<PostgresStore> => openPostgres({ url, passwordFile: '', now });
  try {
    await (await sent.of('opening an empty database', open)).close();
    const opened = await sent.of('opening', open);
    // All the connections there are, so that no statement has to wait for one.
    await Promise.all(Array.from({ length: 7 }, () => opened.storeTime()));
    let current: PostgresStore = sent.noting(opened);
    const story = new Story(
      new Proxy({} as PostgresStore, { get: (_, verb: keyof PostgresStore) => current[verb] }),
    );
    await tellAll(story);
    await beside(current, sent);
    await opened.close();
    await carry(url, await server.freshDatabase(), sent);
    current = sent.noting(await open());
    await end.tellRetention(story);
    await end.tellDeletion(story);
    await current.close();
    await sent.of('looking at a database', () =>
      inspectDatabase({ url, passwordFile: '' }, () => 0),
    );
  } finally {
    sent.end();
  }
  const text = sent.text();
  if (process.env['POSTRIDER_WRITE_STATEMENTS'] === '1') writeFileSync(SENT_FILE, text);
  expect(text.split('\n')).toEqual(readFileSync(SENT_FILE, 'utf8').split('\n'));
}, 120_000);

/** Carries one database into another, which nobody does, and shows both sides. */
async function carry(from: string, to: string, sent: Sent): Promise<void> {
  const source = await sent.of('opening a source', () =>
    openDatabaseSource(databaseAddress(from, '')),
  );
  const target = await sent.of('opening a target', () =>
    openDatabaseTarget(databaseAddress(to, ''), Date.now()),
  );
  await sent.of('carrying', () => transfer(source, target, () => undefined));
  await sent.of('closing', () => Promise.all([source.close(), target.close()]));
}
