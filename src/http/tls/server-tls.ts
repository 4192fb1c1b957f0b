import { createPrivateKey, hash, X509Certificate } from "node:crypto";
import { createSecureContext, type SecureContextOptions } from "node:tls";
import { type OptionNames, refuseUnknown } from "../../base/unknown-names.ts";

const NAMES: OptionNames<ServerTls> = { cert: true, key: true, clientCa: true, clientCertificates: true };

/** TLS of a server, version 1.2 or later. Certificates and keys are PEM texts. */
export interface ServerTls {
  /** The server's certificate, and then those between it and its authority. */
  readonly cert: string;
  /** The private key of the certificate, not encrypted. */
  readonly key: string;
  /** The authorities of clients' certificates. Default: clients are not asked for certificates. */
  readonly clientCa?: string;
  /**
   * Whether each client needs a certificate, or only those that authenticate with it. An invalid certificate is refused in
   * either case. Only with `clientCa`. Default: `"required"`.
   */
  readonly clientCertificates?: "required" | "optional";
}

/** TLS options that have been checked. */
export interface CheckedTls {
  readonly context: SecureContextOptions;
  /** Which clients need certificates; `undefined` if certificates are not requested. */
  readonly clients: "required" | "optional" | undefined;
  /** The digest of the clients' authorities; empty if there are none. */
  readonly authorities: string;
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/**
 * Checks TLS options.
 *
 * @throws {TypeError} if a certificate or the key is invalid, they do not belong together, or the certificate is not valid now.
 */
export function checkTls(tls: ServerTls): CheckedTls {
  refuseUnknown(tls, NAMES, "tls");
  const { cert, key, clientCa, clientCertificates } = tls;
  const [own] = certificatesIn(cert, "tls.cert");
  if (own === undefined) throw new TypeError("tls.cert must have a certificate in PEM");
  refuseUnlessValidNow(own);
  if (!own.checkPrivateKey(privateKeyIn(key))) throw new TypeError("tls.key is not the key of tls.cert");
  if (clientCa === undefined && clientCertificates !== undefined)
    throw new TypeError("tls.clientCertificates needs tls.clientCa");
  if (clientCertificates !== undefined && !["required", "optional"].includes(clientCertificates))
    throw new TypeError("tls.clientCertificates must be 'required' or 'optional'");
  if (clientCa !== undefined) checkAuthorities(clientCa);
  const context: SecureContextOptions = {
    cert,
    key,
    minVersion: "TLSv1.2",
    ...(clientCa !== undefined && { ca: clientCa }),
  };
  try {
    // OpenSSL refuses more than is checked here, such as keys that are too short.
    createSecureContext(context);
  } catch (error) {
    throw new TypeError(`tls cannot be used: ${(error as Error).message}`, { cause: error });
  }
  return {
    context,
    clients: clientCa === undefined ? undefined : (clientCertificates ?? "required"),
    authorities: clientCa === undefined ? "" : hash("sha256", clientCa),
  };
}

function certificatesIn(pem: string, name: string): readonly X509Certificate[] {
  try {
    return Array.from(pem.match(CERTIFICATE) ?? [], (text) => new X509Certificate(text));
  } catch {
    throw new TypeError(`${name} has a certificate that cannot be read`);
  }
}

function refuseUnlessValidNow({ validFrom, validTo }: X509Certificate): void {
  const now = Date.now();
  if (Date.parse(validTo) < now) throw new TypeError(`tls.cert expired: it was valid until ${validTo}`);
  if (Date.parse(validFrom) > now) throw new TypeError(`tls.cert is not valid yet: it is from ${validFrom}`);
}

function privateKeyIn(pem: string): ReturnType<typeof createPrivateKey> {
  try {
    return createPrivateKey(pem);
  } catch {
    // OpenSSL's message could quote the text.
    throw new TypeError("tls.key must be a private key in PEM that is not encrypted");
  }
}

function checkAuthorities(pem: string): void {
  const authorities = certificatesIn(pem, "tls.clientCa");
  if (authorities.length === 0) throw new TypeError("tls.clientCa must have certificates in PEM");
  const other = authorities.find(({ ca }) => !ca);
  if (other !== undefined) throw new TypeError("tls.clientCa has a certificate that is not an authority's");
}
