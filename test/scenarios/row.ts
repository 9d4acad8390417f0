/**
 * One row of the scenario tables: a rule of the contract and how it is tested.
 */
import type { Target } from './target.ts';

export interface Row {
  /** The clause of docs/contract.md, or the decision, that the row shows. */
  clause: string;
  says: string;
  run: (target: Target) => Promise<void>;
}
