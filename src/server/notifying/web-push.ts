import {
  createCipheriv,
  createECDH,
  createPrivateKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
  sign,
} from "node:crypto";
import type { Notify, PushSubscription } from "./notify.ts";

/** The most bytes that are encrypted for a push service (RFC 8291, section 4). */
export const MAX_PUSH_BYTES = 3_993;
const CURVE = "prime256v1";
const RECORD_BYTES = 4_096;
/** For how long a push service keeps a message for a device that it cannot reach, and an authorization is valid. */
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
