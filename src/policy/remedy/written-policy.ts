import { dirname, relative } from "node:path";
import { parseDuration, parseSize } from "../../base/units.ts";
import type { JsonObject, JsonValue } from "../../json/value.ts";
import { WRITTEN_NAMES } from "../file/written-limits.ts";
import type { RuleCapabilities } from "../grant/execution-grant.ts";
import { formatLimit, type LimitName, type ResourceLimits } from "../grant/limits.ts";
import type { AllowedUse, PolicyRule, RulePolicyOptions } from "../rule/rule.ts";

/** Members of a rule that are written with a line for each of their members. */
export const BLOCKS: readonly string[] = ["when"];

/** The order in which people write the members of a rule, as the documentation does. */
const ORDER: readonly string[] = [
  "name",
  "tools",
  "tags",
  "sideEffects",
  "principals",
  "roles",
  "asked",
  "absent",
  "when",
  "history",
  "until",
  "effect",
  "question",
  "remember",
  "sandboxes",
  "isolation",
  "limits",
  "capabilities",
];

/**
 * Writes a rule as a policy file has it.
 *
 * @param file Directories are relative to it. Default: they are absolute.
 */
export function writtenRule(rule: PolicyRule, file: string | undefined): JsonObject {
  const written = (rule.effect === "deny" ? rule : writtenUse(rule, file)) as unknown as JsonObject;
  const placeOf = (name: string): number => ORDER.indexOf(name) + 1 || ORDER.length + 1;
  return Object.fromEntries(Object.entries(written).sort(([one], [other]) => placeOf(one) - placeOf(other)));
}

/** Writes a whole policy as JSON text, which a policy file can have. */
export function writtenPolicy(
  { rules, default: otherwise, untrusted }: RulePolicyOptions,
  file: string | undefined,
  rest: JsonObject,
): string {
  return JSON.stringify({
    rules: rules.map((rule) => writtenRule(rule, file)),
    ...(otherwise !== undefined && {
      default: otherwise === "deny" ? otherwise : writtenUse(otherwise, file),
    }),
    ...(untrusted && { untrusted }),
    ...rest,
  });
}

function writtenUse(written: Partial<AllowedUse>, file: string | undefined): object {
  const { limits, capabilities } = written;
  return {
    ...written,
    ...(limits && { limits: writtenLimits(limits) }),
    ...(capabilities && { capabilities: writtenCapabilities(capabilities, file) }),
  };
}

function writtenLimits(limits: ResourceLimits): JsonObject {
  return Object.fromEntries(
    Object.entries(limits).map(([name, value]) => [
      WRITTEN_NAMES[name as LimitName],
      writtenLimit(name as LimitName, value),
    ]),
  );
}

/** With a unit, unless that would round. */
function writtenLimit(name: LimitName, value: number): JsonValue {
  const text = formatLimit(name, value);
  const read = name.endsWith("Ms") ? parseDuration : parseSize;
  return read(text) === value ? text.replace(" ", "") : value;
}

function writtenCapabilities(capabilities: RuleCapabilities, file: string | undefined): RuleCapabilities {
  const { fs } = capabilities;
  if (fs === undefined || file === undefined) return capabilities;
  const beside = (path: string): string => relative(dirname(file), path) || ".";
  const written = fs.map((grant) => ({
    ...grant,
    ...("directory" in grant && { directory: beside(grant.directory) }),
    ...("file" in grant && typeof grant.file === "string" && { file: beside(grant.file) }),
    ...("within" in grant && grant.within !== undefined && { within: beside(grant.within) }),
  }));
  return { ...capabilities, fs: written as NonNullable<RuleCapabilities["fs"]> };
}
