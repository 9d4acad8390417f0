/**
 * What `postrider dev` does otherwise than an appliance: it stands in for one on a developer's machine.
 *
 * Where a Context has it, any key is taken, a sending domain need not be verified, DNS checks find every record, the
 * dashboard asks for no password, submission speaks plain SMTP, and a webhook may go to http on this machine. Promises
 * that none of it follows from a config file: only `appliance/` makes it, and only for listeners on loopback. On every
 * other Context it is null. Holds no behaviour.
 */
import type { Domain } from '../store/rows.ts';
import type { Identity } from './draft.ts';

export interface Emulation {
  /** Who sends with a key that the store does not have; `token` null: a client without a key. Null: nobody. */
  identify(token: string | null): Promise<Identity | null>;
  /** The account's domain with this name (lower-case A-labels), verified; made where there is none. */
  verified(accountId: string, name: string): Promise<Domain>;
}
