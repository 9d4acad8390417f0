/**
 * What an operator may open: the only file that enforces roles, for every route of the dashboard.
 *
 * Promises that an operator of one account finds nothing outside the listed parts of that account, also pages that are
 * added later, and that a read-only operator posts nothing but what is their own. Pages ask the same rule before they show
 * a control (`mayOf`). Pure.
 */
import { ROOT } from './frame/navigation.ts';
import type { Page, Visit } from './frame/visit.ts';
import { findPage } from './pages/routes.ts';
import type { Operator } from '../store/people.ts';

/** The part of an operator that decides. */
export type Rights = Pick<Operator, 'role' | 'accountId'>;

/** Of an emulator, which asks nobody. */
export const ALL_RIGHTS: Rights = { role: 'admin', accountId: null };

/** `hidden`: as if there were no such page. */
export type Access = 'open' | 'hidden' | 'forbidden';

/** Parts of an account that its own operators see. */
const ACCOUNT_PARTS = new Set([
  'emails',
  'domains',
  'webhooks',
  'suppressions',
  'keys',
  'logs',
  'usage',
]);
const ACCOUNT_PAGE = /^\/accounts\/:account\/([a-z-]+)/;
/** Password and second factor of whoever is signed in. */
const OWN_PAGE = /^\/profile(?:\/|$)/;
/** What leaves the machine whole; reading it is more than looking. */
const ADMIN_PAGE = /^\/(?:settings\/)?backup/;

/** Whether the page at the pattern `path` opens for this operator. `params`: of the requested path. */
export function accessTo(
  { role, accountId }: Rights,
  page: Pick<Page, 'method' | 'path' | 'isForm'>,
  params: Readonly<Record<string, string>>,
): Access {
  if (OWN_PAGE.test(page.path)) return 'open';
  if (accountId !== null) {
    const part = ACCOUNT_PAGE.exec(page.path)?.[1] ?? '';
    if (params['account'] !== accountId || !ACCOUNT_PARTS.has(part)) return 'hidden';
  }
  const isLooking = page.method === 'GET' && page.isForm !== true && !ADMIN_PAGE.test(page.path);
  return role === 'admin' || isLooking ? 'open' : 'forbidden';
}

/** Answers for these rights whether a page or a form of the dashboard opens; never for other addresses. */
export function mayOf(rights: Rights): Visit['may'] {
  return (method, to) => {
    if (to !== ROOT && !/^\/dashboard[/?#]/.test(to)) return false;
    const found = findPage(method, to.slice(ROOT.length).replace(/[?#].*$/s, ''));
    return found !== null && accessTo(rights, found.page, found.params) === 'open';
  };
}
