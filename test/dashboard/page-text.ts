/** What a page of the dashboard says, as text: the cells of its tables by their headings, and its facts by their names. */

/** The text of markup, with single spaces. */
export function textOf(markup: string): string {
  return markup
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

/** Every row of every table of the page: the text of each cell by its heading; empty cells are left out. */
export function rowsOf(page: string): Record<string, string>[] {
  return Array.from(page.matchAll(/<tr>(.*?)<\/tr>/gs), ([, row = '']) => {
    const cells = Array.from(
      row.matchAll(/<td data-label="([^"]*)"[^>]*>(.*?)<\/td\s*>/gs),
      ([, label = '', cell = '']): [string, string] => [textOf(label), textOf(cell)],
    );
    return Object.fromEntries(cells.filter(([, cell]) => cell !== ''));
  }).filter((row) => Object.keys(row).length > 0);
}

/** The facts of the page by their names. */
export function factsOf(page: string): Record<string, string> {
  const found = page.matchAll(/<dt>(.*?)<\/dt>\s*<dd>(.*?)<\/dd>/gs);
  return Object.fromEntries(
    Array.from(found, ([, name = '', value = '']) => [textOf(name), textOf(value)]),
  );
}

/** The addresses of all forms and links of the page. */
export function targetsOf(page: string): string[] {
  return Array.from(page.matchAll(/(?:action|href)="([^"]*)"/g), ([, to = '']) => textOf(to));
}
