/**
 * The OpenAPI 3.1 document of the API.
 *
 * Promises that it comes from the shapes that validate: paths from the routes, `webhooks` from the bodies of calls,
 * `components.schemas` from every shape with a title. Pure; throws when two shapes share a title.
 */
import { VERSION } from '../../base/version.ts';
import type { Route } from '../routes/route.ts';
import { operationOf, pathOf } from './operation.ts';
import { HEADERS } from './responses.ts';
import { Components } from './components.ts';
import { webhookCalls, WEBHOOK_TAG } from './webhook-calls.ts';

const TITLE = 'Postrider API';

const INTRODUCTION = `Send transactional email and follow each message to its delivery.

Every route works with and without the prefix \`/v1\`. Bodies are JSON; every response has the header
\`X-Request-Id\`, the id of the request in the log. Send the key as \`Authorization: Bearer pr_live_…\`;
with a \`pr_test_\` key no email leaves the machine. Numbers such as C4.2 are clauses of the contract,
\`docs/contract.md\` in the repository.`;

/** What each group of the reference is about. */
const TAGS: Record<string, string> = {
  Emails: 'Send emails and follow them.',
  'Emails (older family)': 'The same emails in the older shape of the API.',
  Domains: 'Domains that an account sends from, with their DNS records.',
  'API keys': 'Keys of the account.',
  Webhooks: 'Endpoints that receive events, and their deliveries.',
  Suppressions: 'Addresses that no email is sent to.',
  'Logs and usage': 'What was requested, and what was sent.',
  [WEBHOOK_TAG]: 'What the service posts to an endpoint.',
};

/** The document of `routes`, ready for JSON. */
export function documentOf(routes: readonly Route[]): Record<string, unknown> {
  const components = new Components();
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    const path = pathOf(route);
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route, components) };
  }
  const webhooks = webhookCalls(components);
  const tags = new Set([...routes.map(({ text }) => text.tag), WEBHOOK_TAG]);
  return {
    // The shapes use `null` and `const`, which OpenAPI knows from 3.1 on.
    openapi: '3.1.0',
    info: {
      title: TITLE,
      version: VERSION.version,
      description: INTRODUCTION,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/v1' }],
    security: [{ bearer: [] }],
    tags: [...tags].map((name) => ({ name, description: TAGS[name] })),
    paths,
    webhooks,
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'An API key of the account.' },
      },
      headers: HEADERS,
      ...components.all(),
    },
  };
}
