/** Files of the dashboard: kept for ever under the address that names their content, asked for again under any other. */
import { expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

import {
  assetResponse,
  ENHANCE_PATH,
  faviconResponse,
  ICON_PATH,
  MORPH_PATH,
  STYLE_PATH,
} from '../../../src/dashboard/frame/assets.ts';

const OWN = { 'X-Own': 'yes' };

function answer(path: string, accept = ''): Response | null {
  const url = new URL(path, 'http://127.0.0.1');
  return assetResponse(new Request(url.href, { headers: { 'accept-encoding': accept } }), url, OWN);
}

test.each([
  [STYLE_PATH, /^text\/css/],
  [ENHANCE_PATH, /javascript/],
  [MORPH_PATH, /javascript/],
  [ICON_PATH, /^image\/svg\+xml/],
])('%s', async (address, type) => {
  expect(address).toMatch(/^\/dashboard\/[\w.-]+\?v=[\w-]{12}$/);
  const [path = ''] = address.split('?');
  const cacheOf = (asked: string): string | null | undefined =>
    answer(asked)?.headers.get('cache-control');
  expect(cacheOf(address)).toBe('public, max-age=31536000, immutable');
  // Another version's page must not keep this version's file under its own address.
  for (const asked of [path, `${path}?v=`, `${path}?v=AAAAAAAAAAAA`, `${address}&x`])
    expect([asked, cacheOf(asked)]).toEqual([asked, 'no-cache']);
  const [plain, packed] = [answer(address, 'br, xgzip'), answer(address, 'br, gzip;q=0.5')];
  expect(plain?.headers.get('content-type')).toMatch(type);
  expect(plain?.headers.get('content-encoding')).toBeNull();
  expect(packed?.headers.get('content-encoding')).toBe('gzip');
  for (const one of [plain, packed])
    expect([one?.headers.get('vary'), one?.headers.get('x-own')]).toEqual([
      'Accept-Encoding',
      'yes',
    ]);
  const text = await plain?.text();
  expect(text).not.toBe('');
  expect(gunzipSync((await packed?.bytes()) ?? new Uint8Array()).toString()).toBe(text ?? '');
});

test('the style sheet has all that are in the folder, each once, behind the one that the others build on', async () => {
  const folder = join(import.meta.dir, '../../../src/dashboard/frame');
  const whole = (await answer(STYLE_PATH)?.text()) ?? '';
  const names = readdirSync(folder).filter((name) => name.endsWith('.css'));
  const sheets = names.map((name) => readFileSync(join(folder, name), 'utf8'));
  for (const [at, sheet] of sheets.entries())
    expect([names[at], whole.split(sheet).length]).toEqual([names[at], 2]);
  expect(whole).toHaveLength(sheets.join('').length);
  expect(whole).toStartWith(readFileSync(join(folder, 'style.css'), 'utf8'));
});

test('there is no other file, and the icon is kept for a day under its old name', async () => {
  for (const path of ['/dashboard', '/dashboard/style', '/dashboard/nothing.css', '/style.css'])
    expect(answer(path)).toBeNull();
  const icon = faviconResponse();
  expect(Object.fromEntries(icon.headers)).toMatchObject({
    'content-type': answer(ICON_PATH)?.headers.get('content-type'),
    'cache-control': 'public, max-age=86400',
    'x-content-type-options': 'nosniff',
  });
  expect(await icon.text()).toBe((await answer(ICON_PATH)?.text()) ?? '');
});
