/**
 * `/unsubscribe/<token>`: where the List-Unsubscribe link of an email leads (RFC 8058).
 *
 * Promises that only a POST unsubscribes; a GET, which scanners and previews make too, shows a page with one button.
 * The pages are for recipients: no script, no address shown for a guessed token, nothing cached. Never under `/v1`,
 * never with a key.
 */
import type { Context } from '../flow/context.ts';
import { acceptUnsubscribe, findUnsubscribe } from '../flow/suppressions/unsubscribe.ts';

const ROOT = '/unsubscribe/';
const PATH = /^\/unsubscribe\/([^/]{1,100})$/;
const STYLE =
  'body{font:1.1em/1.5 system-ui;max-width:30em;margin:15vh auto;padding:0 1em}' +
  'button{font:inherit;padding:.5em 1.5em}';
const HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Cache-Control': 'no-store',
  'Referrer-Policy': 'no-referrer',
  'X-Robots-Tag': 'noindex',
  'Content-Security-Policy':
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'",
};

/** The response to a request for one of these links; null for every other path. */
export function createUnsubscribe(ctx: Context): (request: Request) => Promise<Response> | null {
  return (request) => {
    if (!request.url.includes(ROOT)) return null;
    const token = PATH.exec(new URL(request.url).pathname)?.[1];
    return token === undefined ? null : respond(ctx, request, token);
  };
}

async function respond(ctx: Context, { method }: Request, token: string): Promise<Response> {
  if (method === 'POST') {
    if ((await acceptUnsubscribe(ctx, token)) === null) return unknownLink();
    return page(200, 'You are unsubscribed', '<p>You will no longer receive these emails.</p>');
  }
  if (method !== 'GET' && method !== 'HEAD') {
    const response = page(405, 'Method not allowed', '<p>This link accepts GET and POST.</p>');
    response.headers.set('Allow', 'GET, POST');
    return response;
  }
  const found = await findUnsubscribe(ctx, token);
  if (found === null) return unknownLink();
  const address = `<strong>${escapeHtml(found.address)}</strong>`;
  const form = `<form method="post"><button type="submit">Unsubscribe</button></form>`;
  return page(200, 'Unsubscribe', `<p>Stop these emails to ${address}?</p>${form}`);
}

function unknownLink(): Response {
  return page(404, 'Unknown link', '<p>This link is incomplete or has expired.</p>');
}

/** A page. `body`: HTML; the caller has escaped any text from outside. */
function page(status: number, title: string, body: string): Response {
  const html = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${title}</title><style>${STYLE}</style>
<h1>${title}</h1>${body}</html>`;
  return new Response(html, { status, headers: HEADERS });
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
