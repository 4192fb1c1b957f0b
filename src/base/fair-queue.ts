/** The owner of an item. An absent member counts as one more owner. */
export interface QueueOwner {
  /** The id of the principal. */
  readonly principal?: string | undefined;
  /** The id of the principal's session. */
  readonly session?: string | undefined;
  /** Identifies the tool, within the session. */
  readonly tool?: string | undefined;
}

/** The members of a {@link QueueOwner}, from the outside in: each owner takes turns with others of the same level. */
const LEVELS = ["principal", "session", "tool"] as const;

type IsFree = (tool: string | undefined) => boolean;

const ALL_ARE_FREE: IsFree = () => true;

/**
 * A queue in which principals take turns, and so do the sessions of a principal, and the tools of a session:
 * an item waits for one item of each other owner, not for all of them. The owner of the last turn gets no
 * other while another owner waits. The items of one owner stay in order. Every operation takes constant time,
 * apart from those that return several items.
 */
export class FairQueue<Item> {
  readonly #ownerOf: (item: Item) => QueueOwner;
  readonly #root: Branch<Item> = new Branch(0);

  constructor(ownerOf: (item: Item) => QueueOwner) {
    this.#ownerOf = ownerOf;
  }

  get size(): number {
    return this.#root.size;
  }

  /** Whether all items are of one principal, one session and one tool. */
  get hasOneOwner(): boolean {
    return this.#root.hasOneOwner;
  }

  add(item: Item): void {
    this.#root.add(this.#ownerOf(item), item);
  }

  /** Returns items to the queue, in this order, before others of their owners. */
  putBack(items: readonly Item[]): void {
    for (const item of items.toReversed()) this.#root.putBack(this.#ownerOf(item), item);
  }

  /** Records that the owner of an item had the last turn. */
  hadTurn(item: Item): void {
    this.#root.hadTurn(this.#ownerOf(item));
  }

  /** Removes an item; returns `false` if it is not in the queue. */
  delete(item: Item): boolean {
    return this.#root.delete(this.#ownerOf(item), item);
  }

  /**
   * Removes and returns the next item.
   *
   * @param isFree Whether an item of a tool may leave now. Default: all may.
   */
  next(isFree: IsFree = ALL_ARE_FREE): Item | undefined {
    return this.#root.next(undefined, isFree);
  }

  /** Returns the item that {@link next} would remove. */
  peek(): Item | undefined {
    return this.#root.peek();
  }

  /** Removes and returns all items of a tool. */
  takeTool(tool: string): readonly Item[] {
    const taken = this.#root.all.filter((item) => this.#ownerOf(item).tool === tool);
    for (const item of taken) this.delete(item);
    return taken;
  }

  /** Removes and returns all items. */
  takeAll(): readonly Item[] {
    const { all } = this.#root;
    for (const item of all) this.delete(item);
    return all;
  }
}

/** The items of one owner, or of several that take turns. */
interface Node<Item> {
  readonly size: number;
  readonly hasOneOwner: boolean;
  readonly all: readonly Item[];
  add(owner: QueueOwner, item: Item): void;
  putBack(owner: QueueOwner, item: Item): void;
  /** Records that the owner had the last turn. */
  hadTurn(owner: QueueOwner): void;
  delete(owner: QueueOwner, item: Item): boolean;
  /** @param tool The tool of the items, if it is known here. */
  next(tool: string | undefined, isFree: IsFree): Item | undefined;
  peek(): Item | undefined;
}

class Branch<Item> implements Node<Item> {
  readonly #level: number;
  /** In the order of their turns. None is empty. */
  readonly #children = new Map<string | undefined, Node<Item>>();
  /** Who had the last turn; `NO_OWNER` before the first. */
  #last: string | undefined | typeof NO_OWNER = NO_OWNER;
  #size = 0;

  constructor(level: number) {
    this.#level = level;
  }

  get size(): number {
    return this.#size;
  }

  get hasOneOwner(): boolean {
    if (this.#children.size !== 1) return false;
    for (const child of this.#children.values()) return child.hasOneOwner;
    return false;
  }

  get all(): readonly Item[] {
    return [...this.#children.values()].flatMap(({ all }) => all);
  }

  add(owner: QueueOwner, item: Item): void {
    this.#size++;
    this.#childOf(owner).add(owner, item);
  }

  putBack(owner: QueueOwner, item: Item): void {
    this.#size++;
    this.#childOf(owner).putBack(owner, item);
  }

  #childOf(owner: QueueOwner): Node<Item> {
    const name = this.#nameOf(owner);
    let child = this.#children.get(name);
    if (child === undefined) {
      child = this.#level + 1 < LEVELS.length ? new Branch(this.#level + 1) : new Line();
      this.#children.set(name, child);
    }
    return child;
  }

  #nameOf(owner: QueueOwner): string | undefined {
    return owner[LEVELS[this.#level] ?? "tool"];
  }

  hadTurn(owner: QueueOwner): void {
    const name = this.#nameOf(owner);
    this.#last = name;
    this.#children.get(name)?.hadTurn(owner);
  }

  delete(owner: QueueOwner, item: Item): boolean {
    const name = this.#nameOf(owner);
    const child = this.#children.get(name);
    if (child === undefined || !child.delete(owner, item)) return false;
    this.#size--;
    if (child.size === 0) this.#children.delete(name);
    return true;
  }

  next(_tool: string | undefined, isFree: IsFree): Item | undefined {
    for (const [name, child] of this.#children) {
      if (name === this.#last && this.#children.size > 1) continue;
      const item = this.#nextOf(name, child, isFree);
      if (item !== undefined) return item;
    }
    const last = this.#last;
    if (last === NO_OWNER || this.#children.size <= 1) return undefined;
    const child = this.#children.get(last);
    return child && this.#nextOf(last, child, isFree);
  }

  #nextOf(name: string | undefined, child: Node<Item>, isFree: IsFree): Item | undefined {
    const item = child.next(name, isFree);
    if (item === undefined) return undefined;
    this.#size--;
    this.#last = name;
    if (child.size === 0) this.#children.delete(name);
    else if (this.#children.size > 1) {
      // It goes to the end of the order.
      this.#children.delete(name);
      this.#children.set(name, child);
    }
    return item;
  }

  peek(): Item | undefined {
    let last: Node<Item> | undefined;
    for (const [name, child] of this.#children) {
      if (name !== this.#last) return child.peek();
      last = child;
    }
    return last?.peek();
  }
}

const NO_OWNER = Symbol("no owner");

/** The items of one principal, session and tool, in order. */
class Line<Item> implements Node<Item> {
  /** Items that were put back, in reverse order. */
  #returned: Item[] = [];
  readonly #items = new Set<Item>();

  readonly hasOneOwner = true;

  get size(): number {
    return this.#returned.length + this.#items.size;
  }

  get all(): readonly Item[] {
    return [...this.#returned.toReversed(), ...this.#items];
  }

  add(_owner: QueueOwner, item: Item): void {
    this.#items.add(item);
  }

  putBack(_owner: QueueOwner, item: Item): void {
    this.#returned.push(item);
  }

  hadTurn(): void {}

  delete(_owner: QueueOwner, item: Item): boolean {
    if (this.#items.delete(item)) return true;
    const index = this.#returned.indexOf(item);
    if (index < 0) return false;
    this.#returned.splice(index, 1);
    return true;
  }

  next(tool: string | undefined, isFree: IsFree): Item | undefined {
    if (!isFree(tool)) return undefined;
    const returned = this.#returned.pop();
    if (returned !== undefined) return returned;
    for (const item of this.#items) {
      this.#items.delete(item);
      return item;
    }
    return undefined;
  }

  peek(): Item | undefined {
    const returned = this.#returned.at(-1);
    if (returned !== undefined) return returned;
    for (const item of this.#items) return item;
    return undefined;
  }
}
