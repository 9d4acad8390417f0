/**
 * Requests from the document: valid ones, and such with changes. What an answer shows of new objects is used by later
 * requests, also by those of other accounts.
 */
import type { OpenApi, Schema } from '../../api/reference/json-schema.ts';
import type { Random } from '../../mail/random.ts';
import { mutate, type Draft } from './mutations.ts';
import type { Op } from './operations.ts';
import type { Tenant } from './target.ts';
import { uuid, valueOf, type Known } from './values.ts';
import type { Answer, WireRequest } from './wire-client.ts';

/** Share of requests that are left valid. */
const VALID = 0.45;
/** How much more often than others an operation is called, by what its id begins with. */
const WEIGHTS: readonly [prefix: string, times: number][] = [
  ['send', 10],
  ['create', 4],
  ['add', 4],
  ['list', 2],
  ['get', 2],
];
/** Newest objects of each kind that are remembered. */
const REMEMBERED = 40;
const IDEMPOTENCY_KEYS = 30;

export interface Made {
  op: Op;
  tenant: Tenant;
  isValid: boolean;
  request: WireRequest;
}

export class Requests {
  readonly #ops: readonly Op[];
  readonly #document: OpenApi;
  readonly #tenants: readonly Tenant[];
  /** Ids by the first segment of the paths that have them. */
  readonly #ids = new Map<string, string[]>();

  constructor(ops: readonly Op[], document: OpenApi, tenants: readonly Tenant[]) {
    this.#ops = ops.flatMap((op) => Array<Op>(weightOf(op)).fill(op));
    this.#document = document;
    this.#tenants = tenants;
  }

  next(random: Random): Made {
    const op = random.pick(this.#ops);
    const tenant = random.pick(this.#tenants);
    const draft = this.#draft(op, tenant, random);
    const isValid = random.chance(VALID);
    for (let count = isValid ? 0 : 1 + random.int(3); count > 0; count -= 1) mutate(draft, random);
    return { op, tenant, isValid, request: bytesOf(draft) };
  }

  /** Remembers what an answer shows. */
  learn({ op, tenant, request }: Made, answer: Answer): void {
    const kind = kindOf(op);
    const requestId = answer.headers.get('x-request-id');
    if (requestId !== undefined) this.#remember(tenant, 'logs', requestId);
    if (answer.status > 299 || request.method !== op.method) return;
    if (op.method !== 'POST' && op.id !== 'listEmailAttachments') return;
    const value = parsed(answer.body) as Partial<Record<'id' | 'email', string>> & {
      data?: { id?: string; download_url?: string }[];
    };
    if (op.id === 'sendBatch' || op.id === 'listEmailAttachments') {
      for (const row of value.data ?? []) {
        if (row.id !== undefined)
          this.#remember(tenant, op.id === 'sendBatch' ? 'emails' : 'attachment', row.id);
        if (row.download_url !== undefined) this.#remember(tenant, 'links', row.download_url);
      }
    } else if (kind === 'suppressions') {
      if (value.email !== undefined) this.#remember(tenant, kind, value.email);
    } else if (value.id !== undefined) this.#remember(tenant, kind, value.id);
  }

  #draft(op: Op, tenant: Tenant, random: Random): Draft {
    const kind = kindOf(op);
    const known: Known = { domain: tenant.domain, ids: this.#recall(tenant, kind) };
    const tools = { random, known, resolve: (schema: Schema) => this.#resolve(schema) };
    const json = op.body === null ? undefined : valueOf(op.body, tools);
    const headers: Draft['headers'] = [['Authorization', `Bearer ${keyOf(op, tenant, random)}`]];
    if (json !== undefined) headers.push(['Content-Type', 'application/json']);
    for (const { name, in: where } of op.parameters) {
      if (where !== 'header' || random.chance(0.7)) continue;
      headers.push([
        name,
        name === 'Idempotency-Key'
          ? `key-${random.int(IDEMPOTENCY_KEYS)}`
          : random.pick(['strict', 'permissive']),
      ]);
    }
    const target = this.#target(op, tenant, random, tools);
    return { method: op.method, target, headers, json, raw: null };
  }

  #target(op: Op, tenant: Tenant, random: Random, tools: Parameters<typeof valueOf>[1]): string {
    const links = this.#recall(tenant, 'links');
    if (op.path.includes('{attachment}') && links.length > 0 && random.chance(0.7)) {
      const { pathname, search } = new URL(random.pick(links));
      const isDownload = op.id === 'downloadEmailAttachment';
      return isDownload ? pathname + search : pathname.replace('/content', '');
    }
    const owner = random.chance(0.08) ? random.pick(this.#tenants) : tenant;
    const path = op.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
      const ids = this.#recall(owner, name === 'attachment' ? name : kindOf(op));
      const id = ids.length === 0 || random.chance(0.05) ? uuid(random) : random.pick(ids);
      return encodeURIComponent(id);
    });
    const query = new URLSearchParams();
    for (const { name, in: where, required, schema } of op.parameters) {
      if (where !== 'query' || (required !== true && random.chance(0.6))) continue;
      const isAddress = op.id === 'listSuppressions' && name === 'after';
      const value = isAddress
        ? this.#recall(tenant, 'suppressions').at(-1)
        : valueOf(schema, tools, name);
      if (typeof value === 'string' || typeof value === 'number') query.set(name, `${value}`);
    }
    const prefix = random.chance(0.5) ? '/v1' : '';
    return `${prefix}${path}${query.size === 0 ? '' : `?${query.toString()}`}`;
  }

  #resolve(schema: Schema): Schema {
    if (schema.$ref === undefined) return schema;
    const name = schema.$ref.replace('#/components/schemas/', '');
    return this.#document.components.schemas[name] ?? {};
  }

  #remember(tenant: Tenant, kind: string, id: string): void {
    const slot = `${tenant.accountId} ${kind}`;
    this.#ids.set(slot, [...(this.#ids.get(slot) ?? []), id].slice(-REMEMBERED));
  }

  #recall(tenant: Tenant, kind: string): readonly string[] {
    return this.#ids.get(`${tenant.accountId} ${kind}`) ?? [];
  }
}

/** `/email/{id}` names the same objects as `/emails/{id}`. */
function kindOf({ path }: Op): string {
  const first = path.split('/')[1] ?? '';
  return first === 'email' ? 'emails' : first;
}

function weightOf({ id }: Op): number {
  return WEIGHTS.find(([prefix]) => id.startsWith(prefix))?.[1] ?? 1;
}

function keyOf(op: Op, tenant: Tenant, random: Random): string {
  const isSend = op.parameters.some(({ name }) => name === 'Idempotency-Key');
  if (isSend) return random.pick([tenant.full, tenant.send, tenant.test, tenant.test]);
  return random.chance(0.05) ? tenant.send : random.pick([tenant.full, tenant.full, tenant.test]);
}

function bytesOf({ json, raw, ...rest }: Draft): WireRequest {
  const body = raw ?? (json === undefined ? null : Buffer.from(JSON.stringify(json)));
  return { ...rest, body };
}

/** The value of a JSON body; undefined when it is none. */
export function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}
