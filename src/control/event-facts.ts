/** What an event says for people: its recipient, and the server's reply or the cause. Pure. */
import type { Event } from '../store/rows.ts';

export interface EventFacts {
  /** Null for what concerns the email as a whole. */
  recipient: string | null;
  reason: string | null;
}

/** Of the event's payload, which the appliance wrote itself. */
export function factsOf({ payload }: Pick<Event, 'payload'>): EventFacts {
  const said: unknown = payload === null ? {} : JSON.parse(payload);
  const fields = new Map(typeof said === 'object' && said !== null ? Object.entries(said) : []);
  const textOf = (name: string): string | null => {
    const value: unknown = fields.get(name);
    return typeof value === 'string' ? value : null;
  };
  return {
    recipient: textOf('recipient'),
    reason: textOf('reply') ?? textOf('cause') ?? textOf('reason'),
  };
}
