/**
 * On which line of a TOML text each key is: Bun's parser gives values without positions, and an operator needs the line.
 *
 * Promises a line for every key and table of a text that parses, inside inline tables and arrays too. Called only
 * once there is a problem to show: the parser that keeps positions takes ten times longer than Bun's.
 */
import { getStaticTOMLValue, parseTOML } from 'toml-eslint-parser';
import type { AST } from 'toml-eslint-parser';

/** Line numbers from 1 by dotted path, rows of tables as `[n]`: `delivery.routes[0].host`. */
export type KeyLines = ReadonlyMap<string, number>;

/**
 * For a text that Bun parses: this parser takes all of those (a property test compares the two), but for a byte order
 * mark at the start, which Bun skips. Throws `ParseError` for others.
 */
export function findKeyLines(toml: string): KeyLines {
  const lines = new Map<string, number>();
  for (const node of parseTOML(toml.replace(/^\uFEFF/, '')).body[0].body) {
    if (node.type === 'TOMLKeyValue') addStatement(lines, '', node);
    else {
      const path = pathOf('', node.resolvedKey);
      setOnce(lines, path, node);
      for (const statement of node.body) addStatement(lines, path, statement);
    }
  }
  return lines;
}

/** The line of `path`, or of the nearest table around it; 1 when the file has neither. */
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

function addStatement(lines: Map<string, number>, table: string, node: AST.TOMLKeyValue): void {
  const names = getStaticTOMLValue(node.key);
  // `a.b = 1` is the line of a, where no header names it, and of a.b.
  for (let count = 1; count <= names.length; count += 1) {
    setOnce(lines, pathOf(table, names.slice(0, count)), node);
  }
  addContent(lines, pathOf(table, names), node.value);
}

function addContent(lines: Map<string, number>, path: string, node: AST.TOMLContentNode): void {
  setOnce(lines, path, node);
  if (node.type === 'TOMLInlineTable') {
    for (const statement of node.body) addStatement(lines, path, statement);
  } else if (node.type === 'TOMLArray') {
    for (const [index, item] of node.elements.entries())
      addContent(lines, `${path}[${index}]`, item);
  }
}

function pathOf(table: string, names: (string | number)[]): string {
  let path = table;
  for (const name of names) {
    if (typeof name === 'number') path = `${path}[${name}]`;
    else path = path === '' ? name : `${path}.${name}`;
  }
  return path;
}

function setOnce(lines: Map<string, number>, path: string, node: AST.TOMLNode): void {
  if (!lines.has(path)) lines.set(path, node.loc.start.line);
}
