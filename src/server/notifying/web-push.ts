import {
  createCipheriv,
  createECDH,
  createPrivateKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
  randomUUID,
  sign,
} from "node:crypto";
import { readFileSync } from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import { describeThrown } from "../../base/thrown.ts";
import { isPushSubscription, type Notify, type PushSubscription } from "./notify.ts";

/** A browser in which an approver subscribed. */
interface PushDevice extends PushSubscription {
  /** The id of the approver. */
  readonly by: string;
}

/** The push services of browsers. Without such a list, approvers could have the server send requests anywhere. */
const SERVICES: readonly string[] = [
  "https://fcm.googleapis.com",
  "https://updates.push.services.mozilla.com",
  "https://web.push.apple.com",
  "https://*.notify.windows.com",
];

/** Maximum number of browsers of an approver. The one that subscribed first makes room. */
const MAX_OF_ONE = 10;

/** The browsers in which approvers subscribed on the page of the server. They are in a file that only its owner reads. */
export class PushDevices {
  readonly #file: string;
  readonly #services: readonly string[];
  /** That of VAPID, with which browsers subscribe: in base64url. */
  readonly publicKey: string;
  #devices: readonly PushDevice[];
  #written: Promise<void> = Promise.resolve();

  private constructor(
    file: string,
    { key, services = SERVICES }: Pick<NonNullable<Notify["webPush"]>, "key" | "services">,
  ) {
    this.#file = file;
    this.#services = services;
    this.publicKey = publicKeyOf(key).toString("base64url");
    this.#devices = readDevices(file);
  }

  /**
   * @returns `undefined` unless the options say where the browsers are written.
   * @throws {TypeError} if the file cannot be read.
   */
  static open({ webPush }: Notify = {}): PushDevices | undefined {
    return webPush?.devices === undefined ? undefined : new PushDevices(webPush.devices, webPush);
  }

  get all(): readonly PushDevice[] {
    return this.#devices;
  }

  /** Whether an address is that of a push service. */
  accepts(endpoint: string): boolean {
    const url = URL.parse(endpoint);
    if (url === null || url.username !== "" || url.password !== "") return false;
    return this.#services.some((service) => {
      const [scheme, parent] = service.split("*");
      if (parent === undefined) return url.origin === service;
      return url.origin.startsWith(String(scheme)) && url.origin.endsWith(parent);
    });
  }

  /** Stores a browser for the person who subscribed last in it. Rejects if the file cannot be written. */
  add(device: PushDevice): Promise<void> {
    const remaining = this.#devices.filter(({ endpoint }) => endpoint !== device.endpoint);
    const own = remaining.filter(({ by }) => by === device.by);
    const excess = new Set(own.slice(0, Math.max(0, own.length + 1 - MAX_OF_ONE)));
    return this.#replace([...remaining.filter((other) => !excess.has(other)), device]);
  }

  /** Forgets a browser of an approver. Rejects if the file cannot be written. */
  remove(by: string, endpoint: string): Promise<void> {
    return this.#replace(this.#devices.filter((other) => other.endpoint !== endpoint || other.by !== by));
  }

  /** Forgets browsers that a push service does not know any more. Never rejects. */
  async forget(gone: readonly PushSubscription[]): Promise<void> {
    const endpoints = new Set(gone.map(({ endpoint }) => endpoint));
    await this.#replace(this.#devices.filter(({ endpoint }) => !endpoints.has(endpoint))).catch(() => {});
  }

  /** Writes the file as a whole, after what is being written. */
  #replace(devices: readonly PushDevice[]): Promise<void> {
    this.#devices = devices;
    const written = this.#written.then(() => writeDevices(this.#file, this.#devices));
    this.#written = written.catch(() => {});
    return written;
  }
}

function readDevices(file: string): readonly PushDevice[] {
  try {
    const value: unknown = JSON.parse(readFileSync(file, "utf8"));
    if (Array.isArray(value) && value.every(isDevice)) return value;
    throw new TypeError("it has something else than subscriptions");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    const { message } = describeThrown(error);
    throw new TypeError(`the file of notify.webPush.devices cannot be read: ${message}`, { cause: error });
  }
}

function isDevice(value: Partial<PushDevice> | null): boolean {
  return typeof value?.by === "string" && isPushSubscription(value);
}

async function writeDevices(file: string, devices: readonly PushDevice[]): Promise<void> {
  const temporary = `${file}.${randomUUID()}.tmp`;
  try {
    {
      await using handle = await open(temporary, "wx", 0o600);
      await handle.writeFile(`${JSON.stringify(devices, null, 2)}\n`);
      await handle.sync();
    }
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** Maximum number of bytes that are encrypted for a push service (RFC 8291, section 4). */
export const MAX_PUSH_BYTES = 3_993;
const CURVE = "prime256v1";
const RECORD_BYTES = 4_096;

/** For how long a push service stores a message for a device that it cannot reach, and an authorization is valid. */
const TTL_S = 300;
const AUTHORIZATION_S = 12 * 3_600;

/** A request to a push service. */
export interface PushRequest {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/**
 * Writes a message for a push service: encrypted for the browser (RFC 8291), with the authorization of VAPID (RFC 8292).
 *
 * @param text At most {@link MAX_PUSH_BYTES} in UTF-8.
 */
export function pushRequest(
  { key, contact }: Pick<NonNullable<Notify["webPush"]>, "key" | "contact">,
  { endpoint, keys }: PushSubscription,
  text: string,
): PushRequest {
  const url = new URL(endpoint);
  return {
    url,
    headers: {
      authorization: authorization(key, contact, url.origin),
      "content-encoding": "aes128gcm",
      "content-type": "application/octet-stream",
      ttl: String(TTL_S),
      urgency: "high",
    },
    body: encrypt(keys, Buffer.from(text)),
  };
}

function encrypt({ p256dh, auth }: PushSubscription["keys"], text: Buffer): Buffer {
  const theirs = Buffer.from(p256dh, "base64url");
  const own = createECDH(CURVE);
  const ours = own.generateKeys();
  const salt = randomBytes(16);
  const info = Buffer.concat([Buffer.from("WebPush: info\0"), theirs, ours]);
  const secret = derive(own.computeSecret(theirs), Buffer.from(auth, "base64url"), info, 32);
  const contentKey = derive(secret, salt, Buffer.from("Content-Encoding: aes128gcm\0"), 16);
  const nonce = derive(secret, salt, Buffer.from("Content-Encoding: nonce\0"), 12);
  const cipher = createCipheriv("aes-128-gcm", contentKey, nonce);
  // The delimiter of the last record, without padding.
  const sealed = Buffer.concat([cipher.update(Buffer.concat([text, Buffer.of(2)])), cipher.final()]);
  const header = Buffer.alloc(21);
  salt.copy(header);
  header.writeUInt32BE(RECORD_BYTES, 16);
  header.writeUInt8(ours.length, 20);
  return Buffer.concat([header, ours, sealed, cipher.getAuthTag()]);
}

function derive(secret: Buffer, salt: Buffer, info: Buffer, bytes: number): Buffer {
  return Buffer.from(hkdfSync("sha256", secret, salt, info, bytes));
}

function authorization(privateKey: string, subject: string, audience: string): string {
  const { key, point } = signingKey(privateKey);
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const expires = Math.floor(Date.now() / 1_000) + AUTHORIZATION_S;
  const claims = `${part({ typ: "JWT", alg: "ES256" })}.${part({ aud: audience, exp: expires, sub: subject })}`;
  const signature = sign("sha256", Buffer.from(claims), { key, dsaEncoding: "ieee-p1363" });
  return `vapid t=${claims}.${signature.toString("base64url")}, k=${point.toString("base64url")}`;
}

/** The public key of a private key of VAPID: with it, browsers subscribe. */
export function publicKeyOf(privateKey: string): Buffer {
  return signingKey(privateKey).point;
}

function signingKey(privateKey: string): { readonly key: KeyObject; readonly point: Buffer } {
  const own = createECDH(CURVE);
  own.setPrivateKey(privateKey, "base64url");
  const point = own.getPublicKey();
  const part = (from: number, to: number): string => point.subarray(from, to).toString("base64url");
  const jwk = { kty: "EC", crv: "P-256", d: privateKey, x: part(1, 33), y: part(33, 65) };
  return { key: createPrivateKey({ key: jwk, format: "jwk" }), point };
}
