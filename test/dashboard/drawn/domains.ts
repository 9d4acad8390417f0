/** Sending domains in the list and alone: what DNS shows, since when and until when, and the change of a key. */
import { domainPages } from '../../../src/dashboard/pages/domains.ts';
import type { RefusedForm } from '../../../src/dashboard/frame/visit.ts';
import type { SeenRecord } from '../../../src/store/domains.ts';
import type { Domain } from '../../../src/store/rows.ts';
import { newDomain } from '../../store/samples.ts';
import { ahead, type Drawing, handedOver, NOW, opened, type Parts, visitOf } from './page.ts';

const LIST = '/accounts/:account/domains';
const ONE = `${LIST}/:id`;
const DAY_MS = 86_400_000;
const KEY = 'v=DKIM1; k=rsa; p=MIIB';

const domain = (change: Partial<Domain> = {}): Domain => ({
  ...newDomain('acc', 'mail.shop.example'),
  id: 'dom',
  createdAt: NOW - DAY_MS,
  nextCheckAt: null,
  ...change,
});

const VERIFIED = domain({
  status: 'verified',
  verifiedAt: NOW - 3,
  lastCheckedAt: NOW - 2,
  nextCheckAt: NOW + 60_000,
  recordStates: { DKIM: 'verified', SPF: 'verified', DMARC: 'verified' },
});
const seen = (values: string[], problem: string | null, at = 'x'): SeenRecord => ({
  at,
  values,
  problem,
});
const ALL_WELL = {
  DKIM: seen([KEY], null),
  SPF: seen(['mx.example'], null),
  DMARC: seen(['v=DMARC1; p=reject'], null, '_dmarc.mail.shop.example'),
};
const NOT_WELL = {
  DKIM: seen(['v=DKIM1; k=rsa; p=<MI>B', 'v=DKIM1; k=rsa; p='], 'the key is another one'),
  SPF: seen([], 'there is no record'),
  DMARC: seen(['v=DMARC1; p=none'], null, '_dmarc.shop.example'),
};

interface Shown extends Parts {
  of?: Domain;
  seen?: Readonly<Record<string, SeenRecord>>;
  next?: object | null;
  before?: object | null;
  refused?: RefusedForm;
}

/** The page of a domain. */
function one({ of = domain(), seen: found = {}, next = null, before = null, ...more }: Shown) {
  const { ctx = {}, refused = null, ...parts } = more;
  const visit = visitOf({
    params: { id: 'dom' },
    ...parts,
    ctx: { config: { startup: { cluster: { name: 'mx.example' } } }, ...ctx },
    store: {
      domain: () => Promise.resolve(of),
      seenRecords: () => Promise.resolve(found),
      nextDkimKey: () => Promise.resolve(next),
      previousDkimKey: () => Promise.resolve(before),
    },
  });
  return opened(domainPages, 'GET', ONE, { ...visit, refused });
}
/** Its facts and its buttons, without the records. */
const facts = (given: Shown): Promise<string> =>
  one(given).then((text) => text.replace(/<h2>DNS records<\/h2>.*<h2>DKIM key/s, '(records)'));
/** What stands beside the records: the test email and the key. */
const key = (given: Shown): Promise<string> =>
  one(given).then((text) => text.slice(text.indexOf('<div class="columns">')));

const list = (domains: readonly Domain[], more: Parts & { refused?: RefusedForm } = {}) => {
  const { refused = null, ...parts } = more;
  const visit = visitOf({ ...parts, store: { domains: () => Promise.resolve(domains) } });
  return opened(domainPages, 'GET', LIST, { ...visit, refused });
};

const refusedAt = (path: string, field: string): RefusedForm => ({
  action: `/dashboard/accounts/acc/domains${path}`,
  fields: new URLSearchParams({ [field]: '<x>' }),
  issues: new Map([[field, 'Not this.']]),
  message: null,
});

const AT = { ctx: { clock: ahead } };
const OLD = { selector: 'old', since: NOW - 7 * DAY_MS };
export const DOMAINS: readonly Drawing[] = [
  ['no domains', () => list([])],
  ['no domains for a reader', () => list([], { mayChange: false })],
  ['domains', () => list([VERIFIED, domain({ status: 'failed', lastCheckedAt: NOW })])],
  ['domains where the time was set', () => list([VERIFIED], AT)],
  ['a refused domain', () => list([], { refused: refusedAt('', 'name') })],
  ['a new domain', () => one({})],
  ['a new domain for a reader', () => one({ mayChange: false })],
  ['all is found', () => one({ of: VERIFIED, seen: ALL_WELL })],
  ['all is wrong', () => one({ of: domain({ status: 'failed' }), seen: NOT_WELL })],
  [
    'one of each is wrong',
    () =>
      one({
        of: domain(),
        seen: {
          DKIM: seen([KEY, 'x'], 'there are two'),
          SPF: seen(['mx.<other>'], 'it leads elsewhere'),
          DMARC: seen(['v=DMARC1'], 'there is no policy'),
        },
      }),
  ],
  ['states without what was seen', () => one({ of: VERIFIED })],
  ['a record is missing', () => facts({ of: { ...VERIFIED, failingSince: NOW - 60_000 } })],
  [
    'a record is missing, where the time was set',
    () => facts({ of: { ...VERIFIED, failingSince: NOW - 60_000 }, ...AT }),
  ],
  [
    'pending, and a record is missing',
    () => facts({ of: domain({ failingSince: NOW - 60_000, nextCheckAt: NOW }) }),
  ],
  [
    'failed, with no next check',
    () => facts({ of: domain({ status: 'failed', lastCheckedAt: NOW }) }),
  ],
  [
    'a zone file',
    () =>
      handedOver(
        domainPages,
        `${ONE}/zone`,
        visitOf({
          ctx: { config: { startup: { cluster: { name: 'mx.example' } } } },
          store: { domain: () => Promise.resolve(domain()) },
        }),
      ),
  ],
  ['a refused test', () => key({ of: VERIFIED, refused: refusedAt('/dom/test', 'to') })],
  ['a next key', () => key({ next: { selector: 'new', dkimPublicKey: 'MIIC' } })],
  [
    'a next key for a reader',
    () => key({ next: { selector: 'new', dkimPublicKey: 'MIIC' }, mayChange: false }),
  ],
  ['an old key that may go', () => key({ before: OLD })],
  ['an old key that stays a moment', () => key({ before: { ...OLD, since: OLD.since + 1 } })],
  [
    'an old key that may go, where the time was set',
    () => key({ before: { ...OLD, since: OLD.since + 1 }, ...AT }),
  ],
];
