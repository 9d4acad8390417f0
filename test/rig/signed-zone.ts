/**
 * Signed DNS zones served by BIND and validated by unbound, both real, on loopback.
 *
 * Promises a validating resolver that sets AD for the signed zones, answers SERVFAIL where a record was changed
 * after signing, and neither for the unsigned one. Asks nobody outside. Fails when a program does not start.
 */
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Subprocess } from 'bun';
import type { Listen } from '../../src/base/config.ts';
import { systemClock } from '../../src/base/clock.ts';
import { createResolver } from '../../src/wire/dns/dns.ts';
import { freePorts } from './ports.ts';

export interface Zone {
  name: string;
  /** Zone-file lines, names relative to the zone. */
  records: string[];
  isSigned: boolean;
  /** Changes the signed file, so that its signatures no longer match. */
  tamper?: (signed: string) => string;
}

export interface Validator {
  listen: Listen;
  stop(): Promise<void>;
}

const READY_ATTEMPTS = 200;

/** Starts both servers; resolves when the validator answers for every zone. */
export async function startValidator(zones: Zone[]): Promise<Validator> {
  const folder = mkdtempSync(join(tmpdir(), 'postrider-zones-'));
  const [authority = 0, validator = 0] = await freePorts(2);
  const anchors: string[] = [];
  for (const zone of zones) {
    const file = join(folder, zone.name);
    writeFileSync(file, zoneFile(zone));
    if (zone.isSigned) anchors.push(...sign(folder, zone));
  }
  const running: Subprocess[] = [];
  const run = (name: string, args: string[]): void => {
    running.push(Bun.spawn([name, ...args], { cwd: folder, stdout: 'ignore', stderr: 'ignore' }));
  };
  writeFileSync(join(folder, 'named.conf'), namedConfig(folder, zones, authority));
  run('/usr/sbin/named', ['-f', '-c', join(folder, 'named.conf')]);
  writeFileSync(join(folder, 'anchors'), anchors.join('\n'));
  writeFileSync(join(folder, 'unbound.conf'), unboundConfig(folder, zones, authority, validator));
  run('/usr/sbin/unbound', ['-d', '-c', join(folder, 'unbound.conf')]);

  const listen = { host: '127.0.0.1', port: validator };
  const stop = async (): Promise<void> => {
    for (const program of running) program.kill();
    await Promise.all(running.map((program) => program.exited));
  };
  for (let attempt = 0; !(await isReady(listen, zones)); attempt++) {
    if (attempt > READY_ATTEMPTS || running.some((program) => program.exitCode !== null)) {
      await stop();
      throw new Error(`named or unbound did not start; see ${folder}`);
    }
    await Bun.sleep(50);
  }
  return { listen, stop };
}

async function isReady(listen: Listen, zones: Zone[]): Promise<boolean> {
  const patience = { rounds: [200], loneRounds: [200], tcp: 200 };
  const resolver = createResolver({ servers: [listen], clock: systemClock, patience });
  const answers = await Promise.all(zones.map((zone) => resolver.txt(`ready.${zone.name}`)));
  resolver.close();
  return answers.every((answer) => answer.kind === 'found');
}

function zoneFile(zone: Zone): string {
  const lines = [
    `$ORIGIN ${zone.name}.`,
    '$TTL 60',
    `@ SOA ns.${zone.name}. admin.${zone.name}. 1 3600 600 86400 60`,
    `@ NS ns.${zone.name}.`,
    'ns A 127.0.0.1',
    'ready TXT "yes"',
    ...zone.records,
  ];
  return `${lines.join('\n')}\n`;
}

/** Signs the zone file beside it and returns the trust anchors. */
function sign(folder: string, zone: Zone): string[] {
  const { name } = zone;
  run(folder, ['dnssec-keygen', '-q', '-a', 'ECDSAP256SHA256', name]);
  run(folder, ['dnssec-keygen', '-q', '-a', 'ECDSAP256SHA256', '-f', 'KSK', name]);
  run(folder, ['dnssec-signzone', '-S', '-K', folder, '-o', name, '-f', `${name}.signed`, name]);
  const signedFile = join(folder, `${name}.signed`);
  const tampered = zone.tamper?.(readFileSync(signedFile, 'utf8'));
  if (tampered !== undefined) writeFileSync(signedFile, tampered);
  return readdirSync(folder)
    .filter((file) => file.startsWith(`K${name}.+`) && file.endsWith('.key'))
    .map((file) => readFileSync(join(folder, file), 'utf8'))
    .filter((key) => key.includes('DNSKEY 257'));
}

function namedConfig(folder: string, zones: Zone[], port: number): string {
  const options = [
    `directory "${folder}"`,
    `listen-on port ${port} { 127.0.0.1; }`,
    'listen-on-v6 { none; }',
    'recursion no',
    'pid-file none',
    `session-keyfile "${join(folder, 'session.key')}"`,
    'allow-transfer { none; }',
  ];
  const blocks = zones.map((zone) => {
    const file = zone.isSigned ? `${zone.name}.signed` : zone.name;
    return `zone "${zone.name}" { type primary; file "${file}"; };`;
  });
  return `options { ${options.join('; ')}; };\ncontrols { };\n${blocks.join('\n')}\n`;
}

function unboundConfig(folder: string, zones: Zone[], authority: number, port: number): string {
  const stubs = zones.map(
    (zone) => `stub-zone:\n  name: "${zone.name}"\n  stub-addr: 127.0.0.1@${authority}\n`,
  );
  return `server:
  directory: "${folder}"
  chroot: ""
  username: ""
  pidfile: ""
  use-syslog: no
  interface: 127.0.0.1
  port: ${port}
  do-not-query-localhost: no
  local-zone: "test." nodefault
  trust-anchor-file: "${join(folder, 'anchors')}"
  module-config: "validator iterator"
remote-control:
  control-enable: no
${stubs.join('')}`;
}

function run(folder: string, command: string[]): void {
  const ended = Bun.spawnSync(command, { cwd: folder, stderr: 'pipe' });
  if (ended.exitCode !== 0) throw new Error(`${command[0]}: ${ended.stderr.toString()}`);
}
