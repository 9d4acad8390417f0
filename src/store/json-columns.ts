/**
 * Columns that hold JSON text, decoded into what they must be.
 *
 * Only here does such text become a typed value. Promises the type by looking at the value; text that is not what
 * its column holds throws, because the store wrote it itself and the file must be damaged.
 */
import type { RecordStatus } from '../base/status.ts';
import type { SeenRecord, SeenRecords } from './domains.ts';
import type { Tag } from './rows.ts';

const EMPTY_LIST = '[]';

/** The stored form of a list of strings or tags. */
export const listText = (list: readonly (string | Tag)[]): string =>
  list.length === 0 ? EMPTY_LIST : JSON.stringify(list);

/** A list of strings: addresses, event names. */
export function stringsOf(text: string): string[] {
  return text === EMPTY_LIST ? [] : decoded(text, isStrings);
}

export function tagsOf(text: string): Tag[] {
  return text === EMPTY_LIST ? [] : decoded(text, isTags);
}

/** The stored form of header fields; null: none. */
export const headersText = (headers: readonly [string, string][]): string | null =>
  headers.length === 0 ? null : JSON.stringify(headers);

/** A message's own headers; null: none. */
export function headersOf(text: string | null): [name: string, value: string][] {
  return text === null ? [] : decoded(text, isPairs);
}

/** Last seen state of each DNS record, by its name. */
export function recordStatesOf(text: string): Record<string, RecordStatus> {
  return decoded(text, isRecordStates);
}

/** What the last check of a domain saw, by record. */
export function seenRecordsOf(text: string): SeenRecords {
  return decoded(text, isSeenRecords);
}

function decoded<T>(text: string, isValid: (value: unknown) => value is T): T {
  const value: unknown = JSON.parse(text);
  if (!isValid(value)) throw new Error(`a column of the database holds ${text.slice(0, 100)}`);
  return value;
}

function isStrings(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

function isTags(value: unknown): value is Tag[] {
  return Array.isArray(value) && value.every(isTag);
}

function isTag(value: unknown): value is Tag {
  if (typeof value !== 'object' || value === null) return false;
  return (
    'name' in value &&
    typeof value.name === 'string' &&
    'value' in value &&
    typeof value.value === 'string'
  );
}

function isPairs(value: unknown): value is [string, string][] {
  return Array.isArray(value) && value.every((item) => isStrings(item) && item.length === 2);
}

/** As an object, so that a state that is missing here does not compile. */
const STATES: Record<RecordStatus, true> = { verified: true, pending: true, not_started: true };

function isRecordStates(value: unknown): value is Record<string, RecordStatus> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return Object.values(value).every((state) => Object.hasOwn(STATES, String(state)));
}

function isSeenRecords(value: unknown): value is SeenRecords {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return Object.values(value).every(isSeenRecord);
}

function isSeenRecord(value: unknown): value is SeenRecord {
  if (typeof value !== 'object' || value === null) return false;
  if (!('at' in value && 'values' in value && 'problem' in value)) return false;
  const { at, values, problem } = value;
  return (
    typeof at === 'string' && isStrings(values) && (problem === null || typeof problem === 'string')
  );
}
