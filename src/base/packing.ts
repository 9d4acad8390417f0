/**
 * Turns plain data into one flat list before it is posted to another thread: the runtime copies a list of strings
 * and numbers several times faster than objects, and each field name crosses once.
 *
 * Promises that `unpack` gives back what structured cloning would (own enumerable string fields), as long as every
 * list of one `Packer` reaches one `Unpacker`, in order. What is not plain (bytes, instances, dictionaries of
 * ever new names) stands in the list as it is. Not for cyclic data.
 */

/** What `pack` makes: to be posted, and unpacked once. */
export type Packed = unknown[];

/** Announces that the next element says what follows: `undefined` is the one value that needs no slot of its own. */
const MARK = undefined;
const UNDEFINED = 0;
const DATE = 'date';
/** Shapes are never forgotten, so their number is bounded: a user can choose the names of fields. */
const SHAPES_MAX = 1_000;

/** The names of an object's fields, in order: a node in a tree of all of them. */
interface Shape {
  /** 0: no object has ended here yet. */
  id: number;
  names: readonly string[];
  longer: Map<string, Shape>;
}

function shapeOf(names: readonly string[]): Shape {
  return { id: 0, names, longer: new Map() };
}

export class Packer {
  readonly #root = shapeOf([]);
  #shapes = 0;
  #lastId = 0;

  /** `value` as a list that `Unpacker` understands. */
  pack(value: unknown): Packed {
    const list: unknown[] = [];
    this.#put(value, list);
    return list;
  }

  #put(value: unknown, list: unknown[]): void {
    if (value === undefined) list.push(MARK, UNDEFINED);
    else if (value === null || typeof value !== 'object') list.push(value);
    else if (Array.isArray(value)) {
      list.push(MARK, -1 - value.length);
      for (let i = 0; i < value.length; i++) this.#put(value[i], list);
    } else if (Object.getPrototypeOf(value) === Object.prototype) {
      this.#putObject(value as Record<string, unknown>, list);
    } else if (value instanceof Date) list.push(MARK, DATE, value.getTime());
    else list.push(value);
  }

  /** `for … in` is faster than Object.keys, and finds no more: the prototype is Object's own. */
  #putObject(object: Record<string, unknown>, list: unknown[]): void {
    const shape = this.#shapeOf(object);
    if (shape === null) {
      list.push(object);
      return;
    }
    if (shape.id === 0) {
      shape.id = ++this.#lastId;
      list.push(MARK, shape.id, shape.names.length, ...shape.names);
    } else {
      list.push(MARK, shape.id);
    }
    for (const name in object) this.#put(object[name], list);
  }

  /** Known before anything of the object is in the list: what is in there has been said to the other side. */
  #shapeOf(object: Record<string, unknown>): Shape | null {
    let shape = this.#root;
    for (const name in object) {
      const longer = shape.longer.get(name) ?? this.#addShape(shape, name);
      if (longer === null) return null;
      shape = longer;
    }
    return shape;
  }

  /** Null: an object with such a field is no record, or there are too many kinds already. */
  #addShape(shape: Shape, name: string): Shape | null {
    if (this.#shapes >= SHAPES_MAX || name === '__proto__') return null;
    this.#shapes += 1;
    const longer = shapeOf([...shape.names, name]);
    shape.longer.set(name, longer);
    return longer;
  }
}

export class Unpacker {
  /** By id; the first entry stays empty. */
  readonly #shapes: (readonly string[])[] = [[]];
  #list: Packed = [];
  #at = 0;

  /** The value that was packed. */
  unpack(list: Packed): unknown {
    this.#list = list;
    this.#at = 0;
    return this.#take();
  }

  #take(): unknown {
    const value = this.#list[this.#at++];
    if (value !== MARK) return value;
    const kind = this.#list[this.#at++] as number | typeof DATE;
    if (kind === UNDEFINED) return undefined;
    if (kind === DATE) return new Date(this.#list[this.#at++] as number);
    if (kind < 0) {
      const elements: unknown[] = [];
      for (let left = -1 - kind; left > 0; left--) elements.push(this.#take());
      return elements;
    }
    const object: Record<string, unknown> = {};
    const names = this.#shapes[kind] ?? this.#learn(kind);
    for (let i = 0; i < names.length; i++) object[names[i] as string] = this.#take();
    return object;
  }

  /** The names stand where an object of the shape crosses for the first time. */
  #learn(id: number): readonly string[] {
    const count = this.#list[this.#at++] as number;
    const names = this.#list.slice(this.#at, this.#at + count) as string[];
    this.#at += count;
    this.#shapes[id] = names;
    return names;
  }
}
