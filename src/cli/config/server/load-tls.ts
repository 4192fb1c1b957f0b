import type { ConfigProblem } from "../../../config/problem.ts";
import { described, mapOf, PATH } from "../../../config/shape.ts";
import type { ConfigEntry } from "../../../config/source.ts";
import { CERTIFICATE_NAME_FORM, isCertificateName } from "../../../http/tls/client-certificate.ts";
import { checkTls, type ServerTls } from "../../../http/tls/server-tls.ts";
import { oneOf, type Shape, type TypeOf, typed } from "../../../json/shape.ts";
import { readTextBeside } from "../token.ts";

const FILES = mapOf(
  {
    cert: described(PATH, "The server's certificate, and then those between it and its authority, in PEM."),
    key: described(PATH, "The private key of the certificate, in PEM, not encrypted."),
    clientCa: described(
      PATH,
      "The authorities of clients' certificates, in PEM. Default: clients are not asked for certificates.",
    ),
    clientCertificates: described(
      oneOf(["required", "optional"]),
      "Whether every client needs a certificate. Requires `clientCa`.",
      "required",
    ),
  },
  ["cert", "key"],
);

/** The TLS of a server in a config. The paths are relative to the file. */
export type TlsEntry = TypeOf<typeof FILES>;

/** The JSON Schema of a {@link TlsEntry}. */
export const TLS: Shape<TlsEntry> = typed({
  type: "object",
  properties: FILES["properties"],
  required: FILES["required"],
  dependentRequired: { clientCertificates: ["clientCa"] },
  additionalProperties: false,
});

/** What {@link loadTls} reads of a server. */
type TlsSettings = ConfigEntry<{
  readonly tls?: TlsEntry;
  readonly certificates?: Readonly<Record<string, string>>;
  readonly credentials?: readonly { readonly certificate?: string }[];
}>;

/**
 * Loads the TLS of a server, with the files that it names.
 *
 * @param problems Receives every problem; the result is then `undefined`.
 */
export async function loadTls(entry: TlsSettings, problems: ConfigProblem[]): Promise<ServerTls | undefined> {
  const { tls, certificates = {}, credentials = [] } = entry.value;
  const refuse = (path: readonly (string | number)[], message: string): void => {
    problems.push(entry.problem(path, message));
  };
  for (const [id, name] of Object.entries(certificates)) {
    if (!isCertificateName(name)) refuse(["certificates", id], `must be ${CERTIFICATE_NAME_FORM}`);
    else if (tls?.clientCa === undefined) refuse(["certificates", id], NEEDS_AUTHORITIES);
  }
  for (const [index, { certificate }] of credentials.entries()) {
    if (certificate !== undefined && tls?.clientCa === undefined)
      refuse(["credentials", index, "certificate"], NEEDS_AUTHORITIES);
  }
  if (tls === undefined) return undefined;
  const texts: { cert?: string; key?: string; clientCa?: string } = {};
  for (const name of ["cert", "key", "clientCa"] as const) {
    const { [name]: file } = tls;
    if (file === undefined) continue;
    const text = await readTextBeside(file, entry, ["tls", name], problems);
    if (text !== undefined) texts[name] = text;
  }
  const { cert, key, clientCa } = texts;
  // A file that cannot be read has been reported.
  if (cert === undefined || key === undefined || (tls.clientCa !== undefined && clientCa === undefined))
    return undefined;
  const { clientCertificates } = tls;
  const read = {
    cert,
    key,
    ...(clientCa !== undefined && { clientCa }),
    ...(clientCertificates && { clientCertificates }),
  };
  try {
    checkTls(read);
    return read;
  } catch (error) {
    refuse(["tls"], (error as TypeError).message);
    return undefined;
  }
}

const NEEDS_AUTHORITIES = "needs tls.clientCa, the authorities of clients' certificates";
