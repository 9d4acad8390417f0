/**
 * The `webhooks` of the document: every call that the service makes, with its body and the headers that sign it.
 *
 * The bodies are those of `shapes/webhook-event.ts`, the headers those of flow/webhooks/signing.ts
 * (docs/contract.md C13.2, C13.4). Holds no behaviour.
 */
import { WEBHOOK_BODIES } from '../shapes/webhook-event.ts';
import { jsonContent } from './responses.ts';
import type { Components } from './components.ts';

/** Tag of the calls, beside those of the routes. */
export const WEBHOOK_TAG = 'Webhook calls';

/** The headers of every call: names, what they hold, an example. */
const SIGNATURE_HEADERS: readonly [name: string, description: string, example: string][] = [
  [
    'webhook-id',
    'The id of the event: the same on every attempt. Use it to recognise a repetition.',
    '01913c7e-89ab-7cde-8f01-23456789abcd',
  ],
  ['webhook-timestamp', 'When this attempt was made, in seconds since 1970.', '1795253400'],
  [
    'webhook-signature',
    'Signatures in Standard Webhooks form, separated by spaces: `v1,` and the base64 HMAC-SHA256 of ' +
      '`{webhook-id}.{webhook-timestamp}.{raw body}`, keyed with the base64 bytes of the secret after `whsec_`. ' +
      'There are two for 24 hours after the secret was rotated.',
    'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
  ],
  ['svix-id', 'The same as `webhook-id`.', '01913c7e-89ab-7cde-8f01-23456789abcd'],
  ['svix-timestamp', 'The same as `webhook-timestamp`.', '1795253400'],
  [
    'svix-signature',
    'The same as `webhook-signature`.',
    'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
  ],
  ['service-timestamp', 'The same as `webhook-timestamp`.', '1795253400'],
  [
    'service-signature',
    'The older signature: the hex HMAC-SHA256 of `{service-timestamp}.{raw body}`, keyed with the whole secret.',
    '2b9a685ffcdd97f55195bb5451ec266f53506e9968f65a9ff68d5e8bb1f0d6f7',
  ],
];

const HEADER_PARAMETERS = SIGNATURE_HEADERS.map(([name, description, example]) => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: { type: 'string', examples: [example] },
}));

const RESPONSES = {
  '2XX': { description: 'Received. It must arrive within 10 seconds.' },
  '429': { description: 'Tried again later; `Retry-After` lengthens the wait.' },
  '4XX': { description: 'Refused: not tried again.' },
  '5XX': { description: 'Tried again later, up to 10 attempts over about three hours.' },
};

/** The `webhooks` object; `components` collects the schemas of the bodies. */
export function webhookCalls(components: Components): Record<string, unknown> {
  const calls = WEBHOOK_BODIES.map(({ type, summary, schema }) => {
    const words = type.split(/[._]/).map((word) => word.charAt(0).toUpperCase() + word.slice(1));
    const post = {
      operationId: `on${words.join('')}`,
      tags: [WEBHOOK_TAG],
      summary,
      description: 'Contract: C13.1, C13.2, C13.3, C13.4.',
      security: [],
      parameters: HEADER_PARAMETERS,
      requestBody: { required: true, content: jsonContent(schema, components) },
      responses: RESPONSES,
    };
    return [type, { post }] as const;
  });
  return Object.fromEntries(calls);
}
