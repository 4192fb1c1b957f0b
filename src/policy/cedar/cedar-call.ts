import type { AuthorizationCall } from "@cedar-policy/cedar-wasm/nodejs";
import { canonicalText } from "../../json/canonical.ts";
import type { JsonValue } from "../../json/value.ts";
import type { PolicyTool } from "../file/policy-tool.ts";
import type { PolicyRequest } from "../policy.ts";
import { entitiesOf, entityId, inputTypeOf } from "./cedar-schema.ts";
import { type CedarType, toCedarValue } from "./cedar-type.ts";

/** A tool of the schema. */
export interface KnownTool {
  /** The input schema as canonical JSON. */
  readonly schema: string;
  readonly type: CedarType | undefined;
}

/** Returns a tool of the schema. */
export function knownTool(inputSchema: PolicyTool["inputSchema"]): KnownTool {
  return { schema: canonicalText(inputSchema), type: inputTypeOf(inputSchema) };
}

/** A call in Cedar's terms, without the policies. */
type CedarCall = Pick<
  AuthorizationCall,
  "principal" | "action" | "resource" | "context" | "entities" | "validateRequest"
>;

/**
 * Returns a call in Cedar's terms.
 *
 * @param readsWorkspace Whether a policy reads the workspace: others decide without it.
 * @param input Default: that of the request.
 * @throws {CedarValueError} if the arguments have no representation in Cedar.
 */
export function callOf(
  request: PolicyRequest,
  { type }: KnownTool,
  readsWorkspace: boolean,
  input: JsonValue = request.input,
): CedarCall {
  const { tool, sessionId, principal } = request;
  const workspace = readsWorkspace ? request.workspace : undefined;
  return {
    principal: entityId("Principal", principal?.id ?? ""),
    action: entityId("Action", tool.name),
    resource: entityId("Tool", tool.name),
    context: {
      sessionId,
      ...(workspace !== undefined && { workspace }),
      ...(type && { input: toCedarValue(input, type) }),
    },
    entities: entitiesOf(request),
    validateRequest: true,
  };
}
