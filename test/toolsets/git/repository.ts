import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { ToolExecution } from "../../../src/engine/call/execution.ts";
import type { JsonObject } from "../../../src/json/value.ts";
import type { Isolation } from "../../../src/tool/sandbox-mode.ts";
import type { GitOptions } from "../../../src/toolsets/git-tools.ts";
import { ToolsetScene, withIsolation } from "../toolset-scene.ts";

/** A repository with one commit, and the tools on it. */
export interface Repository {
  readonly scene: ToolsetScene<"git">;
  /** Returns the path of a file in it. */
  readonly path: (name: string) => string;
  /** Runs git itself, as a user would. */
  readonly git: (...args: string[]) => string;
  readonly call: (name: string, args?: JsonObject) => Promise<ToolExecution>;
  /** Returns the output of a call that succeeds. */
  readonly output: (name: string, args?: JsonObject) => Promise<string>;
}

/** Makes one, until the test has finished. */
export async function openRepository(options: GitOptions = {}, isolation?: Isolation): Promise<Repository> {
  const scene = await ToolsetScene.open("git", {}, options, withIsolation(isolation));
  onTestFinished(() => scene[Symbol.asyncDispose]());
  const path = (name: string): string => join(scene.workspace, name);
  const git = (...args: string[]): string =>
    execFileSync("git", args, { cwd: scene.workspace, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  git("init", "--quiet", "--initial-branch=main");
  git("config", "user.name", "Ada");
  git("config", "user.email", "ada@example.org");
  writeFileSync(path("a.txt"), "one\n");
  git("add", "a.txt");
  git("commit", "--quiet", "--message=First");
  // Landlock cannot keep the configuration of git from being written.
  const accepts = isolation === "landlock" ? ({ writesProtected: true } as const) : {};
  const fs = [{ directory: scene.workspace, write: true, ...accepts }];
  const call = (name: string, args: JsonObject = {}) => scene.callWith({ fs }, name, args);
  const output = async (name: string, args: JsonObject = {}): Promise<string> => {
    const { output: text, error } = await call(name, args);
    if (error !== undefined) throw new Error(error.message);
    return String(text);
  };
  return { scene, path, git, call, output };
}
