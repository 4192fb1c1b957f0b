import {
  createHmac,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
  timingSafeEqual,
} from "node:crypto";
import { FRAMES_PROTOCOL, FrameError } from "./frame.ts";

/** The length of a seal: half of a SHA-256. */
const SEAL_BYTES = 16;

const PUBLIC_KEY = /^[A-Za-z0-9_-]{43}$/;

/** One end's part of the key of a signed connection (X25519). It is new for each connection. */
export class SealExchange {
  readonly #privateKey: KeyObject;
  /** The public part, in base64url. */
  readonly publicKey: string;

  constructor() {
    const { privateKey, publicKey } = generateKeyPairSync("x25519");
    this.#privateKey = privateKey;
    this.publicKey = String(publicKey.export({ format: "jwk" }).x);
  }

  /**
   * Derives the key.
   *
   * @param peer The other end's public part.
   * @param signature The signature of the client, which covers its public part.
   * @returns `undefined` if the peer's part is not a valid key.
   */
  derive(peer: string, signature: string, role: "client" | "executor"): Buffer | undefined {
    if (!PUBLIC_KEY.test(peer)) return undefined;
    try {
      const publicKey = createPublicKey({ key: { kty: "OKP", crv: "X25519", x: peer }, format: "jwk" });
      // OpenSSL refuses points of small order, with which everyone would know the secret.
      const secret = diffieHellman({ privateKey: this.#privateKey, publicKey });
      const [client, executor] = role === "client" ? [this.publicKey, peer] : [peer, this.publicKey];
      const info = [FRAMES_PROTOCOL, client, executor, signature].join("\n");
      return Buffer.from(hkdfSync("sha256", secret, "", info, 32));
    } catch {
      return undefined;
    }
  }
}

/**
 * Seals the frames of a client, or verifies these seals: HMAC-SHA-256 of the frame and of its position on the connection,
 * so that frames can be neither changed, added, dropped, repeated nor moved, and those of another connection do not count.
 */
export class FrameSeals {
  readonly bytes: number = SEAL_BYTES;
  readonly #key: Buffer;
  readonly #position: Buffer = Buffer.alloc(8);
  #count = 0;

  constructor(key: Buffer) {
    this.#key = key;
  }

  /** Writes the seal of the next frame. */
  seal(frame: Buffer, into: Buffer, at: number): void {
    this.#next(frame).copy(into, at, 0, SEAL_BYTES);
  }

  /** @throws {FrameError} if it is not the seal of the next frame. */
  check(frame: Buffer, seal: Buffer): void {
    if (!timingSafeEqual(this.#next(frame).subarray(0, SEAL_BYTES), seal)) {
      throw new FrameError("a frame's seal is wrong");
    }
  }

  /** Counts a frame whose seal is not verified, because it is dropped. */
  skip(): void {
    this.#count++;
  }

  #next(frame: Buffer): Buffer {
    this.#position.writeDoubleBE(this.#count++);
    return createHmac("sha256", this.#key).update(this.#position).update(frame).digest();
  }
}
