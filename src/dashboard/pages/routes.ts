/**
 * Which page opens at which path below `/dashboard`.
 *
 * Each other file of this folder is a list of pages for one kind of object: it reads the store, calls flow/ for
 * changes, and returns a page, a redirect or a document. Promises one page per path and method.
 */
import { accountPages } from './accounts.ts';
import { auditPages } from './audit.ts';
import { domainPages } from './domains.ts';
import { emailPages } from './email.ts';
import { emailsPages } from './emails.ts';
import { inboxPages } from './inbox.ts';
import { keyPages } from './keys.ts';
import { logPages } from './logs.ts';
import { nodePages } from './nodes.ts';
import { operatorPages } from './operators.ts';
import { overviewPages } from './overview.ts';
import { profilePages } from './profile.ts';
import { queuePages } from './queue.ts';
import { recipientPages } from './recipients.ts';
import { settingsPages } from './settings.ts';
import { suppressionPages } from './suppressions.ts';
import type { Page } from '../frame/visit.ts';
import { testEmailPages } from './test-email.ts';
import { usagePages } from './usage.ts';
import { webhookPages } from './webhooks.ts';

/** Every page there is. */
export const PAGES: readonly Page[] = [
  ...overviewPages,
  ...testEmailPages,
  ...queuePages,
  ...nodePages,
  ...inboxPages,
  ...accountPages,
  ...emailsPages,
  ...emailPages,
  ...domainPages,
  ...webhookPages,
  ...suppressionPages,
  ...recipientPages,
  ...keyPages,
  ...logPages,
  ...operatorPages,
  ...auditPages,
  ...profilePages,
  ...usagePages,
  ...settingsPages,
];

/** Of each page, the parts of its path: split once. */
const PARTS: ReadonlyMap<Page, readonly string[]> = new Map(
  PAGES.map((page) => [page, page.path.split('/')]),
);

/** The page of `path` (below `/dashboard`, without closing slash) and the values of its `:name` parts. */
export function findPage(
  method: 'GET' | 'POST',
  path: string,
): { page: Page; params: Record<string, string> } | null {
  const parts = path.split('/');
  for (const [page, pattern] of PARTS) {
    if (page.method !== method) continue;
    const params = match(pattern, parts);
    if (params !== null) return { page, params };
  }
  return null;
}

/**
 * The page on which the form stands that posts to `path`: the page of that path, or of the nearest path above it that
 * has one. Never the overview, which has no form of another path. Null when there is none.
 */
export function formPage(
  path: string,
): { page: Page; params: Record<string, string>; path: string } | null {
  for (let at = path; at !== ''; at = at.slice(0, at.lastIndexOf('/'))) {
    const found = findPage('GET', at);
    if (found !== null) return { ...found, path: at };
  }
  return null;
}

function match(
  pattern: readonly string[],
  parts: readonly string[],
): Record<string, string> | null {
  if (pattern.length !== parts.length) return null;
  const params: Record<string, string> = {};
  for (const [at, name] of pattern.entries()) {
    const part = parts[at] ?? '';
    if (name.startsWith(':')) {
      const value = decoded(part);
      if (value === null || value === '') return null;
      params[name.slice(1)] = value;
    } else if (name !== part) {
      return null;
    }
  }
  return params;
}

function decoded(part: string): string | null {
  try {
    return decodeURIComponent(part);
  } catch {
    return null;
  }
}
