/** What the outcome of a policy depends on. */
export interface CedarReads {
  /** Whether it depends on the principal. */
  readonly principal: boolean;
  /** The members of the context that it names; `"all"` if it uses the context as a whole. */
  readonly context: ReadonlySet<string> | "all";
}

/** Returns what a policy reads, in Cedar's JSON format for policies. */
export function readsOf(policy: {
  readonly principal: { readonly op: string };
  readonly conditions: readonly unknown[];
}): CedarReads {
  const found = { principal: policy.principal.op !== "All", members: new Set<string>(), isWhole: false };
  visit(policy.conditions, found);
  return { principal: found.principal, context: found.isWhole ? "all" : found.members };
}

/** Whether a policy reads a member of the context. */
export function readsContext({ context }: CedarReads, member: string): boolean {
  return context === "all" || context.has(member);
}

interface Found {
  principal: boolean;
  readonly members: Set<string>;
  isWhole: boolean;
}

function visit(node: unknown, found: Found): void {
  if (typeof node !== "object" || node === null) return;
  const { Var, ".": get, has } = node as { readonly [operator: string]: unknown };
  const member = memberOf(get) ?? memberOf(has);
  if (member !== undefined) {
    found.members.add(member);
    return;
  }
  if (Var === "principal") found.principal = true;
  if (Var === "context") found.isWhole = true;
  for (const part of Object.values(node)) visit(part, found);
}

/** Returns the member of the context that an access or a test names. */
function memberOf(operands: unknown): string | undefined {
  const { left, attr } = (operands ?? {}) as { readonly left?: { readonly Var?: unknown }; attr?: unknown };
  return left?.Var === "context" && typeof attr === "string" ? attr : undefined;
}

/**
 * Whether a residual, which is what partial evaluation leaves of a policy, can hold for some principal. Cedar does not
 * simplify `unknown && false`. If in doubt, it can.
 */
export function canHold({
  conditions,
}: {
  readonly conditions: readonly { readonly body: unknown }[];
}): boolean {
  return conditions.every(({ body }) => canBeTrue(body));
}

function canBeTrue(expression: unknown): boolean {
  const { Value, "&&": both } = expression as {
    readonly Value?: unknown;
    readonly "&&"?: { readonly left: unknown; readonly right: unknown };
  };
  return both === undefined ? Value !== false : canBeTrue(both.left) && canBeTrue(both.right);
}
