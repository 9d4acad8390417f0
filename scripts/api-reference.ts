/**
 * Writes docs/openapi.json, the OpenAPI document that every server hands out at /openapi.json, and the marks of the
 * pages at /docs that a test compares: whoever changes a word there sees in the difference what else has changed.
 *
 *   bun scripts/api-reference.ts
 */
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { documentOf } from '../src/api/reference/document.ts';
import { GUIDES } from '../src/api/reference/guides.ts';
import { docsPage, type Document } from '../src/api/reference/page.ts';
import { LANGUAGES } from '../src/api/reference/snippets.ts';
import { ROUTES } from '../src/api/routes/routes.ts';

export const DOCUMENT_FILE = join(import.meta.dir, '../docs/openapi.json');
export const PAGES_FILE = join(import.meta.dir, '../test/api/reference/pages.json');
const BASE = 'https://mail.example.com';

/** The document as JSON, without the version of the server. */
export function apiDocument(): string {
  const { info, ...rest } = documentOf(ROUTES) as unknown as Document;
  const { version: _, ...kept } = info;
  return `${JSON.stringify({ info: kept, ...rest }, null, 1)}\n`;
}

/** Path and SHA-256 of every page in every language, without the version of the server. */
export function pageMarks(): Record<string, string> {
  const made = JSON.parse(JSON.stringify(documentOf(ROUTES))) as Document;
  const document = { ...made, info: { ...made.info, version: '0' } };
  const slugs = [
    '',
    ...GUIDES.map(({ slug }) => slug),
    ...document.tags.map(({ name }) =>
      name
        .toLowerCase()
        .replaceAll(/[^a-z]+/g, '-')
        .replace(/-$/, ''),
    ),
  ];
  return Object.fromEntries(
    slugs.flatMap((slug) =>
      LANGUAGES.map(([language]): [string, string] => {
        const page = docsPage(document, slug, language, BASE);
        if (page === null) throw new Error(`no page ${slug}`);
        return [
          `/docs/${slug || 'overview'}/${language}`,
          createHash('sha256').update(page).digest('hex').slice(0, 16),
        ];
      }),
    ),
  );
}

if (import.meta.main) {
  writeFileSync(DOCUMENT_FILE, apiDocument());
  writeFileSync(PAGES_FILE, `${JSON.stringify(pageMarks(), null, 2)}\n`);
}
