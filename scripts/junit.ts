/**
 * Counts the cases of a JUnit report as the test runner writes it.
 *
 * Promises one count a case, whatever its depth; an empty or cut report gives zeros, which the caller takes for a run
 * that failed.
 */

export interface Counts {
  passed: number;
  failed: number;
  /** Names of failed cases, with their file. */
  failures: string[];
  /** Names of cases that did not run. */
  skipped: string[];
}

const CASE = /<testcase\b([^>]*?)(?:\/>|>([\s\S]*?)<\/testcase>)/g;

export function countCases(xml: string): Counts {
  const counts: Counts = { passed: 0, failed: 0, failures: [], skipped: [] };
  for (const [, attributes = '', inside = ''] of xml.matchAll(CASE)) {
    const name = `${attribute(attributes, 'file')}: ${attribute(attributes, 'name')}`;
    if (/<(?:failure|error)\b/.test(inside)) {
      counts.failed += 1;
      counts.failures.push(name);
    } else if (/<skipped\b/.test(inside)) counts.skipped.push(name);
    else counts.passed += 1;
  }
  return counts;
}

function attribute(attributes: string, name: string): string {
  const value = new RegExp(`\\b${name}="([^"]*)"`).exec(attributes)?.[1] ?? '';
  return value
    .replaceAll('&quot;', '"')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&apos;', "'")
    .replaceAll('&amp;', '&');
}
