/**
 * An operator in Chromium at the dashboard of the compiled binary: finds controls by what they are called, as people do,
 * with scripts or without.
 *
 * Promises that whatever must not happen on a page is written down (`Watch`), and that each step waits for what follows
 * from it, never for a time.
 */
import { expect } from 'bun:test';
import type { Browser, BrowserContext, Download, Locator, Page } from 'playwright-core';

import type { BinaryAppliance } from '../../rig/binary.ts';
import type { Hook } from '../../rig/hook.ts';
import type { Names } from '../../rig/names.ts';

const STEP_TIMEOUT_MS = 20_000;

/** What the walks share. */
export interface Ground {
  appliance: BinaryAppliance;
  browser: Browser;
  names: Names;
  hook: Hook;
  watch: Watch;
}

/** Notes requests to other hosts, broken rules of a Content-Security-Policy and faults of scripts. */
export class Watch {
  readonly wrong: string[] = [];
  readonly #appliance: Pick<BinaryAppliance, 'url'>;

  constructor(appliance: Pick<BinaryAppliance, 'url'>) {
    this.#appliance = appliance;
  }

  /** Everything that opens in `context`, frames and further pages too. */
  over(context: BrowserContext): void {
    const { wrong } = this;
    context.setDefaultTimeout(STEP_TIMEOUT_MS);
    context.on('request', (request) => {
      const url = request.url();
      const isOurs = url.startsWith(`${this.#appliance.url}/`) || url.startsWith('data:');
      if (!isOurs) wrong.push(`request ${url}`);
    });
    context.on('console', (message) => {
      const isPolicy = /Content.Security.Policy/i.test(message.text());
      if (message.type() === 'error' && isPolicy) {
        wrong.push(`${message.page()?.url() ?? ''}: ${message.text()}`);
      }
    });
    context.on('weberror', (fault) =>
      wrong.push(`${fault.page()?.url() ?? ''}: ${fault.error().message}`),
    );
  }
}

/** Who is signed in, in a browser of their own. */
export class Walker {
  readonly ground: Ground;
  readonly page: Page;
  readonly hasScripts: boolean;
  /** A word for names, so that what two walks make is told apart. */
  readonly tag: string;

  private constructor(ground: Ground, page: Page, hasScripts: boolean) {
    this.ground = ground;
    this.page = page;
    this.hasScripts = hasScripts;
    this.tag = hasScripts ? 'scripted' : 'plain';
  }

  /** A browser at the sign-in page. */
  static async arrive(ground: Ground, hasScripts: boolean): Promise<Walker> {
    const viewport = { width: 1440, height: 900 };
    const context = await ground.browser.newContext({ javaScriptEnabled: hasScripts, viewport });
    ground.watch.over(context);
    const walker = new Walker(ground, await context.newPage(), hasScripts);
    await walker.open('');
    return walker;
  }

  async leave(): Promise<void> {
    await this.page.context().close();
  }

  /** Fills in the sign-in form, which stands on the page. */
  async signIn(name: string, password: string, code = ''): Promise<void> {
    await this.fill('Name', name);
    await this.fill('Dashboard password', password);
    if (code !== '') await this.fill('Code from your authenticator app', code);
    await this.press('Sign in');
  }

  /** `path`: below `/dashboard`. */
  async open(path: string): Promise<void> {
    await this.page.goto(`${this.ground.appliance.url}/dashboard${path}`);
  }

  /** Opens an entry of the menu, and waits for its page. */
  async menu(entry: string): Promise<void> {
    await this.page.locator('nav.menu').getByRole('link', { name: entry, exact: true }).click();
    await this.heading(entry);
  }

  async heading(words: string | RegExp): Promise<void> {
    await this.page.getByRole('heading', { level: 1, name: words, exact: true }).waitFor();
  }

  /** Waits until the page says it. */
  async says(words: string | RegExp): Promise<void> {
    try {
      await this.text(words).waitFor();
    } catch (error) {
      const shown = await this.page.locator('main').innerText();
      throw new Error(
        `${this.page.url()} does not say ${String(words)}, but:\n${shown.slice(0, 1500)}`,
        {
          cause: error,
        },
      );
    }
  }

  text(words: string | RegExp): Locator {
    return this.page.locator('main').getByText(words).filter({ visible: true }).first();
  }

  field(label: string | RegExp, within: Locator | Page = this.page): Locator {
    return within.getByLabel(label, { exact: true }).filter({ visible: true });
  }

  async fill(label: string | RegExp, value: string, within?: Locator): Promise<void> {
    await this.field(label, within).fill(value);
  }

  async choose(label: string, option: string | RegExp, within?: Locator): Promise<void> {
    const field = this.field(label, within);
    const options = await field.locator('option').allTextContents();
    const found = options.find((text) =>
      typeof option === 'string' ? text === option : option.test(text),
    );
    if (found === undefined) throw new Error(`${label} offers ${options.join(', ')}`);
    await field.selectOption({ label: found });
  }

  async press(label: string | RegExp, within: Locator | Page = this.page): Promise<void> {
    await within
      .getByRole('button', { name: label, exact: true })
      .filter({ visible: true })
      .click();
  }

  async follow(link: string | RegExp, within: Locator = this.page.locator('main')): Promise<void> {
    await within.getByRole('link', { name: link, exact: true }).filter({ visible: true }).click();
  }

  /** The row of the page's tables in which these words stand. */
  row(words: string | RegExp): Locator {
    return this.page.locator('main tbody tr').filter({ hasText: words });
  }

  /** The sheet with this title. */
  card(title: string | RegExp): Locator {
    const heading = this.page.getByRole('heading', { level: 2, name: title, exact: true });
    return this.page.locator('section.card').filter({ has: heading });
  }

  /** What cannot be undone: the first press only asks. `before`: fills in what is asked for. */
  async confirm(
    label: string,
    sure: string,
    options: { within?: Locator; before?: (form: Locator) => Promise<void> } = {},
  ): Promise<void> {
    const { within = this.page.locator('main'), before } = options;
    const asking = within.locator('details.confirm').filter({
      has: this.page.locator('summary').getByText(label, { exact: true }),
    });
    const button = asking.getByRole('button', { name: sure, exact: true });
    expect(await button.isVisible()).toBe(false);
    await asking.locator('summary').click();
    await before?.(asking);
    await button.click();
  }

  /** Sets filters of a list; they answer by themselves with scripts, and by their button without. */
  async filter(fields: Readonly<Record<string, string>>): Promise<void> {
    const form = this.page.locator('main form[role="search"]');
    for (const [label, value] of Object.entries(fields)) {
      const field = this.field(label, form);
      const isList = (await field.evaluate((element) => element.nodeName)) === 'SELECT';
      if (isList) await this.choose(label, value, form);
      else await field.fill(value);
    }
    if (!this.hasScripts) await this.press('Filter', form);
  }

  /** Waits until exactly these rows are listed, by a word that each must have. */
  async lists(...words: string[]): Promise<void> {
    const rows = this.page.locator('main tbody tr');
    for (const word of words) await rows.filter({ hasText: word }).first().waitFor();
    await this.page.locator(`main tbody tr >> nth=${words.length}`).waitFor({ state: 'detached' });
  }

  /** What the page shows to be copied; with scripts its button says that it was. */
  async copied(label: string): Promise<string> {
    const button = this.page.locator(`button[aria-label="${label}"]`);
    if (this.hasScripts) {
      await Promise.all([saysCopied(this.page, label), button.click()]);
    } else {
      expect(await button.isVisible()).toBe(false);
    }
    return (await button.getAttribute('data-copy')) ?? '';
  }

  /** The file that a link saves. */
  async saved(link: string | RegExp): Promise<{ name: string; text: string }> {
    const [download] = await Promise.all([this.page.waitForEvent('download'), this.follow(link)]);
    return { name: download.suggestedFilename(), text: await textOf(download) };
  }

  /** Waits for what happens behind the page: it updates itself with scripts, and is asked for again without. */
  async becomes(words: string | RegExp): Promise<void> {
    if (this.hasScripts) return this.says(words);
    while (!(await this.text(words).isVisible())) await this.page.reload();
  }
}

async function textOf(download: Download): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

/**
 * Resolves when the button says that it has copied. Asked by the page itself, in each frame, from before the click: the
 * word stands there for a second and a half, which this process may miss.
 */
export function saysCopied(page: Page, label: string): Promise<unknown> {
  const button = `document.querySelector('button[aria-label="${label}"]')`;
  return page.evaluate(`new Promise((done) => {
    const look = () =>
      /Copied|Selected/.test(${button}?.textContent ?? '') ? done() : requestAnimationFrame(look);
    look();
  })`);
}
