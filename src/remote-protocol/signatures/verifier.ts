import type { KeyObject } from "node:crypto";
import { RemoteProblem } from "../problems.ts";
import {
  ALWAYS_COVERED,
  SIGNATURE_ALGORITHM,
  SIGNATURE_TAG,
  type SignedMessage,
  signatureBase,
} from "./base.ts";
import { type ClaimedSignature, readSignatureInput } from "./input.ts";
import { ReplayMemory } from "./replay-memory.ts";
import { VerificationQueue } from "./verification-queue.ts";

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
   * @throws {RemoteProblem} `unauthenticated`, `unknown_key`, `altered`, `expired`, `replayed` or `overloaded`, as a
   *   rejection.
   */
  async verify(
    message: SignedMessage,
    covered: readonly string[],
    clock: () => number = Date.now,
  ): Promise<string> {
    const { signature, "signature-input": input } = message.headers;
    if (signature === undefined || input === undefined) {
      throw new RemoteProblem("unauthenticated", "the request is not signed");
    }
    const claimed = readSignatureInput(input, signature);
    if (claimed === undefined) {
      throw new RemoteProblem(
        "unauthenticated",
        "the signature's headers are malformed: send exactly one signature, as documented",
      );
    }
    this.#checkForm(claimed, covered);
    const { keyid, created, expires, nonce } = claimed.params;
    const key = this.#keys.get(keyid);
    if (key === undefined) throw new RemoteProblem("unknown_key", "the signature's key is unknown");
    const base = signatureBaseOf(message, claimed);
    if (base === undefined || !(await this.#verifications.verify(keyid, base, key, claimed.signature))) {
      throw new RemoteProblem("altered", "the signature does not match the request");
    }
    // The time counts at which the request is accepted, and not when the verification began.
    const seconds = Math.floor(clock() / 1_000);
    this.#checkTime(created, expires, seconds);
    switch (this.#nonces.take(keyid, nonce, expires + CLOCK_SKEW_S, seconds)) {
      case "seen":
        throw new RemoteProblem("replayed", "the signature was already used: sign each request separately");
      case "full":
        throw new RemoteProblem("overloaded", "too many signatures at once: retry later", CLOCK_SKEW_S);
      case "fresh":
        return keyid;
    }
  }

  #checkForm({ components, params }: ClaimedSignature, covered: readonly string[]): void {
    const required = [...ALWAYS_COVERED, ...covered];
    const missing = required.find((name) => !components.includes(name));
    const { alg = SIGNATURE_ALGORITHM, tag, nonce } = params;
    if (missing !== undefined) {
      throw new RemoteProblem("unauthenticated", `the signature must cover ${required.join(", ")}`);
    }
    if (alg !== SIGNATURE_ALGORITHM || tag !== SIGNATURE_TAG) {
      throw new RemoteProblem(
        "unauthenticated",
        `the signature must use ${SIGNATURE_ALGORITHM} and have the tag ${SIGNATURE_TAG}`,
      );
    }
    if (nonce.length < 16 || nonce.length > 128) {
      throw new RemoteProblem("unauthenticated", "the signature's nonce must have 16 to 128 characters");
    }
  }

  #checkTime(created: number, expires: number, now: number): void {
    const expired = (message: string): never => {
      throw new RemoteProblem("expired", message);
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
