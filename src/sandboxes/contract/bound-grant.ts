import { CanonicalJson } from "../../json/canonical.ts";
import type { JsonObject, JsonValue } from "../../json/value.ts";
import type { Capabilities } from "../../policy/grant/capabilities.ts";
import type { ResourceLimits } from "../../policy/grant/limits.ts";
import type { ToolImplementations } from "../../tool/implementations/implementations.ts";
import type { SandboxMode } from "../../tool/sandbox-mode.ts";
import type { SandboxOutcome } from "./outcome.ts";

/** Milliseconds within which a sandbox must take over a task. Its work may take longer. */
const LIFETIME_MS = 60_000;

/** Something that a digest identifies. The digest is computed when it is first read. */
export interface Digested {
  /** SHA-256, as 64 hexadecimal digits. */
  readonly digest: string;
}

/** The parts of a task that its grant is for. */
export interface GrantedWork {
  readonly callId: string;
  readonly canonical: CanonicalJson;
  readonly implementations: ToolImplementations<never, never>;
  readonly limits: ResourceLimits;
  readonly capabilities: Capabilities;
}

/** What a grant is bound to. */
export interface BoundTo extends GrantedWork {
  readonly sandbox: SandboxMode;
  readonly definition: Digested;
}

/** A part of a task with its grant. */
export interface GrantedTask extends GrantedWork {
  /** The arguments, of which `canonical` is the form. */
  readonly input: JsonValue;
  /** The grant for this task and no other. A sandbox refuses a task that `BoundGrant.accept` does not accept. */
  readonly grant: BoundGrant;
}

/**
 * A grant for one call with these arguments of this tool in this sandbox, which a sandbox accepts once. It
 * refers to the frozen objects themselves: comparing them is cheaper than comparing their digests, and
 * equally strict.
 */
export class BoundGrant implements Digested {
  // Copied one by one, so that V8 need not create the object that they are given in.
  readonly #callId: string;
  readonly #canonical: CanonicalJson;
  readonly #implementations: ToolImplementations<never, never>;
  readonly #limits: ResourceLimits;
  readonly #capabilities: Capabilities;
  readonly #sandbox: SandboxMode;
  readonly #definition: Digested;
  readonly #expiresAt: number;
  declare readonly digest: string;
  #isUsed = false;
  #digest: string | undefined;

  /**
   * Accepts a task with its grant.
   *
   * @param mode The mode of the sandbox that is to run it.
   * @param now A reading of `performance.now`, if the caller has one.
   * @returns `undefined`, or why the sandbox must not run the task.
   */
  static accept(task: GrantedTask, mode: SandboxMode, now: number = performance.now()): string | undefined {
    const grant: unknown = task.grant;
    if (typeof grant !== "object" || grant === null || !(#callId in grant))
      return "the task has no bound grant";
    return grant.#accept(task, mode, now);
  }

  /** @param now A reading of `performance.now`, if the caller has one. */
  constructor(to: BoundTo, now: number = performance.now()) {
    this.#callId = to.callId;
    this.#canonical = to.canonical;
    this.#implementations = to.implementations;
    this.#limits = to.limits;
    this.#capabilities = to.capabilities;
    this.#sandbox = to.sandbox;
    this.#definition = to.definition;
    this.#expiresAt = now + LIFETIME_MS;
    // Its only member cannot be changed, so that this freezes it for half of what `Object.freeze` costs every call.
    Reflect.defineProperty(this, "digest", OWN_DIGEST);
    Object.preventExtensions(this);
  }

  #accept(task: GrantedTask, mode: SandboxMode, now: number): string | undefined {
    if (this.#sandbox !== mode) return "the task's grant is for another sandbox";
    if (this.#callId !== task.callId) return "the task's grant is for another call";
    if (this.#canonical !== task.canonical && this.#canonical.digest !== task.canonical.digest) {
      return "the task's grant is for other arguments";
    }
    if (!task.canonical.isOf(task.input)) return "the task's arguments are not those of its canonical form";
    if (this.#implementations !== task.implementations) return "the task's grant is for another tool";
    if (this.#limits !== task.limits || this.#capabilities !== task.capabilities) {
      return "the task's grant has other limits or capabilities";
    }
    if (this.#isUsed) return "the task's grant was used before";
    if (now > this.#expiresAt) return "the task's grant has expired";
    this.#isUsed = true;
    return undefined;
  }

  static digestOf(grant: BoundGrant): string {
    grant.#digest ??= grant.#computeDigest();
    return grant.#digest;
  }

  #computeDigest(): string {
    const bound: JsonObject = {
      callId: this.#callId,
      sandbox: this.#sandbox,
      limits: plain(this.#limits),
      capabilities: plain(this.#capabilities),
      argumentDigest: this.#canonical.digest,
      definitionDigest: this.#definition.digest,
      expiresAt: Math.round(performance.timeOrigin + this.#expiresAt),
    };
    return new CanonicalJson(bound).digest;
  }
}

/** Limits and capabilities are frozen plain data. */
function plain(given: ResourceLimits | Capabilities): JsonObject {
  return given as unknown as JsonObject;
}

/** Accepts a task as `BoundGrant.accept` does. Returns the outcome of a task that must not run. */
export function refuseUnbound(
  task: GrantedTask,
  mode: SandboxMode,
  now?: number,
): SandboxOutcome | undefined {
  const detail = BoundGrant.accept(task, mode, now);
  return detail === undefined
    ? undefined
    : { status: "unavailable", effect: "none", used: { wallTimeMs: 0 }, detail };
}

const OWN_DIGEST: PropertyDescriptor & ThisType<BoundGrant> = {
  get() {
    return BoundGrant.digestOf(this);
  },
  enumerable: true,
};
