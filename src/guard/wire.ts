import {
  createHash,
  createHmac,
  createPublicKey,
  type KeyObject,
  randomBytes,
  sign,
  verify,
} from "node:crypto";
import { lstatSync } from "node:fs";
import { connect } from "node:net";
import { dirname } from "node:path";

/** A question to the process that decides: one line of JSON. */
type GuardRequest =
  | { readonly nonce: string; readonly agent: string; readonly input: string }
  | { readonly nonce: string; readonly ticket: string; readonly command: string };

/** Its answer: one line of JSON. */
interface GuardResponse {
  /** JSON text: what the hook writes, or a confined command; `null` if there is none. */
  readonly answer: string;
  /** By the key of the process that decides, over the request and the answer. */
  readonly signature: string;
}

/** The longest request, in bytes: an agent can write a file of some MiB. */
export const MAX_REQUEST_BYTES: number = 16 * 1_024 * 1_024;

/** @param request The line without its end. */
export function signAnswer(request: string, answer: string, key: KeyObject): string {
  return sign(null, signed(request, answer), key).toString("base64url");
}

function isSigned(request: string, { answer, signature }: GuardResponse, key: KeyObject): boolean {
  return verify(null, signed(request, answer), key, Buffer.from(signature, "base64url"));
}

/** Every request has a nonce of its own, so that no answer fits another one. */
function signed(request: string, answer: string): Buffer {
  const digest = createHash("sha256").update(request).digest("hex");
  return Buffer.from(`sandgate-guard/1\n${digest}\n${answer}`);
}

/** The first line of a request of hooks that have no signatures: `AGENT NONCE BYTES`. The input of the agent follows. */
const HEADER = /^([\w-]{1,63}) [0-9a-f]{32} (0|[1-9]\d{0,8})$/;

/** Returns the agent, and how long the input after the line is, in bytes; `undefined` for any other line. */
export function readHeader(line: string): { readonly agent: string; readonly bytes: number } | undefined {
  const [, agent, bytes] = HEADER.exec(line) ?? [];
  return agent === undefined ? undefined : { agent, bytes: Number(bytes) };
}

/**
 * Returns the answer to such a request, which only who has the secret can have given: `MAC BYTES`, a line feed, and the text. The MAC is
 * HMAC-SHA256 over the SHA-256 of the request and the text.
 *
 * @param request The first line and the input.
 */
export function authenticated(request: Buffer, answer: string, secret: Buffer): Buffer {
  const text = Buffer.from(answer);
  const digest = createHash("sha256").update(request).digest();
  const mac = createHmac("sha256", secret).update(digest).update(text).digest("hex");
  return Buffer.concat([Buffer.from(`${mac} ${text.length}\n`), text]);
}

/** Where the process that decides is, and how it is known. */
export interface GuardAddress {
  /** The absolute path of its socket. */
  readonly socket: string;
  /** Its public key: the 32 bytes of Ed25519 in base64url. */
  readonly key: string;
}

const MAX_RESPONSE_BYTES = 64 * 1_024 * 1_024;

type Question = GuardRequest extends infer Each
  ? Each extends unknown
    ? Omit<Each, "nonce">
    : never
  : never;

/**
 * Asks the process that decides. Loads nothing but Node.js, since every call of an agent waits for it.
 *
 * @returns The answer, which only the process with the key can have given. Rejects if there is none.
 */
export async function askGuard(
  { socket, key }: GuardAddress,
  question: Question,
  timeoutMs: number,
): Promise<unknown> {
  checkFolder(dirname(socket));
  const request = JSON.stringify({ ...question, nonce: randomBytes(18).toString("base64url") });
  const line = await exchange(socket, request, timeoutMs);
  const response = JSON.parse(line) as GuardResponse;
  if (typeof response?.answer !== "string" || typeof response.signature !== "string")
    throw new Error("the answer has another form");
  if (!isSigned(request, response, publicKey(key)))
    throw new Error("the answer was not given by the process that was installed");
  return JSON.parse(response.answer);
}

/**
 * Node.js cannot ask who is at the other end of a socket: the kernel lets only those connect, or listen in its place, who may enter
 * the folder.
 *
 * @throws {Error} unless the folder is the user's, and nobody else's.
 */
export function checkFolder(folder: string): void {
  const { uid, mode } = lstatSync(folder);
  if (uid !== process.getuid?.() || (mode & 0o170000) !== 0o040000 || (mode & 0o077) !== 0)
    throw new Error(`the folder '${folder}' must be yours, with the mode 0700`);
}

function publicKey(key: string): KeyObject {
  return createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x: key }, format: "jwk" });
}

function exchange(socket: string, request: string, timeoutMs: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const connection = connect(socket);
    const timer = setTimeout(() => connection.destroy(new Error("there was no answer in time")), timeoutMs);
    connection.on("connect", () => connection.write(`${request}\n`));
    connection.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > MAX_RESPONSE_BYTES) connection.destroy(new Error("the answer is too long"));
      else if (chunk.includes(10)) connection.end();
    });
    connection.on("error", reject);
    connection.on("close", () => {
      clearTimeout(timer);
      const text = Buffer.concat(chunks).toString();
      const end = text.indexOf("\n");
      if (end >= 0) resolve(text.slice(0, end));
      else reject(new Error("the connection was closed without an answer"));
    });
  });
}
