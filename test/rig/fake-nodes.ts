/** Sessions of nodes without a database, each answer as a test wants it. */
import type { Beat, ListedSession, NodeReport, Nodes } from '../../src/store/nodes.ts';
import { StoreAwayError } from '../../src/store/store.ts';

/** A store of which a test decides what each beat finds. */
export class FakeNodes implements Nodes {
  endings = '';
  isLive = true;
  isAway = false;
  isDrainAsked = false;
  live = 1;
  /** What a beat waits for. */
  answered: Promise<void> = Promise.resolve();
  beats = 0;
  /** The store's clock. */
  clock: () => number = Date.now;
  /** What the last beat said. */
  report: NodeReport | null = null;
  reaps = 0;
  lost: string[] = [];
  isEnded = false;
  listed: ListedSession[] = [];

  async begin(): Promise<void> {}

  async beat(report: NodeReport | null = null): Promise<Beat> {
    this.beats += 1;
    this.report = report;
    const { isLive, endings, isDrainAsked, live } = this;
    await this.answered;
    if (this.isAway) throw new StoreAwayError('away');
    return { at: this.clock(), isLive, endings, isDrainAsked, live };
  }

  async list(): Promise<ListedSession[]> {
    return this.listed;
  }

  /** Those that are asked end at once. */
  async askToDrain(nameOrId: string): Promise<string[]> {
    this.isDrainAsked = true;
    const asked = this.listed.filter(({ id, name }) => [id, name].includes(nameOrId));
    this.listed = this.listed.filter((one) => !asked.includes(one));
    return asked.map(({ id }) => id);
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
