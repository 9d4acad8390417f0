/** What a reload calls of the listeners and in which order, and what is left undone where a step fails. */
import { beforeEach, expect, test } from 'bun:test';

import { ConfigHolder } from '../../src/appliance/config-holder.ts';
import type { HttpChange, HttpListener } from '../../src/appliance/http-listener.ts';
import type { MailListeners } from '../../src/appliance/mail-listeners.ts';
import { reload, renewCertificates } from '../../src/appliance/reload.ts';
import type { Config } from '../../src/base/config.ts';
import { parseConfig } from '../../src/base/config-file.ts';
import { OperatorError } from '../../src/base/errors.ts';
import { createLog } from '../../src/base/log.ts';
import type { Context } from '../../src/flow/context.ts';

const PAIR = { cert: 'cert', key: 'key' };

let calls: string[];
let log: Record<string, unknown>[];
let holder: ConfigHolder;
/** What the listeners say and do. */
let http: HttpChange;
let isMailNew: boolean;
let failing: 'http.prepare' | 'mail.prepare' | 'http.change' | null;

beforeEach(() => {
  [calls, log] = [[], []];
  holder = new ConfigHolder(configOf(3));
  [http, isMailNew, failing] = [{ kind: 'none' }, false, null];
});

function configOf(recipients: number): Config {
  return parseConfig(`hostname = "mail.rig.test"\n[limits]\nrecipients = ${recipients}\n`, 'rig');
}

function call(name: string): void {
  calls.push(name);
  if (failing === name) throw new OperatorError(`${name} failed`, 'Look there.');
}

const listeners = {
  http: {
    prepare(config: Config) {
      call('http.prepare');
      calls.push(String(config.live.limits.recipients));
      return http;
    },
    change(pair: unknown) {
      expect(pair).toBe(PAIR);
      call('http.change');
    },
  } as unknown as HttpListener,
  mailListeners: {
    prepare() {
      call('mail.prepare');
      return () => {
        call('mail.takeOver');
        return isMailNew;
      };
    },
  } as unknown as MailListeners,
};

/** A context of these parts alone. */
function context(): Context {
  const identities = { forget: () => calls.push('identities.forget') };
  const parts = {
    config: holder,
    identities,
    log: createLog(
      (line) => log.push(JSON.parse(line) as Record<string, unknown>),
      () => 0,
    ),
  };
  return parts as unknown as Context;
}

const take = (load: () => Config) => reload(context(), { listeners, holder, load });

const DONE = ['http.prepare', '2', 'mail.prepare'];

test('both are prepared with the new config, then shown, then the config is replaced and plans are read anew', () => {
  http = { kind: 'pair', pair: PAIR };
  expect(take(() => configOf(2))).toEqual({ needs_restart: [], new_certificate: true });
  expect(calls).toEqual([...DONE, 'http.change', 'mail.takeOver', 'identities.forget']);
  expect(holder.live.limits.recipients).toBe(2);
});

test.each<[HttpChange['kind'], boolean, { needs_restart: string[]; new_certificate: boolean }]>([
  ['none', false, { needs_restart: [], new_certificate: false }],
  ['none', true, { needs_restart: [], new_certificate: true }],
  ['pair', true, { needs_restart: [], new_certificate: true }],
  ['restart', false, { needs_restart: ['http.tls_cert'], new_certificate: false }],
  ['restart', true, { needs_restart: ['http.tls_cert'], new_certificate: true }],
])('http %s, a new certificate of mail: %p', (kind, isNew, done) => {
  http = kind === 'pair' ? { kind, pair: PAIR } : { kind };
  isMailNew = isNew;
  expect(take(() => configOf(2))).toEqual(done);
  expect(calls.includes('http.change')).toBe(kind === 'pair');
  const time = '1970-01-01T00:00:00.000Z';
  expect(log).toEqual([{ time, level: 'info', event: 'reloaded', ...done }]);
});

test.each([
  ['http.prepare', ['http.prepare']],
  ['mail.prepare', DONE],
  ['http.change', [...DONE, 'http.change']],
] as const)('where %s fails nothing after it happens, and the config stays', (step, done) => {
  http = { kind: 'pair', pair: PAIR };
  failing = step;
  expect(() => take(() => configOf(2))).toThrow(`${step} failed`);
  expect(calls).toEqual([...done]);
  expect(holder.live.limits.recipients).toBe(3);
  expect(log).toMatchObject([
    {
      level: 'error',
      event: 'reload_refused',
      error: { name: 'OperatorError', message: `${step} failed` },
      hint: 'Look there.',
    },
  ]);
});

test.each([
  ['a fault', new Error('odd'), 'odd'],
  ['what is no Error', 'text', 'text'],
])('%s in reading the config is a refusal too', (_name, thrown, message) => {
  const load = (): never => {
    throw thrown;
  };
  const hint = 'Nothing has changed; the old config stays in force.';
  let refused: unknown;
  try {
    take(load);
  } catch (error) {
    refused = error;
  }
  if (!(refused instanceof OperatorError)) throw new Error('no refusal');
  expect([refused.message, refused.hint, refused.exitCode]).toEqual([message, hint, 1]);
  expect(log).toMatchObject([{ event: 'reload_refused', error: { message }, hint }]);
  expect(calls).toEqual([]);
});

test('a renewed certificate is shown without a word; one that cannot be used is told with what to do', () => {
  http = { kind: 'pair', pair: PAIR };
  renewCertificates(context(), listeners);
  expect(calls).toEqual(['http.prepare', '3', 'mail.prepare', 'http.change', 'mail.takeOver']);
  expect(log).toEqual([]);
  failing = 'mail.prepare';
  renewCertificates(context(), listeners);
  expect(log).toMatchObject([
    {
      level: 'error',
      event: 'certificates_refused',
      error: { name: 'OperatorError', message: 'mail.prepare failed' },
      hint: 'Look there.',
    },
  ]);
});
