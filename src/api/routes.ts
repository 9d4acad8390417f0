/**
 * Every route of the API, in the order of the reference page.
 */
import { keyRoutes } from './api-keys.ts';
import { domainRoutes } from './domains.ts';
import { olderEmailRoutes } from './email-older.ts';
import { emailRoutes } from './emails.ts';
import type { Route } from './route.ts';
import { webhookRoutes } from './webhooks.ts';

export const ROUTES: readonly Route[] = [
  ...emailRoutes,
  ...olderEmailRoutes,
  ...domainRoutes,
  ...keyRoutes,
  ...webhookRoutes,
];
