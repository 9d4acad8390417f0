/** What the tests compare our header canonicalisation with; mailauth ships no types for it. */
declare module 'mailauth/lib/tools.js' {
  export function formatRelaxedLine(line: Buffer): Buffer;
}
