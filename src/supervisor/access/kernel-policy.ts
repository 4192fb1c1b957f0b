import { adopt, isThenable } from "../../base/promises.ts";
import { type FsCapability, pathOf } from "../../policy/agent-capabilities.ts";
import type { CapabilityKernel } from "../../policy/capability-kernel.ts";
import type { ExecutionGrant } from "../../policy/grant/execution-grant.ts";
import { commonFsGrants, type FsGrant } from "../../policy/grant/fs-grant.ts";
import { commonNetGrants } from "../../policy/grant/net-grant.ts";
import {
  allow,
  ask,
  checkDecision,
  deny,
  type PolicyDecision,
  type PolicyRequest,
  type RuntimePolicy,
} from "../../policy/policy.ts";
import type { SandboxMode } from "../../tool/sandbox-mode.ts";
import { type AllowedPath, checkDeclaredAccess } from "./declared-access.ts";

/**
 * The policy of supervised calls: the kernel's, and that of the embedder within it. The kernel narrows the files and origins of
 * a grant. Environment variables, clocks and other capabilities that no agent has are up to the embedder's policy alone.
 */
export class SupervisedPolicy implements RuntimePolicy {
  readonly #own: RuntimePolicy;
  readonly #embedders: RuntimePolicy | undefined;

  /** @param embedders Default: the kernel decides alone. */
  constructor(kernel: CapabilityKernel, embedders: RuntimePolicy | undefined) {
    this.#own = kernelPolicy(kernel);
    this.#embedders = embedders;
  }

  get revision(): string | undefined {
    return this.#embedders?.revision;
  }

  get sources(): readonly string[] | undefined {
    // The capabilities of an agent are not part of them.
    return [];
  }

  check(request: PolicyRequest): PolicyDecision | Promise<PolicyDecision> {
    const own = this.#own.check(request) as PolicyDecision;
    if (own.decision !== "allow" || this.#embedders === undefined) return own;
    const given: unknown = this.#embedders.check(request);
    const join = (answer: unknown): PolicyDecision =>
      narrow(checkDecision(answer as PolicyDecision), own.grant);
    return isThenable(given) ? adopt(given).then(join) : join(given);
  }
}

/**
 * Returns the kernel as a policy. It decides on calls whose principal is of the kind `agent` and has the id of one of the
 * kernel's agents; every other call is denied. A tool gets the folders and files that its call names and that the agent has,
 * at their own paths, and outside the host sandbox the agent's origins; nothing else. It counts no calls.
 */
export function kernelPolicy(kernel: CapabilityKernel): RuntimePolicy {
  return { check: (request) => decide(kernel, request) };
}

function decide(kernel: CapabilityKernel, { principal, tool, input }: PolicyRequest): PolicyDecision {
  if (principal?.kind !== "agent") return deny("the caller is not an agent");
  const { id } = principal;
  const { access = {} } = tool;
  if (access.requiresCapability !== false && !kernel.checkTool(id, tool.name))
    return deny("the agent has no capability for the tool");
  const checked = checkDeclaredAccess(kernel, id, access, input);
  if ("slug" in checked) return deny(checked.reason);
  const [sandbox] = tool.sandboxes;
  if (sandbox === undefined) return deny("the tool has no implementation");
  const { fs: granted = [], net: origins = [] } = kernel.capabilitiesOf(id) ?? {};
  const fs = access.paths !== undefined ? grantsOf(checked) : tool.usesFiles ? granted.map(grantOf) : [];
  const net = hasNetwork(sandbox) && (access.urls !== undefined || sandbox === "remote") ? origins : [];
  if (fs.length === 0 && net.length === 0) return allowWithNothing(tool.sandboxes);
  return allow({ sandbox, capabilities: { fs, net } }, { sandboxes: [...tool.sandboxes] });
}

/** The decisions on tools that get no files and no network, by their sandboxes: most of the time of a decision is spent on checking its grant. */
const WITH_NOTHING = new Map<string, PolicyDecision>();

function allowWithNothing(sandboxes: readonly SandboxMode[]): PolicyDecision {
  const key = sandboxes.join();
  const known = WITH_NOTHING.get(key);
  if (known !== undefined) return known;
  const [sandbox] = sandboxes as readonly [SandboxMode];
  const decision = allow({ sandbox, capabilities: { fs: [], net: [] } }, { sandboxes: [...sandboxes] });
  WITH_NOTHING.set(key, decision);
  return decision;
}

/** One grant for each capability, which can be written to if one of the paths is. */
function grantsOf(paths: readonly AllowedPath[]): readonly FsGrant[] {
  const grants = new Map<string, FsGrant>();
  for (const { capability, isWritten } of paths) {
    const path = pathOf(capability);
    const write = isWritten || grants.get(path)?.write === true;
    grants.set(path, grantOf({ ...capability, write }));
  }
  return [...grants.values()];
}

function grantOf(capability: FsCapability): FsGrant {
  const at = { at: pathOf(capability), write: capability.write === true };
  return "file" in capability ? { file: capability.file, ...at } : { directory: capability.directory, ...at };
}

/** Whether a sandbox can enforce origins: the host sandbox cannot. */
function hasNetwork(sandbox: SandboxMode): boolean {
  return sandbox !== "host" && sandbox !== "microvm";
}

function narrow(decision: PolicyDecision, own: ExecutionGrant): PolicyDecision {
  if (decision.decision === "deny" || decision.grant === undefined) return decision;
  const { grant, sandboxes, rules } = decision;
  const { fs, net, ...others } = grant.capabilities;
  const common = {
    fs: commonFsGrants(fs ?? [], own.capabilities.fs ?? []),
    net: commonNetGrants(net ?? [], own.capabilities.net ?? []),
  };
  const narrowed = { ...grant, capabilities: { ...others, ...common } };
  const options = { ...(sandboxes && { sandboxes: [...sandboxes] }), ...(rules && { rules }) };
  if (decision.decision === "allow") return allow(narrowed, options);
  return ask(decision.question, {
    ...options,
    grant: narrowed,
    ...(decision.remember && { remember: "session" }),
  });
}
