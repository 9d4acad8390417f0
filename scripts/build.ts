/**
 * Compiles the appliance into one executable, with migrations, workers and pages inside.
 *
 * Promises a binary that reads no .env and no bunfig.toml from where it is started, and whose server code loses white
 * space and comments alone (minified names switch off query validation in Elysia; test/e2e asserts that it works). Each worker is an
 * entry of its own, because a compiled Worker that is none is only missed at run time (oven-sh/bun#22098). A build that
 * fails leaves the last executable.
 */
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { BunPlugin } from 'bun';

import { refuse, scriptOptions } from './options.ts';

const ROOT = join(import.meta.dir, '..');

/** Names on our side → Bun's target and the npm package with that platform's Bun. */
const TARGETS: Record<string, { target: Bun.Build.CompileTarget; package: string }> = {
  'linux-x64': { target: 'bun-linux-x64', package: '@oven/bun-linux-x64' },
  'linux-x64-baseline': {
    target: 'bun-linux-x64-baseline',
    package: '@oven/bun-linux-x64-baseline',
  },
  'linux-arm64': { target: 'bun-linux-arm64', package: '@oven/bun-linux-aarch64' },
};

/** Files that are started as Workers. */
const WORKERS = [
  'src/store/sqlite/writer.ts',
  'src/store/sqlite/background.ts',
  'src/store/sqlite/backup-thread.ts',
  'src/mail/dkim/signing-thread.ts',
  'src/mail/large/large-thread.ts',
];

function commit(): string {
  if (Bun.which('git') === null) return 'unknown';
  const run = Bun.spawnSync(['git', 'rev-parse', '--short=12', 'HEAD'], {
    cwd: ROOT,
    stderr: 'ignore',
  });
  return run.exitCode === 0 ? run.stdout.toString().trim() : 'unknown';
}

/** The Bun of another platform, from npm, in the version that runs here. */
function foreignBun(packageName: string, folder: string): string {
  run(['npm', 'pack', '--silent', `${packageName}@${Bun.version}`], folder);
  const archive = Array.from(new Bun.Glob('*.tgz').scanSync(folder))[0] ?? '';
  run(['tar', '-xzf', archive], folder);
  return join(folder, 'package/bin/bun');
}

function run(command: string[], cwd: string): void {
  const done = Bun.spawnSync(command, { cwd, stdout: 'inherit', stderr: 'inherit' });
  if (done.exitCode !== 0) throw new Error(`${command[0] ?? ''} failed with ${done.exitCode}`);
}

/**
 * One letter beyond ASCII in a comment, and the whole program is stored with two bytes for each character: 7 MB more of
 * the executable. Of all that is bundled, only the licence note that the bundler keeps from this package has some.
 */
const asciiNotes: BunPlugin = {
  name: 'ascii-notes',
  setup(builder) {
    builder.onLoad({ filter: /\/node_modules\/otpauth\/.*\.js$/ }, async ({ path }) => ({
      loader: 'js',
      contents: (await Bun.file(path).text()).replaceAll(
        /[^\0-\x7F]/g,
        (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`,
      ),
    }));
  },
};

/**
 * Parts of libraries that nothing here reaches, or that are there a second time, and what the program has in their stead: a
 * quarter of its code, and with bytecode and source map 6 MB of the executable. Each keeps its promise where it is called.
 */
const REPLACED: readonly [part: string, instead: string][] = [
  // The older of the two sets of functions in acme-client; src/wire/https uses the other.
  ['acme-client/src/crypto/forge.js', 'module.exports = {};'],
  // axios sends JSON for acme-client, never a form.
  ['form-data/lib/form_data.js', 'module.exports = FormData;'],
  // mailauth's libmime decodes by these; it folds and parses our own header fields only, and the runtime can decode too.
  [
    'iconv-lite/lib/index.js',
    'exports.decode = (bytes, charset) => new TextDecoder(charset).decode(bytes);',
  ],
  [
    'encoding-japanese/src/index.js',
    'exports.convert = (bytes, { from }) => new TextDecoder(from).decode(bytes);',
  ],
  // libmime names the type of an attachment by it; nodemailer does so for us, and mailauth reads header fields alone.
  [
    'libmime/lib/mimetypes.js',
    'exports.list = { __proto__: null }; exports.extensions = { __proto__: null };',
  ],
  // mailauth's own copy of the public suffixes: it is to ask the list that domains are checked with, too.
  [
    'mailauth/node_modules/tldts/dist/cjs/index.js',
    `export * from ${JSON.stringify(join(ROOT, 'node_modules/tldts'))};`,
  ],
  // Elysia looks into uploaded files with it. No route takes any.
  ['file-type/source/index.js', 'export {};'],
  // The style of the pages that the plugin could serve; /docs has its own.
  ['@scalar/themes/dist/index.js', "export const elysiajsTheme = '';"],
];

/** `seen` has every part that was replaced. */
const replaceParts = (seen: Set<string>): BunPlugin => ({
  name: 'replaced-parts',
  setup(builder) {
    for (const [part, contents] of REPLACED) {
      builder.onLoad({ filter: new RegExp(`/node_modules/${RegExp.escape(part)}$`) }, () => {
        seen.add(part);
        return { loader: 'js', contents };
      });
    }
  },
});

/** Builds into `outfile`; `name` is a key of `TARGETS`, or null for this machine. */
export async function build(outfile: string, name: string | null): Promise<void> {
  const foreign = name === null ? null : TARGETS[name];
  if (foreign === undefined) {
    throw new Error(`no target ${String(name)}; there are: ${Object.keys(TARGETS).join(', ')}`);
  }
  mkdirSync(dirname(outfile), { recursive: true });
  const seen = new Set<string>();
  // The bundler leaves source maps beside what it makes, which the executable has inside.
  const folder = mkdtempSync(`${outfile}-build-`);
  const made = join(folder, 'postrider');
  try {
    await Bun.build({
      entrypoints: ['src/main.ts', ...WORKERS].map((path) => join(ROOT, path)),
      root: join(ROOT, 'src'),
      format: 'esm',
      bytecode: true,
      // Of what a start runs at once; every other function is compiled when it is first called. All bytecode would be 9 MB.
      bytecodeDepth: 0,
      sourcemap: 'linked',
      minify: { whitespace: true },
      // What threads have in common is there once.
      splitting: true,
      define: {
        'process.env.NODE_ENV': '"production"',
        BUILD_COMMIT: JSON.stringify(commit()),
      },
      plugins: [asciiNotes, replaceParts(seen)],
      compile: {
        outfile: made,
        autoloadDotenv: false,
        autoloadBunfig: false,
        ...(foreign !== null && {
          target: foreign.target,
          executablePath: foreignBun(foreign.package, folder),
        }),
      },
    });
    // A library may lie or be named elsewhere in a new version.
    const missed = REPLACED.filter(([part]) => !seen.has(part)).map(([part]) => part);
    if (missed.length > 0) throw new Error(`nothing loads ${missed.join(', ')}; see REPLACED`);
    const isWide = readFileSync(made).includes(Buffer.from('function(', 'utf16le'));
    if (isWide) throw new Error('a bundled comment has letters beyond ASCII; see asciiNotes');
    renameSync(made, outfile);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

if (import.meta.main) {
  const { target: name = null } = scriptOptions({
    options: { target: { type: 'string' } },
  }).values;
  if (name !== null && !Object.hasOwn(TARGETS, name)) {
    refuse(`There is no target ${name}; there are ${Object.keys(TARGETS).join(', ')}.`);
  }
  await build(join(ROOT, 'dist', name === null ? 'postrider' : `postrider-${name}`), name);
}
