/**
 * Completion scripts for bash, zsh and fish, written from the table of commands.
 *
 * Every script works alike: the words before the cursor, without options and their values, name the command and action;
 * that, or the option before the cursor, chooses a line of a list. Names and choices are our own, so they need no quotes
 * in bash; descriptions are quoted.
 */
import { COMMON_OPTIONS, isGroup } from './command.ts';
import type { Command, CommandTable, Group } from './command.ts';
import type { Parameter } from './parameter.ts';

const HELP = '--help';

/** What one command or action offers. `path`: `account create`. */
interface Line {
  path: string;
  command: Command;
}

function linesOf(table: CommandTable): Line[] {
  return Object.entries(table).flatMap(([name, entry]) =>
    isGroup(entry)
      ? Object.entries(entry.actions).map(([action, command]) => ({
          path: `${name} ${action}`,
          command,
        }))
      : [{ path: name, command: entry }],
  );
}

function groupsOf(table: CommandTable): [name: string, group: Group][] {
  return Object.entries(table).flatMap(([name, entry]): [string, Group][] =>
    isGroup(entry) ? [[name, entry]] : [],
  );
}

function optionsOf({ parameters = [] }: Command): Parameter<unknown>[] {
  return [...parameters, ...COMMON_OPTIONS].filter(({ kind }) => kind === 'option');
}

const argumentOf = ({ parameters = [] }: Command): Parameter<unknown> | undefined =>
  parameters.find(({ kind }) => kind === 'argument');

/** Every option with a value, of any command. */
function optionsWithValue(table: CommandTable): string[] {
  const names = linesOf(table)
    .flatMap(({ command }) => optionsOf(command))
    .filter(({ value }) => value !== null)
    .map(({ name }) => `--${name}`);
  return [...new Set(names)];
}

/** `source <(postrider completion bash)`. Needs no bash-completion package. */
export function bashScript(table: CommandTable): string {
  const top = Object.keys(table).join(' ');
  const values = linesOf(table).flatMap(({ path, command }) =>
    optionsOf(command).flatMap((option) =>
      option.completion === null
        ? []
        : [`    '${path} --${option.name}') ${bashOffer(option)}; return ;;`],
    ),
  );
  const groups = groupsOf(table).map(
    ([name, { actions }]) => `    '${name}') words='${Object.keys(actions).join(' ')}' ;;`,
  );
  const commands = linesOf(table).map(({ path, command }) => {
    const names = optionsOf(command).map(({ name }) => `--${name}`);
    const offer = argumentOf(command);
    const own = offer === undefined || offer.completion === null ? '' : ` ${bashArgument(offer)}`;
    return `    '${path}') words='${[...names, HELP].join(' ')}'${own} ;;`;
  });
  return `# Completion of postrider for bash: source <(postrider completion bash)
_postrider() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} path='' word words='' at
  COMPREPLY=()
  for ((at = 1; at < COMP_CWORD; at += 1)); do
    word=\${COMP_WORDS[at]}
${addToPath(table)}
  done
  case "$path $previous" in
${values.join('\n')}
  esac
  case " ${optionsWithValue(table).join(' ')} " in *" $previous "*) return ;; esac
  case "$path" in
    '') words='${top} ${HELP} --config --json' ;;
${[...groups, ...commands].join('\n')}
  esac
  COMPREPLY+=($(compgen -W "$words" -- "$current"))
}
complete -o filenames -F _postrider postrider
`;
}

/** What bash and zsh do with each word before the current one: group and action make the path, options do not. */
function addToPath(table: CommandTable): string {
  const groups = groupsOf(table).map(([name]) => name);
  return `    case "$word" in
      ${optionsWithValue(table).join('|')}) at=$((at + 1)) ;;
      -*) ;;
      *) case "$path" in
        '') path=$word ;;
        ${groups.join('|')}) path="$path $word" ;;
      esac ;;
    esac`;
}

/** Fills COMPREPLY with what may follow an option. */
function bashOffer({ completion }: Parameter<unknown>): string {
  return completion === 'file'
    ? 'COMPREPLY=($(compgen -f -- "$current"))'
    : `COMPREPLY=($(compgen -W '${(completion ?? []).join(' ')}' -- "$current"))`;
}

function bashArgument({ completion }: Parameter<unknown>): string {
  if (completion === 'file') return '; COMPREPLY=($(compgen -f -- "$current"))';
  return `"\${words} ${(completion ?? []).join(' ')}"`.replace(/^/, '; words=');
}

/** A file named `_postrider` in a folder of $fpath. */
export function zshScript(table: CommandTable): string {
  const described = (name: string, summary: string): string => quoted(`${name}:${summary}`);
  const top = Object.entries(table).map(([name, { summary }]) => described(name, summary));
  const groups = groupsOf(table).map(([name, { actions }]) => {
    const offers = Object.entries(actions).map(([action, { summary }]) =>
      described(action, summary),
    );
    return `    ${quoted(name)}) offers=(${offers.join(' ')}); _describe action offers ;;`;
  });
  const commands = linesOf(table).map(({ path, command }) => {
    const specs = optionsOf(command).map(zshOption);
    const offer = argumentOf(command);
    // Without a rule for the words of the path, _arguments would offer nothing.
    const own = quoted(offer === undefined ? '*: :' : `*:${offer.name}:${zshAction(offer)}`);
    return `    ${quoted(path)}) _arguments ${[...specs, quoted(`${HELP}[Show help]`), own].join(' ')} ;;`;
  });
  return `#compdef postrider
# Completion of postrider for zsh: write it to a file named _postrider in a folder of $fpath.
_postrider() {
  local path='' word at
  local -a offers
  for ((at = 2; at < CURRENT; at += 1)); do
    word=$words[at]
${addToPath(table)}
  done
  case "$path" in
    '') offers=(${top.join(' ')}); _describe command offers ;;
${[...groups, ...commands].join('\n')}
  esac
}
if [ "$funcstack[1]" = _postrider ]; then _postrider "$@"; else compdef _postrider postrider; fi
`;
}

function zshOption(option: Parameter<unknown>): string {
  const about = option.about.replaceAll(/[[\]:]/g, ' ');
  const name = `${option.isRepeated ? '*' : ''}--${option.name}`;
  if (option.value === null) return quoted(`${name}[${about}]`);
  return quoted(`${name}[${about}]:${option.value}:${zshAction(option)}`);
}

function zshAction({ completion }: Parameter<unknown>): string {
  if (completion === null) return '';
  return completion === 'file' ? '_files' : `(${completion.join(' ')})`;
}

/** `~/.config/fish/completions/postrider.fish`. */
export function fishScript(table: CommandTable): string {
  const rule = (condition: string, rest: string): string =>
    `complete -c postrider -n ${quoted(condition)} ${rest}`;
  const offer = (condition: string, name: string, summary: string): string =>
    rule(condition, `-a ${quoted(name)} -d ${quoted(summary)}`);
  const top = Object.entries(table).map(([name, { summary }]) =>
    offer('__fish_use_subcommand', name, summary),
  );
  const groups = groupsOf(table).flatMap(([name, { actions }]) => {
    const none = `__fish_seen_subcommand_from ${name}; and not __fish_seen_subcommand_from ${Object.keys(actions).join(' ')}`;
    return Object.entries(actions).map(([action, { summary }]) => offer(none, action, summary));
  });
  const commands = linesOf(table).flatMap(({ path, command }) => {
    const condition = path
      .split(' ')
      .map((word) => `__fish_seen_subcommand_from ${word}`)
      .join('; and ');
    const options = optionsOf(command).map((option) => rule(condition, fishOption(option)));
    const argument = argumentOf(command);
    if (argument === undefined || argument.completion === null) return options;
    return [...options, rule(condition, fishValues(argument))];
  });
  const help = "complete -c postrider -l help -s h -d 'Show help'";
  return `# Completion of postrider for fish: write it to ~/.config/fish/completions/postrider.fish.
complete -c postrider -f
${[...top, ...groups, ...commands, help].join('\n')}
`;
}

function fishOption(option: Parameter<unknown>): string {
  const files = option.completion === 'file' ? '-r' : '-x';
  const value = option.value === null ? '' : ` ${files} ${fishValues(option)}`.trimEnd();
  return `-l ${option.name}${value} -d ${quoted(option.about)}`;
}

function fishValues({ completion }: Parameter<unknown>): string {
  if (completion === null) return '';
  return completion === 'file' ? '-F' : `-a ${quoted(completion.join(' '))}`;
}

/** In single quotes, for each of the three shells. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
