/**
 * Sandbox: sends that never leave the machine, and recipients that are simulated.
 *
 * Every recipient of a `pr_test_` key is delivered at once; recipients at `sandbox.test` end as
 * their local part says, whatever the key. Promises the events and webhooks of
 * real deliveries, all in the accept commit, and never a suppression, an attempt or a connection.
 */
import { SANDBOX_DOMAIN } from '../../base/destination-kind.ts';
import type { MessageStatus } from '../../base/status.ts';
import type { Mailbox } from '../../mail/header/address.ts';
import type { EventExtra, EventInput } from '../events.ts';

export const SIMULATIONS = [
  'delivered',
  'bounced',
  'complained',
  'delayed',
  'failed',
  'suppressed',
] as const;
export type Simulation = (typeof SIMULATIONS)[number];
/** A simulated recipient that is not left out. */
export type SimulatedDelivery = Exclude<Simulation, 'suppressed'>;

/** The simulated end of a mailbox: null for a real one, `unknown` for a name the sandbox does not have. */
export function simulationOf(mailbox: Mailbox): Simulation | 'unknown' | null {
  if (mailbox.domain !== SANDBOX_DOMAIN) return null;
  const name = mailbox.local.toLowerCase().split('+', 1)[0];
  return SIMULATIONS.find((simulation) => simulation === name) ?? 'unknown';
}

/** One event of a simulated recipient. */
export type Step = Pick<EventInput, 'type' | 'payload' | 'extra'>;

/** What becomes of a simulated recipient. */
export interface SimulatedEnd {
  status: MessageStatus;
  /** One sentence when the message did not arrive. */
  reason: string | null;
  /** Oldest first. */
  steps: Step[];
}

const REPLY_OK = '250 2.0.0 OK (simulated)';
const REPLY_BOUNCE = '550 5.1.1 No such mailbox (simulated)';
const REPLY_DELAY = '451 4.3.0 Try again later (simulated)';
const REASON_FAILED = 'No server could be reached (simulated).';
const DELAY_MS = 60_000;

/** The last status of a recipient with this simulation, and its events. `now`: epoch milliseconds. */
export function simulate(simulation: SimulatedDelivery, now: number): SimulatedEnd {
  return { ...ENDS[simulation], steps: stepsOf(simulation, now) };
}

const ENDS: Record<SimulatedDelivery, { status: MessageStatus; reason: string | null }> = {
  delivered: { status: 'delivered', reason: null },
  bounced: { status: 'bounced', reason: REPLY_BOUNCE },
  complained: { status: 'complained', reason: null },
  delayed: { status: 'delivered', reason: null },
  failed: { status: 'failed', reason: REASON_FAILED },
};

const SENT = step('email.sent', { attempt: 1 });
const DELIVERED = step('email.delivered', { attempt: 1, host: SANDBOX_DOMAIN, reply: REPLY_OK });

function stepsOf(simulation: SimulatedDelivery, now: number): Step[] {
  switch (simulation) {
    case 'delivered':
      return [SENT, DELIVERED];
    case 'bounced':
      return [
        SENT,
        step(
          'email.bounced',
          { attempt: 1, host: SANDBOX_DOMAIN, reply: REPLY_BOUNCE },
          { bounce: { type: 'Permanent', subType: 'NoEmail', message: REPLY_BOUNCE } },
        ),
      ];
    case 'complained':
      return [
        SENT,
        DELIVERED,
        step(
          'email.complained',
          { feedback_type: 'abuse' },
          { complaint: { feedback_type: 'abuse' } },
        ),
      ];
    case 'delayed': {
      const next = new Date(now + DELAY_MS).toISOString();
      return [
        SENT,
        step(
          'email.delivery_delayed',
          { attempt: 1, host: SANDBOX_DOMAIN, reply: REPLY_DELAY, next_attempt_at: next },
          { delay: { message: REPLY_DELAY, attempt: 1, next_attempt_at: next } },
        ),
        step('email.delivered', { attempt: 2, host: SANDBOX_DOMAIN, reply: REPLY_OK }),
      ];
    }
    case 'failed':
      return [
        step('email.failed', { reason: REASON_FAILED }, { failed: { reason: REASON_FAILED } }),
      ];
  }
}

function step(type: Step['type'], payload: Step['payload'], extra: EventExtra | null = null): Step {
  return { type, payload, extra };
}
