import {
  type Alias,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type Node,
  type Range,
  type Scalar,
  type YAMLMap,
  type YAMLSeq,
} from "yaml";
import { type JsonValue, MAX_DEPTH } from "../json/value.ts";
import { ConfigError, type ConfigProblem } from "./problem.ts";

/** A value in a file, and its position. Offsets are UTF-16 code units from the start of the text. */
export interface LocatedValue {
  /** Deeply frozen. */
  readonly value: JsonValue;
  readonly offset: number;
  /** The offset of the value's key; for list items and the root, that of the value. */
  readonly keyOffset: number;
  /** The members of a map by key, or the items of a list by index. */
  readonly members: ReadonlyMap<string, LocatedValue>;
}

const UNPAIRED_SURROGATE = "a text must not have an unpaired surrogate";
const NO_MEMBERS: ReadonlyMap<string, LocatedValue> = new Map();

/** What a tree may be. */
interface TreeBounds {
  readonly values: number;
  readonly roundsIntegers?: boolean;
}

/**
 * Turns a parsed YAML document into a JSON value with positions. Keys must be strings and unique within a map. Aliases
 * are expanded as long as there are no more values than its bounds allow.
 */
export class TreeReader {
  /** The problems found so far. */
  readonly problems: ConfigProblem[] = [];
  readonly #problemAt: (offset: number, message: string) => ConfigProblem;
  readonly #anchors = new Map<string, Node>();
  /** The nodes that have set their anchor. A node that is read again through an alias does not set it again. */
  readonly #anchored = new Set<Node>();
  readonly #targets = new Map<Alias, Node>();
  readonly #bounds: TreeBounds;
  #values = 0;

  constructor(problemAt: (offset: number, message: string) => ConfigProblem, bounds: TreeBounds) {
    this.#problemAt = problemAt;
    this.#bounds = bounds;
  }

  /**
   * Reads a node and everything below it.
   *
   * @throws {ConfigError} if the tree is too deep or too large.
   */
  read(node: Node | null | undefined, offset: number, keyOffset: number = offset, depth = 1): LocatedValue {
    const at = startOf(node) ?? offset;
    const { values: most } = this.#bounds;
    if (++this.#values > most) this.#abort(at, `the file has more than ${most} values`);
    if (depth > MAX_DEPTH) this.#abort(at, `nested deeper than ${MAX_DEPTH} levels`);
    if (isAlias(node)) return { ...this.#followed(node, at, depth), offset: at, keyOffset };
    let value: JsonValue = null;
    let members = NO_MEMBERS;
    if (isMap(node)) ({ value, members } = this.#map(node, at, depth));
    else if (isSeq(node)) ({ value, members } = this.#list(node, at, depth));
    else if (isScalar(node)) value = this.#scalar(node, at);
    // Set only after the node was read, so that an anchor cannot contain an alias of itself.
    if (node?.anchor !== undefined && !this.#anchored.has(node)) {
      this.#anchored.add(node);
      this.#anchors.set(node.anchor, node);
    }
    return { value, offset: at, keyOffset, members };
  }

  #map(map: YAMLMap, offset: number, depth: number): Pick<LocatedValue, "value" | "members"> {
    const value: Record<string, JsonValue> = {};
    const members = new Map<string, LocatedValue>();
    for (const { key: keyNode, value: valueNode } of map.items as { key: unknown; value: unknown }[]) {
      const keyOffset = startOf(keyNode) ?? offset;
      const key = isScalar(keyNode) ? keyNode.value : undefined;
      if (typeof key !== "string") this.#report(keyOffset, "a key must be a plain string");
      else if (!key.isWellFormed()) this.#report(keyOffset, UNPAIRED_SURROGATE);
      else if (key === "__proto__") this.#report(keyOffset, "the key '__proto__' is not allowed");
      else if (members.has(key)) this.#report(keyOffset, `duplicate key '${key}'`);
      else {
        const member = this.read(valueNode as Node | null, keyOffset, keyOffset, depth + 1);
        members.set(key, member);
        value[key] = member.value;
      }
    }
    return { value: Object.freeze(value), members };
  }

  #list(list: YAMLSeq, offset: number, depth: number): Pick<LocatedValue, "value" | "members"> {
    const members = new Map<string, LocatedValue>();
    for (const [index, item] of list.items.entries()) {
      const at = startOf(item) ?? offset;
      members.set(String(index), this.read(item as Node | null, at, at, depth + 1));
    }
    return { value: Object.freeze(Array.from(members.values(), (item) => item.value)), members };
  }

  #scalar({ value, source = "" }: Scalar, offset: number): JsonValue {
    if (value === null || typeof value === "boolean") return value;
    if (typeof value === "string") {
      if (!value.isWellFormed()) this.#report(offset, UNPAIRED_SURROGATE);
      return value;
    }
    if (typeof value === "number" && Number.isFinite(value)) {
      // Arguments of calls have no such integers, either: another one must not be taken for it.
      if (!this.#bounds.roundsIntegers && isRounded(value, source))
        this.#report(offset, "this integer cannot be represented exactly");
      return value;
    }
    this.#report(offset, "this value cannot be represented in JSON");
    return null;
  }

  #followed(alias: Alias, offset: number, depth: number): LocatedValue {
    const target = this.#targets.get(alias) ?? this.#anchors.get(alias.source);
    if (target === undefined) {
      this.#report(
        offset,
        `undefined alias '*${alias.source}': its anchor must be on a value that ends before it`,
      );
      return { value: null, offset, keyOffset: offset, members: NO_MEMBERS };
    }
    // The anchor can be redefined further down. Later reads of this alias must still find the same node.
    this.#targets.set(alias, target);
    return this.read(target, offset, offset, depth);
  }

  #report(offset: number, message: string): void {
    this.problems.push(this.#problemAt(offset, message));
  }

  #abort(offset: number, message: string): never {
    throw new ConfigError([...this.problems, this.#problemAt(offset, message)]);
  }
}

/** Whether an integer was rounded when it was read: it is neither its exact value nor the shortest form of that. */
function isRounded(value: number, source: string): boolean {
  if (!/^[-+]?\d+$/.test(source) || Number.isSafeInteger(value)) return false;
  return BigInt(source.replace("+", "")) !== BigInt(value) && source !== String(value);
}

function startOf(node: unknown): number | undefined {
  return (node as { range?: Range | null } | null | undefined)?.range?.[0];
}
