/**
 * The reference page in a real browser: it shows the routes, and requests nothing from another host.
 */
import { expect, test } from 'bun:test';
import { chromium } from 'playwright-core';
import { serveApi } from '../../../src/api/serve.ts';
import { describeWith, PROGRAMS } from '../../rig/programs.ts';
import { openBench } from '../bench.ts';

describeWith(['chromium'], 'the reference page', () => {
  test('shows every group, from this host alone, without breaking its own policy', async () => {
    const bench = await openBench();
    const server = serveApi(bench.api, { listen: { host: '127.0.0.1', port: 0 }, tls: null });
    const browser = await chromium.launch({
      executablePath: PROGRAMS.chromium.file,
      args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
    });
    try {
      const origin = `http://127.0.0.1:${server.port}`;
      const page = await browser.newPage();
      const foreign: string[] = [];
      const complaints: string[] = [];
      page.on('request', (request) => {
        const url = request.url();
        if (!url.startsWith(origin) && !url.startsWith('data:')) foreign.push(url);
      });
      page.on('console', (message) => {
        if (message.type() === 'error') complaints.push(message.text());
      });
      page.on('pageerror', (error) => complaints.push(error.message));
      await page.goto(`${origin}/docs`);
      for (const group of ['Emails', 'Domains', 'API keys', 'Webhooks', 'Suppressions']) {
        await page.getByText(group, { exact: true }).first().waitFor();
      }
      expect(foreign).toEqual([]);
      expect(complaints).toEqual([]);
    } finally {
      await browser.close();
      await server.stop(true);
      await bench.close();
    }
  }, 60_000);
});
