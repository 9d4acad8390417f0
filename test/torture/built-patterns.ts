/**
 * Prints, as JSON, every regular expression that the source builds at run time, with the line, and every pattern of a
 * schema: run as a program, since the constructor is replaced before anything of the source is loaded.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dir, '../..');

export interface Built {
  /** `src/…:line`, or `schema`. */
  line: string;
  source: string;
  flags: string;
}

const built: Built[] = [];

/** Notes what is built from here on. */
function watchBuilding(): void {
  globalThis.RegExp = new Proxy(RegExp, {
    construct(target, [source, flags]: [string | RegExp, string?]) {
      const made = new target(source, flags);
      const line = /src\/[\w./-]+\.ts:\d+/.exec(new Error().stack ?? '')?.[0];
      if (line !== undefined) built.push({ line, source: made.source, flags: made.flags });
      return made;
    },
  });
}

/** Every pattern in a schema, however deep. */
function notePatterns(value: unknown, seen: Set<unknown>): void {
  if (typeof value !== 'object' || value === null || seen.has(value)) return;
  seen.add(value);
  for (const [key, inner] of Object.entries(value)) {
    if (key === 'pattern' && typeof inner === 'string') {
      built.push({ line: 'schema', source: inner, flags: '' });
    }
    notePatterns(inner, seen);
  }
}

if (import.meta.main) {
  watchBuilding();
  await import('../../src/mail/header/headers.ts');
  await import('../../src/mail/mime/html-check.ts');
  await import('../../src/mail/mime/lines.ts');
  const { checkPair } = await import('../../src/smtp/certificate.ts');
  try {
    checkPair('', '', 'none');
  } catch {
    // Refused: it looked for blocks of PEM before.
  }
  const { InboundMessage } = await import('../../src/mail/reports/inbound-message.ts');
  const { readPlainBounce } = await import('../../src/mail/reports/plain-bounce.ts');
  const text =
    'From: MAILER-DAEMON@x.example\r\nX-Failed-Recipients: a@b.example\r\n\r\nYour message could not be delivered\r\n';
  readPlainBounce(new InboundMessage(Buffer.from(text)));
  const { ROUTES } = await import('../../src/api/routes/routes.ts');
  notePatterns(ROUTES, new Set());
  process.stdout.write(JSON.stringify(built));
}

/** Where the source builds a regular expression: `src/…:line`. */
export async function buildingLines(): Promise<string[]> {
  const lines: string[] = [];
  for await (const file of new Bun.Glob('src/**/*.ts').scan(ROOT)) {
    for (const [index, line] of readFileSync(join(ROOT, file), 'utf8').split('\n').entries()) {
      if (line.includes('new RegExp(')) lines.push(`${file}:${index + 1}`);
    }
  }
  return lines.sort();
}
