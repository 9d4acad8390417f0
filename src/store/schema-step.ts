/** What is told of a database that an older release has made, before a newer one changes it. Holds only types. */

/** A step of the schema's history. */
export interface SchemaStep {
  /** The file, or `PostgreSQL`. */
  database: string;
  /** Its number, from 1. */
  step: number;
  /** How many there are. */
  of: number;
  name: string;
}

/** Hears of each step before it is taken: with very many rows it may last for minutes. Of a new database it hears nothing. */
export type OnSchemaStep = (step: SchemaStep) => void;
