/**
 * Values that a schema of the document accepts, with what only this service knows filled in by the name of the field:
 * an address of a verified domain, the id of an object that exists.
 */
import type { Schema } from '../../api/reference/json-schema.ts';
import { randomText, type Random } from '../../mail/random.ts';

/** What values may refer to. */
export interface Known {
  /** Domain that may send. */
  domain: string;
  /** Ids of objects of any kind. */
  ids: readonly string[];
}

const PATTERNED = ['receipt', 'a-b_c', 'POST', 'patch', '404', '2', '2026-11', ''];
const LONGEST = 40;

/** Resolves `#/components/schemas/Name`. */
export type Resolve = (schema: Schema) => Schema;

type Hint = (random: Random, known: Known) => unknown;

/** Leaves a field out: it is refused, or means the same as another. */
const never = (): undefined => undefined;

/** By the name of the field, and of its schema where that matters, before the schema itself. */
const HINTS: Record<string, Hint> = {
  'CreateDomain.name': domainName,
  'ChangeWebhook.url': never,
  from: (random, { domain }) => mailbox(random, domain),
  to: recipients,
  cc: recipients,
  bcc: recipients,
  reply_to: recipients,
  replyTo: never,
  email: (random) => address(random, 'example.net'),
  emails: (random) => list(random, 4, () => address(random, 'example.net')),
  subject: (random) => plainText(random),
  headers: (random) => ({ [`X-Ref-${random.int(9)}`]: `value ${random.int(99)}` }),
  content: (random) => Buffer.from(randomText(random, 5)).toString('base64'),
  filename: (random) => `file-${random.int(99)}.${random.pick(['pdf', 'txt', 'ü', 'png'])}`,
  content_type: (random) => random.pick(['application/pdf', 'text/plain; charset=utf-8']),
  contentType: never,
  content_id: (random) => `image-${random.int(99)}`,
  contentId: never,
  inline_content_id: never,
  path: never,
  domain_id: never,
  region: never,
  endpoint: (random) => `https://hook${random.int(9)}.example.com/x?y=${random.int(99)}`,
  url: (random) => `https://hook${random.int(9)}.example.com/`,
  domain: domainName,
  scope: never,
  since: () => '2026-01-01T00:00:00Z',
  event_id: uuid,
  before: never,
};

/** A value that `schema` accepts; undefined for a field to leave out. */
export function valueOf(
  schema: Schema,
  { random, known, resolve }: { random: Random; known: Known; resolve: Resolve },
  name = '',
): unknown {
  const hint = HINTS[name] ?? HINTS[name.slice(name.indexOf('.') + 1)];
  if (hint !== undefined) return hint(random, known);
  const plain = resolve(schema);
  const make = (inner: Schema, field = ''): unknown =>
    valueOf(inner, { random, known, resolve }, field);
  if (plain.const !== undefined) return plain.const;
  if (plain.enum !== undefined) return random.pick(plain.enum);
  if (plain.anyOf !== undefined && plain.type === undefined) return make(random.pick(plain.anyOf));
  switch (plain.type ?? 'any') {
    case 'object':
      return objectOf(plain, random, make);
    case 'array':
      return list(random, 3, () => make(plain.items ?? {}), plain.minItems ?? 0);
    case 'string':
      return textOf(plain, random, known);
    case 'integer':
    case 'number':
      return (plain.minimum ?? 0) + random.int(Math.min(plain.maximum ?? 100, 200));
    case 'boolean':
      return random.chance(0.5);
    default:
      return null;
  }
}

function objectOf(
  schema: Schema,
  random: Random,
  make: (inner: Schema, field: string) => unknown,
): unknown {
  const { properties = {}, required = [], additionalProperties, examples, title } = schema;
  if (Object.keys(properties).length === 0 && additionalProperties !== undefined) {
    return examples?.[0] ?? {};
  }
  const { chosen, others } = alternative(schema, random);
  const object: Record<string, unknown> = {};
  for (const [field, inner] of Object.entries(properties)) {
    const isNeeded = required.includes(field) || chosen.includes(field);
    if (!isNeeded && (others.includes(field) || random.chance(0.5))) continue;
    const value = make(inner, `${title ?? ''}.${field}`);
    if (value !== undefined) object[field] = value;
  }
  return object;
}

/** One of the sets of fields of which an object needs one, and the fields of the others. */
function alternative(
  { anyOf = [], oneOf = anyOf }: Schema,
  random: Random,
): { chosen: readonly string[]; others: readonly string[] } {
  const sets = oneOf.map(({ required = [] }) => required);
  const possible = sets.filter((fields) => fields.every((field) => HINTS[field] !== never));
  if (possible.length === 0) return { chosen: [], others: [] };
  const chosen = random.pick(possible);
  return { chosen, others: sets.flat().filter((field) => !chosen.includes(field)) };
}

function textOf(schema: Schema, random: Random, { ids }: Known): string {
  if (schema.format === 'uuid') return ids.length === 0 ? uuid(random) : random.pick(ids);
  if (schema.format === 'date-time') return '2026-11-21T09:30:00.000Z';
  const { pattern } = schema;
  if (pattern !== undefined) {
    const fitting = PATTERNED.filter((text) => new RegExp(pattern).test(text));
    return random.pick(fitting);
  }
  return plainText(random);
}

/** A few words in one line. */
function plainText(random: Random): string {
  const text = `t${randomText(random, 5)}`.replaceAll('\t', ' ').slice(0, LONGEST);
  return text.toWellFormed().trim();
}

function domainName(random: Random): string {
  return `n${random.int(100_000)}.example.com`;
}

/** A UUIDv7-like id that nothing has. */
export function uuid(random: Random): string {
  const hex = (length: number): string =>
    Array.from({ length }, () => random.int(16).toString(16)).join('');
  return `01913c7e-${hex(4)}-7${hex(3)}-8${hex(3)}-${hex(12)}`;
}

function list<T>(random: Random, most: number, make: () => T, least = 1): T[] {
  const length = Math.max(least, random.int(most + 1));
  return Array.from({ length }, make);
}

function address(random: Random, domain: string): string {
  return `${random.pick(['ann', 'b.ob+x', 'C_arl', 'd'])}${random.int(50)}@${domain}`;
}

function mailbox(random: Random, domain: string): unknown {
  const email = address(random, domain);
  return random.pick<unknown>([
    email,
    `Ann Lee <${email}>`,
    { email },
    { email, name: 'Ann, "Lee" ü' },
  ]);
}

function recipients(random: Random): unknown {
  const one = (): unknown => mailbox(random, 'example.net');
  return random.chance(0.5) ? one() : list(random, 3, one);
}
