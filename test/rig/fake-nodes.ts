/** Sessions of nodes without a database, each answer as a test wants it. */
import type { Beat, Nodes } from '../../src/store/nodes.ts';
import { StoreAwayError } from '../../src/store/store.ts';

/** A store of which a test decides what each beat finds. */
export class FakeNodes implements Nodes {
  endings = '';
  isLive = true;
  isAway = false;
  /** What a beat waits for. */
  answered: Promise<void> = Promise.resolve();
  beats = 0;
  reaps = 0;
  lost: string[] = [];
  isEnded = false;

  async begin(): Promise<void> {}

  async beat(): Promise<Beat> {
    this.beats += 1;
    const { isLive, endings } = this;
    await this.answered;
    if (this.isAway) throw new StoreAwayError('away');
    return { isLive, endings };
  }

  async endLost(): Promise<string[]> {
    this.reaps += 1;
    return this.lost.splice(0);
  }

  async end(): Promise<void> {
    if (this.isAway) throw new StoreAwayError('away');
    this.isEnded = true;
  }
}
