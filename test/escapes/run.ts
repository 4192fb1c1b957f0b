import type { Sandboxes } from "sandgate";
import type { FsGrant } from "../../src/policy/grant/fs-grant.ts";
import type { ResourceLimits } from "../../src/policy/grant/limits.ts";
import type { Isolation } from "../../src/tool/sandbox-mode.ts";
import type { Attempt } from "./attempt.ts";
import { runCommand } from "./run-command.ts";
import { Scene } from "./scene.ts";

/** Where an attempt finds the compiled programs in namespaces. Otherwise, files are at their own paths. */
const TOOLS_AT = "/attempts";

/** Sandboxes for programs, and what confines them. */
export interface Confined {
  readonly isolation: Isolation;
  readonly sandboxes: Sandboxes;
}

/** What became of an attempt. */
export interface Result {
  readonly attempt: Attempt;
  /** How it came out of the sandbox; `undefined` if it did not. */
  readonly out: string | undefined;
  /** What it printed in the sandbox. */
  readonly printed: string;
  /** What its control printed, if the control did not succeed: then the attempt proves nothing on this machine. */
  readonly noControl: string | undefined;
}

/** Runs an attempt in the sandbox, and its control, each in a scene of its own. */
export async function runAttempt(attempt: Attempt, confined: Confined, tools: string): Promise<Result> {
  const tried = await inScene(attempt, (scene) =>
    runConfined(attempt, confined, { tools, scene }, [workspaceOf(scene, attempt)], attempt.limits),
  );
  const { control } = attempt;
  const allowed = await inScene(attempt, async (scene) => {
    if (control === undefined || "script" in control)
      return scene.unconfined(control?.script ?? attempt.script, tools);
    const fs = "fs" in control ? control.fs(scene.workspace, scene.outside) : [workspaceOf(scene, attempt)];
    const limits = "limits" in control ? control.limits : attempt.limits;
    return await runConfined(attempt, confined, { tools, scene }, fs, limits);
  });
  return {
    attempt,
    out: tried.escape,
    printed: tried.printed,
    noControl: allowed.escape === undefined ? allowed.printed : undefined,
  };
}

/** Landlock shows nothing elsewhere, and needs the grant's consent for a directory with protected places. */
function forLandlock(grant: FsGrant): FsGrant {
  if (!("directory" in grant)) return grant;
  return { ...grant, at: grant.directory, ...(grant.write === true && { writesProtected: true as const }) };
}

function workspaceOf(scene: Scene, { write = false }: Attempt): FsGrant {
  return { directory: scene.workspace, at: "/workspace", write };
}

async function inScene(
  { before }: Attempt,
  run: (scene: Scene) => string | Promise<string>,
): Promise<{ readonly printed: string; readonly escape: string | undefined }> {
  await using scene = await Scene.open(before);
  const printed = await run(scene);
  return { printed: printed.trim(), escape: await scene.escape(printed) };
}

interface Ended {
  readonly output?: unknown;
  readonly error?: { readonly message: string; readonly code: string };
}

async function runConfined(
  { group, name, script, net }: Attempt,
  { isolation, sandboxes }: Confined,
  { tools, scene }: { readonly tools: string; readonly scene: Scene },
  fs: readonly FsGrant[],
  limits: ResourceLimits = {},
): Promise<string> {
  const hasNamespaces = isolation === "namespaces";
  const command = `exec 2>&1; ${scene.variables(hasNamespaces ? TOOLS_AT : tools)}${script}`;
  const all = [...fs, { directory: tools, at: TOOLS_AT }];
  const { output, error } = (await runCommand(sandboxes, {
    program: { command: "/bin/sh", args: ["-c", command], input: "none", output: "text" },
    limits: { wallTimeMs: 10_000, ...limits },
    capabilities: {
      fs: hasNamespaces ? all : all.map(forLandlock),
      // On Landlock, the grant itself is refused.
      ...(hasNamespaces && net && { net }),
    },
  })) as Ended;
  if (error?.code === "sandbox_unavailable" || error?.code === "permission_denied")
    throw new Error(`no attempt was made: ${group}: ${name}: ${error.message}`);
  return error === undefined ? String(output) : error.message;
}
