/**
 * Where each key of a TOML text stands: the parser gives values without places, and an operator needs the line.
 *
 * Promises a line for every key and table of a text that already parsed; a key inside an inline table has the line
 * of the statement that holds it. Reads only, never judges.
 */

/** Line numbers from 1 by dotted path; places in arrays of tables are `[n]`: `delivery.routes[0].host`. */
export type KeyLines = ReadonlyMap<string, number>;

const HEADER = /^\s*(\[\[?)\s*([^\]]+?)\s*\]\]?\s*(?:#.*)?$/;
const STATEMENT =
  /^\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*=(.*)$/;

/** Reads the whole text once. */
export function findKeyLines(toml: string): KeyLines {
  const lines = new Map<string, number>();
  const counts = new Map<string, number>();
  let table = '';
  let open = 0;
  let quote = '';
  for (const [index, line] of toml.split('\n').entries()) {
    const isInside = open > 0 || quote !== '';
    const header = isInside ? null : HEADER.exec(line);
    const statement = isInside ? null : STATEMENT.exec(line);
    if (header !== null) {
      table = barePath(header[2] ?? '', counts);
      if (header[1] === '[[') {
        const count = counts.get(table) ?? 0;
        counts.set(table, count + 1);
        table = `${table}[${count}]`;
      }
      setOnce(lines, table, index + 1);
    } else if (statement !== null) {
      const path = barePath(statement[1] ?? '', new Map());
      const first = path.split('.')[0] ?? path;
      const prefix = table === '' ? '' : `${table}.`;
      setOnce(lines, prefix + path, index + 1);
      setOnce(lines, prefix + first, index + 1);
    }
    if (header === null) [open, quote] = scan(statement?.[2] ?? line, open, quote);
  }
  return lines;
}

/** The line of `path`, or of the nearest table around it; 1 when nothing of it stands in the file. */
export function lineOf(lines: KeyLines, path: string): number {
  let current = path;
  while (current !== '') {
    const line = lines.get(current);
    if (line !== undefined) return line;
    const cut = Math.max(current.lastIndexOf('.'), current.lastIndexOf('['));
    current = cut < 0 ? '' : current.slice(0, cut);
  }
  return 1;
}

function setOnce(lines: Map<string, number>, path: string, line: number): void {
  if (!lines.has(path)) lines.set(path, line);
}

/** Without quotes and blanks; a table below an array of tables belongs to the array's newest item. */
function barePath(written: string, counts: ReadonlyMap<string, number>): string {
  let path = '';
  for (const part of written.split('.')) {
    const bare = part.trim().replaceAll(/^["']|["']$/g, '');
    path = path === '' ? bare : `${path}.${bare}`;
    const count = counts.get(path);
    if (count !== undefined && path !== written) path = `${path}[${count - 1}]`;
  }
  return path;
}

/** Brackets still open, and the multi-line quote still open, after this piece of a statement. */
function scan(piece: string, openBefore: number, quoteBefore: string): [number, string] {
  let open = openBefore;
  let quote = quoteBefore;
  for (let at = 0; at < piece.length; at += 1) {
    const char = piece.charAt(at);
    const triple = piece.slice(at, at + 3);
    if (quote !== '') {
      if (char === '\\' && quote.startsWith('"')) at += 1;
      else if (piece.startsWith(quote, at)) {
        at += quote.length - 1;
        quote = '';
      }
    } else if (triple === '"""' || triple === "'''") {
      quote = triple;
      at += 2;
    } else if (char === '"' || char === "'") quote = char;
    else if (char === '#') break;
    else if (char === '[' || char === '{') open += 1;
    else if (char === ']' || char === '}') open -= 1;
  }
  // Only triple quotes go on over a line end.
  return [Math.max(0, open), quote.length === 3 ? quote : ''];
}
