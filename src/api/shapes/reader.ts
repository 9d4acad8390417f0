/**
 * How a JSON body or a query becomes a typed value: a schema for the reference page, and the function that checks.
 *
 * `check.ts` and `query.ts` create readers, routes use them. Holds no behaviour.
 */
import type { TObject, TSchema } from '@sinclair/typebox';
import type { Config } from '../../base/config.ts';

/** `read` throws `validation_failed` with every issue. Which fields it accepts may depend on the config. */
export interface Reader<T> {
  schema: TSchema;
  read(value: unknown, config: Config): T;
}

/** The same for a query: its schema has one property per parameter. */
export interface QueryReader<T> {
  schema: TObject;
  read(query: URLSearchParams, config: Config): T;
}
