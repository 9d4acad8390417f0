/**
 * Every route of the API, in the order of the reference page.
 */
import { keyRoutes } from './api-keys.ts';
import { batchRoutes } from './batch.ts';
import { domainRoutes } from './domains.ts';
import { emailContentRoutes } from './email-content.ts';
import { emailListRoutes } from './email-lists.ts';
import { olderEmailRoutes } from './older-emails.ts';
import { emailRoutes } from './emails.ts';
import { logRoutes } from './logs.ts';
import { notOfferedRoutes } from './not-offered.ts';
import type { Route } from './route.ts';
import { suppressionRoutes } from './suppressions.ts';
import { usageRoutes } from './usage.ts';
import { webhookCallRoutes } from './webhook-calls.ts';
import { webhookRoutes } from './webhooks.ts';

/** The routes that the service offers. */
export const ROUTES: readonly Route[] = [
  ...emailRoutes,
  ...batchRoutes,
  ...emailListRoutes,
  ...emailContentRoutes,
  ...olderEmailRoutes,
  ...domainRoutes,
  ...keyRoutes,
  ...webhookRoutes,
  ...webhookCallRoutes,
  ...suppressionRoutes,
  ...logRoutes,
  ...usageRoutes,
];

/** Routes that client libraries call and the service does not offer. */
export const NOT_OFFERED_ROUTES: readonly Route[] = notOfferedRoutes;
