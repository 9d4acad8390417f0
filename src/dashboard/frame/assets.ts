/**
 * The files that pages load: style sheet, the two scripts, the icon. All are inside the binary.
 *
 * Promises that a browser keeps each until it changes: its address carries a digest of its content. `morph.js` is
 * idiomorph as published (0BSD); `enhance.js` is ours. Together they are far below the 50 KB that a page may load.
 */
import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import enhance from './enhance.js' with { type: 'text' };
import icon from './icon.svg' with { type: 'text' };
import morph from 'idiomorph/dist/idiomorph.min.js' with { type: 'text' };
import cards from './cards.css' with { type: 'text' };
import charts from './charts.css' with { type: 'text' };
import controls from './controls.css' with { type: 'text' };
import objects from './objects.css' with { type: 'text' };
import sheets from './sheets.css' with { type: 'text' };
import style from './style.css' with { type: 'text' };
import { ROOT } from './navigation.ts';

interface Asset {
  /** Path below the host, with the digest that makes it new when the content is. */
  address: string;
  type: string;
  text: string;
  packed: Buffer<ArrayBuffer>;
}

const STYLE = asset(
  'style.css',
  'text/css; charset=utf-8',
  style + sheets + controls + charts + objects + cards,
);
const MORPH = asset('morph.js', 'text/javascript; charset=utf-8', morph);
const ENHANCE = asset('enhance.js', 'text/javascript; charset=utf-8', enhance);
const ICON = asset('icon.svg', 'image/svg+xml', icon);

const ASSETS: ReadonlyMap<string, Asset> = new Map(
  [STYLE, MORPH, ENHANCE, ICON].map((one) => [pathOf(one), one]),
);

export const STYLE_PATH = STYLE.address;
export const MORPH_PATH = MORPH.address;
export const ENHANCE_PATH = ENHANCE.address;
export const ICON_PATH = ICON.address;

/** The file at a path; null when there is none. `headers`: what every response of the dashboard carries. */
export function assetResponse(
  request: Request,
  url: URL,
  headers: Readonly<Record<string, string>>,
): Response | null {
  const found = ASSETS.get(url.pathname);
  if (found === undefined) return null;
  const isCurrent = found.address === url.pathname + url.search;
  const isPacked = /\bgzip\b/.test(request.headers.get('accept-encoding') ?? '');
  return new Response(isPacked ? found.packed : found.text, {
    headers: {
      ...headers,
      'Content-Type': found.type,
      'Cache-Control': isCurrent ? 'public, max-age=31536000, immutable' : 'no-cache',
      Vary: 'Accept-Encoding',
      ...(isPacked && { 'Content-Encoding': 'gzip' }),
    },
  });
}

/** The icon, for browsers that ask by the old name. They go by its type. */
export function faviconResponse(): Response {
  return new Response(ICON.text, {
    headers: {
      'Content-Type': ICON.type,
      'Cache-Control': 'public, max-age=86400',
      'X-Content-Type-Options': 'nosniff',
    },
  });
}

function asset(name: string, type: string, text: string): Asset {
  const digest = createHash('sha256').update(text).digest('base64url').slice(0, 12);
  return {
    address: `${ROOT}/${name}?v=${digest}`,
    type,
    text,
    packed: gzipSync(text, { level: 9 }),
  };
}

function pathOf({ address }: Asset): string {
  return address.slice(0, address.indexOf('?'));
}
