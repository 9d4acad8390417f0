/** Pages over made-up parts, and what they look like as text. */
import type {
  Page,
  PageResponse,
  Visit,
  VisitResponse,
} from '../../../src/dashboard/frame/visit.ts';
import { ApiError } from '../../../src/base/errors.ts';
import type { Account } from '../../../src/store/rows.ts';
import { TestClock } from '../../rig/clock.ts';

/** One drawing: its name, and what is drawn. */
export type Drawing = readonly [name: string, draw: () => Promise<string> | string];

export const NOW = Date.UTC(2026, 2, 1, 12);
export const clock = new TestClock(NOW);
/** Of a host whose time was set an hour ahead after the start. */
export const ahead = new TestClock(NOW);
ahead.jump(3_600_000);

export const account: Account = {
  id: 'acc',
  name: 'Shop <1>',
  plan: 'unlimited',
  status: 'active',
  statusReason: null,
  createdAt: 0,
};

/** What a visit is made of; the rest is as for the admin of an empty server. */
export interface Parts {
  ctx?: object;
  store?: object;
  parts?: object;
  params?: Record<string, string>;
  query?: string;
  form?: Record<string, string>;
  operator?: object | null;
  file?: File | null;
  mayChange?: boolean;
}

export function visitOf(given: Parts): Visit {
  const { ctx = {}, store = {}, parts = {}, params = {}, query = '', form = {} } = given;
  const { operator = null, file = null, mayChange = true } = given;
  const accounts = { account: () => Promise.resolve(account), accounts: () => [account] };
  return {
    ctx: {
      clock,
      emulation: null,
      node: null,
      nodes: null,
      store: { ...accounts, ...store },
      ...ctx,
    },
    parts,
    params: { account: 'acc', ...params },
    query: new URLSearchParams(query),
    form: new URLSearchParams(form),
    file,
    refused: null,
    operator,
    may: (method: string) => mayChange || method === 'GET',
  } as unknown as Visit;
}

/** Opens the page at this pattern. */
export async function opened(
  pages: readonly Page[],
  method: Page['method'],
  path: string,
  visit: Visit,
): Promise<string> {
  const found = pages.find((one) => one.method === method && one.path === path);
  if (found === undefined) throw new Error(`no page at ${path}`);
  return said(await found.open(visit).catch(refusalText));
}

/** A refusal with its code and the fields that it is about. */
function refusalText(error: unknown): string {
  if (!(error instanceof ApiError)) throw error;
  const fields = error.detail?.issues?.map(({ path }) => path) ?? [];
  return `${error.code} ${JSON.stringify(fields)}: ${error.message}`;
}

/** What a page hands over to be shown or saved, whole. */
export async function handedOver(
  pages: readonly Page[],
  path: string,
  visit: Visit,
): Promise<string> {
  const page = pages.find((one) => one.method === 'GET' && one.path === path);
  const response = await page?.open(visit).catch(refusalText);
  if (typeof response === 'string') return response;
  if (response?.kind !== 'document') throw new Error('no document');
  const body = await new Response(response.body as string).text();
  return JSON.stringify({ ...response, body }, null, 1);
}

function said(response: VisitResponse | string): string {
  if (typeof response === 'string') return response;
  if (response.kind === 'page') return pageText(response);
  return JSON.stringify({ ...response, body: 'left out' });
}

export function pageText({ body, tools, account: of, ...rest }: PageResponse): string {
  const facts = JSON.stringify({ ...rest, account: of?.id ?? null });
  return [facts, markup(tools ?? ''), markup(body)].filter((one) => one !== '').join('\n');
}

/** One line an element. */
export function markup(shown: unknown): string {
  return String(shown)
    .replaceAll(/>\s+</g, '>\n<')
    .replaceAll(/[ \t]*\n\s*/g, '\n')
    .trim();
}
