/**
 * What holds for every answer of the API, whatever was asked.
 */
import type { OpenApi, Schemas } from '../../api/reference/json-schema.ts';
import { reached, type Op } from './operations.ts';
import { parsed } from './requests.ts';
import type { Answer, WireRequest } from './wire-client.ts';

/** Longest an answer may take, in milliseconds. */
export const MAX_MS = 5_000;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/** Paths that URLs normalise before any router sees them. */
const FOLDED = /%2e|\/\.|\/\/|%zz/i;

export interface Contract {
  ops: readonly Op[];
  document: OpenApi;
  schemas: Schemas;
}

/** What is wrong with the answer; empty when nothing is. */
export function faultOf(contract: Contract, request: WireRequest, answer: Answer): string {
  const { status, headers, body, ms } = answer;
  if (status >= 500) return `status ${status}`;
  if (ms > MAX_MS) return `took ${Math.round(ms)} ms`;
  const requestId = headers.get('x-request-id') ?? '';
  if (!UUID.test(requestId)) return `X-Request-Id is "${requestId}"`;
  const [path = ''] = request.target.split('?');
  const isFolded = FOLDED.test(path);
  // A folded path reaches what it names once folded: a success has the shape of another path.
  if (isFolded && status < 400) return '';
  const op = isFolded ? null : reached(contract.ops, request.method, request.target);
  const response = op?.operation.responses[status];
  if (op !== null && response === undefined) {
    return `${op.id} has no status ${status} in the document`;
  }
  for (const name of Object.keys(response?.headers ?? {})) {
    const isRequired = contract.document.components.headers[name]?.required === true;
    if (isRequired && !headers.has(name.toLowerCase())) return `${name} is missing`;
  }
  if (request.method === 'HEAD') return body.length === 0 ? '' : 'HEAD has a body';
  const type = headers.get('content-type') ?? '';
  const isBytes = response?.content?.['application/octet-stream'] !== undefined;
  if (isBytes) return type === 'application/octet-stream' ? '' : `the type is ${type}`;
  if (type !== 'application/json') return `the type is ${type}`;
  const value = parsed(body);
  if (typeof value !== 'object' || value === null) return 'the body is no JSON object';
  const isError = status >= 400;
  if (isError && Reflect.get(value, 'request_id') !== requestId) return 'request_id differs';
  if (status === 405 && !headers.has('allow')) return 'Allow is missing';
  if (status === 429 && !headers.has('retry-after')) return 'Retry-After is missing';
  const schema = response?.content?.['application/json']?.schema;
  if (schema !== undefined) return contract.schemas.faults(schema, value);
  if (!isError) return '';
  return contract.schemas.faults({ $ref: '#/components/schemas/Error' }, value);
}
