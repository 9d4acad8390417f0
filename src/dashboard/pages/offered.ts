/**
 * Accounts and domains that a page offers, of which there may be any number.
 *
 * Promises to read a bounded number of them: those of one select, and the one that is asked for. With more than a select
 * offers there is a text field in its stead, which takes a name or an id.
 */
import type { Context } from '../../flow/context.ts';
import type { Domain } from '../../store/rows.ts';
import type { FieldSpec } from '../frame/form.ts';

type Store = Context['store'];

/** Most entries of a select. */
export const MOST_OFFERED = 100;
/** As many as a select needs, and one that says whether there are more. */
export const OFFERED = { limit: MOST_OFFERED + 1 };

/** What a field for one of many is made of. */
interface Choice<T> {
  name: string;
  label: string;
  /** The id or the name that was asked for. */
  value: string | null;
  /** The entry that chooses none. */
  none: string;
  wordsOf?: (one: T) => string;
  /** Below the text field. */
  hint?: string;
}

/** A select of those that were read by `OFFERED`; a text field where they are more. */
export function choiceField<T extends { id: string; name: string }>(
  read: readonly T[],
  { name, label, value, none, wordsOf = (one) => one.name, hint }: Choice<T>,
): FieldSpec {
  if (read.length > MOST_OFFERED) {
    const about = hint === undefined ? { placeholder: 'name or id' } : { hint };
    return { kind: 'text', name, label, value, ...about };
  }
  const chosen = read.find(({ id }) => id === value) ?? read.find((one) => one.name === value);
  return {
    kind: 'select',
    name,
    label,
    value: chosen?.id ?? '',
    options: [['', none], ...read.map((one) => [one.id, wordsOf(one)] as const)],
  };
}

/** The domain of an account that was asked for by its id or its name, in any case. */
export async function domainAsked(
  store: Pick<Store, 'domain' | 'domainByName'>,
  accountId: string,
  idOrName: string,
): Promise<Domain | null> {
  const text = idOrName.trim().toLowerCase();
  return (await store.domain(accountId, text)) ?? store.domainByName(accountId, text);
}
