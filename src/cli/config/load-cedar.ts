import { readFile } from "node:fs/promises";
import { guardFiles } from "../../base/guarded-files.ts";
import { described, PATH } from "../../config/described.ts";
import { ConfigError } from "../../config/problem.ts";
import { type CompiledShape, compileShape, mapOf } from "../../config/shape.ts";
import { type ConfigPath, ConfigSource } from "../../config/source.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";
import type { CedarPolicy } from "../../policy/cedar/cedar-policy.ts";
import type { PolicyTool } from "../../policy/file/policy-tool.ts";
import { readUnproved } from "../../policy/file/read.ts";
import { type AllowedUse, usedBy } from "../../policy/rule/rule.ts";
import { pathBeside } from "./config-path.ts";

/** The shape of a policy in Cedar. */
export const CEDAR_SHAPE: CompiledShape = compileShape(
  mapOf(
    {
      cedar: described(PATH, "The file of policies in Cedar: see docs/cedar.md#in-sandgateyaml."),
      grants: described(
        { type: "object", additionalProperties: { type: "object" } },
        "What the policies in Cedar grant, by name: the `sandboxes`, `isolation`, `limits` and `capabilities` of a rule.",
      ),
    },
    ["cedar", "grants"],
  ),
);

/** A policy in Cedar, as a config names it. */
interface CedarEntry {
  /** The path of the policies' file. */
  readonly cedar: string;
  readonly grants: JsonObject;
}

/** Whether a part of a config is a policy in Cedar. */
export function isCedarEntry(value: JsonValue | undefined): boolean {
  return isJsonObject(value) && value["cedar"] !== undefined;
}

/**
 * Loads a policy in Cedar: its file, and the grants beside it, which are written like those of rules.
 *
 * @throws {ConfigError} with every problem.
 */
export async function loadCedar(
  source: ConfigSource,
  path: ConfigPath,
  tools: readonly PolicyTool[],
): Promise<CedarPolicy> {
  const flaws = source.check(CEDAR_SHAPE, path);
  if (flaws.length > 0) throw new ConfigError(flaws);
  const { cedar, grants } = source.at(path) as unknown as CedarEntry;
  const file = pathBeside(source.file, cedar);
  guardFiles([{ path: file, access: "read" }]);
  const policies = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    const message = `cannot read '${cedar}': ${error.code ?? error.message}`;
    throw new ConfigError([source.problem([...path, "cedar"], message, "error")]);
  });
  const { openCedarPolicy } = await import("../../policy/cedar/cedar-policy.ts");
  return openCedarPolicy({ policies, tools, grants: readGrants(grants, source, path), file });
}

/** Reads the grants as those of rules are read. Their problems are reported at the grants. */
function readGrants(grants: JsonObject, source: ConfigSource, path: ConfigPath): Record<string, AllowedUse> {
  const rules = Object.entries(grants).map(([name, use]) => ({
    ...(use as JsonObject),
    name,
    tools: ["*"],
    effect: "allow",
  }));
  try {
    const { located } = readUnproved(ConfigSource.parse(JSON.stringify({ rules }), source.file), []);
    return Object.fromEntries(located.rules.map((rule) => [rule.name, usedBy(rule) as AllowedUse]));
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new ConfigError(
      error.problems.map(({ message }) => source.problem([...path, "grants"], message, "error")),
    );
  }
}
