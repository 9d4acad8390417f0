/**
 * `/unsubscribe/<token>`: where the List-Unsubscribe link of a mail leads (RFC 8058).
 *
 * Promises that only a POST unsubscribes; a GET, which scanners and previews make too, shows a page with
 * one button. The pages are for recipients: no script, no address shown to who guesses, nothing kept by
 * caches. Never under `/v1` and never with a key.
 */
import type { Context } from '../flow/context.ts';
import { acceptUnsubscribe, findUnsubscribe } from '../flow/unsubscribe.ts';

const ROOT = '/unsubscribe/';
const PATH = /^\/unsubscribe\/([^/]{1,100})$/;
const HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Cache-Control': 'no-store',
  'Referrer-Policy': 'no-referrer',
  'X-Robots-Tag': 'noindex',
  'Content-Security-Policy':
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'",
};

/** Answers requests for these links; null for every other path. */
export function createUnsubscribe(ctx: Context): (request: Request) => Promise<Response> | null {
  return (request) => {
    if (!request.url.includes(ROOT)) return null;
    const token = PATH.exec(new URL(request.url).pathname)?.[1];
    return token === undefined ? null : answer(ctx, request, token);
  };
}

async function answer(ctx: Context, { method }: Request, token: string): Promise<Response> {
  if (method === 'POST') {
    if ((await acceptUnsubscribe(ctx, token)) === null) return unknownLink();
    return page(200, 'You are unsubscribed', '<p>You will not get such mail again.</p>');
  }
  if (method !== 'GET' && method !== 'HEAD') {
    const response = page(405, 'Not possible', '<p>This link takes GET and POST.</p>');
    response.headers.set('Allow', 'GET, POST');
    return response;
  }
  const found = await findUnsubscribe(ctx, token);
  if (found === null) return unknownLink();
  const address = `<strong>${escapeHtml(found.address)}</strong>`;
  const form = `<form method="post"><button type="submit">Unsubscribe</button></form>`;
  return page(200, 'Unsubscribe', `<p>No more such mail to ${address}?</p>${form}`);
}

function unknownLink(): Response {
  return page(404, 'Unknown link', '<p>This link is not complete, or its mail is long gone.</p>');
}

/** `body` is HTML of ours; texts from outside are escaped before. */
function page(status: number, title: string, body: string): Response {
  const html = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${title}</title><style>body{font:1.1em/1.5 system-ui;max-width:30em;margin:15vh auto;padding:0 1em}button{font:inherit;padding:.5em 1.5em}</style>
<h1>${title}</h1>${body}</html>`;
  return new Response(html, { status, headers: HEADERS });
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
