import type { X509Certificate } from "node:crypto";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";

/** What the name of a client's certificate must be, for messages. */
export const CERTIFICATE_NAME_FORM =
  "DNS:NAME, URI:URI or email:ADDRESS of its alternative names, or subject:NAME with its whole subject, such as subject:CN=agent,O=Example";

/** The certificate of a client, which the TLS layer has verified. */
export interface ClientCertificate {
  /** Its names in the form {@link CERTIFICATE_NAME_FORM}. */
  readonly names: ReadonlySet<string>;
  /** When it expires, in milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** One alternative name as Node.js writes it: quoted like a JSON string if it has characters that would be ambiguous. */
const ALTERNATIVE_NAME = /([A-Za-z ]+):("(?:[^"\\]|\\.)*"|[^",]*)(?:, |$)/y;

/** By the sockets of connections, since reading a certificate takes longer than most requests. */
const known = new WeakMap<Socket, ClientCertificate>();

/** Whether a text has the form {@link CERTIFICATE_NAME_FORM}. */
export function isCertificateName(text: string): boolean {
  return /^(?:DNS|URI|email|subject):[^\n]+$/.test(text);
}

/** Returns the verified certificate of the client of a connection; `undefined` if it has none. */
export function clientCertificateOf(socket: Socket): ClientCertificate | undefined {
  if ((socket as TLSSocket).authorized !== true) return undefined;
  const found = known.get(socket);
  if (found !== undefined) return found;
  const certificate = (socket as TLSSocket).getPeerX509Certificate();
  if (certificate === undefined) return undefined;
  const { subject, subjectAltName, validTo } = certificate as Partial<X509Certificate>;
  const read: ClientCertificate = {
    names: new Set([...alternativeNames(subjectAltName ?? ""), ...subjectNames(subject ?? "")]),
    expiresAt: Date.parse(validTo ?? ""),
  };
  known.set(socket, read);
  return read;
}

/** Reads alternative names as Node.js writes them. Returns none for a text in another form. */
export function alternativeNames(text: string): readonly string[] {
  const names: string[] = [];
  ALTERNATIVE_NAME.lastIndex = 0;
  while (ALTERNATIVE_NAME.lastIndex < text.length) {
    const [, type = "", value = ""] = ALTERNATIVE_NAME.exec(text) ?? [];
    if (type === "") return [];
    // A quoted name has characters that no name of a client needs.
    if (!value.startsWith('"')) names.push(`${type}:${value}`);
  }
  return names;
}

/** Returns a subject as RFC 4514 writes it, the last part first. Node.js writes each part on a line. */
function subjectNames(subject: string): readonly string[] {
  return subject === "" ? [] : [`subject:${subject.split("\n").reverse().join(",")}`];
}
