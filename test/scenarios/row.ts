/**
 * One row of the scenario tables: a sentence of the interface and how it shows.
 */
import type { Target } from './target.ts';

export interface Row {
  /** Heading of the interface (or of the decisions) that holds the sentence. */
  section: string;
  says: string;
  run: (target: Target) => Promise<void>;
}
