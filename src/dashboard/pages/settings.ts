/**
 * The server as a whole: its version, the host check now, the kill switch, a backup, the config that is in force.
 *
 * Passwords and second factors are on the page of the operator. Secrets of the config are never shown.
 */
import { shownConfig } from '../../base/config-shown.ts';
import { VERSION } from '../../base/version.ts';
import type { BackupState } from '../../flow/upkeep/backups.ts';
import { action, confirm } from '../frame/action.ts';
import { html, type Html } from '../frame/html.ts';
import { ROOT } from '../frame/navigation.ts';
import { card, facts, table } from '../frame/table.ts';
import { badge, bytes, time } from '../frame/values.ts';
import type { Page, Visit } from '../frame/visit.ts';
import { findings } from './overview.ts';

const PATH = `${ROOT}/settings`;
const LIVE_SECONDS = 2;

export const settingsPages: readonly Page[] = [
  { method: 'GET', path: '/settings', open: settings },
  { method: 'GET', path: '/settings/config', open: configPage },
  {
    method: 'POST',
    path: '/settings/check',
    async open({ parts }) {
      await parts.vitals.checkNow();
      return { kind: 'redirect', to: PATH, done: 'host_checked' };
    },
  },
  {
    method: 'POST',
    path: '/settings/backup',
    async open({ parts }) {
      parts.backups.start();
      return Promise.resolve({ kind: 'redirect', to: PATH });
    },
  },
];

async function settings(visit: Visit): ReturnType<Page['open']> {
  const { ctx, parts } = visit;
  const { startup } = ctx.config;
  const body = html`${facts([
      ['Version', `${VERSION.version} (${VERSION.commit}), Bun ${VERSION.bun}`],
      ['Host name', startup.hostname],
      ['Service name', startup.cluster.name !== startup.hostname && startup.cluster.name],
      ['Delivery', startup.delivery.mode],
      ['Data directory', html`<code>${startup.dataDir}</code>`],
      ['Config', html`<a href="${PATH}/config">Show what is in force</a>`],
    ])}
    ${card('Host check', findings(parts), action(visit, `${PATH}/check`, 'Check now'))}
    <div class="columns">
      ${card('Kill switch', killSwitch(visit))} ${card('Backup', backup(visit))}
    </div>`;
  const isRunning = parts.backups.last?.kind === 'running';
  return Promise.resolve({
    kind: 'page',
    title: 'Settings',
    account: null,
    body,
    ...(isRunning && { liveSeconds: LIVE_SECONDS }),
  });
}

function killSwitch(visit: Visit): Html {
  return visit.ctx.halt.state !== null
    ? html`<p>New sends are refused and deliveries are paused.</p>
        ${action(visit, `${ROOT}/resume`, 'Resume sending', 'primary')}`
    : html`<p class="soft">
          For an emergency, such as a leaked key: no sends are accepted, nothing leaves the server.
        </p>
        ${confirm(visit, {
          to: `${ROOT}/halt`,
          label: 'Halt all sending',
          words:
            'New sends are refused and deliveries are paused. Nothing that was accepted is lost.',
          sure: 'Halt all sending',
          inputs: html`<p class="field">
            <label>Reason (shown to senders) <input name="reason" maxlength="200" /></label>
          </p>`,
        })}`;
}

function backup(visit: Visit): Html {
  const { last } = visit.parts.backups;
  return html`<p class="soft">
      One file with all data and the secret key. Sending goes on. It is written into
      <code>backups/</code> of the data directory; keep a copy on another machine.
    </p>
    ${last !== null && outcome(last)}
    ${
      last?.kind !== 'running' &&
      confirm(visit, {
        to: `${PATH}/backup`,
        label: 'Make a backup',
        words: 'The file holds everything, the secret key too. Old backups are not deleted.',
        sure: 'Make a backup',
        kind: 'plain',
      })
    }`;
}

function outcome(last: BackupState): Html {
  switch (last.kind) {
    case 'running':
      return html`<p role="status">Being written since ${time(last.startedAt)} …</p>`;
    case 'done':
      return html`<p role="status">
        ${badge('done')} <code>${last.report.file}</code>, ${bytes(last.report.bytes)},
        ${time(last.endedAt)}
      </p>`;
    case 'failed':
      return html`<p role="alert">${badge('failed')} ${last.problem}</p>`;
  }
}

async function configPage({ ctx }: Visit): ReturnType<Page['open']> {
  const body = html`<p class="soft">
      What is in force now, defaults included. Change the config file, then run
      <code>postrider reload</code>.
    </p>
    ${table(
      [['Key', 'title'], 'Value', 'Takes effect'],
      shownConfig(ctx.config).map(({ path, value, needsRestart }) => [
        html`<code>${path}</code>`,
        value,
        needsRestart ? 'after a restart' : html`<span class="soft">after a reload</span>`,
      ]),
      '',
    )}`;
  const up = { label: 'Settings', href: PATH };
  return Promise.resolve({ kind: 'page', title: 'Config', account: null, body, up });
}
