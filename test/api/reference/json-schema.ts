/**
 * Validates values against the schemas of `/openapi.json`, more strictly than the document says: an object has no field
 * that the document does not name, so that nothing is answered or posted undocumented.
 */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

/** The document as a test reads it. */
export interface OpenApi {
  paths: Record<string, Record<string, Operation>>;
  webhooks: Record<string, { post: Operation }>;
  components: { schemas: Record<string, Schema>; headers: Record<string, { required?: boolean }> };
}

export interface Operation {
  operationId: string;
  security?: object[];
  parameters?: Parameter[];
  requestBody?: { content: Record<string, { schema: Schema }> };
  responses: Record<string, OperationResponse>;
}

export interface OperationResponse {
  headers?: Record<string, object>;
  content?: Record<string, { schema: Schema }>;
}

export interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required?: boolean;
  schema: Schema;
}

/** The parts of JSON Schema that the document uses. */
export interface Schema {
  $ref?: string;
  type?: string;
  enum?: unknown[];
  const?: unknown;
  title?: string;
  anyOf?: Schema[];
  oneOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  items?: Schema;
  format?: string;
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  maxProperties?: number;
  minimum?: number;
  maximum?: number;
  contentEncoding?: string;
  examples?: unknown[];
}

const BASE = 'openapi';

export class Schemas {
  readonly #ajv = new Ajv2020({ strict: false, allErrors: false });
  readonly #compiled = new Map<Schema, ValidateFunction>();

  constructor(document: OpenApi) {
    addFormats.default(this.#ajv);
    const schemas = strict(document.components.schemas);
    this.#ajv.addSchema({ $id: BASE, components: { schemas } });
  }

  /** What is wrong with `value`; empty when it fits `schema`, a part of the document. */
  faults(schema: Schema, value: unknown): string {
    const known = this.#compiled.get(schema);
    const check = known ?? this.#ajv.compile(absolute(strict(schema)));
    if (known === undefined) this.#compiled.set(schema, check);
    return check(value) ? '' : this.#ajv.errorsText(check.errors);
  }
}

/** The schema where objects have no fields beyond those it names. */
function strict<T>(schema: T): T {
  return rewritten(schema, (part) =>
    part['type'] === 'object' && part['additionalProperties'] === undefined
      ? { ...part, additionalProperties: false }
      : part,
  );
}

/** The schema with references to the document itself. */
function absolute<T>(schema: T): T {
  return rewritten(schema, (part) =>
    typeof part['$ref'] === 'string' ? { ...part, $ref: `${BASE}${part['$ref']}` } : part,
  );
}

type Part = Record<string, unknown>;

function rewritten<T>(value: T, change: (part: Part) => Part): T {
  const walk = (inner: unknown): unknown => {
    if (Array.isArray(inner)) return inner.map(walk);
    if (typeof inner !== 'object' || inner === null) return inner;
    return change(Object.fromEntries(Object.entries(inner).map(([key, one]) => [key, walk(one)])));
  };
  return walk(value) as T;
}
