/** Suppressions: added, searched, removed with a note, imported from a field and from a file, exported. */
import { expect } from 'bun:test';

import type { Walker } from './walker.ts';

export async function useSuppressions(walker: Walker): Promise<void> {
  const { page, tag } = walker;
  await walker.menu('Suppressions');
  for (const name of ['ann', 'ben']) {
    await walker.fill(
      'Address',
      `${name}.${tag}@person.example`,
      walker.card('Suppress an address'),
    );
    await walker.fill('Note', 'Asked by telephone.');
    await walker.press('Suppress');
    await walker.says('Added.');
  }
  await walker.filter({ Address: `ann.${tag}`, Reason: 'manual' });
  await walker.lists(`ann.${tag}@person.example`);
  await walker.filter({ Reason: 'complaint' });
  await walker.says('No suppressed address matches.');
  await walker.filter({ Reason: 'any' });
  await walker.confirm('Remove', 'Remove it from the list', {
    within: walker.row(`ann.${tag}`),
    before: (form) => walker.fill('Note for the log', 'A mistake', form),
  });
  await walker.says('Removed.');
  expect(await walker.row(`ann.${tag}`).count()).toBe(0);

  await walker.follow('Import');
  await walker.press('Import');
  await page.locator('.field .message').getByText('Choose a file, or paste addresses.').waitFor();
  await walker.fill('Or paste addresses', `cleo.${tag}@person.example\nben.${tag}@person.example`);
  await walker.press('Import');
  await walker.becomes('Imported: pasted addresses');
  expect(await factsOf(walker)).toMatch(/Addresses 2 Added 1 Known before 1/);
  await walker.field('File (up to 10 MB)').setInputFiles({
    name: 'bounced.csv',
    mimeType: 'text/csv',
    buffer: Buffer.from(
      `email,reason\ndora.${tag}@person.example,hard_bounce\nnobody,hard_bounce\n`,
    ),
  });
  await walker.press('Import');
  await walker.becomes('Imported: bounced.csv');
  expect(await factsOf(walker)).toMatch(/Addresses 1 Added 1 Known before 0 Not understood 1/);
  await walker.lists('3');
  await page.locator('p.up a').click();
  const { name, text } = await walker.saved('Export');
  expect(name).toBe('suppressions-default.csv');
  for (const word of ['ben', 'cleo', 'dora'])
    expect(text).toContain(`${word}.${tag}@person.example`);
  expect(text).not.toContain(`ann.${tag}@`);
}

async function factsOf({ page }: Walker): Promise<string> {
  return (await page.locator('dl.facts').innerText()).replace(/\s+/g, ' ');
}
