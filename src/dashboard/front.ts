/**
 * The way to the dashboard: which requests are its own, and what a browser finds before it knows an address. `/` leads a
 * person to it, `/favicon.ico` is its icon.
 *
 * Promises that a client of the API is answered by the API: only who asks for a page is led on. Needs no session, and
 * none of the pages' code.
 */
import { faviconResponse } from './frame/assets.ts';
import { ROOT } from './frame/navigation.ts';

/** Whether a request is for the dashboard: at or below its root. */
export function isForDashboard({ url }: Request): boolean {
  // Nearly all others are told apart without reading the whole address.
  if (!url.includes(ROOT)) return false;
  const { pathname } = new URL(url);
  return pathname === ROOT || pathname.startsWith(`${ROOT}/`);
}

/** The response at these two paths; null for every other request. */
export function frontResponse(request: Request): Response | null {
  if (request.method !== 'GET' && request.method !== 'HEAD') return null;
  const { pathname } = new URL(request.url);
  if (pathname === '/favicon.ico') return faviconResponse();
  if (pathname !== '/' || !asksForPage(request)) return null;
  return new Response(null, {
    status: 302,
    headers: { Location: ROOT, Vary: 'Accept', 'Cache-Control': 'no-store' },
  });
}

/** Browsers name the type; libraries and curl accept anything. */
function asksForPage(request: Request): boolean {
  return /\btext\/html\b/i.test(request.headers.get('accept') ?? '');
}
