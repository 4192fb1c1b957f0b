import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { guardFiles } from "../../base/guarded-files.ts";
import type { ConfigProblem } from "../../config/problem.ts";
import { choice, described, mapOf, PATH, STRINGS, TEXT } from "../../config/shape.ts";
import type { ConfigEntry, ConfigPath } from "../../config/source.ts";
import { integer, type Shape as Typed, type TypeOf, typed } from "../../json/shape.ts";
import type { OAuthOptions } from "../../mcp/oauth/oauth-options.ts";
import type { NetGrant } from "../../policy/grant/net-grant.ts";
import { absolutePathBeside } from "./guard-code.ts";
import { readToken, TOKEN } from "./token.ts";

/** The JSON Schema of a list of origins. */
export const ORIGINS: Typed<readonly NetGrant[]> = typed({
  type: "array",
  items: {
    anyOf: [
      TEXT,
      mapOf(
        {
          origin: described(TEXT, "An origin, such as `https://api.example.com`."),
          addresses: described(
            STRINGS,
            "Address ranges that are not public and that its host may have, such as `127.0.0.1/32`. Default: none.",
          ),
        },
        ["origin"],
      ),
    ],
    message: "must be an origin",
  },
});

/** The JSON Schema of `oauth` of a server. */
export const OAUTH = mapOf({
  tokens: described(
    PATH,
    "The directory of the tokens. Default: `sandgate/mcp` in `$XDG_STATE_HOME` or `~/.local/state`.",
  ),
  net: described(
    ORIGINS,
    "Origins of the authorization server, with all its endpoints. Others are refused. Default: only the server's own.",
  ),
  clientId: described(
    TEXT,
    "The client's name at the authorization server. Default: `clientMetadataUrl`, or Sandgate registers itself (RFC 7591).",
  ),
  clientSecret: described(TOKEN, "The client's secret. Requires `clientId`. Default: none."),
  clientMetadataUrl: described(
    TEXT,
    "An `https:` URL of the client's metadata, for authorization servers that take it as the client's name. Default: none.",
  ),
  scope: described(
    TEXT,
    "Scopes, separated by spaces, in addition to those that the server asks for. Default: none.",
  ),
  grant: described(
    choice(["authorization_code", "client_credentials"]),
    "How tokens are got. `client_credentials` needs `clientId` and `clientSecret`, but no person.",
    "authorization_code",
  ),
  callbackPort: described(
    integer({ minimum: 1, maximum: 65_535 }),
    "The port of the loopback address at which the browser's answer is awaited. Default: a free one.",
  ),
});

/**
 * Loads `oauth` of a server, which is at `path` of an entry.
 *
 * @param problems Receives every problem.
 */
export async function loadOAuth(
  { tokens, clientSecret, ...options }: TypeOf<typeof OAUTH>,
  entry: ConfigEntry<unknown>,
  path: ConfigPath,
  problems: ConfigProblem[],
): Promise<OAuthOptions> {
  const secret = clientSecret && (await readToken(clientSecret, entry, [...path, "clientSecret"], problems));
  const directory = tokens === undefined ? defaultDirectory() : absolutePathBeside(entry.file, tokens);
  guardFiles([{ path: directory, isFolder: true }]);
  return { ...options, directory, ...(secret !== undefined && { clientSecret: secret }) };
}

/** `sandgate/mcp` in the user's state directory: `XDG_STATE_HOME`, or `~/.local/state`. */
function defaultDirectory(): string {
  const configured = process.env["XDG_STATE_HOME"] ?? "";
  return join(isAbsolute(configured) ? configured : join(homedir(), ".local", "state"), "sandgate", "mcp");
}
