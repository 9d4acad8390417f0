/**
 * The reference: `/openapi.json`, and the pages at `/docs` that show it.
 *
 * `operation.ts` makes an OpenAPI operation of each route, `document.ts` the document, which the Elysia plugin serves;
 * `page.ts` makes the pages from it. Promises that the document comes from the shapes that validate, and that the pages
 * load nothing but their own style sheet: their Content-Security-Policy forbids the rest, scripts too. Neither needs a
 * key.
 */
import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { ApiError } from '../../base/errors.ts';
import style from './docs.css' with { type: 'text' };
import { documentOf } from './document.ts';
import { docsPage, STYLE_PATH, type Document } from './page.ts';
import { defineRoute, NO_TEXT, type RouteResult, type Call, type Route } from '../routes/route.ts';
import { LANGUAGES } from './snippets.ts';

const DOCUMENT_PATH = '/openapi.json';
const PAGE_POLICY =
  "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const STYLE_MAX_AGE = 'public, max-age=3600';

/** The routes that serve the reference of `routes`. Document and pages are made when they are first requested. */
export function referenceRoutes(routes: readonly Route[]): Route[] {
  const made: { text?: Promise<string>; document?: Document } = {};
  const text = (): Promise<string> => (made.text ??= documentText(routes));
  const pages = new Map<string, string>();
  const show = async (call: Call, slug: string, language: string): Promise<RouteResult> => {
    const base = call.api.ctx.config.live.http.publicUrl;
    const label = `${slug} ${language} ${base}`;
    made.document ??= JSON.parse(await text()) as Document;
    const kept = pages.get(label);
    const page = kept ?? docsPage(made.document, slug, language, base);
    if (page === null) throw new ApiError('not_found', 'There is no such page of the reference.');
    if (kept === undefined) {
      // Of the pages that there are, in the languages that there are; addresses change with a reload alone.
      if (pages.size >= PAGES_MAX) pages.clear();
      pages.set(label, page);
    }
    return { status: 200, body: page, headers: PAGE_HEADERS };
  };
  const part = ({ params }: Call): string => params['part'] ?? '';
  const first = LANGUAGES[0][0];
  return [
    openRoute(DOCUMENT_PATH, async () => ({ status: 200, body: await text() })),
    openRoute('/docs', (call) => show(call, '', first)),
    openRoute(STYLE_PATH, async () => ({
      status: 200,
      body: style,
      headers: { 'Content-Type': 'text/css; charset=utf-8', 'Cache-Control': STYLE_MAX_AGE },
    })),
    openRoute('/docs/:part', (call) => show(call, part(call), first)),
    openRoute('/docs/:part/:language', (call) => {
      const slug = part(call) === 'overview' ? '' : part(call);
      return show(call, slug, call.params['language'] ?? '');
    }),
  ];
}

const PAGES_MAX = 300;
const PAGE_HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': PAGE_POLICY,
};

/** Of an app that is never served: the plugin hands out the document that it is given. */
async function documentText(routes: readonly Route[]): Promise<string> {
  const documentation = documentOf(routes);
  // Loaded with the first reader: most servers have none.
  const { swagger } = await import('@elysiajs/swagger');
  const app = new Elysia().use(swagger({ specPath: DOCUMENT_PATH, documentation }));
  const response = await app.handle(new Request(`http://localhost${DOCUMENT_PATH}`));
  return await response.text();
}

function openRoute(path: string, handle: (call: Call) => Promise<RouteResult>): Route {
  return defineRoute({
    method: 'GET',
    path,
    access: 'open',
    text: NO_TEXT,
    success: { status: 200, schema: Type.Unknown(), description: '' },
    handle,
  });
}
