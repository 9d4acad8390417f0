/**
 * What is looked for in an email's HTML: features that at least one large mail program leaves out or shows otherwise.
 *
 * One row a feature: its name at caniemail.com, how people call it, and the facts by which it is found. A fact is what
 * `html-check.ts` sees: `tag video`, `attribute srcset`, `property gap`, `display flex`, `at media`, `pseudo hover`,
 * `function calc`, `unit rem`, `image webp`. Data only. What the programs make of each is in `html-support.ts`, which a
 * script writes from the rows here.
 */

export interface Feature {
  /** `https://www.caniemail.com/features/<slug>/`. */
  slug: string;
  title: string;
  facts: readonly string[];
}

function feature(slug: string, title: string, ...facts: string[]): Feature {
  return { slug, title, facts };
}

/** A property, or a pseudo-class, that is found by its own name. */
function property(name: string): Feature {
  return feature(`css-${name}`, name, `property ${name}`);
}

function pseudoClass(name: string): Feature {
  return feature(`css-pseudo-class-${name}`, `:${name}`, `pseudo ${name}`);
}

function tag(name: string): Feature {
  return feature(`html-${name}`, `<${name}>`, `tag ${name}`);
}

const SEMANTIC = ['article', 'aside', 'details', 'figure', 'footer', 'header', 'main', 'nav'];

export const FEATURES: readonly Feature[] = [
  ...['style', 'audio', 'base', 'dialog', 'form', 'marquee', 'meter', 'object', 'picture'].map(tag),
  ...['progress', 'select', 'svg', 'textarea', 'video'].map(tag),
  feature('html-link', '<link>: style sheets from elsewhere', 'tag link'),
  feature('html-button-submit', '<button>', 'tag button'),
  feature('html-input-text', '<input>', 'tag input'),
  feature('html-image-maps', '<map>: image maps', 'tag map'),
  feature(
    'html-semantics',
    '<article>, <section> and the like',
    ...[...SEMANTIC, 'section'].map((name) => `tag ${name}`),
  ),
  feature('html-background', 'background="…"', 'attribute background'),
  feature('html-srcset', 'srcset="…"', 'attribute srcset'),
  feature('image-base64', 'images as data: URLs', 'image data'),
  ...['avif', 'heif', 'svg', 'tiff', 'webp'].map((kind) =>
    feature(`image-${kind}`, `images of the type ${kind}`, `image ${kind}`),
  ),
  ...['font-face', 'import', 'keyframes', 'media', 'supports'].map((name) =>
    feature(`css-at-${name}`, `@${name}`, `at ${name}`),
  ),
  ...['prefers-color-scheme', 'prefers-reduced-motion'].map((name) =>
    feature(`css-at-media-${name}`, `@media (${name})`, `property ${name}`),
  ),
  ...['align-items', 'animation', 'aspect-ratio', 'backdrop-filter', 'background-blend-mode'].map(
    property,
  ),
  ...['background-clip', 'background-image', 'background-position', 'background-repeat'].map(
    property,
  ),
  ...['background-size', 'border-image', 'border-radius', 'box-shadow', 'box-sizing'].map(property),
  ...['clip-path', 'color-scheme', 'column-count', 'filter', 'flex-direction', 'flex-wrap'].map(
    property,
  ),
  ...['float', 'gap', 'hyphens', 'justify-content', 'list-style-image', 'mask-image'].map(property),
  ...['max-height', 'max-width', 'min-height', 'min-width', 'mix-blend-mode', 'object-fit'].map(
    property,
  ),
  ...['object-position', 'opacity', 'outline', 'overflow', 'position', 'table-layout'].map(
    property,
  ),
  ...['text-overflow', 'text-shadow', 'text-wrap', 'transform', 'transition', 'user-select'].map(
    property,
  ),
  ...['visibility', 'white-space', 'word-break', 'word-spacing', 'writing-mode', 'z-index'].map(
    property,
  ),
  feature(
    'css-grid-template',
    'grid-template',
    ...['', '-columns', '-rows', '-areas'].map((end) => `property grid-template${end}`),
  ),
  feature(
    'css-margin-inline-block',
    'margin-inline, margin-block',
    'property margin-inline',
    'property margin-block',
  ),
  feature(
    'css-padding-inline-block',
    'padding-inline, padding-block',
    'property padding-inline',
    'property padding-block',
  ),
  feature('css-display-flex', 'display: flex', 'display flex', 'display inline-flex'),
  feature('css-display-grid', 'display: grid', 'display grid', 'display inline-grid'),
  feature('css-display-none', 'display: none', 'display none'),
  feature('css-margin', 'negative margin', 'negative margin'),
  feature('css-variables', 'var()', 'function var'),
  feature('css-unit-calc', 'calc()', 'function calc'),
  ...['clamp', 'max', 'min', 'light-dark'].map((name) =>
    feature(`css-function-${name}`, `${name}()`, `function ${name}`),
  ),
  ...['linear-gradient', 'radial-gradient', 'conic-gradient', 'rgba'].map((name) =>
    feature(`css-${name}`, `${name}()`, `function ${name}`),
  ),
  feature(
    'css-modern-color',
    'lch(), oklch(), lab(), oklab()',
    ...['lch', 'oklch', 'lab', 'oklab'].map((name) => `function ${name}`),
  ),
  ...['ch', 'rem', 'vh', 'vmax', 'vmin', 'vw'].map((unit) =>
    feature(`css-unit-${unit}`, `${unit} as a unit`, `unit ${unit}`),
  ),
  ...['active', 'checked', 'first-child', 'focus', 'has', 'hover', 'last-child', 'not'].map(
    pseudoClass,
  ),
  ...['nth-child', 'target'].map(pseudoClass),
  ...['after', 'before'].map((name) =>
    feature(`css-pseudo-element-${name}`, `::${name}`, `pseudo ${name}`),
  ),
];
