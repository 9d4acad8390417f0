/**
 * Guessing the dashboard's password: guesses made at once once escaped the count, and behind a reverse proxy one
 * guesser once shut everybody out; and a crowd of guessers once had as many checks at once as it made guesses.
 */
import { expect, test } from 'bun:test';

import { startDashboardRig } from '../dashboard/dashboard-rig.ts';

const GUESSES = 25;
const PROXIED = 'trusted_proxies = ["127.0.0.0/8"]';

function guess(url: string, password: string, client: string): Promise<number> {
  return fetch(`${url}/sign-in`, {
    method: 'POST',
    redirect: 'manual',
    headers: { 'sec-fetch-site': 'same-origin', 'x-forwarded-for': client },
    body: new URLSearchParams({ password }),
  }).then((answer) => answer.status);
}

test('guesses made at once are slowed like those made one by one', async () => {
  const rig = await startDashboardRig();
  const guesses = Array.from({ length: GUESSES }, (_, at) =>
    guess(rig.url, `wrong ${at}`, '198.51.100.1'),
  );
  const statuses = await Promise.all(guesses);
  expect(statuses.filter((status) => status === 401)).toHaveLength(10);
  expect(statuses.filter((status) => status === 429)).toHaveLength(GUESSES - 10);
  // Without a trusted proxy the header says nothing about who asks.
  expect(await guess(rig.url, rig.password, '198.51.100.2')).toBe(429);
  await rig.stop();
}, 30_000);

test('behind a trusted proxy a guesser shuts out nobody else', async () => {
  const rig = await startDashboardRig({ config: PROXIED });
  for (let at = 0; at < 10; at += 1) await guess(rig.url, 'wrong', '198.51.100.1');
  expect(await guess(rig.url, rig.password, '198.51.100.1')).toBe(429);
  expect(await guess(rig.url, rig.password, '198.51.100.2')).toBe(303);
  await rig.stop();
}, 30_000);

test('a crowd of guessers gets few checks at once, and the operator comes in after it', async () => {
  const rig = await startDashboardRig({ config: PROXIED });
  const crowd = Array.from({ length: 40 }, (_, at) => guess(rig.url, 'wrong', `198.51.100.${at}`));
  const statuses = await Promise.all(crowd);
  expect(statuses.filter((status) => status === 503).length).toBeGreaterThan(0);
  expect(statuses.filter((status) => status !== 503 && status !== 401)).toEqual([]);
  expect(await guess(rig.url, rig.password, '198.51.100.1')).toBe(303);
  await rig.stop();
}, 30_000);
