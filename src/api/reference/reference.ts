/**
 * The reference: `/openapi.json`, and the page at `/docs` that shows it.
 *
 * `operation.ts` makes an OpenAPI operation of each route, `document.ts` the document; the Elysia plugin serves both.
 * Promises that the document comes from the shapes that validate, and that the page loads nothing from another host: its
 * script is in the executable, and its Content-Security-Policy forbids the rest. Neither needs a key. The script is
 * Scalar's API reference 1.72.1 as published (MIT, see `LICENSE` beside this file), compressed here because its package
 * has 268 dependencies.
 */
import { gunzipSync } from 'node:zlib';
import { swagger } from '@elysiajs/swagger';
import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { documentOf } from './document.ts';
import scriptFile from './scalar-1.72.1.js.gz' with { type: 'file' };
import { defineRoute, NO_TEXT, type RouteResult, type Call, type Route } from '../routes/route.ts';

const DOCUMENT_PATH = '/openapi.json';
const SCRIPT_PATH = '/docs/reference.js';
/** The page adds its own styles while it runs; scripts, connections and everything else come from this host only. */
const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
  "font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/** Turns off everything that would connect to the authors of the script. */
const PAGE_OPTIONS = {
  spec: { url: DOCUMENT_PATH },
  customCss: '',
  withDefaultFonts: false,
  hideClientButton: true,
  showDeveloperTools: 'never',
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
} as const;
const SCRIPT_MAX_AGE = 'public, max-age=86400';

/** The routes that serve the reference of `routes`. Document and page are made when they are first requested. */
export function referenceRoutes(routes: readonly Route[]): Route[] {
  const made: { app?: ReturnType<typeof pluginApp> } = {};
  const texts = new Map<string, Promise<string>>();
  const text = (path: string): Promise<string> => {
    made.app ??= pluginApp(routes);
    const kept = texts.get(path) ?? textAt(made.app, path);
    texts.set(path, kept);
    return kept;
  };
  return [
    openRoute(DOCUMENT_PATH, async () => ({ status: 200, body: await text(DOCUMENT_PATH) })),
    openRoute('/docs', async () => ({
      status: 200,
      body: tidy(await text('/docs')),
      headers: {
        'Content-Type': 'text/html; charset=utf-8',
        'Content-Security-Policy': PAGE_POLICY,
      },
    })),
    openRoute(SCRIPT_PATH, ({ headers }) => script(headers)),
  ];
}

/** An app that is never served: the plugin makes the page, and hands out the document that it is given. */
function pluginApp(routes: readonly Route[]) {
  return new Elysia().use(
    swagger({
      path: '/docs',
      specPath: DOCUMENT_PATH,
      scalarCDN: SCRIPT_PATH,
      scalarConfig: PAGE_OPTIONS,
      documentation: documentOf(routes),
    }),
  );
}

async function textAt(app: ReturnType<typeof pluginApp>, path: string): Promise<string> {
  const response = await app.handle(new Request(`http://localhost${path}`));
  return await response.text();
}

/** The plugin's page without what its policy forbids or its script no longer reads. */
function tidy(page: string): string {
  const end = page.indexOf('</script>');
  return `${page.slice(0, end).trimEnd()}${page.slice(end)}`
    .replace(`"spec":${JSON.stringify(PAGE_OPTIONS.spec)},`, '')
    .replace('<meta charset', '<link rel="icon" href="data:," />\n    <meta charset');
}

async function script(headers: Headers): Promise<RouteResult> {
  const packed = new Uint8Array(await Bun.file(scriptFile).arrayBuffer());
  const isPacked = /\bgzip\b/.test(headers.get('accept-encoding') ?? '');
  return {
    status: 200,
    body: isPacked ? packed : gunzipSync(packed),
    headers: {
      'Content-Type': 'text/javascript; charset=utf-8',
      'Cache-Control': SCRIPT_MAX_AGE,
      Vary: 'Accept-Encoding',
      ...(isPacked && { 'Content-Encoding': 'gzip' }),
    },
  };
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
