/**
 * The pages at `/docs`: an overview, a page for each group of operations, and the guides; made on the server from the
 * OpenAPI document, for the language that the path names.
 *
 * Promises pages that need no script and load nothing but their style sheet, and that read on a phone as well as in
 * print. `null` for a page that there is not. Pure.
 */
import { html, type Html } from '../../dashboard/frame/html.ts';
import { GUIDES } from './guides.ts';
import { operationView, type Found, type Operation } from './operation-view.ts';
import type { Schemas } from './schema-view.ts';
import { LANGUAGES, type Language } from './snippets.ts';
import { paragraphs, words } from './words.ts';

/** As far as the pages read the document. */
export interface Document {
  info: { title: string; version: string; description: string };
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  webhooks: Record<string, Record<string, Operation>>;
  components: { schemas: Schemas };
}

export const STYLE_PATH = '/docs/style.css';
const ROOT = '/docs';

interface Where {
  /** Empty: the overview. */
  slug: string;
  language: Language;
  /** Address of the API in the snippets, without a closing slash. */
  base: string;
}

/** The page at a path below `/docs`; null when there is none. */
export function docsPage(
  document: Document,
  slug: string,
  language: string,
  base: string,
): string | null {
  const known = LANGUAGES.find(([name]) => name === language)?.[0];
  if (known === undefined) return null;
  const where: Where = { slug, language: known, base: base.replace(/\/$/, '') };
  const content = contentOf(document, where);
  return content && pageOf(document, where, content).toString();
}

interface Content {
  title: string;
  body: Html;
}

function contentOf(document: Document, { slug, language, base }: Where): Content | null {
  if (slug === '') return { title: document.info.title, body: overview(document, language) };
  const guide = GUIDES.find((one) => one.slug === slug);
  if (guide !== undefined) return { title: guide.title, body: guide.body(base, language) };
  const tag = document.tags.find(({ name }) => slugOf(name) === slug);
  if (tag === undefined) return null;
  const operations = operationsOf(document).filter(({ operation }) =>
    operation.tags.includes(tag.name),
  );
  const body = html`<p>${words(tag.description)}</p>
    ${index('', operations)}
    ${operations.map((one) => operationView(one, document.components.schemas, base, language))}`;
  return { title: tag.name, body };
}

function operationsOf({ paths, webhooks }: Document): Found[] {
  const list = (all: Document['paths'], isCall: boolean): Found[] =>
    Object.entries(all).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ path, method, operation, isCall })),
    );
  return [...list(paths, false), ...list(webhooks, true)];
}

function overview(document: Document, language: Language): Html {
  const operations = operationsOf(document);
  return html`${paragraphs(document.info.description)}
    <h2>Guides</h2>
    <ul>
      ${GUIDES.map(
        ({ slug, title, about }) =>
          html`<li><a href="${pathTo(slug, language)}">${title}</a>: ${about}</li>`,
      )}
    </ul>
    <h2>Operations</h2>
    ${document.tags.map(
      ({ name, description }) =>
        html`<h3><a href="${pathTo(slugOf(name), language)}">${name}</a></h3>
          <p>${words(description)}</p>
          ${index(
            pathTo(slugOf(name), language),
            operations.filter(({ operation }) => operation.tags.includes(name)),
          )}`,
    )}
    <p>For programs: <a href="/openapi.json">openapi.json</a>, OpenAPI 3.1.</p>`;
}

/** Operations with their paths, each a link to its section of the page at `path`. */
function index(path: string, operations: readonly Found[]): Html {
  return html`<ul class="index">
    ${operations.map(
      ({ operation, method, path: route, isCall }) =>
        html`<li>
          <b class="method ${method}">${isCall ? 'call' : method.toUpperCase()}</b>
          <a href="${path}#${operation.operationId}">${operation.summary}</a>
          ${!isCall && html`<code>${route}</code>`}
        </li>`,
    )}
  </ul>`;
}

/** Nothing of the language in the path of the first one. */
function pathTo(slug: string, language: Language): string {
  const isFirst = language === LANGUAGES[0][0];
  if (slug === '') return isFirst ? ROOT : `${ROOT}/overview/${language}`;
  return isFirst ? `${ROOT}/${slug}` : `${ROOT}/${slug}/${language}`;
}

function slugOf(name: string): string {
  return name
    .toLowerCase()
    .replaceAll(/[^a-z]+/g, '-')
    .replace(/-$/, '');
}

function pageOf(document: Document, where: Where, { title, body }: Content): Html {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title} · Postrider API</title>
        <meta name="description" content="How to use the API of this Postrider: ${title}." />
        <link rel="icon" href="/favicon.ico" />
        <link rel="stylesheet" href="${STYLE_PATH}" />
      </head>
      <body>
        <a class="skip" href="#page">Skip to the page</a>
        <header>
          <div class="top">
            <a class="brand" href="${pathTo('', where.language)}">Postrider API</a>
            <span class="soft">${document.info.version}</span>
            <a href="/dashboard">Dashboard</a>
          </div>
        </header>
        <div class="columns">
          ${menu(document, where)}
          <main id="page">
            <h1>${title}</h1>
            ${languages(where)} ${body}
          </main>
        </div>
      </body>
    </html>`;
}

function menu({ tags }: Document, { slug, language }: Where): Html {
  const entry = (to: string, label: string): Html =>
    html`<li>
      <a href="${pathTo(to, language)}" ${to === slug && html`aria-current="page"`}>${label}</a>
    </li>`;
  return html`<nav class="menu" aria-label="Contents">
    <input type="checkbox" id="contents" aria-label="Show the contents" />
    <label for="contents" aria-hidden="true">Contents</label>
    <div>
      <p>Guides</p>
      <ul>
        ${GUIDES.map((guide) => entry(guide.slug, guide.title))}
      </ul>
      <p>Operations</p>
      <ul>
        ${tags.map(({ name }) => entry(slugOf(name), name))}
      </ul>
    </div>
  </nav>`;
}

function languages({ slug, language }: Where): Html {
  return html`<nav class="languages" aria-label="Language of the examples">
    <span class="soft">Examples in</span>
    ${LANGUAGES.map(
      ([name, label]) =>
        html`<a href="${pathTo(slug, name)}" ${name === language && html`aria-current="true"`}
          >${label}</a
        >`,
    )}
  </nav>`;
}
