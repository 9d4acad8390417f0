/**
 * Stories of delivery: what a receiver and DNS say, and everything that it leaves behind, as it stands in stories.txt.
 *
 *   bun test/flow/queue/stories.ts
 *
 * writes stories.txt anew.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { failByOperator } from '../../../src/flow/queue/operator.ts';
import { addEndpoint } from '../../../src/flow/webhooks/endpoints.ts';
import { startScriptedSmtp } from '../../rig/scripted-smtp.ts';
import type { ScriptedSmtp } from '../../rig/scripted-smtp.ts';
import { StoryText } from '../story-text.ts';
import { startQueueRig } from './queue-rig.ts';
import type { QueueRig, QueueRigOptions } from './queue-rig.ts';

export const STORIES_FILE = join(import.meta.dir, 'stories.txt');

const MINUTE = 60_000;

interface Teller {
  rig: QueueRig;
  mx: ScriptedSmtp;
  /** What the receiver replies to a line that begins so; the honest reply for others. */
  replies: Map<string, string>;
  /** Sends to these, and waits until `attempts` have ended. */
  send: (to: string[], attempts?: number) => Promise<string>;
  /** Lets time pass until the message is due, and waits until so many `attempts` have ended. */
  next: (messageId: string, attempts: number) => Promise<void>;
  /** Writes down what is stored of a message. */
  state: (title: string, messageId: string) => Promise<void>;
}

interface Story {
  delivery?: QueueRigOptions['delivery'];
  keywords?: string[];
  tell(teller: Teller): Promise<void>;
}

const KEYWORDS = ['PIPELINING', 'SIZE 1000000', '8BITMIME', 'ENHANCEDSTATUSCODES'];

/** One recipient, whose first attempt gets `reply` at `verb`. */
const refusedAt = (verb: string, reply: string): Story => ({
  async tell({ replies, send, state }) {
    replies.set(verb, reply);
    await state('refused', await send(['ann@example.com']));
  },
});

export const STORIES: Readonly<Record<string, Story>> = {
  'two recipients at one host are delivered over one session': {
    keywords: KEYWORDS,
    async tell({ send, state }) {
      await state('delivered', await send(['ann@example.com', 'ben@example.com'], 2));
    },
  },
  'a host that offers nothing': {
    keywords: [],
    async tell({ send, state }) {
      await state('delivered', await send(['ann@example.com']));
    },
  },
  'put off twice, then taken': {
    async tell({ replies, send, next, state }) {
      replies.set('RCPT', '451 4.7.1 Greylisted, come back later');
      const id = await send(['ann@example.com']);
      await state('first', id);
      await next(id, 2);
      await state('second', id);
      replies.clear();
      await next(id, 3);
      await state('taken', id);
    },
  },
  'put off until its time is over': {
    delivery: { expiresMs: 3 * MINUTE },
    async tell({ replies, send, next, state }) {
      replies.set('.', '452 4.3.1 Insufficient system storage');
      const id = await send(['ann@example.com']);
      await next(id, 2);
      await state('waiting', id);
      await next(id, 3);
      await state('given up', id);
    },
  },
  'no such user': refusedAt('RCPT', '550 5.1.1 No such user here'),
  'no such user, in one of several lines': refusedAt(
    'RCPT',
    '550-5.1.1 The address\r\n550 5.1.1 is unknown',
  ),
  'a full mailbox': refusedAt('RCPT', '552 5.2.2 Mailbox full'),
  'a full mailbox, for now': refusedAt('RCPT', '452 4.2.2 Mailbox full'),
  'content that is refused': refusedAt('.', '554 5.7.1 Spam message rejected'),
  'mail from us that is refused by policy': refusedAt(
    'MAIL',
    '550 5.7.26 Unauthenticated email is not accepted',
  ),
  'a sender that is refused for its reputation': refusedAt(
    'MAIL',
    '554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using zen.spamhaus.org',
  ),
  'a request to slow down': refusedAt(
    'MAIL',
    '421 4.7.28 Our system has detected an unusual rate of email',
  ),
  'a reply that is no reply': refusedAt('RCPT', 'what?'),
  'a connection that closes at once': {
    async tell({ replies, send, state }) {
      replies.set('EHLO', '421 4.3.2 Service shutting down');
      await state('refused', await send(['ann@example.com']));
    },
  },
  'a domain that takes no mail, one that does not exist, one without hosts': {
    async tell({ rig, send, state }) {
      rig.names.set('null.example', 'MX', ['0 .']);
      rig.names.set('bare.example', 'TXT', ['x']);
      rig.names.fail('broken.example', 'servfail');
      for (const domain of ['null', 'none', 'bare', 'broken']) {
        await state(domain, await send([`ann@${domain}.example`]));
      }
    },
  },
  'hosts in their order: the first is dead, the second takes it': {
    async tell({ rig, send, state }) {
      rig.names.set('two.example', 'MX', ['20 mx.example.com', '10 dead.example']);
      rig.names.set('dead.example', 'A', ['127.0.0.9']);
      await state('taken', await send(['ann@two.example']));
    },
  },
  'hosts that may not be dialled': {
    delivery: { allowNetworks: [] },
    async tell({ send, state }) {
      await state('refused', await send(['ann@example.com']));
    },
  },
  'one is refused, one waits, one is taken': {
    async tell({ replies, send, state }) {
      replies.set('RCPT TO:<no@', '550 5.1.1 No such user');
      replies.set('RCPT TO:<later@', '450 4.2.1 Try again later');
      await state(
        'ended',
        await send(['no@example.com', 'later@example.com', 'ok@example.com'], 3),
      );
    },
  },
  'the operator gives up what waits': {
    async tell({ rig, replies, send, state }) {
      replies.set('RCPT', '450 4.2.1 Try again later');
      const id = await send(['ann@example.com']);
      await failByOperator(rig.ctx, id, null);
      await state('given up', id);
    },
  },
  'the operator asks for another try': {
    async tell({ rig, replies, send, state }) {
      replies.set('RCPT', '450 4.2.1 Try again later');
      const id = await send(['ann@example.com']);
      replies.clear();
      await rig.clock.advance(1_000);
      await rig.queue.retry({ id: null, domain: 'example.com' });
      await rig.attempted(id, 2);
      await state('tried again', id);
    },
  },
  'late by hours: it is told again after four hours that it waits': {
    async tell({ replies, send, next, state }) {
      replies.set('RCPT', '451 4.3.0 Later');
      const id = await send(['ann@example.com']);
      for (let attempt = 2; attempt < 10; attempt += 1) {
        await next(id, attempt);
      }
      await state('waiting', id);
    },
  },
};

/** One story, told on a store, a DNS server and a receiver of its own. */
export async function tell(name: string): Promise<string> {
  const story = STORIES[name];
  if (story === undefined) throw new Error(`there is no story ${name}`);
  const replies = new Map<string, string>();
  const reply = (line: string): string | undefined =>
    [...replies].find(([start]) => line.startsWith(start))?.[1];
  const mx = await startScriptedSmtp({ keywords: story.keywords ?? KEYWORDS.slice(1), reply });
  const rig = await startQueueRig({ delivery: { port: mx.port, ...story.delivery } });
  const text = new StoryText();
  try {
    rig.names.set('example.com', 'MX', ['10 mx.example.com']);
    rig.names.set('mx.example.com', 'A', ['127.0.0.1']);
    rig.names.set('hook.example', 'A', ['8.8.8.8']);
    const [account] = await rig.ctx.store.accounts();
    await addEndpoint(rig.ctx, account?.id ?? '', { url: 'https://hook.example/', events: [] });
    await story.tell({
      rig,
      mx,
      replies,
      async send(to, attempts = to.length) {
        const { id } = await rig.send(to);
        await rig.attempted(id, attempts);
        return id;
      },
      async next(messageId, attempts) {
        const [recipient] = await rig.ctx.store.recipients(messageId);
        const dueAt = recipient?.nextAttemptAt ?? 0;
        await rig.clock.advance(dueAt - rig.clock.now() + 300);
        await rig.attempted(messageId, attempts);
      },
      state: (title, messageId) => state(rig, text, title, messageId),
    });
    await rig.idle();
    text.add('slowed down', rig.queue.throttles());
    text.add('suppressed', await suppressions(rig, account?.id ?? ''));
    // Greetings and farewells come when a session does.
    text.add('heard', mx.lines.filter((line) => /^(MAIL|RCPT|DATA)/.test(line)).toSorted());
    const logged = rig.logLines.map((line) => JSON.parse(line) as unknown);
    text.add('log', logged);
  } finally {
    await rig.stop();
    await mx.stop();
  }
  return `> ${name}\n${text.toString()}`;
}

async function suppressions(rig: QueueRig, accountId: string): Promise<unknown[]> {
  const page = { limit: 10, after: null, before: null };
  return (await rig.ctx.store.suppressions(accountId, null, page)).rows;
}

async function state(rig: QueueRig, text: StoryText, title: string, id: string): Promise<void> {
  const { store, clock } = rig.ctx;
  text.add(`${title}: message`, await store.messageById(id));
  text.add(`${title}: recipient`, await store.recipients(id));
  text.add(`${title}: attempt`, await store.attempts(id));
  text.add(`${title}: event`, await store.events(id));
  const calls = rig.calls.splice(0).map((call) => ({
    id: call.id,
    owner: 'story',
    leaseUntil: 0,
    nextAttemptAt: 0,
  }));
  text.add(`${title}: call`, await store.beginCalls(calls, clock.now()));
}

if (import.meta.main) {
  const told: string[] = [];
  for (const name of Object.keys(STORIES)) told.push(await tell(name));
  writeFileSync(STORIES_FILE, told.join('\n'));
}
