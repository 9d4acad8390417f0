/**
 * Examples for the reference page, made from the shapes.
 *
 * Promises a value that its shape accepts: written examples first, then constants, defaults, the first branch of a
 * union, and last a plain value of the right type.
 */
import { OptionalKind, type TSchema } from '@sinclair/typebox';

/** A value that `schema` accepts. Optional fields are included when they have an example. */
export function exampleOf(schema: TSchema): unknown {
  const examples = schema['examples'] as unknown[] | undefined;
  if (examples !== undefined) return examples[0];
  if (schema['const'] !== undefined) return schema['const'];
  if (schema['default'] !== undefined) return schema['default'];
  if (schema['type'] === 'object') return objectExample(schema);
  const branches = schema['anyOf'] as TSchema[] | undefined;
  if (branches?.[0] !== undefined) return exampleOf(branches[0]);
  switch (schema['type']) {
    case 'array':
      return [exampleOf(schema['items'] as TSchema)];
    case 'string':
      return 'text';
    case 'boolean':
      return true;
    case 'integer':
    case 'number':
      return Number(schema['minimum'] ?? 0);
    default:
      return null;
  }
}

function objectExample(schema: TSchema): Record<string, unknown> {
  const properties = (schema['properties'] ?? {}) as Record<string, TSchema>;
  const [oneOf] = (schema['anyOf'] ?? schema['oneOf'] ?? []) as { required: string[] }[];
  const shown = Object.entries(properties).filter(
    ([name, property]) =>
      !(OptionalKind in property) ||
      hasExample(property) ||
      oneOf?.required.includes(name) === true,
  );
  return Object.fromEntries(shown.map(([name, property]) => [name, exampleOf(property)]));
}

function hasExample(schema: TSchema): boolean {
  return schema['examples'] !== undefined || schema['default'] !== undefined;
}
