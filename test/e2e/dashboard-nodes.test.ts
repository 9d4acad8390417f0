/**
 * The page of nodes of three compiled binaries on one database, in Chromium: another node is drained, with scripts and
 * without; the page has no serious finding of axe-core and fits at every width, also where it asks before a drain.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import axe, { type AxeResults } from 'axe-core';
import { chromium, type Browser, type Page } from 'playwright-core';

import type { BinaryAppliance } from '../rig/binary.ts';
import { testServer } from '../rig/postgres.ts';
import { describeWith, PROGRAMS } from '../rig/programs.ts';
import { startWorld } from '../rig/world.ts';
import type { World } from '../rig/world.ts';
import { useNodes } from './dashboard-walks/nodes.ts';
import { Walker, Watch, type Ground } from './dashboard-walks/walker.ts';

const TIMEOUT_MS = 60_000;
const WIDTHS = [390, 768, 1280] as const;

describeWith(['chromium', 'openssl'], 'the nodes of a service, on a page', () => {
  let world: World;
  let browser: Browser;
  let ground: Ground;
  let others: Map<string, BinaryAppliance>;
  beforeAll(async () => {
    const server = await testServer();
    world = await startWorld({ store: await server.freshDatabase() });
    others = new Map();
    for (const name of ['blue', 'green']) others.set(name, await world.join(name));
    browser = await chromium.launch({
      executablePath: PROGRAMS.chromium.file,
      args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
    });
    const { appliance, names, hook } = world;
    ground = { appliance, names, hook, browser, watch: new Watch(appliance) };
  }, TIMEOUT_MS);
  afterAll(async () => {
    await browser.close();
    await world.stop();
    expect(ground.watch.wrong).toEqual([]);
  });

  async function arrive(hasScripts: boolean): Promise<Walker> {
    const walker = await Walker.arrive(ground, hasScripts);
    await walker.signIn('admin', ground.appliance.made.admin_password);
    return walker;
  }

  test(
    'fits its window, and has no serious finding, in light and dark',
    async () => {
      const walker = await arrive(true);
      await walker.menu('Nodes');
      const { page } = walker;
      const found: string[] = [];
      for (const isAsking of [false, true]) {
        if (isAsking) await walker.row('blue').locator('summary').click();
        for (const width of WIDTHS) {
          await page.setViewportSize({ width, height: 900 });
          const wide = await tooWide(page);
          if (wide > 0) found.push(`${width}, asking ${isAsking}: ${wide} px too wide`);
          for (const colorScheme of ['light', 'dark'] as const) {
            await page.emulateMedia({ colorScheme });
            const all = await findings(page);
            found.push(...all.map((one) => `${width} ${colorScheme}: ${one}`));
          }
        }
      }
      expect(found).toEqual([]);
      await walker.leave();
    },
    // Twelve runs of axe-core.
    3 * TIMEOUT_MS,
  );

  describe.each([
    [true, 'blue'],
    [false, 'green'],
  ] as const)('with scripts: %j', (hasScripts, name) => {
    test(
      'another node is drained',
      async () => {
        const walker = await arrive(hasScripts);
        const node = others.get(name);
        if (node === undefined) throw new Error('it has not joined');
        await useNodes(walker, name, node);
        await walker.leave();
      },
      TIMEOUT_MS,
    );
  });
});

/** Pixels by which the page is wider than its window, or a table than its page. */
function tooWide(page: Page): Promise<number> {
  return page.evaluate<number>(
    `Math.max(document.documentElement.scrollWidth - innerWidth,
      ...[...document.querySelectorAll('.scroll')].map((one) => one.scrollWidth - one.clientWidth))`,
  );
}

async function findings(page: Page): Promise<string[]> {
  // Evaluated by the browser's tools, which no Content-Security-Policy of the page forbids.
  await page.evaluate(`window.axe ?? (() => { ${axe.source} })()`);
  const { violations } = await page.evaluate<AxeResults>(
    `axe.run(document, { resultTypes: ['violations'] })`,
  );
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes[0]?.html.slice(0, 200)}`);
}
