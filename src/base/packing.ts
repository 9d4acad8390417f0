/**
 * Turns plain data into one flat list before it is posted to another thread: the runtime copies a list of strings
 * and numbers several times faster than objects, and each field name crosses once, at the head of the first list that needs it.
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
/** Shapes that this list is the first to use; at its beginning alone. */
const SHAPES = 'shapes';
/** Shapes are never forgotten, so their number is bounded: a user can choose the names of fields. */
const SHAPES_MAX = 1_000;

/** The names of an object's fields, in order: a node in a tree of all of them. */
interface Shape {
  /** 0: no object has ended here yet. */
  id: number;
  names: readonly string[];
  /** The longer shape that was asked for last, and its last name: mostly the one that comes next, too. */
  next: Shape | null;
  nextName: string;
  longer: Map<string, Shape>;
}

function shapeOf(names: readonly string[]): Shape {
  return { id: 0, names, next: null, nextName: '', longer: new Map() };
}

export class Packer {
  readonly #root = shapeOf([]);
  #shapes = 0;
  #lastId = 0;
  /** Shapes that the other side does not know yet: id, number of names, names, and so on. */
  #unsaid: unknown[] = [];

  /** `value` as a list that `Unpacker` understands. */
  pack(value: unknown): Packed {
    const list: unknown[] = [];
    this.#put(value, list);
    if (this.#unsaid.length === 0) return list;
    const unsaid = this.#unsaid;
    this.#unsaid = [];
    return [MARK, SHAPES, unsaid.length, ...unsaid].concat(list);
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

  /**
   * One look at the fields, which finds out the shape on its way: its id goes to an index that was kept for it. `for … in`
   * is faster than Object.keys, and finds no more: the prototype is Object's own.
   */
  #putObject(object: Record<string, unknown>, list: unknown[]): void {
    const start = list.length;
    list.push(MARK, UNDEFINED);
    let shape = this.#root;
    for (const name in object) {
      const longer = shape.nextName === name ? shape.next : this.#longer(shape, name);
      if (longer === null) {
        // What is in the list of it by now is not needed; the shapes that were met there are said all the same.
        list.length = start;
        list.push(object);
        return;
      }
      shape = longer;
      const value = object[name];
      if (typeof value === 'string' || typeof value === 'number') list.push(value);
      else this.#put(value, list);
    }
    if (shape.id === 0) {
      shape.id = ++this.#lastId;
      this.#unsaid.push(shape.id, shape.names.length, ...shape.names);
    }
    list[start + 1] = shape.id;
  }

  /** Null: an object with such a field is no record, or there are too many kinds already. */
  #longer(shape: Shape, name: string): Shape | null {
    const longer = shape.longer.get(name) ?? this.#addShape(shape, name);
    if (longer === null) return null;
    shape.next = longer;
    shape.nextName = name;
    return longer;
  }

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
    if (list[0] === MARK && list[1] === SHAPES) this.#learn();
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
    const names = this.#shapes[kind] as readonly string[];
    for (let i = 0; i < names.length; i++) object[names[i] as string] = this.#take();
    return object;
  }

  /** The shapes that stand at the beginning of the list. */
  #learn(): void {
    const end = 3 + (this.#list[2] as number);
    for (let at = 3; at < end;) {
      const names = at + 2;
      const next = names + (this.#list[at + 1] as number);
      this.#shapes[this.#list[at] as number] = this.#list.slice(names, next) as string[];
      at = next;
    }
    this.#at = end;
  }
}
