/**
 * Values of JSON as programs of other languages write them, for the snippets of the reference.
 *
 * Pure; the values are our own examples. Promises lines that stand as they are in a program of that language.
 */
export type Json = string | number | boolean | null | Json[] | { [name: string]: Json };

/** How a language writes what differs between them. */
interface Style {
  nothing: string;
  yes: string;
  no: string;
  list: readonly [string, string];
  map: readonly [string, string];
  pair: (name: string, value: string) => string;
}

const STYLES = {
  node: {
    nothing: 'null',
    yes: 'true',
    no: 'false',
    list: ['[', ']'],
    map: ['{', '}'],
    pair: (name: string, value: string) =>
      /^[a-z_]\w*$/i.test(name) ? `${name}: ${value}` : `${quoted(name)}: ${value}`,
  },
  python: {
    nothing: 'None',
    yes: 'True',
    no: 'False',
    list: ['[', ']'],
    map: ['{', '}'],
    pair: (name: string, value: string) => `"${name}": ${value}`,
  },
  php: {
    nothing: 'null',
    yes: 'true',
    no: 'false',
    list: ['[', ']'],
    map: ['[', ']'],
    pair: (name: string, value: string) => `${quoted(name)} => ${value}`,
  },
  ruby: {
    nothing: 'nil',
    yes: 'true',
    no: 'false',
    list: ['[', ']'],
    map: ['{', '}'],
    pair: (name: string, value: string) =>
      /^[a-z_]\w*$/i.test(name) ? `${name}: ${value}` : `"${name}": ${value}`,
  },
} as const satisfies Record<string, Style>;

export type Scripted = keyof typeof STYLES;

/** `value` as a literal of `language`; its lines after the first are indented by `indent`. */
export function literal(language: Scripted, value: Json, indent = ''): string {
  const style: Style = STYLES[language];
  if (value === null) return style.nothing;
  if (typeof value === 'boolean') return value ? style.yes : style.no;
  if (typeof value === 'number') return String(value);
  if (typeof value === 'string') {
    return language === 'node' || language === 'php' ? quoted(value) : JSON.stringify(value);
  }
  const inner = `${indent}${language === 'php' || language === 'python' ? '    ' : '  '}`;
  const parts = Array.isArray(value)
    ? value.map((one) => literal(language, one, inner))
    : Object.entries(value).map(([name, one]) => style.pair(name, literal(language, one, inner)));
  const [open, close] = Array.isArray(value) ? style.list : style.map;
  if (parts.length === 0) return `${open}${close}`;
  return `${open}\n${parts.map((part) => `${inner}${part},\n`).join('')}${indent}${close}`;
}

/** A Go composite literal: fields of `type` by their names, lists of texts, maps of texts. */
export function goStruct(type: string, value: { [name: string]: Json }, indent = ''): string {
  const inner = `${indent}\t`;
  const fields = Object.entries(value).map(
    ([name, one]) => `${inner}${goName(name)}: ${goValue(name, one, inner)},\n`,
  );
  return `${type}{\n${fields.join('')}${indent}}`;
}

/** Fields that take a list where the API takes one text, too. */
const GO_LISTS = new Set(['to', 'cc', 'bcc']);

function goValue(name: string, value: Json, indent: string): string {
  const list = typeof value === 'string' && GO_LISTS.has(name) ? [value] : value;
  if (Array.isArray(list)) return `[]string{${list.map((one) => JSON.stringify(one)).join(', ')}}`;
  if (typeof list !== 'object' || list === null) return JSON.stringify(list);
  const pairs = Object.entries(list).map(
    ([key, one]) => `${indent}\t${JSON.stringify(key)}: ${JSON.stringify(one)},\n`,
  );
  return `map[string]string{\n${pairs.join('')}${indent}}`;
}

/** `reply_to` is `ReplyTo`. */
function goName(name: string): string {
  return name
    .split('_')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
