// Policies in Cedar

export { CedarPolicy, type CedarPolicyOptions, openCedarPolicy } from "../policy/cedar/cedar-policy.ts";
export { cedarSchemaText } from "../policy/cedar/cedar-schema.ts";
