import { Egress } from "../egress/egress.ts";
import type { JsonBounds } from "../json/bounds.ts";
import { parseJson } from "../json/parse.ts";
import { isJsonObject, type JsonObject } from "../json/value.ts";
import type { NetGrant } from "../policy/grant/net-grant.ts";

/** Milliseconds for a document. */
const TIMEOUT_MS = 5_000;
/** The most bytes of a document. A key with its certificates has a few thousand. */
const MAX_BYTES = 262_144;
const BOUNDS: JsonBounds = Object.freeze({ length: MAX_BYTES, values: 10_000, members: 10_000 });
/** Where the configuration says that a server is, it may also be in a private network. */
const ANY_ADDRESS = ["0.0.0.0/0", "::/0"];

/** Fetches the documents of an authorization server: JSON objects of bounded size, without redirects. */
export class IssuerDocuments {
  readonly #egress = new Egress();
  /** The origins that the configuration names. */
  readonly #configured: ReadonlySet<string>;

  constructor(configured: readonly URL[]) {
    this.#configured = new Set(configured.map(({ origin }) => origin));
  }

  /**
   * Fetches a document.
   *
   * @param url Of another origin than the configured ones, it must be at a public address.
   * @returns `undefined` if there is none.
   * @throws {Error} as a rejection, if it cannot be had, or is not one of these.
   */
  async get(url: URL): Promise<JsonObject | undefined> {
    const { origin } = url;
    const grant: NetGrant = this.#configured.has(origin) ? { origin, addresses: ANY_ADDRESS } : origin;
    const { status, body } = await this.#egress.send({
      method: "GET",
      url,
      headers: { accept: "application/json, application/jwk-set+json" },
      grants: [grant],
      limits: { timeoutMs: TIMEOUT_MS, bodyBytes: MAX_BYTES, failureBodyBytes: 0 },
    });
    if (status >= 400 && status < 500) return undefined;
    if (status !== 200) throw new Error(`${url.href} responded with ${status}`);
    const parsed = parseJson(body.toString("utf8"), BOUNDS);
    if (!("value" in parsed)) throw new Error(`${url.href} is not valid JSON: ${parsed.reason}`);
    if (!isJsonObject(parsed.value)) throw new Error(`${url.href} is not a JSON object`);
    return parsed.value;
  }

  /** Closes every connection. */
  close(): Promise<void> {
    return this.#egress.close();
  }
}
