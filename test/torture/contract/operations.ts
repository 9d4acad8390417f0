/**
 * The operations of `/openapi.json` as the fuzzer uses them, and which one a request reaches.
 */
import type { OpenApi, Operation, Parameter, Schema } from '../../api/reference/json-schema.ts';

export interface Op {
  id: string;
  method: string;
  /** As in the document: `/emails/{id}`. */
  path: string;
  parameters: Parameter[];
  body: Schema | null;
  isOpen: boolean;
  /** The status of success. */
  success: string;
  operation: Operation;
}

export function operationsOf(document: OpenApi): Op[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      id: operation.operationId,
      method: method.toUpperCase(),
      path,
      parameters: operation.parameters ?? [],
      body: operation.requestBody?.content['application/json']?.schema ?? null,
      isOpen: operation.security?.length === 0,
      success: Object.keys(operation.responses).find((status) => status.startsWith('2')) ?? '200',
      operation,
    })),
  );
}

/** The operation that a request reaches, fixed segments before parameters; null for none of the document. */
export function reached(ops: readonly Op[], method: string, target: string): Op | null {
  const path = target.split('?')[0] ?? '';
  const segments = path.replace(/^\/v1(?=\/)/, '').split('/');
  const verb = method === 'HEAD' ? 'GET' : method;
  const fixed = (op: Op): number => op.path.split('/').filter((part) => !isParameter(part)).length;
  const [nearest] = ops
    .filter((op) => fits(op.path.split('/'), segments))
    .toSorted((one, other) => fixed(other) - fixed(one));
  return ops.find((op) => op.path === nearest?.path && op.method === verb) ?? null;
}

function fits(pattern: readonly string[], segments: readonly string[]): boolean {
  return (
    pattern.length === segments.length &&
    pattern.every((part, at) => (isParameter(part) ? segments[at] !== '' : part === segments[at]))
  );
}

function isParameter(part: string): boolean {
  return part.startsWith('{');
}
