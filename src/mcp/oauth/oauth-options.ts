import { type OptionNames, refuseUnknown } from "../../base/unknown-names.ts";
import { checkNetGrant, type NetGrant } from "../../policy/grant/net-grant.ts";

const NAMES: OptionNames<OAuthOptions> = {
  directory: true,
  net: true,
  clientId: true,
  clientSecret: true,
  clientMetadataUrl: true,
  scope: true,
  grant: true,
  callbackPort: true,
  onAuthorize: true,
};

/** How to get tokens for a server (MCP, "Authorization"). */
export interface OAuthOptions {
  /**
   * Where the tokens are stored: one file for each server, which only its owner can read. The directory is
   * created; one that other users can read is refused.
   */
  readonly directory: string;
  /**
   * Origins of authorization servers, with all their endpoints. Requests to other origins are refused, even
   * to the server's own one, except for metadata. Default: the server's own origin.
   */
  readonly net?: readonly NetGrant[];
  /** The client's name at the authorization server. Default: `clientMetadataUrl`, or the client registers itself (RFC 7591). */
  readonly clientId?: string;
  /** Default: the client has no secret. */
  readonly clientSecret?: string;
  /** An `https:` URL of the client's metadata, for authorization servers that take such URLs as names of clients. */
  readonly clientMetadataUrl?: string;
  /** Scopes, separated by spaces, in addition to those that the server asks for. Default: none. */
  readonly scope?: string;
  /** `client_credentials` needs no person, but `clientId` and `clientSecret`. Default: `authorization_code`. */
  readonly grant?: "authorization_code" | "client_credentials";
  /**
   * Receives the URL that a person opens in a browser on this machine to grant access. Must not throw.
   * Default: no person is asked, and requests fail until `sandgate mcp login` has obtained tokens.
   */
  readonly onAuthorize?: (url: string) => void;
  /** The port of the loopback address at which the browser's answer is awaited. Default: a free one. */
  readonly callbackPort?: number;
}

/**
 * Checks options.
 *
 * @throws {TypeError} if they are invalid. The message does not repeat the secret.
 */
export function checkOAuth(server: string, options: OAuthOptions): void {
  refuseUnknown(options, NAMES, `oauth of the MCP server '${server}'`);
  const { directory, net = [], clientId, clientSecret, clientMetadataUrl, grant } = options;
  const of = `of the MCP server '${server}'`;
  if (typeof directory !== "string" || directory === "") {
    throw new TypeError(`oauth ${of} must have a directory for its tokens`);
  }
  for (const each of net) checkNetGrant(each);
  if (clientSecret !== undefined && clientId === undefined) {
    throw new TypeError(`oauth ${of} must have a clientId with its clientSecret`);
  }
  if (grant === "client_credentials" && clientSecret === undefined) {
    throw new TypeError(
      `oauth ${of} must have a clientId and a clientSecret for the grant client_credentials`,
    );
  }
  const metadata = clientMetadataUrl === undefined ? undefined : URL.parse(clientMetadataUrl);
  if (metadata === null || (metadata && (metadata.protocol !== "https:" || metadata.pathname === "/"))) {
    throw new TypeError(`the clientMetadataUrl ${of} must be an https: URL with a path`);
  }
}
