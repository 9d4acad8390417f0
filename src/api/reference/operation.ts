/**
 * One route as an OpenAPI operation, from the shapes that validate it.
 *
 * Promises that nothing is declared twice: parameters, bodies, responses and examples come from the route, errors from
 * what the guard and the readers can refuse on a route of its kind (`responses.ts`).
 */
import type { Route, RouteText } from '../routes/route.ts';
import { jsonContent, responsesOf } from './responses.ts';
import type { Components } from './components.ts';

/** What the parameters of paths are. */
const PATH_PARAMETERS: Record<string, string> = {
  id: 'The id of the object.',
  attachment: 'The id of the attachment.',
  event: 'The id of the event: the `webhook-id` of its calls.',
  email: 'The address, or the id of its suppression.',
};

/** The operation of a route; `components` collects its schemas. */
export function operationOf(route: Route, components: Components): Record<string, unknown> {
  const { text, body } = route;
  const parameters = [
    ...pathParameters(route),
    ...headerParameters(route),
    ...queryParameters(route, components),
  ];
  return {
    operationId: text.id,
    tags: [text.tag],
    summary: text.summary,
    description: descriptionOf(text),
    ...(route.access === 'open' && { security: [] }),
    ...(parameters.length > 0 && { parameters }),
    ...(body !== null && {
      requestBody: { required: true, content: jsonContent(body.schema, components) },
    }),
    responses: responsesOf(route, components),
  };
}

/** The path as OpenAPI writes it: `/emails/{id}`. */
export function pathOf({ path }: Route): string {
  return path.replaceAll(/:(\w+)/g, '{$1}');
}

function descriptionOf({ description = '', clauses }: RouteText): string {
  const clause = `Contract: ${clauses.join(', ')}.`;
  return description === '' ? clause : `${description}\n\n${clause}`;
}

function pathParameters({ path }: Route): object[] {
  return Array.from(path.matchAll(/:(\w+)/g), ([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    description: PATH_PARAMETERS[name],
    schema: { type: 'string', ...(name !== 'email' && { format: 'uuid' }) },
  }));
}

function queryParameters({ query }: Route, components: Components): object[] {
  if (query === null) return [];
  const { properties, required = [] } = query.schema;
  return Object.entries(properties).map(([name, schema]) => {
    const { description, ...rest } = components.schema(schema);
    return {
      name,
      in: 'query',
      // One with a default may be left out.
      required: required.includes(name) && !('default' in rest),
      ...(description !== undefined && { description }),
      schema: rest,
    };
  });
}

function headerParameters({ isSend, path }: Route): object[] {
  if (!isSend) return [];
  const key = {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'Sending the same request again with the same key within 24 hours returns the first response and sends nothing.',
    schema: { type: 'string', minLength: 1, maxLength: 256 },
  };
  if (path !== '/emails/batch') return [key];
  const mode = {
    name: 'x-batch-validation',
    in: 'header',
    description: 'Whether one invalid email refuses the whole batch.',
    schema: { type: 'string', enum: ['strict', 'permissive'], default: 'strict' },
  };
  return [key, mode];
}
