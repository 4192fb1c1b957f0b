import {
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hash,
  hkdfSync,
  type KeyObject,
  timingSafeEqual,
} from "node:crypto";
import { FRAMES_PROTOCOL, FrameError } from "./frame.ts";

/** The length of a seal: half of a SHA-256. */
const SEAL_BYTES = 16;

/** What HMAC is made of (RFC 2104), with SHA-256. */
const BLOCK_BYTES = 64;
const HASH_BYTES = 32;
const INNER_PADDING = 0x36;
const OUTER_PADDING = 0x5c;

/** Where the frame is in what is hashed first: after the key and the position. */
const FRAME_AT: number = BLOCK_BYTES + 8;
/** The size up to which frames are copied to memory that is there. */
const SMALL_FRAME_BYTES = 16_384;

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
  /** The key with the inner padding of HMAC, and room for the position and a frame. */
  readonly #inner: Buffer;
  /** The key with the outer padding of HMAC, and room for the inner hash. */
  readonly #outer: Buffer;
  #count = 0;

  /** @param key Of 32 bytes. */
  constructor(key: Buffer) {
    this.#inner = Buffer.alloc(FRAME_AT + SMALL_FRAME_BYTES, INNER_PADDING);
    this.#outer = Buffer.alloc(BLOCK_BYTES + HASH_BYTES, OUTER_PADDING);
    for (const [index, byte] of key.entries()) {
      this.#inner[index] = byte ^ INNER_PADDING;
      this.#outer[index] = byte ^ OUTER_PADDING;
    }
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

  /** Returns an HMAC. `createHmac` would make an object for each frame, which costs more than the hashes. */
  #next(frame: Buffer): Buffer {
    const end = FRAME_AT + frame.length;
    let text = this.#inner;
    if (text.length < end) {
      text = Buffer.allocUnsafeSlow(end);
      this.#inner.copy(text, 0, 0, BLOCK_BYTES);
    }
    text.writeDoubleBE(this.#count++, BLOCK_BYTES);
    frame.copy(text, FRAME_AT);
    hash("sha256", text.subarray(0, end), "buffer").copy(this.#outer, BLOCK_BYTES);
    return hash("sha256", this.#outer, "buffer");
  }
}
