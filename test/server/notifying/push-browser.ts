import { createDecipheriv, createECDH, hkdfSync, randomBytes } from "node:crypto";
import { expect } from "vitest";
import type { PushSubscription } from "../../../src/server/notifying/notify.ts";

/** A browser that subscribed, and decrypts what it gets. */
export class SubscribedBrowser {
  readonly #keys = createECDH("prime256v1");
  readonly #auth = randomBytes(16);
  readonly #point = this.#keys.generateKeys();

  subscription(endpoint: string): PushSubscription {
    const keys = { p256dh: this.#point.toString("base64url"), auth: this.#auth.toString("base64url") };
    return { endpoint, keys };
  }

  /** Reads the only record of a message (RFC 8188 and RFC 8291). */
  decrypt(body: Buffer): unknown {
    const [salt, length] = [body.subarray(0, 16), body.readUInt8(20)];
    const [sender, sealed] = [body.subarray(21, 21 + length), body.subarray(21 + length)];
    expect(body.readUInt32BE(16)).toBeGreaterThanOrEqual(sealed.length);
    const derive = (secret: Buffer, by: Buffer, info: Buffer | string, bytes: number): Buffer =>
      Buffer.from(hkdfSync("sha256", secret, by, info, bytes));
    const info = Buffer.concat([Buffer.from("WebPush: info\0"), this.#point, sender]);
    const secret = derive(this.#keys.computeSecret(sender), this.#auth, info, 32);
    const key = derive(secret, salt, "Content-Encoding: aes128gcm\0", 16);
    const decipher = createDecipheriv(
      "aes-128-gcm",
      key,
      derive(secret, salt, "Content-Encoding: nonce\0", 12),
    );
    decipher.setAuthTag(sealed.subarray(-16));
    const text = Buffer.concat([decipher.update(sealed.subarray(0, -16)), decipher.final()]);
    expect(text.at(-1)).toBe(2);
    return JSON.parse(text.subarray(0, -1).toString());
  }
}

/** A key of a server. */
export function vapidKey(): { readonly key: string; readonly point: Buffer } {
  const keys = createECDH("prime256v1");
  const point = keys.generateKeys();
  const key = keys.getPrivateKey();
  // Without its leading zeros, it is shorter than 32 bytes.
  return { key: Buffer.concat([Buffer.alloc(32 - key.length), key]).toString("base64url"), point };
}
