/** What every route beside the sends is refused for, with the whole refusal. */
import { runRefusals } from '../refusal-rows.ts';

runRefusals([
  {
    ask: 'GET /nowhere',
    is: '404 not_found not_found',
    says: 'No route has this path. GET /openapi.json lists all routes.',
  },
  {
    ask: 'PUT /emails',
    body: {},
    is: '405 not_found method_not_allowed',
    says: 'This route does not accept this method. Use one of: POST, GET, HEAD, OPTIONS.',
    sends: { allow: 'POST, GET, HEAD, OPTIONS' },
  },
  {
    ask: 'GET /emails',
    as: 'none',
    is: '401 unauthorized missing_api_key',
    says: 'Missing API key. Send it in the header "Authorization: Bearer <key>".',
    sends: { 'www-authenticate': 'Bearer' },
  },
  {
    ask: 'GET /emails',
    as: 'wrong',
    is: '401 unauthorized invalid_api_key',
    says: 'The API key is invalid or has been revoked.',
    sends: { 'www-authenticate': 'Bearer' },
  },
  {
    ask: 'GET /domains',
    as: 'sending',
    is: '403 forbidden restricted_api_key',
    says: 'This API key can only send email. Use a key with full access.',
  },
  {
    ask: 'POST /domains',
    body: { name: 'x.example' },
    as: 'sandbox',
    is: '403 forbidden invalid_access',
    says: 'Domains, webhook endpoints and suppressions are live. Use a live key.',
  },
  { ask: 'GET /emails/x', is: '404 not_found not_found', says: 'There is no such email.' },
  {
    ask: 'GET /emails?limit=0',
    is: '422 validation_failed validation_error',
    issues: ['limit | limit must be a whole number from 1 to 100.'],
  },
  {
    ask: 'GET /emails?limit=101',
    is: '422 validation_failed validation_error',
    issues: ['limit | limit must be a whole number from 1 to 100.'],
  },
  {
    ask: 'GET /emails?limit=x',
    is: '422 validation_failed validation_error',
    issues: ['limit | limit must be a whole number from 1 to 100.'],
  },
  {
    ask: 'GET /emails?after=a&before=b',
    is: '422 validation_failed validation_error',
    issues: [
      'after | after must be a cursor from this list: the value of next in an earlier page.',
      'before | before must be a cursor from this list: the value of next in an earlier page.',
      'before | after and before cannot be combined. Send one of them.',
    ],
  },
  {
    ask: 'GET /emails?status=lost',
    is: '422 validation_failed validation_error',
    issues: [
      'status | status must be one of "queued", "sent", "delivered", "delivery_delayed", "bounced", "complained", "failed", "suppressed", "scheduled", "canceled", "opened", "clicked".',
    ],
  },
  { ask: 'GET /email/x', is: '404 not_found not_found', says: 'There is no such email.' },
  { ask: 'GET /emails/x/body', is: '404 not_found not_found', says: 'There is no such email.' },
  {
    ask: 'GET /emails/x/attachments',
    is: '404 not_found not_found',
    says: 'There is no such email.',
  },
  {
    ask: 'GET /emails/x/attachments/y',
    is: '404 not_found not_found',
    says: 'There is no such email.',
  },
  {
    ask: 'GET /emails/x/attachments/y/content',
    is: '422 validation_failed missing_required_field',
    issues: ['expires | Missing `expires` field.', 'signature | Missing `signature` field.'],
  },
  {
    ask: 'POST /domains',
    body: {},
    is: '422 validation_failed missing_required_field',
    issues: ['name | Missing `name` field.'],
  },
  {
    ask: 'POST /domains',
    body: { name: 'x' },
    is: '422 validation_failed validation_error',
    issues: ['name | name must be a domain name such as example.com.'],
  },
  {
    ask: 'POST /domains',
    body: { name: 'acme.example' },
    is: '409 conflict invalid_parameter',
    says: 'This account has the domain acme.example already.',
  },
  { ask: 'GET /domains/x', is: '404 not_found not_found', says: 'There is no such domain.' },
  {
    ask: 'PATCH /domains/{VERIFIED}',
    body: { tls: 'often' },
    is: '422 validation_failed validation_error',
    issues: ['tls | tls must be one of "opportunistic", "enforced".'],
  },
  {
    ask: 'PATCH /domains/x',
    body: {},
    is: '404 not_found not_found',
    says: 'There is no such domain.',
  },
  {
    ask: 'PATCH /domains/{VERIFIED}',
    body: { open_tracking: true },
    is: '422 validation_failed validation_error',
    issues: [
      'open_tracking | open_tracking cannot be turned on: this service does not track opens and clicks.',
    ],
  },
  {
    ask: 'POST /domains/x/verify',
    is: '404 not_found not_found',
    says: 'There is no such domain.',
  },
  { ask: 'DELETE /domains/x', is: '404 not_found not_found', says: 'There is no such domain.' },
  {
    ask: 'POST /api-keys',
    body: {},
    is: '422 validation_failed missing_required_field',
    issues: ['name | Missing `name` field.'],
  },
  {
    ask: 'POST /api-keys',
    body: { name: '' },
    is: '422 validation_failed validation_error',
    issues: ['name | name must not be empty.'],
  },
  {
    ask: 'POST /api-keys',
    body: { name: 'n'.repeat(61) },
    is: '422 validation_failed validation_error',
    issues: [
      'name | name must have 1 to 60 characters, not spaces alone, without control characters or changes of text direction.',
    ],
  },
  {
    ask: 'POST /api-keys',
    body: { name: 'n', permission: 'all' },
    is: '422 validation_failed validation_error',
    issues: ['permission | permission must be one of "full_access", "sending_access".'],
  },
  {
    ask: 'PATCH /api-keys/x',
    body: { name: 'y' },
    is: '404 not_found not_found',
    says: 'There is no such API key.',
  },
  { ask: 'DELETE /api-keys/x', is: '404 not_found not_found', says: 'There is no such API key.' },
  {
    ask: 'POST /webhooks',
    body: {},
    is: '422 validation_failed missing_required_field',
    issues: ['endpoint | Missing `endpoint` field.'],
  },
  {
    ask: 'POST /webhooks',
    body: { endpoint: 'http://x.example', events: ['email.sent'] },
    is: '422 validation_failed validation_error',
    issues: ['endpoint | endpoint: the URL must begin with https://.'],
  },
  {
    ask: 'POST /webhooks',
    body: { endpoint: 'https://10.0.0.1/', events: ['email.sent'] },
    is: '422 validation_failed validation_error',
    issues: ['endpoint | endpoint: the host does not lead to a public address.'],
  },
  {
    ask: 'POST /webhooks',
    body: { endpoint: 'https://8.8.8.8/', events: ['email.lost'] },
    is: '422 validation_failed validation_error',
    issues: [
      'events[0] | events[0] must be one of "email.sent", "email.delivered", "email.bounced", "email.complained", "email.failed", "email.delivery_delayed", "email.opened", "email.clicked".',
    ],
  },
  {
    ask: 'GET /webhooks/x',
    is: '404 not_found not_found',
    says: 'There is no such webhook endpoint in this account.',
  },
  {
    ask: 'PATCH /webhooks/x',
    body: {},
    is: '404 not_found not_found',
    says: 'There is no such webhook endpoint in this account.',
  },
  {
    ask: 'DELETE /webhooks/x',
    is: '404 not_found not_found',
    says: 'There is no such webhook endpoint in this account.',
  },
  {
    ask: 'POST /webhooks/x/enable',
    is: '404 not_found not_found',
    says: 'There is no such webhook endpoint in this account.',
  },
  {
    ask: 'GET /webhooks/x/deliveries',
    is: '404 not_found not_found',
    says: 'There is no such webhook endpoint in this account.',
  },
  {
    ask: 'POST /webhooks/x/test',
    is: '404 not_found not_found',
    says: 'There is no such webhook endpoint in this account.',
  },
  {
    ask: 'POST /webhooks/x/replay',
    body: {},
    is: '422 validation_failed validation_error',
    issues: ['event_id | Send either event_id or since.'],
  },
  {
    ask: 'POST /webhooks/x/replay',
    body: { since: '2026-11-01T00:00:00Z' },
    is: '404 not_found not_found',
    says: 'There is no such webhook endpoint in this account.',
  },
  {
    ask: 'POST /webhooks/x/events/y/replay',
    is: '404 not_found not_found',
    says: 'There is no such webhook endpoint in this account.',
  },
  {
    ask: 'POST /webhooks/x/rotate-secret',
    is: '404 not_found not_found',
    says: 'There is no such webhook endpoint in this account.',
  },
  {
    ask: 'POST /suppressions',
    body: {},
    is: '422 validation_failed missing_required_field',
    issues: ['email | Missing `email` field.'],
  },
  {
    ask: 'POST /suppressions',
    body: { email: 'x' },
    is: '422 validation_failed validation_error',
    issues: ['email | email must be of the form name@domain.'],
  },
  {
    ask: 'GET /suppressions/x@y.example',
    is: '404 not_found not_found',
    says: 'This address is not suppressed.',
  },
  {
    ask: 'DELETE /suppressions/x@y.example',
    is: '404 not_found not_found',
    says: 'This address is not suppressed.',
  },
  {
    ask: 'GET /suppressions?limit=501',
    is: '422 validation_failed validation_error',
    issues: ['limit | limit must be a whole number from 1 to 500.'],
  },
  {
    ask: 'GET /suppressions?origin=whim',
    is: '422 validation_failed validation_error',
    issues: ['origin | origin must be one of "bounce", "complaint", "unsubscribe", "manual".'],
  },
  {
    ask: 'POST /suppressions/batch/add',
    body: {},
    is: '422 validation_failed missing_required_field',
    issues: ['emails | Missing `emails` field.'],
  },
  {
    ask: 'POST /suppressions/batch/remove',
    body: { emails: [] },
    is: '422 validation_failed validation_error',
    issues: ['emails | emails must not be empty.'],
  },
  { ask: 'GET /logs/x', is: '404 not_found not_found', says: 'There is no such log record.' },
  {
    ask: 'GET /logs?limit=0',
    is: '422 validation_failed validation_error',
    issues: ['limit | limit must be a whole number from 1 to 100.'],
  },
  {
    ask: 'GET /logs?status=99',
    is: '422 validation_failed validation_error',
    issues: [
      'status | status must be a status code such as 404, or 2, 4 or 5 for all codes of that class.',
    ],
  },
]);
