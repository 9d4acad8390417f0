/**
 * The reference: `/openapi.json`, and the page at `/docs` that shows it.
 *
 * Promises that the document comes from the shapes that validate, and that the page loads nothing from another
 * host: its script is in the executable, and its Content-Security-Policy forbids the rest. Neither needs a key.
 * The script is Scalar's API reference 1.72.1 as published (MIT, see `reference/LICENSE`), kept here
 * compressed because its package brings 268 others along.
 */
import { gunzipSync } from 'node:zlib';
import { swagger } from '@elysiajs/swagger';
import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { VERSION } from '../base/version.ts';
import { detailOf } from './reference-detail.ts';
import scriptFile from './reference/scalar-1.72.1.js.gz' with { type: 'file' };
import { defineRoute, type Answer, type Call, type Route } from './route.ts';
import { ErrorShape } from './shapes/error-shape.ts';

const DOCUMENT_PATH = '/openapi.json';
const SCRIPT_PATH = '/docs/reference.js';
/** The page styles itself while it runs; scripts, connections and everything else are this host's only. */
const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
  "font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/** Everything that would speak to the script's makers is off. */
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

const INTRODUCTION = `Send transactional email and see what became of it.

Every route answers with and without the prefix \`/v1\`. Bodies are JSON; every answer carries
\`X-Request-Id\`, which finds the request in the log. Send the key as \`Authorization: Bearer pr_live_…\`;
with a \`pr_test_\` key nothing leaves the machine.`;

/** The routes of the reference, about `routes`. The document is made when it is first asked for. */
export function referenceRoutes(routes: readonly Route[]): Route[] {
  let app: ReturnType<typeof documentApp> | null = null;
  const made = new Map<string, Promise<string>>();
  const text = (path: string): Promise<string> => {
    app ??= documentApp(routes);
    const kept =
      made.get(path) ??
      app.handle(new Request(`http://localhost${path}`)).then((answer) => answer.text());
    made.set(path, kept);
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

/** The plugin's page without what its policy forbids or its script no longer wants. */
function tidy(page: string): string {
  return page
    .replace(/\s+<\/script>/, '</script>')
    .replace(`"spec":${JSON.stringify(PAGE_OPTIONS.spec)},`, '')
    .replace('<meta charset', '<link rel="icon" href="data:," />\n    <meta charset');
}

async function script(headers: Headers): Promise<Answer> {
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

function openRoute(path: string, handle: (call: Call) => Promise<Answer>): Route {
  return defineRoute({
    method: 'GET',
    path,
    access: 'open',
    text: { tag: '', summary: '' },
    success: { status: 200, schema: Type.Unknown(), description: '' },
    handle,
  });
}

/** An app that is never served: the plugin reads the routes of the app it belongs to. */
function documentApp(routes: readonly Route[]) {
  const app = new Elysia().use(
    swagger({
      path: '/docs',
      specPath: DOCUMENT_PATH,
      scalarCDN: SCRIPT_PATH,
      scalarConfig: PAGE_OPTIONS,
      documentation: {
        // The shapes use `null` and `const`, which OpenAPI knows from 3.1 on.
        openapi: '3.1.0',
        info: { title: 'Postrider API', version: VERSION.version, description: INTRODUCTION },
        servers: [{ url: '/v1' }],
        tags: [...new Set(routes.map(({ text }) => text.tag))].map((name) => ({ name })),
        security: [{ bearer: [] }],
        components: {
          securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
          schemas: { Error: ErrorShape as object },
        },
      },
    }),
  );
  for (const route of routes) {
    app.route(route.method, route.path, () => '', { detail: detailOf(route) });
  }
  return app;
}
