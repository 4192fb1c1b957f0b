import {
  SIGNATURE_ALGORITHMS,
  type SignatureAlgorithm,
  TOKEN_TYPES,
} from "../../../access-tokens/options.ts";
import type { ConfigProblem } from "../../../config/problem.ts";
import { described, FLAG, mapOf, TEXT, TEXTS } from "../../../config/shape.ts";
import type { ConfigEntry } from "../../../config/source.ts";
import { ProtectedResource } from "../../../http/token-senders.ts";
import { integer, list, oneOf, record, type TypeOf, typed } from "../../../json/shape.ts";

const OAUTH = mapOf(
  {
    resource: described(
      TEXT,
      "The URL of `/mcp` as clients reach it. The claim `aud` of a token must have exactly this text (RFC 8707).",
    ),
    issuer: described(TEXT, "The issuer of the tokens, exactly as in their claim `iss`."),
    jwksUri: described(
      TEXT,
      "Where the issuer's keys are. Default: where its metadata say (RFC 8414, OpenID Connect Discovery).",
    ),
    scopes: described(TEXTS, "The scopes that a token must have, all of them. Default: none."),
    tokenType: described(
      oneOf(TOKEN_TYPES),
      "The `typ` of a token: that of RFC 9068, or `JWT` for authorization servers that do not follow it.",
      "at+jwt",
    ),
    algorithms: described(
      typed<readonly SignatureAlgorithm[]>({ ...list(oneOf(SIGNATURE_ALGORITHMS)), minItems: 1 }),
      "The algorithms of the signatures. Default: all of them.",
    ),
    principal: described(
      mapOf({
        roles: described(TEXT, "A claim with a list of strings, which become roles. Default: none."),
        attributes: described(
          record(TEXT),
          "Claims that become attributes, by the names of these. Default: none.",
        ),
      }),
      "Further claims that the principal gets, as JSON pointers such as `/realm_access/roles`.",
    ),
  },
  ["resource", "issuer"],
);

/** The shape of `server.mcp`. */
export const MCP = mapOf({
  confirm: described(
    oneOf(["elicitation", "none"]),
    "Who can confirm calls and answer the questions of tools: only approvers, or the person at the client, too, whose answers an agent that controls its client can give.",
    "none",
  ),
  approvalUrl: described(TEXT, "Where approvers answer, such as the address of a console. Default: none."),
  instructions: described(TEXT, "What clients show to their models about the server. Default: nothing."),
  logs: described(FLAG, "Whether clients that ask for logs get those of tools.", false),
  lists: described(
    oneOf(["allowed", "all"]),
    "What lists of tools, resources and prompts have: only that of which some call of the client could be allowed, or everything.",
    "allowed",
  ),
  searchAbove: described(
    integer({ minimum: 0 }),
    "Above how many tools a list has `search_tools`, `describe_tools` and `call_tool` in their place. Default: lists have all tools.",
  ),
  oauth: described(OAUTH, "Accepts access tokens of an authorization server. Default: none are accepted."),
});

/** The `server.mcp` of a config: how MCP is served, at `/mcp` and by `sandgate mcp serve`. */
export type McpEntry = TypeOf<typeof MCP>;

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
