/** The page of whoever is signed in, the settings of the server, and an import of suppressions, in each state. */
import { createHash } from 'node:crypto';

import { profilePages } from '../../../src/dashboard/pages/profile.ts';
import { settingsPages } from '../../../src/dashboard/pages/settings.ts';
import { suppressionPages } from '../../../src/dashboard/pages/suppressions.ts';
import type { RefusedForm } from '../../../src/dashboard/frame/visit.ts';
import type { ImportState } from '../../../src/flow/suppressions/imports.ts';
import { finding, ok } from '../../../src/health/finding.ts';
import { type Drawing, NOW, opened, visitOf } from './page.ts';

const OPERATOR = { id: 'op', name: 'anna', sealedTotp: null, recoveryCodes: 0 };
const cluster = { name: 'mail.<x>.example' };
const startup = {
  hostname: 'a.example',
  cluster,
  delivery: { mode: 'direct' },
  dataDir: '/var/lib/<p>',
};

/** The page; a QR code as the sum of its squares, and a secret that was made now as such. */
async function profile(operator: object | null, refused: RefusedForm | null = null) {
  const visit = visitOf({ operator, ctx: { config: { startup } } });
  const text = await opened(profilePages, 'GET', '/profile', { ...visit, refused });
  const shown = text.replaceAll(/ d="M[^"]+"/g, (path) => {
    return ` d="${createHash('sha256').update(path).digest('hex')}"`;
  });
  if (refused?.fields.get('secret') === KEPT) return shown;
  return shown.replaceAll(/ d="[0-9a-f]{64}"/g, ' d="…"').replaceAll(/\b[A-Z2-7]{32}\b/g, 'SECRET');
}

const KEPT = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP';
const refused = (action: string, secret: string): RefusedForm => ({
  action: `/dashboard/profile/${action}`,
  fields: new URLSearchParams({ secret, code: '12', password: 'mine', new_password: 'theirs' }),
  issues: new Map([
    ['code', 'Not one of it.'],
    ['password', 'Wrong.'],
  ]),
  message: null,
});

const settings = (
  parts: object,
  halt: object | null = null,
  mayChange = true,
  name = 'a.example',
) =>
  opened(
    settingsPages,
    'GET',
    '/settings',
    visitOf({
      ctx: { config: { startup: { ...startup, cluster: { name } } }, halt: { state: halt } },
      parts: { vitals: { findings: null }, backups: { last: null }, ...parts },
      mayChange,
    }),
  ).then((text) => text.replace(/<dd>[^<]*, Bun [^<]*<\/dd>/, '<dd>VERSION</dd>'));

const checked = (...findings: object[]) => ({
  vitals: { findings: { checkedAt: NOW, findings } },
});
const backup = (last: object) => ({ backups: { last } });

const page = (state: Partial<ImportState> | null, mayChange = true) =>
  opened(
    suppressionPages,
    'GET',
    '/accounts/:account/suppressions/import',
    visitOf({
      mayChange,
      parts: {
        imports: {
          of: () =>
            state && {
              name: 'a <b>.csv',
              startedAt: NOW,
              endedAt: null,
              bytes: 2_000,
              read: 1,
              result: { rows: 3, added: 2, known: 1, bad: 0, named: [] },
              problem: null,
              ...state,
            },
        },
      },
    }),
  );

const bad = { rows: 1_000, added: 0, known: 0, bad: 2, named: [{ line: 7, message: 'no <b>' }] };

export const STATES: readonly Drawing[] = [
  ['profile without a second factor', () => profile(OPERATOR)],
  [
    'profile with one',
    () => profile({ ...OPERATOR, sealedTotp: new Uint8Array(1), recoveryCodes: 7 }),
  ],
  ['profile of nobody', () => profile(null)],
  ['a refused code keeps its secret', () => profile(OPERATOR, refused('second-factor', KEPT))],
  ['a refused secret is replaced', () => profile(OPERATOR, refused('second-factor', `${KEPT}A`))],
  ['a refused password keeps nothing', () => profile(OPERATOR, refused('password', 'x'))],
  ['settings', () => settings({})],
  ['settings of a halted server with a name of its own', () => settings({}, {}, true, 'mail.x')],
  ['settings for a reader', () => settings({}, null, false)],
  ['settings for a reader of a halted server', () => settings({}, {}, false)],
  ['all is well', () => settings(checked(ok('a', 'Fine.'), ok('b', 'Fine.')))],
  [
    'something is wrong',
    () =>
      settings(
        checked(
          ok('a', 'Fine.'),
          finding('b', 'warning', 'Odd <b>.', 'Look.'),
          finding('c', 'error', 'Bad.', 'Repair it.'),
          finding('d', 'unchecked', 'Unknown.', 'Ask.'),
        ),
      ),
  ],
  ['a backup is being written', () => settings(backup({ kind: 'running', startedAt: NOW }))],
  [
    'a backup is written',
    () =>
      settings(
        backup({ kind: 'done', endedAt: NOW, report: { file: 'backups/<a>', bytes: 1_500_000 } }),
      ),
  ],
  ['a backup failed', () => settings(backup({ kind: 'failed', problem: 'Full <b>.' }))],
  ['no import', () => page(null)],
  ['no import for a reader', () => page(null, false)],
  ['an import that runs', () => page({})],
  ['an import that has ended', () => page({ endedAt: NOW + 1, read: 2_000 })],
  [
    'an import that ended early',
    () => page({ endedAt: NOW + 1, problem: 'No <CSV>.', result: bad }),
  ],
];
