import type { IssuerDocuments } from "./issuer-documents.ts";
import { isTrustworthy } from "./options.ts";

/**
 * Finds where the keys of an issuer are, by its metadata.
 *
 * @throws {Error} as a rejection, if it has none, or they are those of another issuer (RFC 8414, section 3.3).
 */
export async function findKeys(issuer: string, documents: IssuerDocuments): Promise<URL> {
  for (const url of metadataUrls(new URL(issuer))) {
    const metadata = await documents.get(url);
    if (metadata === undefined) continue;
    if (metadata["issuer"] !== issuer) throw new Error(`${url.href} has the metadata of another issuer`);
    const { jwks_uri: written } = metadata;
    const keys = typeof written === "string" ? URL.parse(written) : null;
    if (keys === null || !isTrustworthy(keys)) {
      throw new Error(`${url.href} has no jwks_uri that is an https: URL`);
    }
    return keys;
  }
  throw new Error(`the issuer ${issuer} has no metadata: name its keys with jwksUri`);
}

/** The order of MCP: RFC 8414, OpenID Connect Discovery as RFC 8414 has it, and as it was before. */
function metadataUrls({ origin, pathname }: URL): readonly URL[] {
  const path = pathname.replace(/\/$/, "");
  const urls = [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}/.well-known/openid-configuration${path}`,
    ...(path === "" ? [] : [`${origin}${path}/.well-known/openid-configuration`]),
  ];
  return urls.map((url) => new URL(url));
}
