/** The repository's documents as the tests of this folder read them. Reads files only; a missing one throws. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const ROOT = join(import.meta.dir, '../..');

/** Every document in Markdown, by its path. */
export const DOCUMENTS: readonly string[] = ['*.md', 'docs/*.md']
  .flatMap((pattern) => Array.from(new Bun.Glob(pattern).scanSync(ROOT)))
  .toSorted();

/** The documents that may be cited, and how each marks the start of an entry. */
const CITABLE: Readonly<Record<string, RegExp>> = {
  'docs/contract.md': /^- \*\*(C\d+\.\d+)\*\*/gm,
  'docs/decisions.md': /^### (D\d+)$/gm,
  'docs/reliability.md': /^\| (R\d+) \|/gm,
  'docs/runtime-hazards.md': /^### (H\d+)$/gm,
  'docs/client-libraries.md': /^\| (L\d+) \|/gm,
};

export function read(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8');
}

/** The ids of each document that may be cited; an id that stands twice is there twice. */
export function idsByDocument(): Map<string, string[]> {
  return new Map(
    Object.entries(CITABLE).map(([file, entry]) => [
      file,
      Array.from(read(file).matchAll(entry), ([, id]) => id ?? ''),
    ]),
  );
}
