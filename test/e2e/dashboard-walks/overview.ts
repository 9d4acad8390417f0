/** The overview: its periods, one account alone, and each chart as a table. */
import { expect } from 'bun:test';

import { attempted, send } from './mail.ts';
import type { Walker } from './walker.ts';

export async function useOverview(walker: Walker): Promise<void> {
  const { page, ground } = walker;
  await attempted(ground, [await send(ground, 'Counted')]);
  await walker.menu('Overview');
  const chart = page.locator('figure.chart').first();
  await chart.locator('summary').click();
  for (const [period, columns] of [
    ['7 days', 28],
    ['30 days', 30],
    ['24 hours', 24],
  ] as const) {
    await walker.follow(period);
    await page.locator('nav.tabs a[aria-current]', { hasText: period }).waitFor();
    expect(await chart.locator('title').count()).toBe(columns);
    // With scripts the page stays, and so does the table that was opened.
    expect(await chart.locator('table').isVisible()).toBe(walker.hasScripts);
    if (!walker.hasScripts) await chart.locator('summary').click();
    await chart.locator('tbody tr').first().waitFor();
  }
  await walker.filter({ Account: 'default' });
  await page.waitForURL(/account=/);
  await page.locator('nav.tabs a[aria-current]', { hasText: '24 hours' }).waitFor();
}
