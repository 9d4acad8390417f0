/** The page of nodes: what each says of itself, what is wrong among them, and a drain; a server with files has none. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { VERSION } from '../../../src/base/version.ts';
import { openPostgres } from '../../../src/store/postgres/store.ts';
import type { PostgresStore } from '../../../src/store/postgres/store.ts';
import type { NodeReport } from '../../../src/store/nodes.ts';
import { newId } from '../../rig/ids.ts';
import { PostgresServer } from '../../rig/postgres.ts';
import { type DashboardRig, startDashboardRig } from '../dashboard-rig.ts';
import { rowsOf, targetsOf, textOf } from '../page-text.ts';

const IDLE: NodeReport = { taken: 0, inDelivery: 0, clockAheadMs: 0 };

test('a server with files has no entry in the menu; the page says that it runs alone', async () => {
  const rig = await startDashboardRig();
  const { status, text } = await rig.visit('/nodes');
  expect(status).toBe(200);
  expect(textOf(text)).toContain('This server runs alone');
  expect(textOf(text)).toContain('docs/cluster.md');
  expect(targetsOf(text)).not.toContain('/dashboard/nodes');
  expect((await rig.submit('/nodes/drain', { id: 'x', name: 'y' })).status).toBe(404);
  await rig.stop();
});

describe('a server that shares its store', () => {
  let server: PostgresServer;
  let url: string;
  let rig: DashboardRig;
  const others: PostgresStore[] = [];
  beforeAll(async () => {
    server = await PostgresServer.start();
    url = await server.freshDatabase();
    rig = await startDashboardRig({
      config: `[store]\nurl = "${url}"\n[node]\nname = "first"\n`,
    });
  }, 30_000);
  afterAll(async () => {
    await rig.stop();
    for (const store of others) await store.close();
    await server.stop();
  });

  /** Another node, which has said this of itself. Returns its session's id, and its store. */
  async function join(name: string, version: string, report: NodeReport, addresses: string[] = []) {
    const store = await openPostgres({ url, passwordFile: '', now: Date.now() });
    others.push(store);
    const id = newId(Date.now());
    await store.nodes.begin({ id, name, directory: id, addresses, version });
    await store.nodes.beat(report);
    return { id, nodes: store.nodes };
  }
  /** The rows of the table of nodes, by name. */
  async function shown(headers: Record<string, string> = {}) {
    const { text } = await rig.visit('/nodes', headers);
    const rows = rowsOf(text).filter((row) => row['Node'] !== undefined);
    return { text, said: textOf(text), rows };
  }
  const ownId = (): string => rig.rig.appliance.ctx.node?.id ?? '';
  const drain = (fields: Record<string, string>) => rig.submit('/nodes/drain', fields);

  test('alone it is listed, as the one that shows the page; its drain says that nobody is left', async () => {
    const { text, said, rows } = await shown();
    expect(targetsOf((await rig.visit('')).text)).toContain('/dashboard/nodes');
    expect(rows).toHaveLength(1);
    expect(rows[0]?.['Node']).toMatch(/^first shows this page since \d{4}-\d\d-\d\d \S+ UTC$/);
    expect(rows[0]?.['State']).toMatch(/^live heard (?:\d|1[0-4]) s ago$/);
    expect(said).toContain('No other node is live:');
    expect(said).toContain('It shows this page');
    expect(said).toContain('Synchronous standby – not checked yet');
    expect(text).toContain('data-live="5"');
  });

  test('others say what they have taken; names are text and no markup', async () => {
    const evil = '<i onclick="x">"b"</i>';
    const report = { taken: 1_234, inDelivery: 56, clockAheadMs: 1_900 };
    const addresses = ['192.0.2.7', '2001:db8::7'];
    const { nodes } = await join(evil, VERSION.version, report, addresses);
    const { text, said, rows } = await shown();
    expect(text).not.toContain('<i onclick');
    expect(rows).toHaveLength(2);
    expect(rows[0]?.['Node']).toStartWith(`${evil} since`);
    expect(rows[0]?.['Node']).toEndWith('sends from 192.0.2.7, 2001:db8::7');
    expect(rows[0]).toMatchObject({ Taken: '1,234', 'In delivery': '56' });
    expect(said).toContain('Live nodes 2 none draining or silent');
    expect(said).toContain('Taken 1,234 recipients, by all nodes');
    expect(said).toContain('the same on all');
    expect(said).not.toContain('What to look at');
    expect(said).toContain('What it leaves 1 other node sends.');
    await nodes.end();
  });

  test('versions apart, a clock that is off, a shared name and a silent node are marked, with what to do', async () => {
    const late = await join('late', '0.0.9', { ...IDLE, clockAheadMs: -3_200 });
    const twin = await join('first', '0.0.9', IDLE);
    const gone = await join('gone', '0.0.9', IDLE);
    const admin = server.admin(new URL(url).pathname.slice(1));
    await admin.unsafe(
      `UPDATE sessions SET lease_until = clock_timestamp() - interval '5 s' WHERE session = '${gone.id}'`,
    );
    const { text, said, rows } = await shown();
    expect(said).toContain('Versions 2 should be one');
    expect(said).toMatch(
      /The nodes have different versions: 0\.0\.9 on first, late; .* on first\./,
    );
    expect(said).toContain("Clocks of nodes differ from the database's: late 3.2 s behind.");
    expect(said).toContain('chrony');
    expect(said).toContain('Several nodes have the same name: first.');
    expect(rows.map((row) => row['Node']).join('\n')).toContain('late clock 3.2 s behind since');
    expect(rows.filter((row) => row['Node']?.includes(twin.id))).toHaveLength(1);
    const silent = rows.find((row) => row['Node']?.startsWith('gone'));
    expect(silent?.['State']).toMatch(/^silent heard 2\d s ago$/);
    expect(said).toContain('Live nodes 3 1 silent');
    // Whoever is silent hears of no drain.
    expect(text).not.toContain(gone.id);
    await late.nodes.end();
    await twin.nodes.end();
    await admin.unsafe(`UPDATE sessions SET ended_at = now() WHERE session = '${gone.id}'`);
    await admin.close();
  });

  test('a drain reaches the node, is noted with its name, and is refused once it has ended', async () => {
    const { id, nodes } = await join('second', '1.0.0', IDLE);
    const asked = await drain({ id, name: 'second' });
    expect([asked.status, asked.headers.get('location')]).toEqual([
      303,
      '/dashboard/nodes?done=drain_asked',
    ]);
    expect((await nodes.beat(IDLE)).isDrainAsked).toBe(true);
    const { said, rows } = await shown();
    expect(rows.find((row) => row['Node']?.startsWith('second'))?.['State']).toStartWith(
      'draining',
    );
    expect(said).toContain('1 draining');
    const [entry] = await rig.rig.appliance.ctx.store.audit({ who: null, limit: 1, before: null });
    expect(entry).toMatchObject({ action: 'nodes.drain', who: 'admin', via: 'dashboard' });
    expect(JSON.stringify(entry)).toContain('second');
    await nodes.end();
    expect((await drain({ id, name: 'second' })).status).toBe(404);
    expect((await drain({ id: ownId(), name: 'second' })).status).toBe(404);
    expect((await drain({})).status).toBe(404);
    expect((await rig.submit('/nodes/drain', { id: ownId(), name: 'first' }, {})).status).toBe(403);
    expect((await shown()).rows[0]?.['State']).toStartWith('live');
  });

  test('with the last host check it says what the database lacks', async () => {
    await rig.submit('/settings/check');
    const { said } = await shown();
    expect(said).toContain('The database can lose accepted mail with the power: fsync = off.');
    expect(said).toContain('The database has no standby.');
    expect(said).toContain('Synchronous standby none seen at the last host check');
  }, 60_000);

  test('where a standby is required it says whether there is one now, not at the last check', async () => {
    const { store } = rig.rig.appliance.ctx;
    const own = await store.databaseState();
    const tile = async (hasStandby: boolean) => {
      store.databaseState = async () => own && { ...own, hasStandby };
      return (await shown()).said;
    };
    const there = await tile(true);
    expect(there).toContain('Synchronous standby yes has what is committed');
    expect(there).not.toContain('The database has no standby.');
    expect(await tile(false)).toContain('Synchronous standby missing sends are refused');
    store.databaseState = async () => own;
  });

  test('it goes on to show the page when it was drained itself', async () => {
    expect((await drain({ id: ownId(), name: 'first' })).status).toBe(303);
    await rig.rig.log.first(({ event }) => event === 'node_drained', 20_000);
    const { said } = await shown();
    expect(said).toContain('takes part no longer: stop it, or start it anew.');
    expect(said).toContain('No node takes part now.');
  }, 30_000);
});
