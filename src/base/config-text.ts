/**
 * The config file that `init` writes: the schema as TOML, each key with its meaning and default.
 *
 * Promises that the text says what no file would, apart from the values it is given, and that the examples in it,
 * which are commented out, would be accepted. Never fails.
 */
import { nameInFile, nodesOf } from './config-node.ts';
import type { KeyNode, Node, TableNode, Written } from './config-node.ts';
import { CONFIG_FILE } from './config-schema.ts';

/** Characters in a line of comment. */
const WIDTH = 118;

const HEAD = `# Postrider. After a change run \`postrider check\`, then \`systemctl reload postrider\` (or send SIGHUP).
# Keys marked (restart) change only with a restart.
`;

/**
 * `hostname`, `dataDir` and `others` (values by their key's path, such as `api.key_prefix`) are written as they are:
 * check them before.
 */
export function defaultConfigText(
  hostname: string,
  dataDir: string,
  others: Readonly<Record<string, Written>> = {},
): string {
  const given = new Map<string, Written>([
    ['hostname', hostname],
    ['data_dir', dataDir],
    ...Object.entries(others),
  ]);
  const lines = nodesOf(CONFIG_FILE).flatMap(([name, node]) => {
    const written = nameInFile(name, node);
    return node.kind === 'key'
      ? ['', ...linesOfKey(written, node, isRestart(node), given.get(written))]
      : linesOfTable(written, node, given);
  });
  return `${HEAD}${lines.join('\n')}\n`;
}

type Given = ReadonlyMap<string, Written>;

function linesOfTable(path: string, node: Exclude<Node, KeyNode>, given: Given): string[] {
  const head = ['', ...comment(node.about)];
  if (node.kind === 'table') return [...head, `[${path}]`, ...linesInside(path, node, node, given)];
  const example = [`[[${path}]]`, ...linesInside(path, node.items, node, given)];
  return [...head, ...example.map((line) => `# ${line}`)];
}

/** `around` says whether keys of rows and switched tables need a restart. */
function linesInside(
  path: string,
  table: TableNode,
  around: Exclude<Node, KeyNode>,
  given: Given,
): string[] {
  return nodesOf(table).flatMap(([name, node]) => {
    const written = nameInFile(name, node);
    if (node.kind !== 'key') return linesOfTable(`${path}.${written}`, node, given);
    const value = around.kind === 'rows' ? node.example : given.get(`${path}.${written}`);
    return linesOfKey(written, node, isRestart(around.when === undefined ? node : around), value);
  });
}

function linesOfKey(
  written: string,
  node: KeyNode,
  needsRestart: boolean,
  value: Written | undefined,
): string[] {
  const words = [node.about, defaultInWords(node), needsRestart ? '(restart)' : ''];
  return [
    ...comment(words.filter((word) => word !== '').join(' ')),
    `${written} = ${inToml(value ?? node.default ?? '')}`,
  ];
}

/** Whether a node says that a change waits for a restart. */
function isRestart({ when }: { when?: string }): boolean {
  return when === 'startup';
}

/** `Default: "" = off.` */
function defaultInWords({ default: value, means = '' }: KeyNode): string {
  if (value === undefined) return 'Required.';
  if (value === null) return `Default: ${means}.`;
  return `Default: ${inToml(value)}${means === '' ? '' : ` = ${means}`}.`;
}

/** A value as TOML has it; long numbers in groups of three. */
export function inToml(value: Written): string {
  if (Array.isArray(value)) return `[${value.map(inToml).join(', ')}]`;
  if (typeof value !== 'number' || value < 100_000) return JSON.stringify(value);
  return value.toLocaleString('en').replaceAll(',', '_');
}

/** Lines of at most `WIDTH` characters, cut between words. */
function comment(text: string): string[] {
  const lines: string[] = [];
  let line = '#';
  for (const word of text.split(' ')) {
    if (line.length + 1 + word.length > WIDTH) {
      lines.push(line);
      line = '#';
    }
    line += ` ${word}`;
  }
  return text === '' ? lines : [...lines, line];
}
