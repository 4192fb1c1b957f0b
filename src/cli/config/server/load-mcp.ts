import { SIGNATURE_ALGORITHMS, TOKEN_TYPES } from "../../../access-tokens/options.ts";
import type { ConfigProblem } from "../../../config/problem.ts";
import { mapOf, TEXT } from "../../../config/shape.ts";
import type { ConfigEntry } from "../../../config/source.ts";
import type { JsonObject } from "../../../json/value.ts";
import { ProtectedResource } from "../../../server/mcp/protected-resource.ts";
import type { ServedMcp } from "../../../server/server.ts";

const TEXTS: JsonObject = { type: "array", items: TEXT };

/** The shape of `server.mcp`. */
export const MCP: JsonObject = mapOf({
  confirm: { enum: ["elicitation", "none"] },
  approvalUrl: TEXT,
  instructions: TEXT,
  logs: { type: "boolean" },
  oauth: mapOf(
    {
      ...{ resource: TEXT, issuer: TEXT, jwksUri: TEXT, scopes: TEXTS },
      tokenType: { enum: [...TOKEN_TYPES] },
      algorithms: { type: "array", items: { enum: [...SIGNATURE_ALGORITHMS] }, minItems: 1 },
      principal: mapOf({ roles: TEXT, attributes: { type: "object", additionalProperties: TEXT } }),
    },
    ["resource", "issuer"],
  ),
});

/** The `server.mcp` of a config: how MCP is served, at `/mcp` and by `sandgate mcp serve`. */
export type McpEntry = Pick<ServedMcp, "confirm" | "approvalUrl" | "instructions" | "logs" | "oauth">;

/** Returns how MCP is served; `undefined` if the config does not say. */
export function loadMcp(
  entry: ConfigEntry<{ readonly mcp?: McpEntry; readonly dropNetwork?: boolean }>,
  problems: ConfigProblem[],
): McpEntry | undefined {
  const { mcp, dropNetwork } = entry.value;
  if (mcp === undefined) return undefined;
  const { approvalUrl, oauth } = mcp;
  if (approvalUrl !== undefined && !/^https?:$/.test(URL.parse(approvalUrl)?.protocol ?? "")) {
    problems.push(entry.problem(["mcp", "approvalUrl"], "must be a URL with http: or https:"));
  }
  try {
    if (oauth !== undefined) new ProtectedResource(oauth);
  } catch (error) {
    problems.push(entry.problem(["mcp", "oauth"], (error as Error).message));
  }
  if (oauth !== undefined && dropNetwork === true) {
    problems.push(
      entry.problem(["mcp", "oauth"], "the keys of the issuer are on the network: see dropNetwork"),
    );
  }
  return mcp;
}
