/**
 * Counts the cases of a JUnit report as the test runner writes it, and says why those failed that did.
 *
 * Promises one count a case, whatever its depth; an empty or cut report gives zeros, which the caller takes for a run
 * that failed.
 */

export interface Counts {
  passed: number;
  failed: number;
  /** Names of failed cases, with their file, each followed by the lines that say why. */
  failures: string[];
  /** Names of cases that did not run. */
  skipped: string[];
}

/** Most lines of one failure: what was expected and what came, not a whole page of HTML. */
const MOST_LINES = 40;
/** Most characters of such a line. */
const MOST_CHARACTERS = 240;

const CASE = /<testcase\b([^>]*?)(?:\/>|>([\s\S]*?)<\/testcase>)/g;

export function countCases(xml: string): Counts {
  const counts: Counts = { passed: 0, failed: 0, failures: [], skipped: [] };
  for (const [, attributes = '', inside = ''] of xml.matchAll(CASE)) {
    const name = `${attribute(attributes, 'file')}: ${attribute(attributes, 'name')}`;
    const failure = /<(?:failure|error)\b([^>]*)/.exec(inside)?.[1];
    if (failure !== undefined) {
      counts.failed += 1;
      counts.failures.push(`${name}${indented(attribute(failure, 'message'))}`);
    } else if (/<skipped\b/.test(inside)) counts.skipped.push(name);
    else counts.passed += 1;
  }
  return counts;
}

/** The lines of `message`, each on a new line. */
function indented(message: string): string {
  const lines = message.trimEnd().split('\n');
  const shown = lines.slice(0, MOST_LINES);
  if (lines.length > MOST_LINES) shown.push(`(${lines.length - MOST_LINES} more lines)`);
  return shown.map((line) => `\n    ${line.slice(0, MOST_CHARACTERS)}`).join('');
}

function attribute(attributes: string, name: string): string {
  const value = new RegExp(`\\b${name}="([^"]*)"`).exec(attributes)?.[1] ?? '';
  return value
    .replaceAll('&quot;', '"')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&apos;', "'")
    .replaceAll('&#10;', '\n')
    .replaceAll('&amp;', '&');
}
