/** A service of several machines: what clients are told leads to the name of the service, not to that of one machine. */
import { afterAll, beforeAll, expect, test } from 'bun:test';

import { openBench, type Bench } from '../bench.ts';

let bench: Bench;
let key: string;

beforeAll(async () => {
  bench = await openBench({ toml: '[cluster]\nname = "mail.service.test"' });
  key = await bench.key(await bench.account('several', 'fast'));
});
afterAll(() => bench.close());

test('the return path of a domain leads to the service', async () => {
  const returnPath = ({ json }: Awaited<ReturnType<Bench['ask']>>): unknown =>
    json.records.map(({ record, name, value }: Record<string, string>) =>
      record === 'SPF' ? [name, value] : record,
    );
  const added = await bench.ask({ path: '/domains', key, body: { name: 'own.example' } });
  const shown = await bench.ask({ path: `/domains/${added.json.id}`, key });
  const wanted = ['DKIM', ['send.own.example', 'mail.service.test']];
  expect([returnPath(added), returnPath(shown)]).toEqual([wanted, wanted]);
});
