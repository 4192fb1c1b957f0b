import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import type { ConfigProblem } from "../../config/problem.ts";
import { mapOf, TEXT } from "../../config/shape.ts";
import type { ConfigEntry, ConfigPath } from "../../config/source.ts";
import type { JsonObject } from "../../json/value.ts";
import type { OAuthOptions } from "../../mcp/oauth/oauth-options.ts";
import { absolutePathBeside } from "./config-path.ts";
import { readToken, TOKEN, type TokenEntry } from "./server/token.ts";

/** The JSON Schema of a list of origins. */
export const ORIGINS: JsonObject = {
  type: "array",
  items: {
    anyOf: [
      TEXT,
      mapOf({ origin: TEXT, addresses: { type: "array", items: { type: "string" } } }, ["origin"]),
    ],
    message: "must be an origin",
  },
};

/** The JSON Schema of `oauth` of a server. */
export const OAUTH: JsonObject = mapOf({
  tokens: TEXT,
  net: ORIGINS,
  clientId: TEXT,
  clientSecret: TOKEN,
  clientMetadataUrl: TEXT,
  scope: TEXT,
  grant: { type: "string", enum: ["authorization_code", "client_credentials"] },
  callbackPort: { type: "integer", minimum: 1, maximum: 65_535 },
});

/** `oauth` of a server, as it is written. */
export interface OAuthEntry extends Omit<OAuthOptions, "directory" | "clientSecret" | "onAuthorize"> {
  readonly tokens?: string;
  readonly clientSecret?: TokenEntry;
}

/**
 * Loads `oauth` of a server, which is at `path` of an entry.
 *
 * @param problems Receives every problem.
 */
export async function loadOAuth(
  { tokens, clientSecret, ...options }: OAuthEntry,
  entry: ConfigEntry<unknown>,
  path: ConfigPath,
  problems: ConfigProblem[],
): Promise<OAuthOptions> {
  const secret = clientSecret && (await readToken(clientSecret, entry, [...path, "clientSecret"], problems));
  const directory = tokens === undefined ? defaultDirectory() : absolutePathBeside(entry.file, tokens);
  return { ...options, directory, ...(secret !== undefined && { clientSecret: secret }) };
}

/** `sandgate/mcp` in the user's state directory: `XDG_STATE_HOME`, or `~/.local/state`. */
function defaultDirectory(): string {
  const configured = process.env["XDG_STATE_HOME"] ?? "";
  return join(isAbsolute(configured) ? configured : join(homedir(), ".local", "state"), "sandgate", "mcp");
}
