/** The steps of the walk over a busy server: what the other walk finds empty, and what each operator sees of it. */
import type { Step } from './walk-transcript.ts';

const A = '/accounts/{account}';
const SECOND = '/accounts/{second}';
const ENDPOINT = `${A}/webhooks/{endpoint}`;

const get = (part: string, ...paths: string[]): Step[] => paths.map((path) => ({ part, path }));
const as = (who: string, ...steps: Step[]): Step[] => steps.map((step) => ({ ...step, who }));
const whole = (step: Step): Step => ({ ...step, isWhole: true });
const post = (part: string, path: string, form: Record<string, string> = {}): Step => ({
  part,
  method: 'POST',
  path,
  form,
});

export const STEPS: readonly Step[] = [
  ...get('overview', '', '?account={second}'),
  ...get('queue', '/queue', '/queue?domain=BUSY.example', '/queue?domain=mixed.example'),
  ...as('reader', ...get('queue', '/queue', '/queue?domain=mixed.example')),
  post('queue', '/queue/fail', { id: '{recipient}', at: 'mixed.example' }),
  ...get('queue', '/queue?domain=mixed.example&done=failed&count=1'),

  ...get('email', `${A}/emails`, `${A}/emails/{story}`, `${A}/emails/{told}`),
  ...get('email', `${A}/emails/{rich}?tab=attachments`, `${A}/emails/{rich}?tab=html&width=phone`),
  ...get('email', `${A}/emails/{rich}/attachments/1`, `${A}/emails/{rich}/attachments/3`),
  ...get('email', '/inbox', '/inbox/1?tab=attachments', '/inbox/1?tab=html&width=tablet'),
  ...get('email', '/inbox/1?tab=text', '/inbox/1/attachments/1', '/inbox/1/attachments/3'),
  ...as('guest', ...get('email', `${SECOND}/emails`, `${A}/emails/{told}`)),
  ...as('reader', ...get('email', `${A}/emails/{story}`, '/inbox', '/inbox/1?tab=text')),

  ...get('webhooks', `${A}/webhooks`, ENDPOINT, `${ENDPOINT}?show=failed`),
  ...get('webhooks', `${ENDPOINT}/attempts/{done}`, `${ENDPOINT}/attempts/{failedcall}`),
  ...get('webhooks', `${ENDPOINT}/attempts/{open}`),
  ...as('reader', ...get('webhooks', `${A}/webhooks`, ENDPOINT, `${ENDPOINT}/attempts/{open}`)),

  ...get('domains', `${A}/domains`, `${A}/domains/{pending}`, `${A}/domains/{lost}`),
  ...get('domains', `${A}/domains/{failed}`),
  ...as('reader', ...get('domains', `${A}/domains`, `${A}/domains/{lost}`)),

  ...get('account', `${A}/suppressions`, `${A}/suppressions?reason=complaint`),
  ...as('reader', ...get('account', `${A}/suppressions`, `${A}/suppressions/import`)),
  ...get('account', `${A}/suppressions/export`, `${A}/keys`),
  ...as('reader', ...get('account', `${A}/keys`)),
  ...get('account', `${A}/logs`, `${A}/logs?status=4`, `${A}/logs?key={shop}`),
  ...get('account', ...['a', 'b', 'c', 'd'].map((name) => `${A}/logs/{log${name}}`)),
  ...get('account', `${SECOND}/usage`, '/accounts', `${SECOND}/edit`),
  ...as('reader', ...get('account', '/accounts', `${A}/edit`, '/settings')),

  ...get('people', '/operators', '/audit', '/audit?who=root'),
  ...as('reader', ...get('people', '/operators', '/audit')),
  ...as('guest', ...get('people', '/profile')),

  ...as('owner', whole({ part: 'frame', path: `${A}/usage` })),
  ...as('guest', whole({ part: 'frame', path: `${SECOND}/usage` })),
  ...as('guest', whole({ part: 'frame', path: '/queue' }), { part: 'frame', path: '' }),
  ...as('reader', whole(post('frame', '/halt', { reason: 'No' }))),
  ...as('reader', whole({ part: 'frame', path: '/nodes' }), { part: 'frame', path: '/halt' }),
  post('frame', '/halt', { reason: 'Leaked <key>' }),
  whole({ part: 'frame', path: '/inbox?q=nobody&done=halted' }),
  whole({ part: 'frame', path: `${SECOND}/domains` }),
  ...as('reader', whole({ part: 'frame', path: '/inbox?q=nobody' })),
  ...as('guest', whole({ part: 'frame', path: `${SECOND}/domains` })),
  ...as('nobody', whole({ part: 'frame', path: `${SECOND}/domains?q=1` })),
  post('frame', '/resume'),
];
