/** The contents of `signature-input` and `signature`, which have not been verified. */
export interface ClaimedSignature {
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
