/** What the appliance uses of html-to-text, which ships no types. */
declare module 'html-to-text' {
  export interface Element {
    attribs: Readonly<Record<string, string>>;
    children: readonly unknown[];
  }

  export interface TextBuilder {
    addInline(text: string): void;
  }

  type Walk = (nodes: Element['children'], builder: TextBuilder) => void;

  export interface Options {
    wordwrap: number;
    limits: { maxDepth: number; ellipsis: string };
    formatters: Readonly<Record<string, (elem: Element, walk: Walk, builder: TextBuilder) => void>>;
    selectors: readonly {
      selector: string;
      format?: string;
      options?: Readonly<Record<string, unknown>>;
    }[];
  }

  /** The converter; it throws only when the machine runs out of stack or memory. */
  export function compile(options: Options): (html: string) => string;
}
