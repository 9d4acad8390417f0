/** How long the keeper waits between orders that fail, without an authority. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CertificateKeeper, namesToCertify } from '../../../src/flow/upkeep/certificates.ts';
import { openFixture, type Fixture } from '../fixture.ts';

const HOUR_MS = 3_600_000;

let fixture: Fixture;
beforeEach(async () => {
  fixture = await openFixture({
    toml: '[http]\npublic_url = "https://api.acme.example/"\n[acme]\nlisten = "127.0.0.1:0"\naccept_terms = true\ndirectory_url = "https://127.0.0.1:1/"\n',
  });
});
afterEach(() => fixture.close());

test('waits double from an hour to a day, and then stay', async () => {
  // A file where the folder should be: no order gets as far as the authority.
  writeFileSync(join(fixture.dir, 'acme'), '');
  const keeper = new CertificateKeeper(fixture.ctx, () => undefined);
  const failed = () =>
    fixture.logged.flatMap((line) =>
      line['event'] === 'certificate_failed' ? [Number(line['next_in_ms']) / HOUR_MS] : [],
    );
  keeper.start();
  for (let count = 1; count <= 7; count += 1) {
    while (failed().length < count) await new Promise((resolve) => setImmediate(resolve));
    await fixture.clock.advance((failed().at(-1) ?? 0) * HOUR_MS);
  }
  await keeper.stop();
  expect(failed().slice(0, 7)).toEqual([1, 2, 4, 8, 16, 24, 24]);
});

test('the host name and that of the public URL are certified, each once', () => {
  const { config } = fixture.ctx;
  expect(namesToCertify(config)).toEqual(['mail.appliance.example', 'api.acme.example']);
  const http = { ...config.live.http, publicUrl: 'https://mail.appliance.example' };
  expect(namesToCertify({ ...config, live: { ...config.live, http } })).toEqual([
    'mail.appliance.example',
  ]);
});
