/**
 * Requests that are refused, and the whole refusal: status, code, name, message and fields (docs/contract.md, section 3).
 *
 * `runRefusals` opens a bench with an account that has a verified and a pending domain, and asks each row in order.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';

import { openBench, type Bench } from './bench.ts';

export const EMAIL = { from: 'a@acme.example', to: 'b@x.example', subject: 's', text: 't' };

export interface RefusalRow {
  /** Method and path; `{VERIFIED}` stands for the id of the verified domain. */
  ask: string;
  /** Text is sent as it is. */
  body?: unknown;
  headers?: Record<string, string>;
  /** Whose key; default: `full`. */
  as?: 'full' | 'sending' | 'sandbox' | 'none' | 'wrong';
  /** Status, code and name. */
  is: string;
  /** The message, where the refusal names no fields. */
  says?: string;
  /** Each issue as `path | message`; the message of the refusal is that of the first. */
  issues?: readonly string[];
  /** Header fields of the response, in lower case. */
  sends?: Record<string, string>;
}

export function runRefusals(rows: readonly RefusalRow[]): void {
  let bench: Bench;
  let verified: string;
  const keys: Record<string, string | null> = { none: null, wrong: 'pr_live_x' };

  beforeAll(async () => {
    bench = await openBench();
    const account = await bench.account('shop');
    keys['full'] = await bench.key(account);
    keys['sending'] = await bench.key(account, 'sending_access');
    keys['sandbox'] = await bench.key(account, 'full_access', true);
    await bench.domain(await bench.account('other'), 'other.example');
    verified = (await bench.domain(account, 'acme.example')).id;
    const pending = { path: '/domains', body: { name: 'pending.example' } };
    await bench.ask({ ...pending, method: 'POST', key: keys['full'] });
  });
  afterAll(() => bench.close());

  const titled = rows.map((row): [string, RefusalRow] => [
    `${row.ask} ${(JSON.stringify(row.body) ?? '').slice(0, 120)} ${row.as ?? ''}`.trimEnd(),
    row,
  ]);
  test.each(titled)(
    '%s',
    async (_, { ask, body, headers, as, is, says, issues = [], sends = {} }) => {
      const [method = '', path = ''] = ask.replace('{VERIFIED}', verified).split(' ');
      const {
        status,
        json,
        headers: sent,
      } = await bench.ask({
        method,
        path,
        key: keys[as ?? 'full'] ?? null,
        ...(headers !== undefined && { headers }),
        ...(typeof body === 'string' ? { raw: body } : body !== undefined && { body }),
      });
      expect(`${status} ${json.code} ${json.name}`).toBe(is);
      const [first = ''] = issues;
      const more = issues.length > 1 ? ` (and ${issues.length - 1} more)` : '';
      expect(json.message).toBe(says ?? first.slice(first.indexOf(' | ') + 3) + more);
      const found = (json.detail?.issues ?? []) as { path: string; message: string }[];
      expect(found.map((one) => `${one.path} | ${one.message}`)).toEqual([...issues]);
      expect(json.statusCode).toBe(status);
      for (const [name, value] of Object.entries(sends)) expect(sent.get(name)).toBe(value);
    },
  );
}
