/**
 * Every way of saying that a row of the bounce tables looks for, each once, with what is made of it; run by itself it
 * writes wordings.txt.
 *
 * The ways are read from the patterns: of each choice every branch, of each gap the longest and one longer, of each word
 * that must stand alone one that does not. A reply code that no row knows leaves the decision to the words.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { classifyReply } from '../../../src/mail/replies/bounce-class.ts';
import { PROVIDERS, PROVIDER_ROWS } from '../../../src/mail/replies/bounce-providers.ts';
import { GENERAL_ROWS } from '../../../src/mail/replies/bounce-table.ts';

export const WORDINGS_FILE = join(import.meta.dir, 'wordings.txt');

/** A reply code of no row. */
const CODE = 599;
const DIGITS = Array.from({ length: 10 }, (_, digit) => String(digit));

/** The texts of a pattern's part: the usual one first, then each other way. */
type Ways = readonly string[];

/** All together, one of them at a time in another way. */
function inOrder(parts: readonly Ways[]): string[] {
  const usual = parts.map(([first = '']) => first);
  const others = parts.flatMap((ways, at) =>
    ways.slice(1).map((way) => [...usual.slice(0, at), way, ...usual.slice(at + 1)].join('')),
  );
  return [usual.join(''), ...others];
}

/** Reads the part of a pattern's syntax that the tables use. */
class PatternReader {
  readonly #source: string;
  #at = 0;

  constructor(source: string) {
    this.#source = source;
  }

  ways(): Ways {
    const ways = this.#choice();
    if (this.#at < this.#source.length) throw new Error(`not read whole: ${this.#source}`);
    return ways;
  }

  #choice(): Ways {
    const branches: Ways[] = [this.#sequence()];
    while (this.#take('|')) branches.push(this.#sequence());
    return branches.flat();
  }

  #sequence(): Ways {
    const parts: Ways[] = [];
    while (this.#at < this.#source.length && !/^[|)]/.test(this.#source.slice(this.#at))) {
      parts.push(this.#repeated(this.#atom()));
    }
    return inOrder(parts);
  }

  #atom(): Ways {
    if (this.#take('(?<!')) return ['', ...this.#group()];
    if (this.#take('(?:') || this.#take('(')) return this.#group();
    if (this.#take('[')) return this.#members();
    if (this.#take('^') || this.#take('$')) return [''];
    // What may stand here: anything, so nothing that another row looks for.
    if (this.#take('.')) return ['~'];
    if (!this.#take('\\')) return [this.#next()];
    const escaped = this.#next();
    if (escaped === 'b') return ['', 'x'];
    return [{ d: '1', S: 'x', w: 'x', s: ' ' }[escaped] ?? escaped];
  }

  #group(): Ways {
    const ways = this.#choice();
    if (!this.#take(')')) throw new Error(`no end of a group: ${this.#source}`);
    return ways;
  }

  /** Of a class each member, and of one of digits those that are none, too. */
  #members(): Ways {
    let members = '';
    while (!this.#take(']')) {
      const first = this.#next();
      const isRange = this.#source[this.#at] === '-' && this.#source[this.#at + 1] !== ']';
      if (isRange) this.#at += 1;
      const last = isRange ? this.#next() : first;
      for (let code = first.charCodeAt(0); code <= last.charCodeAt(0); code += 1) {
        members += String.fromCharCode(code);
      }
    }
    const isOfDigits = /^\d+$/.test(members);
    const others = DIGITS.filter((digit) => isOfDigits && !members.includes(digit));
    return [...members.split(''), ...others];
  }

  /** An optional part is there first; of a counted one the longest and one longer follow. */
  #repeated(ways: Ways): Ways {
    const [usual = ''] = ways;
    if (this.#take('?')) return [...ways, ''];
    if (this.#take('+')) return [...ways, usual + usual];
    const counts = /^\{(\d+)(?:,(\d+))?\}/.exec(this.#source.slice(this.#at));
    if (counts === null) return ways;
    this.#at += counts[0].length;
    const [least, most] = [Number(counts[1]), Number(counts[2] ?? counts[1])];
    const first = usual === '~' ? ' ' : usual.repeat(least);
    return [first, ...[most, most + 1].map((count) => `{${usual}*${count}}`), ...ways.slice(1)];
  }

  #take(text: string): boolean {
    if (!this.#source.startsWith(text, this.#at)) return false;
    this.#at += text.length;
    return true;
  }

  #next(): string {
    this.#at += 1;
    return this.#source[this.#at - 1] ?? '';
  }
}

const waysOf = (pattern: RegExp | null): Ways =>
  pattern === null ? [''] : new PatternReader(pattern.source).ways();

/** `enhanced code <TAB> words`, a row's words with its first code and its codes with its first words. */
export function wordings(): string[] {
  const rows = [...PROVIDER_ROWS, ...GENERAL_ROWS].filter(({ codes }) => codes === null);
  const all = [
    ...rows.flatMap(({ enhanced, text }) => {
      const [codes, words] = [waysOf(enhanced), waysOf(text)];
      return [
        ...words.map((way) => `${codes[0]}\t${way}`),
        ...codes.map((code) => `${code}\t${words[0]}`),
      ];
    }),
    ...PROVIDERS.flatMap(({ text }) => waysOf(text).map((way) => `\t${way}`)),
  ];
  return [...new Set(all)];
}

/** What is made of one wording: class, subtype, whether it suppresses, whose it is, and the beginning of the hint. */
export function outcomeOf(wording: string): string {
  const [enhanced = '', words = ''] = wording.split('\t');
  const said = words.replace(/\{(.)\*(\d+)\}/g, (_, one: string, count: string) =>
    one.repeat(Number(count)),
  );
  const {
    class: name,
    subType,
    isSuppressing,
    provider,
    hint,
  } = classifyReply({
    code: CODE,
    enhanced: enhanced === '' ? null : enhanced,
    text: `. ${said} .`,
    stage: 'rcpt',
  });
  const does = isSuppressing ? 'suppresses' : 'keeps';
  return [name, subType, does, provider ?? '-', hint?.slice(0, 50) ?? '-'].join(' | ');
}

if (import.meta.main) {
  const byOutcome = Map.groupBy(wordings(), outcomeOf);
  const blocks = Array.from(byOutcome, ([outcome, all]) => `* ${outcome}\n${all.join('\n')}\n`);
  writeFileSync(WORDINGS_FILE, blocks.join('\n'));
}
