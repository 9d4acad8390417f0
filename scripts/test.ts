/**
 * Every check and test of the repository, in order, whatever fails on the way; the last line is `N passed, N failed`.
 *
 * Each check counts as one; each test as one. A suite that cannot run here is a failure under CI=true, and is named
 * with its reason otherwise. As root, missing Debian packages of the suites are installed first. Arguments are parts of
 * names: only the steps whose name contains one of them run.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { isInstalled, PROGRAMS } from '../test/rig/programs.ts';
import type { Program } from '../test/rig/programs.ts';
import { countCases } from './junit.ts';
import type { Counts } from './junit.ts';
import { partsOf } from './test-plan.ts';

const ROOT = join(import.meta.dir, '..');
const BIN = join(ROOT, 'node_modules/.bin');
/** Suites that start the compiled binary; `test-plan.ts` says which of their files run alone. */
const BINARY_SUITES = ['clients', 'e2e', 'torture'];
/** Longest a single test may take, in milliseconds, unless it sets its own. */
const TEST_TIMEOUT_MS = 30_000;
const POLICY = '/usr/sbin/policy-rc.d';

interface Step {
  name: string;
  run(): Counts;
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** A command that is one check: passed when it exits 0. */
function check(name: string, command: string[]): Step {
  return {
    name,
    run() {
      const done = Bun.spawnSync(command, { cwd: ROOT, stdout: 'inherit', stderr: 'inherit' });
      return done.exitCode === 0
        ? { passed: 1, failed: 0, failures: [], skipped: [] }
        : { passed: 0, failed: 1, failures: [name], skipped: [] };
    },
  };
}

/** Test files in these folders and files below test/, counted from the JUnit report. */
function suite(name: string, paths: string[], options: string[]): Step {
  return {
    name,
    run() {
      const reports = mkdtempSync(join(tmpdir(), 'postrider-junit-'));
      const report = join(reports, 'report.xml');
      const done = Bun.spawnSync(
        [
          process.execPath,
          'test',
          `--timeout=${TEST_TIMEOUT_MS}`,
          '--reporter=junit',
          `--reporter-outfile=${report}`,
          ...options,
          ...paths.map((path) => `./test/${path}`),
        ],
        { cwd: ROOT, stdout: 'inherit', stderr: 'inherit' },
      );
      const counts = countCases(existsSync(report) ? readFileSync(report, 'utf8') : '');
      rmSync(reports, { recursive: true });
      // A file that does not load, or a run that dies, leaves no failing case behind.
      if (done.exitCode !== 0 && counts.failed === 0) {
        counts.failed += 1;
        counts.failures.push(`${name}: the run ended with ${done.exitCode ?? done.signalCode}`);
      }
      if (counts.passed + counts.failed === 0) {
        counts.failed += 1;
        counts.failures.push(`${name}: no test ran`);
      }
      return counts;
    },
  };
}

function steps(): Step[] {
  const glob = new Bun.Glob('**/*.test.ts');
  const files = Array.from(glob.scanSync(join(ROOT, 'test'))).toSorted();
  const folderOf = (file: string): string => file.split('/')[0] ?? '';
  const unit = Array.from(new Set(files.map(folderOf))).filter(
    (path) => !BINARY_SUITES.includes(path),
  );
  const parts = BINARY_SUITES.flatMap((name) =>
    partsOf(
      name,
      files.filter((file) => folderOf(file) === name),
    ),
  );
  return [
    check('format', [`${BIN}/oxfmt`, '--check', 'src', 'test', 'scripts']),
    check('lint', [`${BIN}/oxlint`, '--type-aware', 'src', 'test', 'scripts']),
    check('types', [`${BIN}/tsc`, '-p', '.']),
    check('build', [process.execPath, 'scripts/build.ts']),
    suite('unit', unit, ['--parallel=2']),
    ...parts.map(({ name, paths, options }) => suite(name, paths, options)),
  ];
}

/** Installs what the suites use and the machine lacks. Starts no service. */
function installPrograms(): void {
  const names = Object.keys(PROGRAMS) as Program[];
  const missing = names.filter((name) => !isInstalled(name)).map((name) => PROGRAMS[name].package);
  if (missing.length === 0) return;
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) {
    say(`Not installed, and not to be installed from here: ${missing.join(', ')}`);
    return;
  }
  say(`Installing ${missing.join(', ')} ...`);
  const hadPolicy = existsSync(POLICY);
  // 101: "action forbidden by policy", so that no package starts its service.
  if (!hadPolicy) {
    mkdirSync('/usr/sbin', { recursive: true });
    writeFileSync(POLICY, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  }
  try {
    const apt = (...args: string[]): boolean =>
      Bun.spawnSync(['apt-get', '-qq', ...args], {
        env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
        stdout: 'ignore',
        stderr: 'inherit',
      }).exitCode === 0;
    const install = ['install', '-y', '--no-install-recommends', ...missing];
    if (!apt(...install)) {
      apt('update');
      apt(...install);
    }
  } finally {
    if (!hadPolicy) rmSync(POLICY);
  }
}

const only = process.argv.slice(2);
const all = steps();
const chosen = all.filter(
  (step) => only.length === 0 || only.some((part) => step.name.includes(part)),
);
if (chosen.length === 0) {
  say(`There is no suite ${only.join(', ')}; there are ${all.map(({ name }) => name).join(', ')}.`);
} else installPrograms();
const total: Counts = { passed: 0, failed: 0, failures: [], skipped: [] };
for (const step of chosen) {
  say(`== ${step.name}`);
  const began = Date.now();
  const counts = step.run();
  say(
    `== ${step.name}: ${counts.passed} passed, ${counts.failed} failed, ${Date.now() - began} ms`,
  );
  total.passed += counts.passed;
  total.failed += counts.failed;
  total.failures.push(...counts.failures);
  total.skipped.push(...counts.skipped);
}
for (const name of total.skipped) {
  say(`skipped: ${name}`);
  if (process.env['CI'] === 'true') {
    total.failed += 1;
    total.failures.push(`skipped under CI: ${name}`);
  }
}
for (const name of total.failures) say(`failed: ${name}`);
say(`${total.passed} passed, ${total.failed} failed`);
process.exit(total.failed === 0 && total.passed > 0 ? 0 : 1);
