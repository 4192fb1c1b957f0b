import { type FsCapability, pathOf } from "../../policy/agent-capabilities.ts";
import type { CapabilityKernel } from "../../policy/capability-kernel.ts";
import { allow, deny, type PolicyDecision } from "../../policy/decision.ts";
import type { FsGrant } from "../../policy/grant/fs-grant.ts";
import type { PolicyRequest, RuntimePolicy } from "../../policy/policy.ts";
import type { SandboxMode } from "../../tool/sandbox-mode.ts";
import { type AllowedPath, checkDeclaredAccess } from "./declared-access.ts";

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
  const { fs: held = [], net: origins = [] } = kernel.capabilitiesOf(id) ?? {};
  const fs = access.paths !== undefined ? grantsOf(checked) : tool.usesFiles ? held.map(grantOf) : [];
  const net = hasNetwork(sandbox) && (access.urls !== undefined || sandbox === "remote") ? origins : [];
  if (fs.length === 0 && net.length === 0) return allowWithNothing(tool.sandboxes);
  return allow({ sandbox, capabilities: { fs, net } }, { sandboxes: [...tool.sandboxes] });
}

/** The decisions on tools that get no files and no network, by their sandboxes: checking a grant takes longer than all else. */
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

/** The host sandbox cannot hold a function to origins. */
function hasNetwork(sandbox: SandboxMode): boolean {
  return sandbox !== "host" && sandbox !== "microvm";
}
