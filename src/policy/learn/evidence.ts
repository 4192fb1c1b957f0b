import { escapePointer } from "../../json/pointer.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";
import type { ArgumentSources } from "../call-history.ts";
import type { PolicySubject } from "../policy.ts";
import type { AllowedUse } from "../rule/rule.ts";
import { ArgumentEvidence, type ArgumentLeaf } from "./argument-evidence.ts";

/** What a person or a rule allowed, as far as rules can be learnt from it. */
export interface AllowedCall {
  readonly tool: Pick<PolicySubject, "name" | "sideEffects" | "inputSchema">;
  /** Of the tool's definition. */
  readonly digest: string;
  readonly input: JsonValue;
  /** Default: nothing is known. */
  readonly sources?: ArgumentSources;
  readonly session: string;
  readonly principal: string | undefined;
  /** What rules for such calls grant. */
  readonly use: AllowedUse;
}

/** Why nothing is learnt from a call. */
export type UnusableCause =
  | "destructive"
  | "from an outsider"
  | "too many arguments"
  | "too many kinds of calls";

/** Calls of a tool that have the same arguments, with whatever values, and get the same. */
export interface CallGroup {
  readonly call: AllowedCall;
  /** The names of the arguments that are set. */
  readonly names: readonly string[];
  /** By the keys of the leaves. */
  readonly leaves: ReadonlyMap<string, ArgumentEvidence>;
}

const MAX_GROUPS = 2_000;
const MAX_LEAVES = 64;
/** Beyond, a count is a lower bound. */
const MAX_COUNTED = 10_000;

/** Collects what was allowed, by the kinds of calls. Its memory is bounded, whatever the number of calls. */
export class Evidence {
  readonly #groups = new Map<string, CallGroup>();
  /** The definition of each tool in the last call. */
  readonly #latest = new Map<string, string>();
  /** Arguments with which a tool can be called, by its name. */
  readonly #samples = new Map<string, JsonValue>();

  /** Adds a call, or says why it is unusable. */
  add(call: AllowedCall): UnusableCause | undefined {
    const { tool, digest, session } = call;
    this.#latest.set(tool.name, digest);
    if (!this.#samples.has(tool.name) && this.#samples.size < MAX_GROUPS)
      this.#samples.set(tool.name, call.input);
    const leaves = usableLeaves(call);
    if (typeof leaves === "string") return leaves;
    const group = this.#groupOf(call, leaves);
    if (group === undefined) return "too many kinds of calls";
    for (const leaf of leaves) group.leaves.get(leaf.key)?.add(leaf, session);
    return undefined;
  }

  /** Whether a call was added, and its kind is among those that are remembered. */
  has(call: AllowedCall): boolean {
    const leaves = usableLeaves(call);
    return typeof leaves !== "string" && this.#groups.has(groupKey(call, leaves));
  }

  /** The groups of tools as they were last defined, in a fixed order. */
  get groups(): readonly (readonly [key: string, group: CallGroup])[] {
    return [...this.#groups]
      .filter(([, { call }]) => this.#latest.get(call.tool.name) === call.digest)
      .sort(([one], [other]) => (one < other ? -1 : 1));
  }

  /** Arguments of a call of a tool that was allowed; `undefined` if none was. */
  sampleOf(tool: string): JsonValue | undefined {
    return this.#samples.get(tool);
  }

  #groupOf(call: AllowedCall, leaves: readonly ArgumentLeaf[]): CallGroup | undefined {
    const key = groupKey(call, leaves);
    let group = this.#groups.get(key);
    if (group === undefined && this.#groups.size < MAX_GROUPS) {
      const keys = new Set(leaves.map((leaf) => leaf.key));
      group = {
        call,
        names: namesSet(call.input),
        leaves: new Map(Array.from(keys, (each) => [each, new ArgumentEvidence()])),
      };
      this.#groups.set(key, group);
    }
    return group;
  }
}

function usableLeaves(call: AllowedCall): readonly ArgumentLeaf[] | UnusableCause {
  if (call.tool.sideEffects === "destructive") return "destructive";
  const leaves = leavesOf(call);
  if (leaves === undefined) return "too many arguments";
  return leaves.some(({ source }) => source === "untrusted") ? "from an outsider" : leaves;
}

/** Identifies the group of a call. */
export function groupKey({ tool, digest, use }: AllowedCall, leaves: readonly ArgumentLeaf[]): string {
  const keys = [...new Set(leaves.map(({ key }) => key))].sort();
  return JSON.stringify([tool.name, digest, keys, use]);
}

/** Counts the calls that a rule covers, their sessions and principals. */
export class Support {
  calls = 0;
  readonly #sessions = new Set<string>();
  readonly #principals = new Set<string>();

  add({ session, principal }: AllowedCall): void {
    this.calls++;
    if (this.#sessions.size < MAX_COUNTED) this.#sessions.add(session);
    if (principal !== undefined && this.#principals.size < MAX_COUNTED) this.#principals.add(principal);
  }

  get sessions(): number {
    return this.#sessions.size;
  }

  get principals(): number {
    return this.#principals.size;
  }
}

/** Returns the leaves of a call's arguments that are not empty; `undefined` if there are too many, or no rule can name one. */
export function leavesOf({ input, sources = {} }: AllowedCall): readonly ArgumentLeaf[] | undefined {
  const leaves: ArgumentLeaf[] = [];
  const visit = (value: JsonValue, key: string, pointer: string): boolean => {
    if (isEmpty(value)) return true;
    if (typeof value !== "object" || value === null) {
      const source = Object.hasOwn(sources, pointer) ? sources[pointer] : undefined;
      leaves.push({ key, value: value as string | number | boolean, source });
      return leaves.length <= MAX_LEAVES;
    }
    const isList = Array.isArray(value);
    return Object.entries(value).every(([name, member]) => {
      if (member === undefined) return true;
      const step = escapePointer(name);
      const written = isList ? "*" : name === "*" ? "\\*" : step;
      return visit(member as JsonValue, `${key}/${written}`, `${pointer}/${step}`);
    });
  };
  return isJsonObject(input) && visit(input, "", "") ? leaves : undefined;
}

/** Whether a value is what the member `absent` of a rule takes for absent. */
function isEmpty(value: JsonValue): boolean {
  if (value === null || value === "") return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}

function namesSet(input: JsonValue): readonly string[] {
  return Object.entries(input as JsonObject).flatMap(([name, value]) =>
    value === undefined || isEmpty(value) ? [] : [name],
  );
}
