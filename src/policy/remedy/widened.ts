import { isJsonObject, type JsonValue } from "../../json/value.ts";
import { compareDecisions, DECISION_CHANGES } from "../compare-decisions.ts";
import { checkDecision } from "../decision.ts";
import type { PolicyRequest, PolicySubject, RuntimePolicy } from "../policy.ts";

/** The most arguments that are changed one by one, and tools that are tried with the same arguments. */
const MAX_ARGUMENTS = 20;
const MAX_TOOLS = 200;

/** A call that is like another one, and how they differ. */
interface Neighbour {
  readonly text: string;
  readonly request: PolicyRequest;
}

/** Says which calls that are like one a policy permits, and an earlier one did not. */
export async function widenedBy(
  before: RuntimePolicy,
  after: RuntimePolicy,
  request: PolicyRequest,
  tools: readonly PolicySubject[],
): Promise<readonly string[]> {
  const found: string[] = [];
  for (const neighbour of neighboursOf(request, tools)) {
    const [old, now] = [await before.check(neighbour.request), await after.check(neighbour.request)];
    const changes = compareDecisions(checkDecision(old), checkDecision(now));
    if (changes.some((change) => DECISION_CHANGES[change] === "wider")) found.push(neighbour.text);
  }
  return found;
}

function* neighboursOf(request: PolicyRequest, tools: readonly PolicySubject[]): Generator<Neighbour> {
  const { sessionId, principal, input, tool } = request;
  yield { text: "the same call in other sessions", request: { ...request, sessionId: `${sessionId}-other` } };
  if (principal !== undefined) {
    const other = { ...principal, id: `${principal.id}-other` };
    yield { text: "the same call by other callers", request: { ...request, principal: other } };
    yield { text: "the same call without a principal", request: { ...request, principal: undefined } };
  }
  if (isJsonObject(input)) {
    const { required } = tool.inputSchema;
    for (const [name, value = null] of Object.entries(input).slice(0, MAX_ARGUMENTS)) {
      const changed = { ...input, [name]: otherThan(value) };
      yield { text: `calls with another argument '${name}'`, request: { ...request, input: changed } };
      if (Array.isArray(required) && required.includes(name)) continue;
      const { [name]: _, ...rest } = input;
      yield { text: `calls without the argument '${name}'`, request: { ...request, input: rest } };
    }
    const more = { ...input, "another argument": true };
    yield { text: "calls with more arguments", request: { ...request, input: more } };
  }
  for (const other of tools.filter(({ name }) => name !== tool.name).slice(0, MAX_TOOLS))
    yield { text: `calls of '${other.name}' with the same arguments`, request: { ...request, tool: other } };
}

function otherThan(value: JsonValue): JsonValue {
  if (typeof value === "string") return `${value}x`;
  if (typeof value === "number") return value + 1;
  return typeof value === "boolean" ? !value : "another value";
}
