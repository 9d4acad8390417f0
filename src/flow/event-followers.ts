/**
 * Who watches events as they happen: `postrider tail`, and a send that waits for its end.
 *
 * Promises that a follower hears of an event after its commit, in the order of the commits of one message, and that an
 * appliance without followers does nothing here. Nothing is kept: who begins late has missed what was before. A
 * follower must return at once and must not throw.
 */
import type { Event } from '../store/rows.ts';

export type Follower = (event: Event) => void;

export class EventFollowers {
  readonly #followers = new Set<Follower>();

  /** Calls `follower` for each event from now on; the function it returns ends that. */
  follow(follower: Follower): () => void {
    this.#followers.add(follower);
    return () => {
      this.#followers.delete(follower);
    };
  }

  /** Call it when the events are committed. */
  tell(events: readonly Event[]): void {
    if (this.#followers.size === 0) return;
    for (const event of events) for (const follower of this.#followers) follower(event);
  }
}
