/** Our own texts with code between backticks and paragraphs between empty lines, as markup. Pure. */
import { html, type Html } from '../../dashboard/frame/html.ts';

/** One paragraph without its element. */
export function words(text: string): Html {
  return html`${text
    .split('`')
    .map((part, at) => (at % 2 === 1 ? html`<code>${part}</code>` : part))}`;
}

/** Every paragraph. */
export function paragraphs(text: string): Html {
  return html`${text
    .split(/\n{2,}/)
    .filter((one) => one.trim() !== '')
    .map((one) => html`<p>${words(one.replaceAll('\n', ' '))}</p>`)}`;
}
