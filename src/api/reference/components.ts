/**
 * What the operations of the document share: the schema of each shape with a title, and examples, once, by reference.
 *
 * Turns TypeBox shapes into JSON Schema 2020-12. Promises the same meaning in fewer words: a union of constants becomes
 * an enum, a record becomes an object with `additionalProperties`. Two different shapes with one title are a fault and
 * throw.
 */
import type { TSchema } from '@sinclair/typebox';

type Json = Record<string, unknown>;

const ANY_NAME = '^(.*)$';

export class Components {
  readonly #schemas = new Map<string, Json>();
  readonly #examples = new Map<string, Json>();

  /** The schema to write where `shape` is used: a reference when the shape has a title. */
  schema(shape: TSchema): Json {
    const { title } = shape;
    if (title === undefined) return this.#plain(shape);
    const schema = this.#plain(shape);
    const known = this.#schemas.get(title);
    if (known === undefined) this.#schemas.set(title, schema);
    else if (JSON.stringify(known) !== JSON.stringify(schema)) {
      throw new Error(`two different shapes have the title ${title}`);
    }
    return { $ref: `#/components/schemas/${title}` };
  }

  /** A reference to the example of this name; the first caller gives its value. */
  example(name: string, value: object): Json {
    if (!this.#examples.has(name)) this.#examples.set(name, { value });
    return { $ref: `#/components/examples/${name}` };
  }

  /** Everything that was used by reference. */
  all(): { schemas: Json; examples: Json } {
    return { schemas: sorted(this.#schemas), examples: sorted(this.#examples) };
  }

  #plain(shape: TSchema): Json {
    const { anyOf, properties, items, patternProperties, additionalProperties, ...rest } =
      shape as Json & {
        anyOf?: TSchema[];
        properties?: Record<string, TSchema>;
        items?: TSchema;
        patternProperties?: Record<string, TSchema>;
        additionalProperties?: boolean | TSchema;
      };
    const words = constantsOf(anyOf);
    if (words !== null) return { type: 'string', enum: words, ...rest };
    const others = patternProperties?.[ANY_NAME] ?? additionalProperties;
    return {
      ...rest,
      ...(anyOf !== undefined && { anyOf: anyOf.map((branch) => this.schema(branch)) }),
      ...(properties !== undefined && { properties: this.#each(properties) }),
      ...(items !== undefined && { items: this.schema(items) }),
      ...(others !== undefined && {
        additionalProperties: typeof others === 'boolean' ? others : this.schema(others),
      }),
    };
  }

  #each(properties: Record<string, TSchema>): Json {
    return Object.fromEntries(
      Object.entries(properties).map(([name, property]) => [name, this.schema(property)]),
    );
  }
}

function sorted(entries: ReadonlyMap<string, Json>): Json {
  return Object.fromEntries([...entries].toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

/** The words of a union that has only constants; null for any other. */
function constantsOf(branches: readonly TSchema[] | undefined): string[] | null {
  const words = (branches ?? []).map((branch): unknown => branch['const']);
  return words.length > 0 && words.every((word) => typeof word === 'string') ? words : null;
}
