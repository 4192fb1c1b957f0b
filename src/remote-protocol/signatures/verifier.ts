import { type KeyObject, verify } from "node:crypto";
import { FairBudget } from "../../base/fair-budget.ts";
import { FairQueue } from "../../base/fair-queue.ts";
import { remoteProblem } from "../problems.ts";
import {
  ALWAYS_COVERED,
  SIGNATURE_ALGORITHM,
  SIGNATURE_TAG,
  type SignedMessage,
  signatureBase,
} from "./base.ts";

/** The contents of `signature-input` and `signature`, which have not been verified. */
interface ClaimedSignature {
  /** Names without parameters, in order. */
  readonly components: readonly string[];
  readonly params: {
    /** Seconds since the epoch. */
    readonly created: number;
    /** Seconds since the epoch. */
    readonly expires: number;
    readonly nonce: string;
    readonly alg: string | undefined;
    readonly keyid: string;
    readonly tag: string;
  };
  /** The value of `@signature-params`. */
  readonly paramsText: string;
  readonly signature: Buffer;
}

const MAX_INPUT_LENGTH = 2_048;

const STRING = String.raw`"[\x20-\x21\x23-\x5b\x5d-\x7e]*"`;

/** One label, with components without parameters, and its parameters, in the serialization of RFC 8941. */
const INPUT = new RegExp(
  String.raw`^([a-z*][a-z0-9_.*-]{0,63})=(\(("[a-z0-9@_-]+"(?: "[a-z0-9@_-]+")*)\)((?:;[a-z]+=(?:${STRING}|[0-9]{1,12}))+))$`,
);

const PARAM = /;([a-z]+)=(?:"([\x20-\x21\x23-\x5b\x5d-\x7e]*)"|([0-9]{1,12}))/g;

const SIGNATURE = /^([a-z*][a-z0-9_.*-]{0,63})=:([A-Za-z0-9+/]{86}==):$/;

/** Maximum number of nonces, of about 100 bytes each. */
const CAPACITY = 200_000;

/** Remembers the nonces of signatures until they expire, to accept each signature only once. */
export class ReplayMemory {
  /** Shared between the keys. */
  readonly #budget: FairBudget;
  /** Nonces by the second after which they are deleted, and by key. */
  readonly #bySecond = new Map<number, Map<string, Set<string>>>();
  #purgedAt = 0;

  /**
   * @param keys The number of keys. Each always has an equal part of the capacity, even if the total is exhausted, so up to
   *   twice the capacity may be used.
   * @param capacity Maximum number of nonces. Default: 200,000.
   */
  constructor(keys: number, capacity: number = CAPACITY) {
    this.#budget = new FairBudget(capacity, Math.floor(capacity / Math.max(keys, 1)));
  }

  /**
   * Records a nonce.
   *
   * @param until Second since the epoch until which the signature could be accepted. It must be the same each
   *   time the same signature is used.
   * @param now Seconds since the epoch.
   * @returns `full` if there is no capacity for this key. The request must then be refused, since replays of it could not
   *   be recognised.
   */
  take(keyId: string, nonce: string, until: number, now: number): "fresh" | "seen" | "full" {
    this.#purge(now);
    let keys = this.#bySecond.get(until);
    let nonces = keys?.get(keyId);
    if (nonces?.has(nonce)) return "seen";
    if (!this.#budget.acquire(keyId, 1)) return "full";
    if (keys === undefined) {
      keys = new Map();
      this.#bySecond.set(until, keys);
    }
    if (nonces === undefined) {
      nonces = new Set();
      keys.set(keyId, nonces);
    }
    nonces.add(nonce);
    return "fresh";
  }

  #purge(now: number): void {
    if (now <= this.#purgedAt) return;
    this.#purgedAt = now;
    for (const [until, keys] of this.#bySecond) {
      if (until >= now) continue;
      for (const [keyId, nonces] of keys) this.#budget.release(keyId, nonces.size);
      this.#bySecond.delete(until);
    }
  }
}

/**
 * How many signatures are verified at once. Node.js has four threads for these, for files and for names; verifications must
 * not take them all.
 */
const AT_ONCE = 2;

interface Verification {
  readonly keyId: string;
  readonly base: Buffer;
  readonly key: KeyObject;
  readonly signature: Buffer;
  readonly settle: (isValid: boolean) => void;
}

/** Verifies signatures on other threads. Keys take turns. */
class VerificationQueue {
  readonly #waiting = new FairQueue<Verification>(({ keyId }) => ({ principal: keyId }));
  #running = 0;

  /** Returns whether a signature is valid. Never rejects. */
  verify(keyId: string, base: Buffer, key: KeyObject, signature: Buffer): Promise<boolean> {
    return new Promise((settle) => {
      this.#waiting.add({ keyId, base, key, signature, settle });
      this.#next();
    });
  }

  #next(): void {
    if (this.#running >= AT_ONCE) return;
    const verification = this.#waiting.next();
    if (verification === undefined) return;
    const { base, key, signature, settle } = verification;
    this.#running++;
    verify(null, base, key, signature, (error, isValid) => {
      this.#running--;
      settle(error === null && isValid);
      this.#next();
    });
  }
}

/** Maximum lifetime of a signature in seconds. Its nonce is remembered for as long. */
export const MAX_SIGNATURE_LIFETIME_S = 300;
/** Seconds by which a caller's clock may differ from the executor's. */
export const CLOCK_SKEW_S = 10;

/** Verifies the signatures of requests, and accepts each only once. */
export class SignatureVerifier {
  readonly #keys: ReadonlyMap<string, KeyObject>;
  readonly #nonces: ReplayMemory;
  readonly #verifications: VerificationQueue;
  readonly #startedAt: number;

  /**
   * @param keys Public Ed25519 keys by id.
   * @param now Milliseconds since the epoch. Signatures that were created earlier are refused, since their
   *   nonces are unknown. Default: the current time.
   * @param before The verifier that this one replaces: signatures that it has accepted are not accepted again.
   * @throws {TypeError} if a key is not a public Ed25519 key.
   */
  constructor(keys: ReadonlyMap<string, KeyObject>, now: number = Date.now(), before?: SignatureVerifier) {
    for (const [id, key] of keys) {
      if (key.asymmetricKeyType !== "ed25519" || key.type !== "public") {
        throw new TypeError(`the key '${id}' must be a public Ed25519 key`);
      }
    }
    this.#keys = new Map(keys);
    this.#nonces = before === undefined ? new ReplayMemory(keys.size) : before.#nonces;
    this.#verifications = before === undefined ? new VerificationQueue() : before.#verifications;
    this.#startedAt = before === undefined ? Math.floor(now / 1_000) : before.#startedAt;
  }

  /**
   * Verifies the signature of a request before its body is read, on another thread. The caller must compare the body with
   * the `content-digest` header afterwards.
   *
   * @param covered The components that the signature must cover in addition to {@link ALWAYS_COVERED}.
   * @param clock Returns milliseconds since the epoch. Default: the current time.
   * @returns the id of the key.
   * @throws {RequestRefusal} `unauthenticated`, `unknown_key`, `altered`, `expired`, `replayed` or `overloaded`, as a
   *   rejection.
   */
  async verify(
    message: SignedMessage,
    covered: readonly string[],
    clock: () => number = Date.now,
  ): Promise<string> {
    const { signature, "signature-input": input } = message.headers;
    if (signature === undefined || input === undefined) {
      throw remoteProblem("unauthenticated", "the request is not signed");
    }
    const claimed = readSignatureInput(input, signature);
    if (claimed === undefined) {
      throw remoteProblem(
        "unauthenticated",
        "the signature's headers are malformed: send exactly one signature, as documented",
      );
    }
    this.#checkForm(claimed, covered);
    const { keyid, created, expires, nonce } = claimed.params;
    const key = this.#keys.get(keyid);
    if (key === undefined) throw remoteProblem("unknown_key", "the signature's key is unknown");
    const base = signatureBaseOf(message, claimed);
    if (base === undefined || !(await this.#verifications.verify(keyid, base, key, claimed.signature))) {
      throw remoteProblem("altered", "the signature does not match the request");
    }
    // The time counts at which the request is accepted, and not when the verification began.
    const seconds = Math.floor(clock() / 1_000);
    this.#checkTime(created, expires, seconds);
    switch (this.#nonces.take(keyid, nonce, expires + CLOCK_SKEW_S, seconds)) {
      case "seen":
        throw remoteProblem("replayed", "the signature was already used: sign each request separately");
      case "full":
        throw remoteProblem("overloaded", "too many signatures at once: retry later", CLOCK_SKEW_S);
      case "fresh":
        return keyid;
    }
  }

  #checkForm({ components, params }: ClaimedSignature, covered: readonly string[]): void {
    const required = [...ALWAYS_COVERED, ...covered];
    const missing = required.find((name) => !components.includes(name));
    const { alg = SIGNATURE_ALGORITHM, tag, nonce } = params;
    if (missing !== undefined) {
      throw remoteProblem("unauthenticated", `the signature must cover ${required.join(", ")}`);
    }
    if (alg !== SIGNATURE_ALGORITHM || tag !== SIGNATURE_TAG) {
      throw remoteProblem(
        "unauthenticated",
        `the signature must use ${SIGNATURE_ALGORITHM} and have the tag ${SIGNATURE_TAG}`,
      );
    }
    if (nonce.length < 16 || nonce.length > 128) {
      throw remoteProblem("unauthenticated", "the signature's nonce must have 16 to 128 characters");
    }
  }

  #checkTime(created: number, expires: number, now: number): void {
    const expired = (message: string): never => {
      throw remoteProblem("expired", message);
    };
    if (expires < created || expires - created > MAX_SIGNATURE_LIFETIME_S) {
      expired(`the signature must be valid for at most ${MAX_SIGNATURE_LIFETIME_S} seconds`);
    }
    if (now > expires + CLOCK_SKEW_S) expired("the signature has expired: sign the request again");
    if (created > now + CLOCK_SKEW_S) expired("the signature was created in the future: check the clock");
    if (created < this.#startedAt)
      expired("the signature was created before the executor started: sign the request again");
  }
}

/** Returns `undefined` if the signature covers a component that the request does not have. */
function signatureBaseOf(
  message: SignedMessage,
  { components, paramsText }: ClaimedSignature,
): Buffer | undefined {
  try {
    return signatureBase(message, components, paramsText);
  } catch {
    return undefined;
  }
}

/**
 * Reads the headers of a signature (RFC 9421, section 4): exactly one, over components without parameters.
 * They must be serialized exactly as in RFC 8941, so the received text is the text that was signed.
 *
 * @returns `undefined` if the headers are malformed or unsupported.
 */
export function readSignatureInput(input: string, signature: string): ClaimedSignature | undefined {
  if (input.length > MAX_INPUT_LENGTH) return undefined;
  const [, label, paramsText, names, tail] = INPUT.exec(input) ?? [];
  const [, signedLabel, base64] = SIGNATURE.exec(signature) ?? [];
  if (paramsText === undefined || base64 === undefined || label !== signedLabel) return undefined;
  const bytes = Buffer.from(base64, "base64");
  // The unused bits of the last base64 digit must be zero.
  if (bytes.toString("base64") !== base64) return undefined;
  const components = (names ?? "").slice(1, -1).split('" "');
  const params = new Map<string, string | number>();
  for (const [, name = "", text, digits] of (tail ?? "").matchAll(PARAM)) {
    if (params.has(name)) return undefined;
    params.set(name, text ?? Number(digits));
  }
  const [created, expires] = [params.get("created"), params.get("expires")];
  const [nonce, alg] = [params.get("nonce"), params.get("alg")];
  const [keyid, tag] = [params.get("keyid"), params.get("tag")];
  if (typeof created !== "number" || typeof expires !== "number") return undefined;
  if (typeof nonce !== "string" || typeof keyid !== "string" || typeof tag !== "string") return undefined;
  if (typeof alg === "number" || new Set(components).size < components.length) return undefined;
  return {
    components,
    params: { created, expires, nonce, alg, keyid, tag },
    paramsText,
    signature: bytes,
  };
}
