/**
 * Writes docs/configuration.md, the reference of the config file, from the config's schema.
 *
 * Promises that the reference says what the appliance accepts: test/base/config-reference.test.ts fails when the file
 * differs. Run `bun scripts/config-reference.ts` after a change of the schema.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { nameInFile, nodesOf } from '../src/base/config-node.ts';
import type { KeyNode, Node, TableNode } from '../src/base/config-node.ts';
import { CONFIG_FILE } from '../src/base/config-schema.ts';
import { inToml } from '../src/base/config-text.ts';

export const REFERENCE_FILE = join(import.meta.dir, '../docs/configuration.md');

const HEAD = `# The config file

<!-- Written by \`bun scripts/config-reference.ts\` from src/base/config-schema.ts: change the schema, not this file. -->

Postrider reads one TOML file: the one that \`--config\` names, else \`$POSTRIDER_CONFIG\`, else
\`/etc/postrider/postrider.toml\`. \`postrider init\` writes it with every key and these comments. Only \`hostname\` has no
default.

An unknown key, a wrong type or an impossible value is refused with the line of the file, all problems at once, and exit
code 78. After a change run \`postrider check\`, then \`postrider reload\`: it takes over the whole file, or nothing when
there is a problem. Keys marked *(restart)* keep their old value until the next start, and the reload names them.

Durations are a number with \`ms\`, \`s\`, \`m\`, \`h\` or \`d\`. An address to listen on is an IP address and a port; port 0
lets the system choose one. Networks are CIDR blocks and begin at their first address.
`;

type Around = Exclude<Node, KeyNode>;

/** The whole text. */
export function configReference(): string {
  const keys = nodesOf(CONFIG_FILE).filter(([, node]) => node.kind === 'key');
  const tables = nodesOf(CONFIG_FILE).flatMap(([name, node]) =>
    node.kind === 'key' ? [] : sectionsOf(nameInFile(name, node), node),
  );
  return [HEAD, section('At the top', '', keys, CONFIG_FILE), ...tables].join('\n');
}

function sectionsOf(path: string, node: Around): string[] {
  const inside = nodesOf(node.kind === 'rows' ? node.items : node);
  const title = node.kind === 'rows' ? `\`[[${path}]]\`` : `\`[${path}]\``;
  const own = inside.filter(([, child]) => child.kind === 'key');
  const below = inside.flatMap(([name, child]) =>
    child.kind === 'key' ? [] : sectionsOf(`${path}.${nameInFile(name, child)}`, child),
  );
  return [section(title, node.about, own, node), ...below];
}

function section(
  title: string,
  about: string,
  keys: [string, Node][],
  around: Around | TableNode,
): string {
  const rows = keys.flatMap(([name, node]) =>
    node.kind === 'key' ? [row(name, node, around)] : [],
  );
  const words = about === '' ? '' : `${inMarkdown(about)}\n\n`;
  return `## ${title}\n\n${words}| Key | Value | Default | Meaning |\n|---|---|---|---|\n${rows.join('\n')}\n`;
}

function row(name: string, node: KeyNode, around: Around): string {
  const needsRestart = (around.when ?? node.when) === 'startup';
  const cells = [
    `\`${nameInFile(name, node)}\``,
    inMarkdown(node.format.words),
    defaultOf(node),
    inMarkdown(node.about) + (needsRestart ? ' *(restart)*' : ''),
  ];
  return `| ${cells.join(' | ')} |`;
}

function defaultOf({ default: value, means = '' }: KeyNode): string {
  if (value === undefined) return 'required';
  if (value === null) return inMarkdown(means);
  const written = `\`${inToml(value)}\``;
  return means === '' ? written : `${written}: ${inMarkdown(means)}`;
}

/** Values and names of keys in code style; nothing in it may end a cell or start a tag. */
function inMarkdown(text: string): string {
  return text
    .replaceAll(/\[?"[^"]*"\]?|\[[a-z.]+\]|\b[a-z]+(?:_[a-z]+)+\b/g, '`$&`')
    .replaceAll('|', '\\|');
}

if (import.meta.main) writeFileSync(REFERENCE_FILE, configReference());
